//! The blocks of Alltoallv and Allgatherv, and of the root in Gatherv and Scatterv: a rank has a count and a
//! displacement for every other.
//!
//! ```text
//!   counts         3     0     2            offsets from the lowest block:  8·e  –  0
//!   displacements  9     ?     1            (e: extent of the type; displacements of empty blocks mean nothing)
//! ```

use super::datatype::{self, Shape, Typed};
use super::numbers::Numbers;
use super::packed::Piece;
use crate::real::Real;
use nagare_plan::choice::Reason;

/// Counts and displacements as the program gives them.
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

/// A block of one side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Block {
    /// Of its first element, bytes from the buffer's address.
    offset: i64,
    elements: i64,
    /// Bytes of data; an empty block has no offset and no elements either.
    bytes: u64,
}

/// One side of a call.
#[derive(Debug)]
pub struct Side {
    /// The buffer's address and type; a side without data may have any.
    data: Typed,
    /// Shape of the type.
    pub shape: Shape,
    blocks: Vec<Block>,
}

/// Nothing of a program is below this address.
const FIRST_PAGE: i64 = 4096;

impl Side {
    /// Reads the arguments of one side.
    ///
    /// # Errors
    /// [`Reason::Argument`] where the library has an error to report.
    ///
    /// # Safety
    /// Arrays that are not null must have `ranks` entries.
    pub unsafe fn new(real: &Real, data: Typed, blocks: &Blocks, ranks: u32) -> Result<Self, Reason> {
        let wrong = Reason::Argument;
        let mut side = Self { data, shape: Shape::BYTE, blocks: vec![Block::default(); ranks as usize] };
        // SAFETY: as demanded.
        if unsafe { blocks.elements(ranks) }.ok_or(wrong)? == 0 {
            return Ok(side);
        }
        let size = datatype::size(real, data.datatype).ok_or(wrong)?;
        side.shape = Shape::of(real, data.datatype);
        for (rank, block) in side.blocks.iter_mut().enumerate() {
            // SAFETY: the arrays are not null, and the caller vouches for the length.
            let (count, displacement) = unsafe { (blocks.counts.of(rank), blocks.displacements.of(rank)) };
            let bytes = size.checked_mul(count as u64).ok_or(wrong)?;
            if bytes > 0 {
                *block = Block { offset: displacement.wrapping_mul(side.shape.extent), elements: count, bytes };
            }
        }
        // From null on, displacements of plain elements are right only if they are addresses.
        let nowhere = data.address.is_null() && side.shape.plain && side.lowest() < FIRST_PAGE;
        if nowhere && !side.is_empty() { Err(wrong) } else { Ok(side) }
    }

    /// One block, of all elements of `data`.
    ///
    /// # Errors
    /// [`Reason::Argument`] where the library has an error to report.
    pub fn of_one(real: &Real, data: Typed) -> Result<Self, Reason> {
        let elements = u64::try_from(data.count).map_err(|_| Reason::Argument)?;
        if elements == 0 {
            return Ok(Self { data, shape: Shape::BYTE, blocks: vec![Block::default()] });
        }
        let size = datatype::size(real, data.datatype).ok_or(Reason::Argument)?;
        let bytes = size.checked_mul(elements).ok_or(Reason::Argument)?;
        let shape = Shape::of(real, data.datatype);
        Ok(Self { data, shape, blocks: vec![Block { offset: 0, elements: data.count, bytes }] })
    }

    /// No block.
    pub const fn nothing(data: Typed) -> Self {
        Self { data, shape: Shape::BYTE, blocks: Vec::new() }
    }

    /// The block of a rank, as elements.
    pub fn piece(&self, rank: usize) -> Piece {
        let Block { offset, elements, bytes } = self.blocks[rank];
        let address = self.data.address.wrapping_byte_offset(offset as isize);
        Piece { data: Typed { address, count: elements, ..self.data }, bytes }
    }

    /// Whether no block has data.
    fn is_empty(&self) -> bool {
        self.blocks.iter().all(|block| block.bytes == 0)
    }

    /// The buffer's address and type, unless nothing is done with them.
    pub fn significant(&self) -> Option<Typed> {
        (!self.is_empty()).then_some(self.data)
    }

    /// Mean bytes of a block.
    pub fn mean(&self) -> u64 {
        let bytes: u64 = self.blocks.iter().map(|block| block.bytes).sum();
        bytes / (self.blocks.len() as u64).max(1)
    }

    /// Offset of the lowest block.
    fn lowest(&self) -> i64 {
        self.blocks.iter().filter(|block| block.bytes > 0).map(|block| block.offset).min().unwrap_or(0)
    }

    /// Address of the lowest block, and first byte from there and bytes of every block; for plain types.
    pub fn table(&self) -> (*mut u8, Vec<(u64, u64)>) {
        let lowest = self.lowest();
        let place = |block: &Block| match block.bytes {
            0 => (0, 0),
            bytes => (block.offset.wrapping_sub(lowest) as u64, bytes),
        };
        let start = self.data.address.cast::<u8>().wrapping_offset(lowest as isize);
        (start, self.blocks.iter().map(place).collect())
    }

    /// First byte and bytes of every block in a packed copy.
    pub fn packed_table(&self) -> Vec<(u64, u64)> {
        let next = |at: &mut u64, block: &Block| {
            let first = *at;
            *at += block.bytes;
            Some((first, block.bytes))
        };
        self.blocks.iter().scan(0, next).collect()
    }

    /// Whether the blocks follow one another in rank order as plain bytes, so that no packed copy is needed.
    pub fn is_packed(&self) -> bool {
        let (_, table) = self.table();
        let mut pairs = table.iter().zip(self.packed_table());
        self.shape.plain && pairs.all(|(place, packed)| place.1 == 0 || *place == packed)
    }

    /// What a packed copy is made of.
    pub fn pieces(&self) -> Vec<Piece> {
        (0..self.blocks.len()).map(|rank| self.piece(rank)).filter(|piece| piece.bytes > 0).collect()
    }
}
