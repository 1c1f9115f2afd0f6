//! The arguments of an intercepted call: what they are about, and which are the library's to judge.

use crate::communicator::Communicator;
use crate::datatype::{Shape, Typed};
use crate::real::handles::IN_PLACE;
use crate::shim::Shim;
use mpi::ffi::{MPI_Comm, MPI_Op};
use nagare_plan::choice::Reason;
use nagare_plan::collective::Collective;
use nagare_plan::schedule::Rank;
use std::ffi::c_int;

/// The arguments of an intercepted call.
#[derive(Clone, Copy)]
pub struct Arguments {
    /// Which call.
    pub collective: Collective,
    /// What this rank contributes; the address may be `MPI_IN_PLACE`. For Bcast the same as `output`.
    pub input: Typed,
    /// Where the result goes.
    pub output: Typed,
    /// Operation, for reductions.
    pub op: Option<MPI_Op>,
    /// Root, for rooted collectives.
    pub root: c_int,
    /// Communicator.
    pub comm: MPI_Comm,
}

impl Arguments {
    /// The buffer argument whose count and type are significant on every rank.
    pub fn significant(&self) -> Typed {
        let alltoall_in_place = self.collective == Collective::Alltoall && self.in_place();
        if alltoall_in_place { self.output } else { self.input }
    }

    /// Whether this rank's contribution is in the result buffer.
    pub fn in_place(&self) -> bool {
        self.input.address.cast_const() == IN_PLACE
    }

    /// Whether `rank` gets a result.
    pub fn has_output(&self, rank: Rank) -> bool {
        self.collective.has_output(self.root as Rank, rank)
    }

    /// Leaves everything to the library that it may have an error for.
    pub fn valid(&self, shim: &Shim, record: &Communicator, bytes: u64) -> Result<(), Reason> {
        let wrong = Err(Reason::Argument);
        if self.collective.is_rooted() && !(0..record.size as c_int).contains(&self.root) {
            return wrong;
        }
        let has_output = self.has_output(record.rank);
        if has_output && self.output.address.cast_const() == IN_PLACE {
            return wrong;
        }
        if self.collective != Collective::Bcast {
            let aliased = !self.in_place() && self.input.address == self.output.address;
            // Two buffers of absolute addresses are both "at" null.
            if has_output && aliased && !self.input.address.is_null() || !has_output && self.in_place() {
                return wrong;
            }
        }
        if self.collective == Collective::Alltoall && !self.in_place() {
            let Typed { count, datatype, .. } = self.output;
            if count <= 0 || datatype == shim.real.handles.datatype_null {
                return wrong;
            }
            let mut size = 0;
            // SAFETY: the datatype is not null.
            let code = unsafe { (shim.real.mpi.type_size_x)(datatype, &raw mut size) };
            if code != 0 || (size as u64).saturating_mul(count as u64) != bytes {
                return wrong;
            }
        }
        // A null address is right only with a type of absolute addresses, which is never plain.
        let null = |data: Typed| data.address.is_null() && Shape::of(shim.real, data.datatype).plain;
        let reads = self.collective != Collective::Bcast && !self.in_place();
        if reads && null(self.input) || has_output && null(self.output) { wrong } else { Ok(()) }
    }
}
