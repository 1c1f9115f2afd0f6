//! Arrays of a call that have a number for every rank: counts and displacements.

use std::ffi::c_int;

/// Such an array as the program gives it.
#[derive(Clone, Copy, Debug)]
pub enum Numbers {
    /// Of `int`.
    Int(*const c_int),
    /// Of `MPI_Count` or `MPI_Aint`.
    #[cfg(mpi_large_count)]
    Large(*const i64),
}

impl From<*const c_int> for Numbers {
    fn from(array: *const c_int) -> Self {
        Self::Int(array)
    }
}

#[cfg(mpi_large_count)]
impl From<*const i64> for Numbers {
    fn from(array: *const i64) -> Self {
        Self::Large(array)
    }
}

impl Numbers {
    /// Whether the array is missing.
    pub fn is_null(self) -> bool {
        match self {
            Self::Int(array) => array.is_null(),
            #[cfg(mpi_large_count)]
            Self::Large(array) => array.is_null(),
        }
    }

    /// The number for `rank`.
    ///
    /// # Safety
    /// The array must not be null and have an entry for `rank`.
    pub unsafe fn of(self, rank: usize) -> i64 {
        // SAFETY: as demanded.
        unsafe {
            match self {
                Self::Int(array) => i64::from(*array.add(rank)),
                #[cfg(mpi_large_count)]
                Self::Large(array) => *array.add(rank),
            }
        }
    }

    /// The numbers of all ranks, as counts; `None` if there is no array or one of them is below 0.
    ///
    /// # Safety
    /// An array that is not null must have `ranks` entries.
    unsafe fn counts(self, ranks: u32) -> Option<impl Iterator<Item = Option<u64>>> {
        // SAFETY: not null, and the caller vouches for the length.
        let count = move |rank| u64::try_from(unsafe { self.of(rank) }).ok();
        (!self.is_null()).then(|| (0..ranks as usize).map(count))
    }

    /// The sum of counts; `None` where the library has an error to report.
    ///
    /// # Safety
    /// An array that is not null must have `ranks` entries.
    pub unsafe fn total(self, ranks: u32) -> Option<u64> {
        // SAFETY: as demanded.
        unsafe { self.counts(ranks) }?.try_fold(0u64, |sum, count| Some(sum.saturating_add(count?)))
    }

    /// Where blocks of these counts begin if they follow one another, and where the last one ends; `None` where the
    /// library has an error to report.
    ///
    /// # Safety
    /// An array that is not null must have `ranks` entries.
    pub unsafe fn bounds(self, ranks: u32) -> Option<Vec<u64>> {
        let mut end = 0u64;
        // SAFETY: as demanded.
        let ends = unsafe { self.counts(ranks) }?.map(|count| {
            end = end.checked_add(count?)?;
            Some(end)
        });
        std::iter::once(Some(0)).chain(ends).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_added_up() {
        let counts: [c_int; 4] = [3, 0, c_int::MAX, 2];
        let numbers = Numbers::Int(counts.as_ptr());
        let total = c_int::MAX as u64 + 5;
        // SAFETY: four entries.
        unsafe {
            assert_eq!(numbers.total(4), Some(total));
            assert_eq!(numbers.bounds(4), Some(vec![0, 3, 3, total - 2, total]));
            assert_eq!(numbers.bounds(0), Some(vec![0]));
        }
    }

    #[test]
    fn what_is_no_count_is_left_to_the_library() {
        let counts: [c_int; 2] = [3, -1];
        // SAFETY: two entries, or none.
        unsafe {
            assert_eq!(Numbers::Int(counts.as_ptr()).total(2), None);
            assert_eq!(Numbers::Int(counts.as_ptr()).bounds(2), None);
            assert_eq!(Numbers::Int(counts.as_ptr()).total(1), Some(3));
            assert_eq!(Numbers::Int(std::ptr::null()).total(2), None);
        }
    }
}
