//! The blocks of Alltoallv, Alltoallw and Allgatherv, and of the root in Gatherv and Scatterv: a rank has a count and a
//! displacement for every other, and in Alltoallw a type.
//!
//! ```text
//!   counts         3     0     2            offsets from the lowest block:  8·e  –  0
//!   displacements  9     ?     1            (e: extent of the type, in Alltoallw 1 byte; displacements of
//!                                                empty blocks mean nothing)
//! ```

use super::datatype::{self, Shape, Typed};
use super::numbers::Numbers;
use super::packed::Piece;
use crate::real::Real;
use mpi::ffi::MPI_Datatype;
use nagare_plan::choice::Reason;
use std::ffi::c_void;
use std::ptr;

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

/// Counts, displacements in bytes and types as the program gives them.
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

/// A block of one side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Block {
    /// Of its first element, bytes from the buffer's address.
    offset: i64,
    elements: i64,
    /// Bytes of data; an empty block has no offset and no elements either.
    bytes: u64,
}

/// What a block is made of.
#[derive(Clone, Copy, Debug)]
struct Elements {
    datatype: MPI_Datatype,
    /// First byte from that of the first element, where the block is consecutive bytes.
    first: Option<i64>,
}

/// What the blocks of a side are made of.
#[derive(Debug)]
enum Types {
    /// All of the same; a side without data may have any type.
    One(Elements),
    /// Each of its own.
    Each(Vec<Elements>),
}

/// First byte and bytes of every block.
pub type Table = Vec<(u64, u64)>;

/// One side of a call.
#[derive(Debug)]
pub struct Side {
    /// The buffer's address; a side without data may have any.
    address: *mut c_void,
    types: Types,
    blocks: Vec<Block>,
}

/// Nothing of a program is below this address.
const FIRST_PAGE: i64 = 4096;

impl Side {
    /// Blocks of elements of one type.
    fn of(data: Typed, is_plain: bool, blocks: Vec<Block>) -> Self {
        let types = Types::One(Elements { datatype: data.datatype, first: is_plain.then_some(0) });
        Self { address: data.address, types, blocks }
    }

    /// Reads the arguments of one side.
    ///
    /// # Errors
    /// [`Reason::Argument`] where the library has an error to report.
    ///
    /// # Safety
    /// Arrays that are not null must have `ranks` entries.
    pub unsafe fn new(real: &Real, data: Typed, of: &Blocks, ranks: u32) -> Result<Self, Reason> {
        let wrong = Reason::Argument;
        let mut blocks = vec![Block::default(); ranks as usize];
        // SAFETY: as demanded.
        if unsafe { of.elements(ranks) }.ok_or(wrong)? == 0 {
            return Ok(Self::of(data, true, blocks));
        }
        let size = datatype::size(real, data.datatype).ok_or(wrong)?;
        let shape = Shape::of(real, data.datatype);
        for (rank, block) in blocks.iter_mut().enumerate() {
            // SAFETY: the arrays are not null, and the caller vouches for the length.
            let (count, displacement) = unsafe { (of.counts.of(rank), of.displacements.of(rank)) };
            let bytes = size.checked_mul(count as u64).ok_or(wrong)?;
            if bytes > 0 {
                *block = Block { offset: displacement.wrapping_mul(shape.extent), elements: count, bytes };
            }
        }
        let side = Self::of(data, shape.plain, blocks);
        // From null on, displacements of plain elements are right only if they are addresses.
        let nowhere = data.address.is_null() && shape.plain && side.lowest() < FIRST_PAGE;
        if nowhere && !side.is_empty() { Err(wrong) } else { Ok(side) }
    }

    /// Reads the arguments of one side of an Alltoallw whose buffer is at `address`.
    ///
    /// # Errors
    /// [`Reason::Argument`] where the library has an error to report.
    ///
    /// # Safety
    /// Arrays that are not null must have `ranks` entries.
    pub unsafe fn of_each(
        real: &Real,
        address: *mut c_void,
        TypedBlocks { blocks: of, types }: &TypedBlocks,
        ranks: u32,
    ) -> Result<Self, Reason> {
        let wrong = Reason::Argument;
        // SAFETY: as demanded.
        if types.is_null() || unsafe { of.elements(ranks) }.is_none() {
            return Err(wrong);
        }
        let mut each = vec![Elements { datatype: real.handles.byte, first: Some(0) }; ranks as usize];
        let mut blocks = vec![Block::default(); ranks as usize];
        // Neighbours are often alike.
        let mut before: Option<(i64, Elements)> = None;
        for (rank, (block, made_of)) in blocks.iter_mut().zip(&mut each).enumerate() {
            // SAFETY: the arrays are not null, and the caller vouches for the length.
            let (elements, offset, datatype) =
                unsafe { (of.counts.of(rank), of.displacements.of(rank), *types.add(rank)) };
            if elements == 0 {
                continue;
            }
            let size = datatype::size(real, datatype).ok_or(wrong)?;
            let bytes = size.checked_mul(elements as u64).ok_or(wrong)?;
            if bytes == 0 {
                continue;
            }
            let alike = before.filter(|&(count, before)| count == elements && before.datatype == datatype);
            let first =
                alike.map_or_else(|| datatype::first_of_run(real, datatype, elements), |(_, before)| before.first);
            if address.is_null() && first.is_some_and(|first| offset.wrapping_add(first) < FIRST_PAGE) {
                return Err(wrong);
            }
            *block = Block { offset, elements, bytes };
            *made_of = Elements { datatype, first };
            before = Some((elements, *made_of));
        }
        Ok(Self { address, types: Types::Each(each), blocks })
    }

    /// One block, of all elements of `data`.
    ///
    /// # Errors
    /// [`Reason::Argument`] where the library has an error to report.
    pub fn of_one(real: &Real, data: Typed) -> Result<Self, Reason> {
        let elements = u64::try_from(data.count).map_err(|_| Reason::Argument)?;
        if elements == 0 {
            return Ok(Self::of(data, true, vec![Block::default()]));
        }
        let size = datatype::size(real, data.datatype).ok_or(Reason::Argument)?;
        let bytes = size.checked_mul(elements).ok_or(Reason::Argument)?;
        let plain = Shape::of(real, data.datatype).plain;
        Ok(Self::of(data, plain, vec![Block { offset: 0, elements: data.count, bytes }]))
    }

    /// No block.
    pub fn nothing(data: Typed) -> Self {
        Self::of(data, true, Vec::new())
    }

    fn elements(&self, rank: usize) -> Elements {
        match &self.types {
            Types::One(elements) => *elements,
            Types::Each(each) => each[rank],
        }
    }

    /// The block of a rank, as elements.
    pub fn piece(&self, rank: usize) -> Piece {
        let Block { offset, elements, bytes } = self.blocks[rank];
        let address = self.address.wrapping_byte_offset(offset as isize);
        Piece { data: Typed { address, count: elements, datatype: self.elements(rank).datatype }, bytes }
    }

    /// Whether no block has data.
    fn is_empty(&self) -> bool {
        self.blocks.iter().all(|block| block.bytes == 0)
    }

    /// Whether elements of all blocks are consecutive bytes from the first one's address on.
    pub fn is_plain(&self) -> bool {
        matches!(self.types, Types::One(Elements { first: Some(_), .. }))
    }

    /// Whether something is so for the types of all blocks with data.
    pub fn all_types(&self, is_so: impl Fn(MPI_Datatype) -> bool) -> bool {
        match &self.types {
            Types::One(elements) => self.is_empty() || is_so(elements.datatype),
            Types::Each(each) => {
                let mut before = None;
                let mut used = each.iter().zip(&self.blocks).filter(|(_, block)| block.bytes > 0);
                used.all(|(elements, _)| {
                    before.replace(elements.datatype) == Some(elements.datatype) || is_so(elements.datatype)
                })
            }
        }
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
    pub fn table(&self) -> (*mut u8, Table) {
        let lowest = self.lowest();
        let place = |block: &Block| match block.bytes {
            0 => (0, 0),
            bytes => (block.offset.wrapping_sub(lowest) as u64, bytes),
        };
        let start = self.address.cast::<u8>().wrapping_offset(lowest as isize);
        (start, self.blocks.iter().map(place).collect())
    }

    /// First byte and bytes of every block in a packed copy.
    pub fn packed_table(&self) -> Table {
        let next = |at: &mut u64, block: &Block| {
            let first = *at;
            *at += block.bytes;
            Some((first, block.bytes))
        };
        self.blocks.iter().scan(0, next).collect()
    }

    /// Where the blocks are if the copy of [`Self::pieces`] is at `copy`. Where some stay in the program's buffer,
    /// there are two memories, and places are counted from address 0 on.
    pub fn places(&self, copy: *mut u8, kept: bool) -> (*mut u8, Table) {
        if !self.stays(kept) {
            return (copy, self.packed_table());
        }
        let (buffer, mut next) = (self.address.expose_provenance() as i64, copy.expose_provenance() as u64);
        let place = |(rank, block): (usize, &Block)| match (block.bytes, self.elements(rank).first) {
            (0, _) => (0, 0),
            (bytes, Some(first)) => (buffer.wrapping_add(block.offset).wrapping_add(first) as u64, bytes),
            (bytes, None) => {
                let place = next;
                next += bytes;
                (place, bytes)
            }
        };
        (ptr::null_mut(), self.blocks.iter().enumerate().map(place).collect())
    }

    /// Whether the blocks follow one another in rank order as plain bytes, so that no packed copy is needed.
    pub fn is_packed(&self) -> bool {
        let (_, table) = self.table();
        let mut pairs = table.iter().zip(self.packed_table());
        self.is_plain() && pairs.all(|(place, packed)| place.1 == 0 || *place == packed)
    }

    /// What a packed copy is made of: all blocks, or those that are not consecutive bytes where the program has them.
    pub fn pieces(&self, kept: bool) -> Vec<Piece> {
        let stays = |rank: usize| self.stays(kept) && self.elements(rank).first.is_some();
        let ranks = (0..self.blocks.len()).filter(|&rank| !stays(rank));
        ranks.map(|rank| self.piece(rank)).filter(|piece| piece.bytes > 0).collect()
    }

    /// Whether blocks that are consecutive bytes stay where the program has them, whatever the others are. `kept`: all
    /// are to be in a copy.
    fn stays(&self, kept: bool) -> bool {
        !kept && matches!(self.types, Types::Each(_))
    }
}
