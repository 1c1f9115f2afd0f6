//! What the ranks of a run in one process share: the messages between them, and what of each rank has finished.

use super::super::transport::Label;
use crate::schedule::Rank;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use thiserror::Error;

/// Why a run in one process cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Fault {
    /// A rank waits although it has started nothing that could finish.
    #[error("rank {0} waits for nothing: its plan is inconsistent")]
    Stalled(Rank),
    /// Another rank has failed, and this one would wait for it for ever.
    #[error("rank {0} waits for a rank that has failed")]
    Abandoned(Rank),
    /// A message is not as long as the receiver expects.
    #[error("rank {to} expects {expected} units from rank {from}, got {got}")]
    Length {
        /// Sender.
        from: Rank,
        /// Receiver.
        to: Rank,
        /// Units expected.
        expected: u64,
        /// Units sent.
        got: u64,
    },
}

/// Names an operation of a rank: the hop, and how many of it were started before.
pub type Ticket = (u32, u64);

/// On its way; `sender`: what it completes when it is received.
pub struct Message {
    pub data: Vec<u64>,
    pub sender: Option<Ticket>,
}

/// Messages of one label from a rank to another, and receives that wait for them.
#[derive(Default)]
pub struct Stream {
    pub sent: VecDeque<Message>,
    pub wanted: VecDeque<Ticket>,
    pub most_waiting: usize,
}

/// What a [`World`] holds.
#[derive(Default)]
pub struct State {
    pub streams: HashMap<(Rank, Rank, Label), Stream>,
    /// Finished operations of each rank; a receive brings its data.
    pub finished: Vec<Vec<(Ticket, Option<Vec<u64>>)>>,
    /// Sends and receives started so far.
    pub started: u64,
    /// Whether a rank's thread has panicked.
    pub abandoned: bool,
}

/// What the ranks of a run share.
pub struct World {
    state: Mutex<State>,
    pub(super) changed: Condvar,
    pub(super) rendezvous: bool,
}

impl World {
    /// A world of `ranks` ranks. `rendezvous`: every send waits for its receive, as large messages do.
    pub fn new(ranks: u32, rendezvous: bool) -> Arc<Self> {
        let finished = (0..ranks).map(|_| Vec::new()).collect();
        let state = Mutex::new(State { streams: HashMap::new(), finished, started: 0, abandoned: false });
        Arc::new(Self { state, changed: Condvar::new(), rendezvous })
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Messages sent and never received: `(from, to, count)`.
    pub fn unreceived(&self) -> Vec<(Rank, Rank, usize)> {
        let state = self.lock();
        state.streams.iter().filter(|(_, s)| !s.sent.is_empty()).map(|(k, s)| (k.0, k.1, s.sent.len())).collect()
    }

    /// Whether some rank has not yet taken note of something that finished.
    pub fn has_news(&self) -> bool {
        self.lock().finished.iter().any(|f| !f.is_empty())
    }

    /// Sends and receives started so far by all ranks.
    pub fn started(&self) -> u64 {
        self.lock().started
    }

    /// The largest number of messages that ever waited unreceived in one stream.
    pub fn most_waiting(&self) -> usize {
        self.lock().streams.values().map(|s| s.most_waiting).max().unwrap_or(0)
    }
}
