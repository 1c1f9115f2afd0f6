//! What all ranks do together, with point-to-point messages only.

use mpi::point_to_point::send_receive_into;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, Destination, Source};

/// All ranks of the job.
pub struct Together<'c> {
    /// Their communicator.
    pub world: &'c SimpleCommunicator,
    /// This rank.
    pub rank: i32,
    /// Number of ranks.
    pub size: i32,
}

impl<'c> Together<'c> {
    /// The ranks of `world`.
    pub fn new(world: &'c SimpleCommunicator) -> Self {
        Self { world, rank: world.rank(), size: world.size() }
    }

    /// The largest `value` of all ranks, at every rank; after it, every rank has come here (dissemination: in round k
    /// with the ranks 2^k away). Ranks get the same bits, so that what they decide by them is the same.
    pub fn largest(&self, mut value: f64) -> f64 {
        let mut distance = 1;
        while distance < self.size {
            let to = self.world.process_at_rank((self.rank + distance) % self.size);
            let from = self.world.process_at_rank((self.rank - distance + self.size) % self.size);
            let mut other = 0.0;
            send_receive_into(&value, &to, &mut other, &from);
            value = value.max(other);
            distance *= 2;
        }
        value
    }

    /// No rank leaves before all have come.
    pub fn barrier(&self) {
        self.largest(0.0);
    }

    /// Every rank's number, at rank 0; nothing at the others.
    pub fn numbers(&self, own: u64) -> Vec<u64> {
        if self.rank != 0 {
            self.world.process_at_rank(0).send(&own);
            return Vec::new();
        }
        let others = (1..self.size).map(|rank| self.world.process_at_rank(rank).receive::<u64>().0);
        std::iter::once(own).chain(others).collect()
    }

    /// Every rank's text, at every rank.
    ///
    /// # Errors
    /// If one is not UTF-8.
    pub fn texts(&self, own: &str) -> Result<Vec<String>, String> {
        let mut texts = vec![own.as_bytes().to_vec()];
        if self.rank == 0 {
            for rank in 1..self.size {
                texts.push(self.world.process_at_rank(rank).receive_vec::<u8>().0);
            }
            let all = serde_json::to_vec(&texts).map_err(|error| error.to_string())?;
            for rank in 1..self.size {
                self.world.process_at_rank(rank).send(&all[..]);
            }
        } else {
            let root = self.world.process_at_rank(0);
            root.send(own.as_bytes());
            texts = serde_json::from_slice(&root.receive_vec::<u8>().0).map_err(|error| error.to_string())?;
        }
        let utf8 = |text: Vec<u8>| String::from_utf8(text).map_err(|error| error.to_string());
        texts.into_iter().map(utf8).collect()
    }
}
