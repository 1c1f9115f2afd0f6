//! One side of a call in which every rank has a block of its own size: where its blocks are in the program's buffer,
//! and where in a packed copy.

mod read;

use super::datatype::Typed;
use super::packed::Piece;
use mpi::ffi::MPI_Datatype;
use std::ffi::c_void;
use std::ptr;

/// A block of one side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Block {
    /// Its first element, bytes from the buffer's address.
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

impl Side {
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

    /// Bytes of the longest block.
    pub fn longest(&self) -> u64 {
        self.blocks.iter().map(|block| block.bytes).max().unwrap_or(0)
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
