//! The buffers of a call as our algorithms use them: where they are if they are plain bytes, else as packed copies.

use super::arguments::Arguments;
use super::decide::Decision;
use super::sides::Sides;
use crate::boundary::failure::Failure;
use crate::buffers::blocks::{Side, Table};
use crate::buffers::datatype::{Shape, Typed};
use crate::buffers::packed::{Packed, Packer, Piece};
use crate::transport::mpi_transport::Buffers;
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

    fn alltoall(packer: &Packer, arguments: &Arguments, decision: &Decision) -> Result<Self, Failure> {
        let in_place = arguments.in_place();
        let from = if in_place { arguments.output } else { arguments.input };
        let all = |block| all_blocks(block, decision);
        let mut staged = Self::of_bytes(packer, Layout::Blocks { block: decision.call.bytes });
        let output = staged.output_for(packer, all(arguments.output)?)?;
        // In place the blocks that are sent would be overwritten by those that arrive.
        let input = staged.input_for(packer, all(from)?, in_place)?;
        staged.set(input, output);
        Ok(staged)
    }

    fn gather(packer: &Packer, arguments: &Arguments, decision: &Decision, layout: Layout) -> Result<Self, Failure> {
        let bytes = decision.call.bytes;
        let rank = decision.record.rank;
        let gathers = arguments.has_output(rank);
        let mut staged = Self::of_bytes(packer, layout);
        let mut output = ptr::null_mut();
        if gathers {
            output = staged.output_for(packer, all_blocks(arguments.output, decision)?)?;
        }
        if !arguments.in_place() {
            // Where rank 0's block goes, another root's contribution would be overwritten before it is copied.
            let shared = gathers && arguments.input.address == arguments.output.address;
            let input = staged.input_for(packer, Piece { data: arguments.input, bytes }, shared)?;
            staged.set(input, output);
            return Ok(staged);
        }
        // The rank's own block is where it belongs, and has to be in the copy as well, if there is one.
        let own = output.wrapping_add(rank as usize * bytes as usize);
        if staged.output.is_some() {
            // SAFETY: the program's own buffer; the copy has room for a block of every rank.
            unsafe { packer.pack(Piece { data: arguments.own_block(packer.real, rank), bytes }, own) }?;
        }
        staged.set(own, output);
        Ok(staged)
    }

    fn scatter(packer: &Packer, arguments: &Arguments, decision: &Decision) -> Result<Self, Failure> {
        let bytes = decision.call.bytes;
        let rank = decision.record.rank;
        let mut staged = Self::of_bytes(packer, Layout::Blocks { block: bytes });
        if !arguments.has_input(rank) {
            let output = staged.output_for(packer, Piece { data: arguments.output, bytes })?;
            staged.set(ptr::null(), output);
            return Ok(staged);
        }
        let input = staged.input_for(packer, all_blocks(arguments.input, decision)?, false)?;
        let output = if arguments.in_place() {
            // The rank's own block stays where it is.
            input.wrapping_add(rank as usize * bytes as usize)
        } else if arguments.input.address == arguments.output.address {
            // Where rank 0's block is, another root's own would overwrite it before it is sent.
            staged.output.insert(Packed::reserve(vec![Piece { data: arguments.output, bytes }])?).address()
        } else {
            staged.output_for(packer, Piece { data: arguments.output, bytes })?
        };
        staged.set(input, output);
        Ok(staged)
    }

    fn allgatherv(
        packer: &Packer,
        arguments: &Arguments,
        decision: &Decision,
        gathered: &Side,
        plan: &RankPlan,
    ) -> Result<Self, Failure> {
        let rank = decision.record.rank;
        let table = gathered.packed_table();
        let end = table.last().map_or(0, |&(first, bytes)| first + bytes);
        let (first, bytes) = table[rank as usize];
        let bounds: Vec<u64> = table.iter().map(|&(first, _)| first).chain([end]).collect();
        let mut staged = Self::of_bytes(packer, Layout::cut(arguments.collective, bounds, plan));
        let output = if gathered.is_packed() {
            gathered.table().0
        } else {
            staged.output.insert(Packed::reserve(gathered.pieces(true))?).address()
        };
        let own = output.wrapping_add(first as usize);
        if bytes == 0 {
            staged.set(ptr::null(), output);
        } else if !arguments.in_place() {
            // Where the first block goes, another rank's contribution would be overwritten before it is copied.
            let shared = arguments.input.address == arguments.output.address;
            let input = staged.input_for(packer, Piece { data: arguments.input, bytes }, shared)?;
            staged.set(input, output);
        } else {
            if staged.output.is_some() {
                // SAFETY: the program's own buffer; the copy has room for a block of every rank.
                unsafe { packer.pack(Piece { data: arguments.own_block(packer.real, rank), bytes }, own) }?;
            }
            staged.set(own, output);
        }
        Ok(staged)
    }

    /// A block for every rank, each of its own size.
    fn exchange(packer: &Packer, Sides { sent, received }: &Sides) -> Result<Self, Failure> {
        let mut staged = Self::of_bytes(packer, NOTHING);
        let received = received.as_ref().ok_or(Failure::Memory)?;
        let (output, mut output_table) = staged.room_for(received, false)?;
        // In place the blocks that are sent would be overwritten by those that arrive.
        let from = sent.as_ref().unwrap_or(received);
        let (input, mut input_table) = staged.blocks_of(packer, from, sent.is_none())?;
        // What a rank sends itself is copied: no more than both blocks have room for.
        let own = packer.rank as usize;
        let bytes = input_table[own].1.min(output_table[own].1);
        (input_table[own].1, output_table[own].1) = (bytes, bytes);
        staged.buffers.layout = Layout::Table { input: input_table, output: output_table };
        staged.set(input, output);
        Ok(staged)
    }

    /// A block of its own on every rank, and those of all at the root.
    fn rooted_blocks(
        packer: &Packer,
        arguments: &Arguments,
        Sides { sent, received }: &Sides,
    ) -> Result<Self, Failure> {
        let own = packer.rank as usize;
        let mut staged = Self::of_bytes(packer, NOTHING);
        // Where the first block is, another root's own would overwrite it, or be overwritten, before it is copied.
        let shared = packer.rank == arguments.root && arguments.input.address == arguments.output.address;
        let gathers = arguments.collective == Collective::Gatherv;
        let from = sent.as_ref().map(|side| staged.blocks_of(packer, side, shared && gathers)).transpose()?;
        let to = received.as_ref().map(|side| staged.room_for(side, shared && !gathers)).transpose()?;
        let ((input, input_table), (output, output_table)) = match (from, to, received) {
            (Some(from), Some(to), _) => (from, to),
            // In place: the root's own block is among all, and has to be in their copy as well, if there is one.
            (None, Some((output, table)), Some(received)) => {
                let place = table[own];
                if staged.output.is_some() {
                    // SAFETY: the program's own buffer; the copy has room for every block.
                    unsafe { packer.pack(received.piece(own), output.wrapping_add(place.0 as usize)) }?;
                }
                ((output, vec![place]), (output, table))
            }
            (Some((input, table)), None, _) => ((input, table.clone()), (input, vec![table[own]])),
            (None, ..) => return Err(Failure::Memory),
        };
        staged.buffers.layout = Layout::Table { input: input_table, output: output_table };
        staged.set(input, output);
        Ok(staged)
    }

    /// Where the blocks of a side are, and the place of each. `kept`: in a copy in any case.
    fn blocks_of(&mut self, packer: &Packer, side: &Side, kept: bool) -> Result<(*mut u8, Table), Failure> {
        if side.is_plain() && !kept {
            return Ok(side.table());
        }
        let copy = self.input.insert(Packed::reserve(side.pieces(kept))?);
        // SAFETY: the program's own buffer.
        unsafe { copy.fill(packer, side.is_plain()) }?;
        Ok(side.places(copy.address(), kept))
    }

    /// Where to receive the blocks of a side, and the place of each. `kept`: in a copy in any case.
    fn room_for(&mut self, side: &Side, kept: bool) -> Result<(*mut u8, Table), Failure> {
        if side.is_plain() && !kept {
            return Ok(side.table());
        }
        let copy = self.output.insert(Packed::reserve(side.pieces(kept))?);
        Ok(side.places(copy.address(), kept))
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

/// A block of every rank, one after another.
fn all_blocks(block: Typed, decision: &Decision) -> Result<Piece, Failure> {
    let ranks = decision.record.size;
    let bytes = decision.call.bytes.checked_mul(u64::from(ranks)).ok_or(Failure::Memory)?;
    Ok(Piece { data: Typed { count: block.count.saturating_mul(i64::from(ranks)), ..block }, bytes })
}
