//! The arguments of an intercepted call: what they are about, and which are the library's to judge.

use crate::blocks::{Blocks, Side};
use crate::communicator::Communicator;
use crate::datatype::{Shape, Typed};
use crate::real::Real;
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
    /// Where the result goes; for Gather of meaning at the root only.
    pub output: Typed,
    /// What is sent and what is received, for Alltoallv, where `input` and `output` have no counts of their own.
    pub blocks: Option<[Blocks; 2]>,
    /// Operation, for reductions.
    pub op: Option<MPI_Op>,
    /// Root, for rooted collectives.
    pub root: c_int,
    /// Communicator.
    pub comm: MPI_Comm,
}

/// The two sides of Alltoallv.
pub struct Sides {
    /// What is sent; `None` if it is in the receive buffer.
    pub sent: Option<Side>,
    /// What is received.
    pub received: Side,
}

impl Arguments {
    /// Bytes of the vector; for Alltoall per rank pair, for Gather per rank, for Alltoallv all that this rank sends.
    ///
    /// # Errors
    /// The reason to leave the call to the library, where that is certain so far.
    #[inline]
    pub fn bytes(&self, shim: &Shim) -> Result<u64, Reason> {
        if let Some(blocks) = &self.blocks {
            return self.bytes_sent(shim.real, blocks);
        }
        // The root of a Gather between groups has nothing to send: not even its type means anything.
        if self.collective == Collective::Gather && self.root < 0 {
            let between = self.is_between_groups(shim.real)?;
            return Err(if between { Reason::Intercommunicator } else { Reason::Argument });
        }
        let Typed { count, datatype, .. } = self.significant();
        if count <= 0 || datatype == shim.real.handles.datatype_null {
            return Err(if count == 0 { Reason::Empty } else { Reason::Argument });
        }
        let mut size = 0;
        // SAFETY: the datatype is not null; the library checks the rest itself.
        if unsafe { (shim.real.mpi.type_size_x)(datatype, &raw mut size) } != 0 {
            return Err(Reason::Argument);
        }
        match (size as u64).saturating_mul(count as u64) {
            0 => Err(Reason::Empty),
            bytes => Ok(bytes),
        }
    }

    fn bytes_sent(&self, real: &Real, [sent, received]: &[Blocks; 2]) -> Result<u64, Reason> {
        if self.is_between_groups(real)? {
            return Err(Reason::Intercommunicator);
        }
        let mut ranks = 0;
        // SAFETY: a valid communicator and pointer.
        if unsafe { (real.mpi.comm_size)(self.comm.into(), &raw mut ranks) } != 0 {
            return Err(Reason::Argument);
        }
        let (side, blocks) = if self.in_place() { (self.output, received) } else { (self.input, sent) };
        // SAFETY: MPI demands an entry for every rank.
        unsafe { Side::new(real, side, blocks, ranks as u32) }.map(|side| side.bytes())
    }

    /// Whether the communicator is an intercommunicator.
    fn is_between_groups(&self, real: &Real) -> Result<bool, Reason> {
        let mut inter = 0;
        if self.comm == real.handles.comm_null {
            return Err(Reason::Argument);
        }
        // SAFETY: not null; the library detects any other handle that is none, or not.
        let code = unsafe { (real.mpi.comm_test_inter)(self.comm.into(), &raw mut inter) };
        if code == 0 { Ok(inter != 0) } else { Err(Reason::Argument) }
    }

    /// Bytes that all ranks know, which decisions may be made from: none where each knows its own only.
    pub fn shared(&self, bytes: u64) -> u64 {
        if self.blocks.is_some() { 0 } else { bytes }
    }

    /// Whether calls that run on our algorithms from `floor` bytes on do not take one of `bytes`.
    #[inline]
    pub fn is_below(&self, bytes: u64, floor: u64) -> bool {
        if self.blocks.is_some() { floor == u64::MAX } else { bytes < floor }
    }

    /// The buffer argument whose count and type are significant on every rank.
    pub fn significant(&self) -> Typed {
        let of_result = matches!(self.collective, Collective::Alltoall | Collective::Gather);
        if of_result && self.in_place() { self.output } else { self.input }
    }

    /// Whether this rank's contribution is in the result buffer.
    pub fn in_place(&self) -> bool {
        self.input.address.cast_const() == IN_PLACE
    }

    /// Whether `rank` gets a result.
    pub fn has_output(&self, rank: Rank) -> bool {
        self.collective.has_output(self.root as Rank, rank)
    }

    /// The buffers with a type and a meaning on `rank`; for Alltoallv `sides` knows.
    pub fn typed(&self, rank: Rank) -> [Typed; 2] {
        match (self.in_place(), self.has_output(rank)) {
            (true, _) => [self.output; 2],
            (false, true) => [self.input, self.output],
            (false, false) => [self.input; 2],
        }
    }

    /// Leaves everything to the library that it may have an error for.
    ///
    /// # Errors
    /// [`Reason::Argument`].
    pub fn valid(&self, shim: &Shim, record: &Communicator, bytes: u64) -> Result<(), Reason> {
        let wrong = Err(Reason::Argument);
        if self.collective.is_rooted() && !(0..record.size as c_int).contains(&self.root) {
            return wrong;
        }
        let has_output = self.has_output(record.rank);
        if has_output && self.output.address.cast_const() == IN_PLACE || !has_output && self.in_place() {
            return wrong;
        }
        // Its blocks may lie between one another in one array, and those without data anywhere.
        if self.collective == Collective::Alltoallv {
            return Ok(());
        }
        if !matches!(self.collective, Collective::Bcast | Collective::Gather) {
            let aliased = !self.in_place() && self.input.address == self.output.address;
            // Two buffers of absolute addresses are both "at" null.
            if has_output && aliased && !self.input.address.is_null() {
                return wrong;
            }
        }
        let two_types = matches!(self.collective, Collective::Alltoall | Collective::Gather);
        if two_types && has_output && !self.in_place() {
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
        // A contribution that is where it belongs is an error for MPICH alone; programs do it.
        let checked = cfg!(mpi_family = "mpich") && self.collective == Collective::Gather && has_output;
        if checked && !self.input.address.is_null() && self.input.address == self.own_block(shim.real).address {
            return wrong;
        }
        // A null address is right only with a type of absolute addresses, which is never plain.
        let null = |data: Typed| data.address.is_null() && Shape::of(shim.real, data.datatype).plain;
        let reads = self.collective != Collective::Bcast && !self.in_place();
        if reads && null(self.input) || has_output && null(self.output) { wrong } else { Ok(()) }
    }

    /// The block of Gather's root in its result.
    pub fn own_block(&self, real: &Real) -> Typed {
        let Typed { address, count, datatype } = self.output;
        let before = i64::from(self.root).wrapping_mul(count).wrapping_mul(Shape::of(real, datatype).extent);
        Typed { address: address.wrapping_byte_offset(before as isize), ..self.output }
    }

    /// The sides of an Alltoallv on `ranks` ranks, `None` for other collectives.
    ///
    /// # Errors
    /// [`Reason::Argument`] where the library has an error to report.
    pub fn sides(&self, real: &Real, ranks: u32) -> Result<Option<Sides>, Reason> {
        let Some([sent, received]) = &self.blocks else { return Ok(None) };
        // SAFETY: MPI demands an entry for every rank.
        unsafe {
            let received = Side::new(real, self.output, received, ranks)?;
            let sent = if self.in_place() { None } else { Some(Side::new(real, self.input, sent, ranks)?) };
            Ok(Some(Sides { sent, received }))
        }
    }
}
