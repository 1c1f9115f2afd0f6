//! The blocks of a call: where they are in the buffers, by count and place of each rank.

use super::arguments::{Arguments, Form};
use crate::buffers::blocks::Blocks;
use crate::buffers::contents::extent;
use crate::buffers::datatype::Typed;
use crate::buffers::side::Side;
use crate::comm::record::Communicator;
use crate::real::Real;
use mpi::ffi::MPI_Datatype;
use nagare_plan::choice::Reason;
use nagare_plan::schedule::Rank;
use std::ffi::c_int;

/// The two sides of a call in which a rank may know its own blocks only.
pub struct Sides {
    /// What is sent; `None` if it is in the receive buffer.
    pub sent: Option<Side>,
    /// What is received; `None` if it stays in the send buffer.
    pub received: Option<Side>,
}

impl Sides {
    /// Mean bytes of a block.
    pub fn mean(&self) -> u64 {
        self.received.as_ref().or(self.sent.as_ref()).map_or(0, Side::mean)
    }

    /// Bytes of the longest block that is sent.
    pub fn longest_sent(&self) -> u64 {
        self.sent.as_ref().or(self.received.as_ref()).map_or(0, Side::longest)
    }

    /// Whether something is so for all types that something is done with.
    pub fn all_types(&self, is_so: impl Fn(MPI_Datatype) -> bool) -> bool {
        self.sent.iter().chain(&self.received).all(|side| side.all_types(&is_so))
    }
}

impl Arguments {
    /// The block of `rank`, which gathers, in its result.
    pub fn own_block(&self, real: &Real, rank: Rank) -> Typed {
        block(real, self.output, self.own_place(rank))
    }

    /// Elements before that block, and its own.
    pub fn own_place(&self, rank: Rank) -> (i64, i64) {
        match &self.form {
            // SAFETY: `valid` has found both arrays, in which MPI demands an entry for every rank.
            Form::GatheredBlocks(Blocks { counts, displacements }) => unsafe {
                (displacements.of(rank as usize), counts.of(rank as usize))
            },
            _ => (i64::from(rank).wrapping_mul(self.output.count), self.output.count),
        }
    }

    /// The blocks of an Allgatherv on `ranks` ranks, `None` for other collectives.
    ///
    /// # Errors
    /// [`Reason::Argument`] where the library has an error to report.
    pub fn gathered(&self, real: &Real, ranks: u32) -> Result<Option<Side>, Reason> {
        let Form::GatheredBlocks(blocks) = &self.form else { return Ok(None) };
        // SAFETY: MPI demands an entry for every rank.
        unsafe { Side::new(real, self.output, blocks, ranks) }.map(Some)
    }

    /// Where the blocks of a result that is cut begin, in elements of the vector, and where the last one ends.
    ///
    /// # Errors
    /// [`Reason::Argument`] where there are more elements than can be counted.
    pub fn bounds(&self, ranks: u32) -> Result<Vec<u64>, Reason> {
        let bounds = match self.counts() {
            // SAFETY: MPI demands an entry for every rank.
            Some(counts) => unsafe { counts.bounds(ranks) },
            None => (0..=u64::from(ranks)).map(|rank| rank.checked_mul(self.output.count as u64)).collect(),
        };
        bounds.ok_or(Reason::Argument)
    }

    /// The sides of an Alltoallv, Alltoallw, Gatherv or Scatterv, `None` for other collectives.
    ///
    /// # Errors
    /// [`Reason::Argument`] where the library has an error to report.
    pub fn sides(&self, real: &Real, record: &Communicator) -> Result<Option<Sides>, Reason> {
        let ranks = record.size;
        match &self.form {
            // SAFETY: MPI demands an entry for every rank.
            Form::Blocks([sent, received]) => unsafe {
                let received = Some(Side::new(real, self.output, received, ranks)?);
                let sent = if self.in_place() { None } else { Some(Side::new(real, self.input, sent, ranks)?) };
                Ok(Some(Sides { sent, received }))
            },
            // SAFETY: as above.
            Form::TypedBlocks([sent, received]) => unsafe {
                let received = Some(Side::of_each(real, self.output.address, received, ranks)?);
                let is_there = !self.in_place();
                let sent = is_there.then(|| Side::of_each(real, self.input.address, sent, ranks)).transpose()?;
                Ok(Some(Sides { sent, received }))
            },
            Form::RootBlocks(blocks) => {
                let [own, all] = self.own_and_all();
                let own = if self.in_place() { None } else { Some(Side::of_one(real, own)?) };
                let all = if self.root == record.rank as c_int {
                    // SAFETY: MPI demands an entry for every rank, at the root.
                    unsafe { Side::new(real, all, blocks, ranks) }?
                } else {
                    Side::nothing(all)
                };
                let [sent, received] = if self.is_scatter() { [Some(all), own] } else { [own, Some(all)] };
                Ok(Some(Sides { sent, received }))
            }
            _ => Ok(None),
        }
    }
}

/// The block of a buffer that has so many elements before it, and so many itself.
fn block(real: &Real, Typed { address, datatype, .. }: Typed, (elements_before, count): (i64, i64)) -> Typed {
    let before = elements_before.wrapping_mul(extent(real, datatype));
    Typed { address: address.wrapping_byte_offset(before as isize), count, datatype }
}
