//! Makes a side of the arguments of a call.

use super::{Block, Elements, Side, Types};
use crate::buffers::blocks::{Blocks, TypedBlocks};
use crate::buffers::datatype::{self, Shape, Typed};
use crate::real::Real;
use nagare_plan::choice::Reason;
use std::ffi::c_void;

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
}
