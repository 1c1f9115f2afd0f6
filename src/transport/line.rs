//! What the messages of a hop have in common.

use super::requests::Queue;
use nagare_plan::execute::Label;
use nagare_plan::schedule::Rank;
use std::ffi::c_int;

/// The messages of a hop, in order.
#[derive(Clone)]
pub struct Line {
    /// The rank at the other end, and what it is called on the communicator.
    pub rank: Rank,
    pub peer: c_int,
    pub label: Label,
    /// Units of its segments, but for the last, from one to the next of them in bytes, and their tag.
    pub units: u64,
    pub bytes: isize,
    pub tag: c_int,
    /// The same of the last segment.
    pub last_units: u64,
    pub last_tag: c_int,
    /// Segments that have not been reported as complete.
    pub left: u64,
    pub receives: bool,
    /// Bytes of a message that may mean that the oldest receive never ends; it was asked to be cancelled then.
    pub doubt: Option<u64>,
    pub queue: Queue,
}

impl Line {
    /// The units of the next segment of `left`, and its tag.
    #[inline]
    pub fn cut(&self, left: u64) -> (u64, c_int) {
        if left >= self.units { (self.units, self.tag) } else { (left, self.last_tag) }
    }
}
