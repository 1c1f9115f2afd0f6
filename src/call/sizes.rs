//! How much data a call is about.

use super::arguments::{Arguments, Form};
use crate::buffers::blocks::Blocks;
use crate::buffers::datatype::{self, Typed};
use crate::buffers::numbers::Numbers;
use crate::comm::record::Communicator;
use crate::comm::registry;
use crate::world::shim::Shim;
use nagare_plan::choice::Reason;
use nagare_plan::collective::Collective;
use nagare_plan::schedule::Rank;
use std::ffi::c_int;

impl Arguments {
    /// Bytes of the vector; for Alltoall per rank pair, for Alltoallv and Alltoallw all that this rank sends, for
    /// Gatherv and Scatterv its own block, for what else has blocks one of them, for Allgatherv and Reduce_scatter
    /// their mean, rounded up.
    ///
    /// # Errors
    /// The reason to leave the call to the library, where that is certain so far.
    #[inline]
    pub fn bytes(&self, shim: &Shim) -> Result<u64, Reason> {
        match &self.form {
            Form::Blocks(blocks) => return self.bytes_sent(shim, blocks),
            Form::TypedBlocks([sent, received]) => {
                let ranks = self.within_group(shim)?.size;
                let blocks = if self.in_place() { received } else { sent };
                // SAFETY: MPI demands an entry for every rank.
                return unsafe { blocks.bytes(shim.real, ranks) }.ok_or(Reason::Argument);
            }
            Form::RootBlocks(blocks) => return self.own_bytes(shim, blocks),
            Form::CombinedBlocks(_, counts) | Form::GatheredBlocks(Blocks { counts, .. }) => {
                return self.mean_bytes(shim, *counts);
            }
            Form::Moved | Form::Combined(_) => {}
        }
        // Between groups the root of a Gather has nothing to send, and that of a Scatter nothing to receive: not even a
        // type means anything.
        if matches!(self.collective, Collective::Gather | Collective::Scatter) && self.root < 0 {
            let between = self.record(shim)?.inter;
            return Err(if between { Reason::Intercommunicator } else { Reason::Argument });
        }
        // Only the root of a Gather or Scatter may say so; count and type of its other side mean nothing elsewhere.
        let is_of_root = matches!(self.collective, Collective::Gather | Collective::Scatter);
        if is_of_root && self.in_place() && self.root as Rank != self.within_group(shim)?.rank {
            return Err(Reason::Argument);
        }
        let Typed { count, datatype, .. } = self.significant();
        if count <= 0 {
            return Err(if count == 0 { Reason::Empty } else { Reason::Argument });
        }
        let size = datatype::size(shim.real, datatype).ok_or(Reason::Argument)?;
        match size.saturating_mul(count as u64) {
            0 => Err(Reason::Empty),
            bytes => Ok(bytes),
        }
    }

    fn bytes_sent(&self, shim: &Shim, [sent, received]: &[Blocks; 2]) -> Result<u64, Reason> {
        let ranks = self.within_group(shim)?.size;
        let (side, blocks) = if self.in_place() { (self.output, received) } else { (self.input, sent) };
        // SAFETY: MPI demands an entry for every rank.
        let elements = unsafe { blocks.elements(ranks) }.ok_or(Reason::Argument)?;
        if elements == 0 {
            return Ok(0);
        }
        datatype::size(shim.real, side.datatype).map(|size| size.saturating_mul(elements)).ok_or(Reason::Argument)
    }

    fn own_bytes(&self, shim: &Shim, blocks: &Blocks) -> Result<u64, Reason> {
        let record = self.within_group(shim)?;
        let own = if self.in_place() { self.own_of_root(blocks, record)? } else { self.own_and_all()[0] };
        match own.count {
            ..0 => Err(Reason::Argument),
            0 => Ok(0),
            count => {
                let size = datatype::size(shim.real, own.datatype).ok_or(Reason::Argument)?;
                Ok(size.saturating_mul(count as u64))
            }
        }
    }

    /// The root's own block among those of all ranks, without its address.
    pub(super) fn own_of_root(&self, blocks: &Blocks, record: &Communicator) -> Result<Typed, Reason> {
        // SAFETY: MPI demands an entry for every rank, at the root.
        let is_there = || unsafe { blocks.elements(record.size) }.is_some();
        if self.root != record.rank as c_int || !is_there() {
            return Err(Reason::Argument);
        }
        // SAFETY: as above.
        let count = unsafe { blocks.counts.of(record.rank as usize) };
        Ok(Typed { count, ..self.own_and_all()[1] })
    }

    fn mean_bytes(&self, shim: &Shim, counts: Numbers) -> Result<u64, Reason> {
        let record = self.within_group(shim)?;
        // SAFETY: MPI demands an entry for every rank.
        let elements = unsafe { counts.total(record.size) }.ok_or(Reason::Argument)?;
        if elements == 0 {
            return Err(Reason::Empty);
        }
        let size = datatype::size(shim.real, self.output.datatype).ok_or(Reason::Argument)?;
        match size.saturating_mul(elements) {
            0 => Err(Reason::Empty),
            bytes => Ok(bytes.div_ceil(u64::from(record.size))),
        }
    }

    /// The communicator's record, which knows the number of ranks: a thread finds the one that it used last without
    /// asking the library.
    fn record<'c>(&self, shim: &Shim) -> Result<&'c Communicator, Reason> {
        if !shim.setup().config.enable {
            return Err(Reason::Disabled);
        }
        if self.comm == shim.real.handles.comm_null {
            return Err(Reason::Argument);
        }
        // SAFETY: not null; the library detects any other handle that is none, or not. The record is used during this
        // call only.
        unsafe { registry::of(shim, self.comm) }
    }

    /// The same, unless it is an intercommunicator's.
    pub(super) fn within_group<'c>(&self, shim: &Shim) -> Result<&'c Communicator, Reason> {
        let record = self.record(shim)?;
        if record.inter { Err(Reason::Intercommunicator) } else { Ok(record) }
    }
}
