//! The buffers of a call as our algorithms use them: where they are if they are plain bytes, else as packed copies.
//!
//! Here for reductions and Bcast; `staged/equal_blocks.rs`, `staged/own_sizes.rs`: where there are blocks.

mod equal_blocks;
mod own_sizes;

use super::arguments::Arguments;
use super::decide::Decision;
use crate::boundary::failure::Failure;
use crate::buffers::datatype::Shape;
use crate::buffers::packed::{Packed, Packer, Piece};
use crate::transport::places::Buffers;
use nagare_plan::collective::Collective;
use nagare_plan::execute::Layout;
use nagare_plan::schedule::RankPlan;
use std::ptr;

/// The buffers of a call. Copies are made where types are not plain, since ranks may describe the same data by
/// different types, and of what is sent in place by an exchange.
pub struct Staged {
    buffers: Buffers,
    /// Keeps the copy that is sent from.
    input: Option<Packed>,
    /// The copy that is received into.
    output: Option<Packed>,
}

/// Before it is known what there is.
const NOTHING: Layout = Layout::Vector { units: 0 };

impl Staged {
    /// Makes the copies that the call needs and packs what is sent from them. `plan`: what this rank does.
    ///
    /// # Errors
    /// [`Failure::Memory`] if there is no room for them, or an error of the library.
    pub fn new(packer: &Packer, arguments: &Arguments, decision: &Decision, plan: &RankPlan) -> Result<Self, Failure> {
        if let Some(gathered) = &decision.gathered {
            return Self::allgatherv(packer, arguments, decision, gathered, plan);
        }
        match (arguments.collective, &decision.sides) {
            (Collective::Gatherv | Collective::Scatterv, Some(sides)) => Self::rooted_blocks(packer, arguments, sides),
            (_, Some(sides)) => Self::exchange(packer, sides),
            (Collective::Reduce | Collective::Allreduce, _) => {
                let units = arguments.input.count as u64;
                Ok(Self::reduction(packer, arguments, Layout::Vector { units }))
            }
            (Collective::ReduceScatterBlock | Collective::ReduceScatter, _) => {
                let bounds = arguments.bounds(decision.record.size).map_err(|_| Failure::Memory)?;
                Ok(Self::reduction(packer, arguments, Layout::cut(arguments.collective, bounds, plan)))
            }
            (Collective::Bcast, _) => Self::bcast(packer, arguments, decision),
            (Collective::Alltoall, _) => Self::alltoall(packer, arguments, decision),
            (Collective::Alltoallv | Collective::Alltoallw | Collective::Gatherv | Collective::Scatterv, None) => {
                Err(Failure::Memory)
            }
            (Collective::Gather, _) => {
                Self::gather(packer, arguments, decision, Layout::Blocks { block: decision.call.bytes })
            }
            (Collective::Scatter, _) => Self::scatter(packer, arguments, decision),
            (Collective::Allgather | Collective::Allgatherv, _) => {
                let ranks = u64::from(decision.record.size);
                let bounds: Option<Vec<u64>> = (0..=ranks).map(|rank| rank.checked_mul(decision.call.bytes)).collect();
                let layout = Layout::cut(arguments.collective, bounds.ok_or(Failure::Memory)?, plan);
                Self::gather(packer, arguments, decision, layout)
            }
        }
    }

    /// Reductions work on elements where they are; all ranks have the same type.
    fn reduction(packer: &Packer, arguments: &Arguments, layout: Layout) -> Self {
        let has_output = arguments.has_output(packer.rank as u32);
        let output = if has_output { arguments.output.address.cast::<u8>() } else { ptr::null_mut() };
        let input = if arguments.in_place() { output } else { arguments.input.address.cast() };
        let datatype = arguments.input.datatype;
        let shape = Shape::of(packer.real, datatype);
        let buffers = Buffers { input, output, layout, datatype, shape, op: arguments.op() };
        Self { buffers, input: None, output: None }
    }

    fn bcast(packer: &Packer, arguments: &Arguments, decision: &Decision) -> Result<Self, Failure> {
        let data = arguments.output;
        let mut staged = Self::of_bytes(packer, Layout::Vector { units: decision.call.bytes });
        if Shape::of(packer.real, data.datatype).plain {
            staged.set(data.address.cast(), data.address.cast());
            return Ok(staged);
        }
        let mut copy = Packed::reserve(vec![Piece { data, bytes: decision.call.bytes }])?;
        staged.set(copy.address(), copy.address());
        if packer.rank == arguments.root {
            // SAFETY: the program's own buffer.
            unsafe { copy.fill(packer, false) }?;
            staged.input = Some(copy);
        } else {
            staged.output = Some(copy);
        }
        Ok(staged)
    }

    fn of_bytes(packer: &Packer, layout: Layout) -> Self {
        let (input, output, datatype) = (ptr::null(), ptr::null_mut(), packer.real.handles.byte);
        let buffers = Buffers { input, output, layout, datatype, shape: Shape::BYTE, op: None };
        Self { buffers, input: None, output: None }
    }

    fn set(&mut self, input: *const u8, output: *mut u8) {
        self.buffers.input = input;
        self.buffers.output = output;
    }

    /// Where to receive what belongs to `piece`.
    fn output_for(&mut self, packer: &Packer, piece: Piece) -> Result<*mut u8, Failure> {
        if Shape::of(packer.real, piece.data.datatype).plain {
            return Ok(piece.data.address.cast());
        }
        Ok(self.output.insert(Packed::reserve(vec![piece])?).address())
    }

    /// Where to send `piece` from. `kept`: from a copy in any case.
    fn input_for(&mut self, packer: &Packer, piece: Piece, kept: bool) -> Result<*mut u8, Failure> {
        let plain = Shape::of(packer.real, piece.data.datatype).plain;
        if plain && !kept {
            return Ok(piece.data.address.cast());
        }
        let copy = self.input.insert(Packed::reserve(vec![piece])?);
        // SAFETY: the program's own buffer.
        unsafe { copy.fill(packer, plain) }?;
        Ok(copy.address())
    }

    /// The buffers for the transport.
    pub fn take_buffers(&mut self) -> Buffers {
        let empty = Buffers { input: ptr::null(), output: ptr::null_mut(), layout: NOTHING, ..self.buffers };
        std::mem::replace(&mut self.buffers, empty)
    }

    /// Unpacks what was received into a copy.
    ///
    /// # Errors
    /// Of the library.
    pub fn finish(self, packer: &Packer) -> Result<(), Failure> {
        // SAFETY: the program's own buffer, and every byte of the copy has been received.
        self.output.map_or(Ok(()), |mut copy| unsafe { copy.spread(packer) })
    }
}
