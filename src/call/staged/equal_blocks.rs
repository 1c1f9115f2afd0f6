//! The buffers of collectives whose blocks are all of one size.

use super::Staged;
use crate::boundary::failure::Failure;
use crate::buffers::datatype::Typed;
use crate::buffers::packed::{Packed, Packer, Piece};
use crate::call::arguments::Arguments;
use crate::call::decide::Decision;
use nagare_plan::execute::Layout;
use std::ptr;

impl Staged {
    pub(super) fn alltoall(packer: &Packer, arguments: &Arguments, decision: &Decision) -> Result<Self, Failure> {
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

    pub(super) fn gather(
        packer: &Packer,
        arguments: &Arguments,
        decision: &Decision,
        layout: Layout,
    ) -> Result<Self, Failure> {
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

    pub(super) fn scatter(packer: &Packer, arguments: &Arguments, decision: &Decision) -> Result<Self, Failure> {
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
}

/// A block of every rank, one after another.
fn all_blocks(block: Typed, decision: &Decision) -> Result<Piece, Failure> {
    let ranks = decision.record.size;
    let bytes = decision.call.bytes.checked_mul(u64::from(ranks)).ok_or(Failure::Memory)?;
    Ok(Piece { data: Typed { count: block.count.saturating_mul(i64::from(ranks)), ..block }, bytes })
}
