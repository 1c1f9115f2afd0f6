//! Data of a collective: what goes in, and whether what comes out is right.

use mpi::collective::SystemOperation;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives, Root};
use nagare_bench::operation::Operation;

const ROOT: i32 = 0;

/// Bytes per rank pair where ranks have blocks for each other, otherwise all; `None` if `bytes` is too little for blocks of one element.
pub fn block(collective: Operation, bytes: u64, size: i32) -> Option<u64> {
    if !collective.per_pair() {
        return Some(bytes);
    }
    let block = bytes / size as u64 / 4 * 4;
    (block > 0).then_some(block)
}

/// Buffers of one rank for one collective and size.
pub struct Buffers {
    collective: Operation,
    rank: i32,
    size: i32,
    /// Elements of a block.
    count: usize,
    send: Vec<i32>,
    receive: Vec<i32>,
}

/// Element `i` of what `from` has for `to`: different for every pair, and small enough for sums over all ranks.
fn value(from: i32, to: i32, i: usize) -> i32 {
    from * 31 + to * 7 + (i % 1000) as i32
}

impl Buffers {
    /// Buffers for blocks of `bytes`.
    pub fn new(collective: Operation, bytes: u64, rank: i32, size: i32) -> Self {
        let count = bytes as usize / 4;
        let blocks = if collective == Operation::Alltoall { size } else { 1 };
        let send = (0..blocks).flat_map(|to| (0..count).map(move |i| value(rank, to, i))).collect::<Vec<_>>();
        let receive = match collective {
            Operation::Gather if rank == ROOT => vec![0; count * size as usize],
            Operation::Gather => Vec::new(),
            _ => vec![0; send.len()],
        };
        Self { collective, rank, size, count, send, receive }
    }

    /// Fills the buffers for a call, so that a result of an earlier one cannot pass for this one's.
    pub fn prepare(&mut self) {
        if self.collective == Operation::Bcast && self.rank == ROOT {
            self.receive.copy_from_slice(&self.send);
        } else {
            self.receive.fill(-1);
        }
    }

    /// The call, on all ranks of `comm`, numbered as in the world.
    pub fn call(&mut self, comm: &SimpleCommunicator) {
        let root = comm.process_at_rank(ROOT);
        let (send, receive) = (&self.send[..], &mut self.receive[..]);
        match self.collective {
            Operation::Bcast => root.broadcast_into(receive),
            Operation::Reduce if self.rank == ROOT => root.reduce_into_root(send, receive, SystemOperation::sum()),
            Operation::Reduce => root.reduce_into(send, SystemOperation::sum()),
            Operation::Allreduce => comm.all_reduce_into(send, receive, SystemOperation::sum()),
            Operation::Gather if self.rank == ROOT => root.gather_into_root(send, receive),
            Operation::Gather => root.gather_into(send),
            Operation::Alltoall => comm.all_to_all_into(send, receive),
        }
    }

    /// Compares every element.
    ///
    /// # Errors
    /// The first that is wrong.
    pub fn verify(&self) -> Result<(), String> {
        if matches!(self.collective, Operation::Reduce | Operation::Gather) && self.rank != ROOT {
            return Ok(());
        }
        for (at, &got) in self.receive.iter().enumerate() {
            let (from, i) = (at / self.count, at % self.count);
            let expected = match self.collective {
                Operation::Bcast => value(ROOT, 0, i),
                Operation::Gather => value(from as i32, ROOT, i),
                Operation::Alltoall => value(from as i32, self.rank, i),
                // The sum over all ranks of value(rank, 0, i).
                Operation::Reduce | Operation::Allreduce => {
                    31 * (self.size * (self.size - 1) / 2) + self.size * (i % 1000) as i32
                }
            };
            if got != expected {
                let bytes = self.receive.len() * 4;
                return Err(format!(
                    "{} of {bytes} bytes: element {i} of block {from} is {got}, expected {expected}",
                    self.collective
                ));
            }
        }
        Ok(())
    }
}
