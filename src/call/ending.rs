//! The end of a call, however it comes.

use crate::boundary::failure::Failure;
use crate::comm::record::{Communicator, ConnectionState};
use crate::transport::private::Private;
use crate::world::shim::Shim;
use nagare_plan::collective::Collective;

/// Dropped where the call returns, and where an exception of the program's or the end of its thread passes through it.
pub struct Ending<'c> {
    shim: &'c Shim,
    record: &'c Communicator,
    private: &'c Private,
    /// What is kept of the connections.
    pub traffic: &'c mut ConnectionState,
    collective: Collective,
    call: u32,
    /// Why it failed: it was left, until it says otherwise.
    pub failure: Option<Failure>,
}

impl<'c> Ending<'c> {
    /// Of the call of that collective and number.
    pub fn new(
        shim: &'c Shim,
        record: &'c Communicator,
        private: &'c Private,
        traffic: &'c mut ConnectionState,
        (collective, call): (Collective, u32),
    ) -> Self {
        Self { shim, record, private, traffic, collective, call, failure: Some(Failure::Left) }
    }
}

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        let Some(failure) = self.failure else { return };
        // What peers have sent to a rank that gives up would match its later calls.
        self.record.fail(failure);
        // Nothing works any more in memory that a failed call has left as it was.
        self.traffic.spare = None;
        // Before others are told: one of them may end the job, and with it this process.
        explain(self.collective, failure);
        if failure.is_news() {
            self.traffic.abandoned.tell(self.shim.real, self.private, self.record.rank, self.call, failure);
        }
    }
}

/// Says why a call failed, where the library or the program does not.
pub fn explain(collective: Collective, failure: Failure) {
    match failure {
        Failure::Length { peer, expected, got } => log::error!(
            "{collective}: rank {peer} sends a message of {got} bytes, or another number of messages, expected \
             {expected} bytes; ranks disagree on counts or types"
        ),
        Failure::GivenUp { peer, class } => {
            log::info!("{collective}: rank {peer} has given up, with error class {class}")
        }
        Failure::Memory => log::info!("{collective}: no memory"),
        Failure::Mpi(_) | Failure::Stalled | Failure::Left => {}
    }
}
