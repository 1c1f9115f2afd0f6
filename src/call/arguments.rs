//! The arguments of an intercepted call, and what they are about.

use crate::buffers::blocks::{Blocks, TypedBlocks};
use crate::buffers::datatype::Typed;
use crate::buffers::device;
use crate::buffers::numbers::Numbers;
use crate::real::handles::IN_PLACE;
use crate::world::shim::Shim;
use mpi::ffi::{MPI_Comm, MPI_Op};
use nagare_config::DeviceMemory;
use nagare_plan::collective::Collective;
use nagare_plan::schedule::Rank;
use std::ffi::c_int;

/// The arguments of an intercepted call.
#[derive(Clone, Copy)]
pub struct Arguments {
    /// Which call.
    pub collective: Collective,
    /// What this rank contributes; the address may be `MPI_IN_PLACE`. For Bcast the same as `output`; for Scatter of
    /// meaning at the root only. Where the result is cut in blocks, the count is that of a block, or none where the
    /// form has them.
    pub input: Typed,
    /// Where the result goes; for Gather of meaning at the root only. Of a Scatter the address may be `MPI_IN_PLACE`.
    pub output: Typed,
    /// What else there is.
    pub form: Form,
    /// Root, for rooted collectives.
    pub root: c_int,
    /// Communicator.
    pub comm: MPI_Comm,
}

/// The few shapes that calls have.
#[derive(Clone, Copy)]
pub enum Form {
    /// Two buffers: Bcast, where they are one, Gather, Scatter, Allgather, Alltoall.
    Moved,
    /// What is sent and what is received have a count and a place for every rank: Alltoallv.
    Blocks([Blocks; 2]),
    /// The same with a type for every rank: Alltoallw; input and output have none.
    TypedBlocks([TypedBlocks; 2]),
    /// What is received has a count and a place for every rank, the same counts on all ranks: Allgatherv.
    GatheredBlocks(Blocks),
    /// At the root what is received, or sent, has a count and a place for every rank; the others know their own count:
    /// Gatherv, Scatterv.
    RootBlocks(Blocks),
    /// Elements are combined: Reduce, Allreduce, Reduce_scatter_block.
    Combined(MPI_Op),
    /// Elements are combined, and every rank gets so many, the same numbers on all ranks: Reduce_scatter.
    CombinedBlocks(MPI_Op, Numbers),
}

impl Arguments {
    /// Of Gatherv and Scatterv: the side of a rank's own block, and that of all, of meaning at the root only.
    pub(super) fn own_and_all(&self) -> [Typed; 2] {
        if self.is_scatter() { [self.output, self.input] } else { [self.input, self.output] }
    }

    /// Whether each rank knows the sizes of its own blocks only.
    pub(super) fn has_own_blocks(&self) -> bool {
        matches!(self.form, Form::Blocks(_) | Form::TypedBlocks(_) | Form::RootBlocks(_))
    }

    /// The operation, for reductions.
    pub fn op(&self) -> Option<MPI_Op> {
        match self.form {
            Form::Combined(op) | Form::CombinedBlocks(op, _) => Some(op),
            _ => None,
        }
    }

    /// Elements of every rank's block, where they differ and are known to all ranks.
    pub(super) fn counts(&self) -> Option<Numbers> {
        match self.form {
            Form::CombinedBlocks(_, counts) | Form::GatheredBlocks(Blocks { counts, .. }) => Some(counts),
            _ => None,
        }
    }

    /// Bytes that all ranks know, which decisions may be made from: none where each knows its own only.
    pub fn shared(&self, bytes: u64) -> u64 {
        if self.has_own_blocks() { 0 } else { bytes }
    }

    /// Whether calls that run on our algorithms from `floor` bytes on do not take one of `bytes`.
    #[inline]
    pub fn is_below(&self, bytes: u64, floor: u64) -> bool {
        if self.has_own_blocks() { floor == u64::MAX } else { bytes < floor }
    }

    /// The buffer argument whose count and type are significant on every rank.
    pub fn significant(&self) -> Typed {
        let is_received = if self.is_scatter() { !self.in_place() } else { self.has_two_types() && self.in_place() };
        if is_received { self.output } else { self.input }
    }

    /// Whether what is sent and what is received have a count and a type each.
    pub(super) fn has_two_types(&self) -> bool {
        self.collective == Collective::Alltoall || self.gathers() || self.is_scatter()
    }

    pub(super) fn is_scatter(&self) -> bool {
        matches!(self.collective, Collective::Scatter | Collective::Scatterv)
    }

    /// Whether this rank's contribution goes to its own place in the result.
    pub(super) fn gathers(&self) -> bool {
        self.collective == Collective::Gather || self.collective.gathers_all()
    }

    /// Whether this rank's contribution is in the result buffer, or the result stays in that of the contribution.
    pub fn in_place(&self) -> bool {
        let one = if self.is_scatter() { self.output } else { self.input };
        one.address.cast_const() == IN_PLACE
    }

    /// Whether `rank` contributes something.
    pub fn has_input(&self, rank: Rank) -> bool {
        self.collective.has_input(self.root as Rank, rank)
    }

    /// Whether `rank` gets a result.
    pub fn has_output(&self, rank: Rank) -> bool {
        self.collective.has_output(self.root as Rank, rank)
    }

    /// Whether a buffer of this rank is in the memory of a device. What a type of absolute addresses names is taken for
    /// the host's, but in Alltoallw, each of whose blocks is asked about.
    pub fn on_device(&self, shim: &Shim) -> bool {
        let managed_is_host = shim.setup().config.device_memory == DeviceMemory::Managed;
        if let (Form::TypedBlocks([sent, received]), Ok(record)) = (&self.form, self.within_group(shim)) {
            let own = [(sent, self.input), (received, self.output)].into_iter().skip(usize::from(self.in_place()));
            // SAFETY: MPI demands an entry for every rank; in place the arrays of what is sent are left out.
            let of = |(blocks, side): (&TypedBlocks, Typed)| unsafe {
                blocks.addresses(shim.real, side.address, record.size)
            };
            return own.flat_map(of).any(|address| device::holds(address, managed_is_host));
        }
        let [input, output] = match (self.in_place(), self.is_scatter()) {
            (false, _) => [self.input, self.output],
            (true, false) => [self.output; 2],
            (true, true) => [self.input; 2],
        };
        // What a rank has no use for may be any address, of which the driver knows nothing.
        [input, output].iter().any(|buffer| device::holds(buffer.address, managed_is_host))
    }

    /// The buffers with a type and a meaning on `rank`; of what has sides these know.
    pub fn typed(&self, rank: Rank) -> [Typed; 2] {
        if self.is_scatter() {
            return match (self.has_input(rank), self.in_place()) {
                (true, true) => [self.input; 2],
                (true, false) => [self.input, self.output],
                (false, _) => [self.output; 2],
            };
        }
        // Nothing of a rank without a block of its own is gathered.
        let is_empty = self.collective == Collective::Allgatherv && self.input.count == 0;
        match (self.in_place() || is_empty, self.has_output(rank)) {
            (true, _) => [self.output; 2],
            (false, true) => [self.input, self.output],
            (false, false) => [self.input; 2],
        }
    }
}
