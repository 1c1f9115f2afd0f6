//! The buffers of a call as our algorithms use them: where they are if they are plain bytes, else as packed copies.

use crate::arguments::Arguments;
use crate::call::Decision;
use crate::datatype::{self, Shape, Typed};
use crate::memory::Buffer;
use crate::shim::Shim;
use crate::transport::{Buffers, Failure};
use mpi::ffi::MPI_Comm;
use nagare_plan::collective::Collective;
use nagare_plan::execute::Layout;
use nagare_plan::schedule::Rank;
use std::ffi::c_int;

/// The buffers of a call, with packed copies where they cannot be used as they are.
pub struct Staged {
    buffers: Buffers,
    /// Bytes of what cannot be split.
    pub unit_bytes: u64,
    /// Keeps the copy that is sent from.
    input_copy: Option<Buffer>,
    /// The copy that is received into, and where it belongs.
    output_copy: Option<(Buffer, Typed, u64)>,
    rank: c_int,
}

impl Staged {
    /// Makes the copies that `arguments` need and packs what is sent from them.
    ///
    /// # Errors
    /// [`Failure::Memory`] if there is no room for them, or an error of the library.
    pub fn new(shim: &Shim, private: MPI_Comm, arguments: &Arguments, decision: &Decision) -> Result<Self, Failure> {
        let rank = decision.record.rank as c_int;
        match arguments.collective {
            Collective::Reduce | Collective::Allreduce => Ok(Self::reduction(arguments, decision, rank)),
            Collective::Bcast => Self::bcast(shim, private, arguments, decision, rank),
            Collective::Alltoall | Collective::Alltoallv | Collective::Gather => {
                Self::alltoall(shim, private, arguments, decision, rank)
            }
        }
    }

    /// Reductions work on elements where they are; all ranks have the same type.
    fn reduction(arguments: &Arguments, decision: &Decision, rank: c_int) -> Self {
        let has_output = arguments.has_output(rank as Rank);
        let output = if has_output { arguments.output.address.cast::<u8>() } else { std::ptr::null_mut() };
        let input = if arguments.in_place() { output } else { arguments.input.address.cast() };
        let buffers = Buffers {
            input,
            output,
            layout: Layout::Vector { units: arguments.input.count as u64 },
            datatype: arguments.input.datatype,
            shape: decision.shape,
            op: arguments.op,
        };
        Self { buffers, unit_bytes: (decision.shape.span() as u64).max(1), input_copy: None, output_copy: None, rank }
    }

    /// Bcast works on bytes, since ranks may give the same data with different types.
    fn bcast(
        shim: &Shim,
        private: MPI_Comm,
        arguments: &Arguments,
        decision: &Decision,
        rank: c_int,
    ) -> Result<Self, Failure> {
        let data = arguments.output;
        let mut staged = Self::of_bytes(shim, Layout::Vector { units: decision.bytes }, rank);
        if decision.shape.plain {
            staged.set(data.address.cast(), data.address.cast());
        } else {
            let mut copy = Buffer::new(decision.bytes as usize).ok_or(Failure::Memory)?;
            staged.set(copy.address(), copy.address());
            if rank == arguments.root {
                staged.pack(shim, private, data, copy.address(), decision.bytes)?;
                staged.input_copy = Some(copy);
            } else {
                staged.output_copy = Some((copy, data, decision.bytes));
            }
        }
        Ok(staged)
    }

    /// Alltoall works on bytes, since the two sides may have different types.
    fn alltoall(
        shim: &Shim,
        private: MPI_Comm,
        arguments: &Arguments,
        decision: &Decision,
        rank: c_int,
    ) -> Result<Self, Failure> {
        let ranks = i64::from(decision.record.size);
        let total = decision.bytes.checked_mul(ranks as u64).ok_or(Failure::Memory)?;
        let all = |block: Typed| Typed { count: block.count.saturating_mul(ranks), ..block };
        let in_place = arguments.in_place();
        let (from, into) = (if in_place { arguments.output } else { arguments.input }, arguments.output);
        let mut staged = Self::of_bytes(shim, Layout::Blocks { block: decision.bytes }, rank);
        let plain_output = Shape::of(shim.real, into.datatype).plain;
        let mut output: *mut u8 = into.address.cast();
        if !plain_output {
            let mut copy = Buffer::new(total as usize).ok_or(Failure::Memory)?;
            output = copy.address();
            staged.output_copy = Some((copy, all(into), total));
        }
        let mut input: *mut u8 = from.address.cast();
        if in_place || !decision.shape.plain {
            // In place the blocks that are sent would be overwritten by those that arrive.
            let mut copy = Buffer::new(total as usize).ok_or(Failure::Memory)?;
            input = copy.address();
            if decision.shape.plain {
                // SAFETY: the program's buffer holds `total` consecutive bytes, the copy as many.
                unsafe { from.address.cast::<u8>().copy_to_nonoverlapping(input, total as usize) };
            } else {
                staged.pack(shim, private, all(from), input, total)?;
            }
            staged.input_copy = Some(copy);
        }
        staged.set(input, output);
        Ok(staged)
    }

    fn of_bytes(shim: &Shim, layout: Layout, rank: c_int) -> Self {
        let shape = Shape { size: 1, extent: 1, true_lb: 0, true_extent: 1, plain: true };
        let datatype = shim.real.handles.byte;
        let buffers =
            Buffers { input: std::ptr::null(), output: std::ptr::null_mut(), layout, datatype, shape, op: None };
        Self { buffers, unit_bytes: 1, input_copy: None, output_copy: None, rank }
    }

    fn set(&mut self, input: *const u8, output: *mut u8) {
        self.buffers.input = input;
        self.buffers.output = output;
    }

    fn pack(&self, shim: &Shim, private: MPI_Comm, from: Typed, to: *mut u8, bytes: u64) -> Result<(), Failure> {
        // SAFETY: `from` is the program's own buffer and type, `to` has room for `bytes` bytes.
        unsafe { datatype::pack(shim.real, private, self.rank, from, to, bytes) }.map_err(Failure::Mpi)
    }

    /// The buffers for the transport.
    pub fn take_buffers(&mut self) -> Buffers {
        let nothing = Layout::Vector { units: 0 };
        let empty = Buffers { input: std::ptr::null(), output: std::ptr::null_mut(), layout: nothing, ..self.buffers };
        std::mem::replace(&mut self.buffers, empty)
    }

    /// Gives up the copies without freeing them.
    pub fn abandon(mut self) {
        std::mem::forget(self.input_copy.take());
        std::mem::forget(self.output_copy.take());
    }

    /// Unpacks what was received into a copy.
    pub fn finish(mut self, shim: &Shim, private: MPI_Comm) -> Result<(), Failure> {
        let Some((copy, into, bytes)) = &mut self.output_copy else { return Ok(()) };
        // SAFETY: the copy holds `bytes` bytes, and the program's buffer has room for them in its type.
        unsafe { datatype::unpack(shim.real, private, self.rank, copy.address(), *bytes, *into) }.map_err(Failure::Mpi)
    }
}
