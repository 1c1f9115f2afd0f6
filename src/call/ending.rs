//! The end of a call, however it comes.

use crate::boundary::failure::Failure;
use crate::comm::record::{Communicator, ConnectionState};
use crate::transport::private::Private;
use crate::world::shim::Shim;

/// Dropped where the call returns, and where an exception of the program's or the end of its thread passes through it.
pub struct Ending<'c> {
    shim: &'c Shim,
    record: &'c Communicator,
    private: &'c Private,
    /// What is kept of the connections.
    pub traffic: &'c mut ConnectionState,
    call: u32,
    /// Why it failed: it was left, until it says otherwise.
    pub failure: Option<Failure>,
}

impl<'c> Ending<'c> {
    /// Of the call of that number.
    pub fn new(
        shim: &'c Shim,
        record: &'c Communicator,
        private: &'c Private,
        traffic: &'c mut ConnectionState,
        call: u32,
    ) -> Self {
        Self { shim, record, private, traffic, call, failure: Some(Failure::Left) }
    }
}

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        let Some(failure) = self.failure else { return };
        // What peers have sent to a rank that gives up would match its later calls.
        self.record.fail(failure);
        if failure.is_news() {
            self.traffic.abandoned.tell(self.shim.real, self.private, self.record.rank, self.call, failure);
        }
    }
}
