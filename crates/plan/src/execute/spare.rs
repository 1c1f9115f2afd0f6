//! Memory that the next run on the same connections takes over: short calls would spend their time on making it.

use super::own::Own;
use super::peer::Peer;
use super::stream::Stream;
use super::transport::Completed;
use std::collections::VecDeque;

/// What a run works in; at its start it may have any contents.
#[derive(Clone, Debug, Default)]
pub(super) struct Spare {
    pub streams: Vec<Stream>,
    pub owns: Vec<Own>,
    pub due: VecDeque<u32>,
    pub peers: Vec<Peer>,
    pub completed: Completed,
}
