//! Packed copies: parts of a program's buffer as consecutive bytes, for as long as a call runs.

use super::datatype::{self, Typed};
use super::memory::Buffer;
use crate::boundary::failure::Failure;
use crate::real::Real;
use mpi::ffi::MPI_Comm;
use std::ffi::c_int;

/// Elements of a program's buffer, and how many bytes they are packed.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    /// Where the elements are.
    pub data: Typed,
    /// Bytes of data in them.
    pub bytes: u64,
}

/// The copy of some pieces, one after another.
pub struct Packed {
    copy: Buffer,
    pieces: Vec<Piece>,
}

/// The library, and who packs where.
#[derive(Clone, Copy)]
pub struct Packer<'r> {
    /// The library.
    pub real: &'r Real,
    /// This process's rank in the program's communicator.
    pub rank: c_int,
    /// The private communicator.
    pub private: MPI_Comm,
    /// This process's rank there.
    pub own: c_int,
}

impl Packer<'_> {
    /// Packs one piece.
    ///
    /// # Errors
    /// Of the library.
    ///
    /// # Safety
    /// The piece must be valid for reading, `to` for its bytes.
    pub unsafe fn pack(&self, Piece { data, bytes }: Piece, to: *mut u8) -> Result<(), Failure> {
        // SAFETY: as demanded.
        unsafe { datatype::pack(self.real, self.private, self.own, data, to, bytes) }.map_err(Failure::Mpi)
    }
}

impl Packed {
    /// Room for all of `pieces`.
    ///
    /// # Errors
    /// [`Failure::Memory`] if there is none.
    pub fn reserve(pieces: Vec<Piece>) -> Result<Self, Failure> {
        let total = pieces.iter().try_fold(0u64, |sum, piece| sum.checked_add(piece.bytes));
        let bytes = total.and_then(|t| usize::try_from(t).ok()).ok_or(Failure::Memory)?;
        Ok(Self { copy: Buffer::new(bytes).ok_or(Failure::Memory)?, pieces })
    }

    /// First byte of the copy.
    pub fn address(&mut self) -> *mut u8 {
        self.copy.address()
    }

    /// Copies the pieces from the program's buffer. `plain`: each is consecutive bytes.
    ///
    /// # Errors
    /// Of the library.
    ///
    /// # Safety
    /// The pieces must be valid for reading.
    pub unsafe fn fill(&mut self, packer: &Packer, plain: bool) -> Result<(), Failure> {
        let mut to = self.copy.address();
        for &piece in &self.pieces {
            // SAFETY: the caller vouches for the piece; the copy has room for all of them, and `to` is where this one
            // starts.
            unsafe {
                if plain {
                    piece.data.address.cast::<u8>().copy_to_nonoverlapping(to, piece.bytes as usize);
                } else {
                    packer.pack(piece, to)?;
                }
            }
            to = to.wrapping_add(piece.bytes as usize);
        }
        Ok(())
    }

    /// Unpacks the pieces into the program's buffer.
    ///
    /// # Errors
    /// Of the library.
    ///
    /// # Safety
    /// The pieces must be valid for writing, and the copy written.
    pub unsafe fn spread(&mut self, packer: &Packer) -> Result<(), Failure> {
        let Packer { real, private, own, .. } = *packer;
        let mut from = self.copy.address();
        for &Piece { data, bytes } in &self.pieces {
            // SAFETY: as for `fill`, with the sides exchanged.
            unsafe { datatype::unpack(real, private, own, from, bytes, data) }.map_err(Failure::Mpi)?;
            from = from.wrapping_add(bytes as usize);
        }
        Ok(())
    }
}
