//! Counts, displacements and types of the blocks of a call, as the program gives them: for the ranks of Alltoallv,
//! Alltoallw and Allgatherv, and for the root in Gatherv and Scatterv.
//!
//! ```text
//!   counts         3     0     2            offsets from the lowest block:  8·e  –  0
//!   displacements  9     ?     1            (e: extent of the type, in Alltoallw 1 byte; displacements of
//!                                                empty blocks mean nothing)
//! ```

use super::datatype::{self, Shape};
use super::numbers::Numbers;
use crate::real::Real;
use mpi::ffi::MPI_Datatype;
use std::ffi::c_void;

/// Counts and displacements.
#[derive(Clone, Copy, Debug)]
pub struct Blocks {
    /// Elements of every block.
    pub counts: Numbers,
    /// First element of every block.
    pub displacements: Numbers,
}

impl Blocks {
    /// Elements of all blocks together; `None` where the library has an error to report.
    ///
    /// # Safety
    /// Arrays that are not null must have `ranks` entries.
    pub unsafe fn elements(&self, ranks: u32) -> Option<u64> {
        if self.displacements.is_null() {
            return None;
        }
        // SAFETY: as demanded.
        unsafe { self.counts.total(ranks) }
    }
}

/// Counts, displacements in bytes, and types.
#[derive(Clone, Copy, Debug)]
pub struct TypedBlocks {
    /// Elements of every block, and first byte of every block.
    pub blocks: Blocks,
    /// Type of every block.
    pub types: *const MPI_Datatype,
}

impl TypedBlocks {
    /// Bytes of all blocks together; `None` where the library has an error to report.
    ///
    /// # Safety
    /// Arrays that are not null must have `ranks` entries.
    pub unsafe fn bytes(&self, real: &Real, ranks: u32) -> Option<u64> {
        if self.types.is_null() || self.blocks.displacements.is_null() || self.blocks.counts.is_null() {
            return None;
        }
        (0..ranks as usize).try_fold(0u64, |sum, rank| {
            // SAFETY: the arrays are not null, and the caller vouches for the length.
            let (count, datatype) = unsafe { (self.blocks.counts.of(rank), *self.types.add(rank)) };
            // Of an empty block the type may be any, also none.
            match u64::try_from(count).ok()? {
                0 => Some(sum),
                count => Some(sum.saturating_add(datatype::size(real, datatype)?.saturating_mul(count))),
            }
        })
    }

    /// Where the data of every block with elements begin, in a buffer at `base`: blocks and their types say where, also
    /// by absolute addresses. Blocks that the library has an error for are left out.
    ///
    /// # Safety
    /// Arrays that are not null must have `ranks` entries.
    pub unsafe fn addresses(&self, real: &Real, base: *const c_void, ranks: u32) -> Vec<*const c_void> {
        if self.types.is_null() || self.blocks.displacements.is_null() || self.blocks.counts.is_null() {
            return Vec::new();
        }
        let address = |rank| {
            // SAFETY: the arrays are not null, and the caller vouches for the length.
            let (count, offset, datatype) =
                unsafe { (self.blocks.counts.of(rank), self.blocks.displacements.of(rank), *self.types.add(rank)) };
            datatype::size(real, datatype).filter(|&size| count > 0 && size > 0)?;
            let first = offset.wrapping_add(Shape::of(real, datatype).true_lb);
            Some(base.wrapping_byte_offset(first as isize))
        };
        (0..ranks as usize).filter_map(address).collect()
    }
}
