//! Where the units of a call are: in the buffers of the program, or in memory of ours.

use crate::boundary::failure::Failure;
use crate::buffers::datatype::Shape;
use crate::buffers::memory::Buffer;
use mpi::ffi::{MPI_Datatype, MPI_Op};
use nagare_plan::execute::{Layout, Place, Region};
use std::ptr;

/// Alignment of scratch elements, bytes: a cache line.
const ALIGNMENT: usize = 64;

/// The buffers of a call in units.
pub struct Buffers {
    /// Address of unit 0 of the contribution.
    pub input: *const u8,
    /// Address of unit 0 of the result; null on ranks without one.
    pub output: *mut u8,
    /// Where the parts of the plan are in them.
    pub layout: Layout,
    /// Type of one unit.
    pub datatype: MPI_Datatype,
    /// Shape of that type.
    pub shape: Shape,
    /// Operation, for reductions.
    pub op: Option<MPI_Op>,
}

/// The buffers, and what is reserved beside them.
pub(super) struct Places {
    pub(super) buffers: Buffers,
    /// By how much the address of unit 0 in memory of ours differs from where that memory begins.
    data: isize,
    scratch: Buffer,
    slot_bytes: usize,
    stage: Buffer,
}

impl Places {
    /// With nothing reserved.
    pub(super) fn new(buffers: Buffers) -> Self {
        // In memory of ours elements start at a multiple of the alignment, so that a user's operation finds its data
        // aligned as in the program's own buffers; the first byte of data may lie on either side of that.
        let first = touched(&buffers.shape)[0];
        let data = (first.rem_euclid(ALIGNMENT as i64) - first) as isize;
        Self { buffers, data, scratch: Buffer::default(), slot_bytes: 0, stage: Buffer::default() }
    }

    /// See [`nagare_plan::execute::Transport::reserve`].
    pub(super) fn reserve(&mut self, slots: u32, units: u64, staged: u64) -> Result<(), Failure> {
        self.slot_bytes = room(&self.buffers.shape, units).ok_or(Failure::Memory)?;
        let bytes = self.slot_bytes.checked_mul(slots as usize).ok_or(Failure::Memory)?;
        let stage = if staged > 0 { room(&self.buffers.shape, staged).ok_or(Failure::Memory)? } else { 0 };
        self.scratch = Buffer::new(bytes).ok_or(Failure::Memory)?;
        self.stage = Buffer::new(stage).ok_or(Failure::Memory)?;
        Ok(())
    }

    /// Never frees what is reserved: messages into it may still come.
    pub(super) fn leak(&mut self) {
        std::mem::forget(std::mem::take(&mut self.scratch));
        std::mem::forget(std::mem::take(&mut self.stage));
    }

    /// Address of the first unit of a place.
    #[inline]
    pub(super) fn address(&mut self, place: Place) -> *mut u8 {
        let base = match place.region {
            Region::Input => self.buffers.input.cast_mut(),
            Region::Output => self.buffers.output,
            Region::Stage => self.stage.address().wrapping_offset(self.data),
            Region::Scratch(slot) => {
                self.scratch.address().wrapping_add(slot as usize * self.slot_bytes).wrapping_offset(self.data)
            }
        };
        let offset = place.start as isize * self.buffers.shape.extent as isize;
        // Blocks in several memories are counted from address 0; whoever made their table has exposed these.
        if base.is_null() { ptr::with_exposed_provenance_mut(offset as usize) } else { base.wrapping_offset(offset) }
    }
}

/// The first byte of a unit that anybody may touch, and the one after the last, from its address: its data, and where
/// these are a part of a structure all of that, which an operation of the program may copy as a whole.
fn touched(shape: &Shape) -> [i64; 2] {
    let (first, end) = (shape.true_lb, shape.true_lb.saturating_add(shape.true_extent));
    // Absolute addresses are no part of anything.
    if first >= shape.extent { [first, end] } else { [first.min(0), end.max(shape.extent)] }
}

/// Bytes that `units` units take up in memory of ours, wherever their first byte lies; `None` if there is no such
/// number.
fn room(shape: &Shape, units: u64) -> Option<usize> {
    let between = units.saturating_sub(1).checked_mul(shape.extent as u64)?;
    let [first, end] = touched(shape);
    let bytes = usize::try_from(between.checked_add(u64::try_from(end.checked_sub(first)?).ok()?)?).ok()?;
    bytes.checked_add(ALIGNMENT)?.checked_next_multiple_of(ALIGNMENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_structures_fit() {
        // A number at the begin of 256 bytes, and near their end; one that begins 8 bytes before its address; one at an
        // absolute address.
        for (shape, units, bytes) in [
            (Shape { size: 8, extent: 256, true_lb: 0, true_extent: 8, plain: false }, 8, 8 * 256),
            (Shape { size: 8, extent: 16, true_lb: -8, true_extent: 8, plain: false }, 4, 4 * 16 + 8),
            (Shape { size: 8, extent: 256, true_lb: 200, true_extent: 8, plain: false }, 8, 8 * 256),
            (Shape { size: 8, extent: 8, true_lb: 1 << 46, true_extent: 8, plain: false }, 4, 4 * 8),
        ] {
            let found = room(&shape, units).unwrap();
            assert!((bytes..=bytes + 2 * ALIGNMENT).contains(&found), "{shape:?}: {found}");
        }
        assert_eq!(room(&Shape { extent: i64::MAX, ..Shape::BYTE }, 4), None);
    }
}
