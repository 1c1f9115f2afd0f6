//! The buffers of collectives in which every block has a size of its own.

use super::{NOTHING, Staged};
use crate::boundary::failure::Failure;
use crate::buffers::packed::{Packed, Packer, Piece};
use crate::buffers::side::{Side, Table};
use crate::call::arguments::Arguments;
use crate::call::decide::Decision;
use crate::call::sides::Sides;
use nagare_plan::collective::Collective;
use nagare_plan::execute::Layout;
use nagare_plan::schedule::RankPlan;
use std::ptr;

impl Staged {
    pub(super) fn allgatherv(
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
    pub(super) fn exchange(packer: &Packer, Sides { sent, received }: &Sides) -> Result<Self, Failure> {
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
    pub(super) fn rooted_blocks(
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
}
