//! What a datatype was made of, as the MPI library remembers it (MPI 4.0 section 5.1.13).
//!
//! These inquiries are not the program's, so none of them may be erroneous: Nagare asks about types made with large
//! counts with large counts, and does not free predefined types that have no name. It treats a type that it does not
//! know, or that is too large to follow, as scattered.

use super::typemap::{self, Bytes, Constructor, Inner};
use crate::real::Real;
#[cfg(mpi_large_count)]
use mpi::ffi::MPI_Count;
use mpi::ffi::{MPI_Aint, MPI_Datatype};
use std::ffi::c_int;

/// Inner types that are looked at, all levels together.
const TYPES: usize = 64;

/// Levels of types within types, for the sake of small stacks.
const LEVELS: usize = 12;

/// Arguments of one constructor that are looked at.
const NUMBERS: usize = 4096;

/// The bytes of a valid datatype.
pub fn bytes(real: &Real, datatype: MPI_Datatype) -> Bytes {
    let mut look = Look { real, types: TYPES };
    envelope(real, datatype).map_or(Bytes::Scattered, |envelope| look.bytes(datatype, &envelope, LEVELS))
}

/// Distance from one element to the next, bytes, of a valid datatype.
pub fn extent(real: &Real, datatype: MPI_Datatype) -> i64 {
    let (mut lb, mut extent) = (0, 0);
    // SAFETY: the caller's datatype is valid, the pointers are too.
    unsafe { (real.mpi.type_get_extent)(datatype, &raw mut lb, &raw mut extent) };
    #[allow(clippy::unnecessary_cast, reason = "MPI_Aint is isize in Open MPI, i64 in MPICH")]
    let extent = extent as i64;
    extent
}

/// A look at a type and what is in it.
struct Look<'r> {
    real: &'r Real,
    /// How many more types may be looked at.
    types: usize,
}

impl Look<'_> {
    fn bytes(&mut self, datatype: MPI_Datatype, envelope: &Envelope, levels: usize) -> Bytes {
        if is_predefined(envelope.combiner) {
            return predefined(self.real, datatype);
        }
        if levels == 0 || envelope.types > self.types || envelope.numbers() > NUMBERS {
            // The whole is scattered: nothing else in it matters.
            self.types = 0;
            return Bytes::Scattered;
        }
        self.types -= envelope.types;
        let Some(contents) = contents(self.real, datatype, envelope) else { return Bytes::Scattered };
        let inner = self.inner(contents.types, levels - 1);
        let Some((constructor, numbers)) = arguments(envelope.combiner, contents.integers, &contents.others) else {
            return Bytes::Scattered;
        };
        typemap::bytes(constructor, &numbers, &inner)
    }

    /// Looks at types that were got from a type, and frees the new handles among them.
    fn inner(&mut self, types: Vec<MPI_Datatype>, levels: usize) -> Vec<Inner> {
        let part = |mut datatype| {
            let (part, owned) = self.part(datatype, levels);
            if owned {
                // SAFETY: the library gave us this handle, of a type that is not predefined, and it is not used any
                // more.
                unsafe { (self.real.mpi.type_free)(&raw mut datatype) };
            }
            part
        };
        types.into_iter().map(part).collect()
    }

    /// An inner type, and whether its handle is new.
    fn part(&mut self, datatype: MPI_Datatype, levels: usize) -> (Inner, bool) {
        let Some(envelope) = envelope(self.real, datatype) else {
            return (Inner { bytes: Bytes::Scattered, extent: 0 }, false);
        };
        let bytes = self.bytes(datatype, &envelope, levels);
        let inner = Inner { bytes, extent: extent(self.real, datatype) };
        (inner, is_made(envelope.combiner))
    }
}

/// Bytes of a predefined type: those of a pair may have a gap.
fn predefined(real: &Real, datatype: MPI_Datatype) -> Bytes {
    let (mut size, mut true_lb, mut true_extent) = (0, 0, 0);
    // SAFETY: the datatype is valid; the pointers are too.
    unsafe {
        (real.mpi.type_size_x)(datatype, &raw mut size);
        (real.mpi.type_get_true_extent)(datatype, &raw mut true_lb, &raw mut true_extent);
    }
    #[allow(clippy::unnecessary_cast, reason = "MPI_Aint is isize in Open MPI, i64 in MPICH")]
    let [first, extent] = [true_lb, true_extent].map(|v: MPI_Aint| v as i64);
    match size {
        0 => Bytes::None,
        count if count == extent => Bytes::Run { first, count },
        _ => Bytes::Scattered,
    }
}

/// How much there is of what a type was made of.
struct Envelope {
    integers: usize,
    addresses: usize,
    /// Large counts.
    counts: usize,
    types: usize,
    combiner: c_int,
}

impl Envelope {
    fn numbers(&self) -> usize {
        self.integers + self.addresses + self.counts
    }
}

/// What a type was made of.
struct Contents {
    integers: Vec<i64>,
    /// Addresses and large counts, of which there are only ones or the others.
    others: Vec<i64>,
    types: Vec<MPI_Datatype>,
}

#[cfg(mpi_large_count)]
fn envelope(real: &Real, datatype: MPI_Datatype) -> Option<Envelope> {
    let mut numbers: [MPI_Count; 4] = [0; 4];
    let mut combiner = 0;
    let [integers, addresses, counts, types] = &mut numbers;
    // SAFETY: the datatype is valid; the pointers are too.
    let code =
        unsafe { (real.large.type_get_envelope)(datatype, integers, addresses, counts, types, &raw mut combiner) };
    let [integers, addresses, counts, types] = numbers.map(|n| n as usize);
    (code == 0).then_some(Envelope { integers, addresses, counts, types, combiner })
}

#[cfg(not(mpi_large_count))]
fn envelope(real: &Real, datatype: MPI_Datatype) -> Option<Envelope> {
    let (mut integers, mut addresses, mut types, mut combiner) = (0, 0, 0, 0);
    // SAFETY: the datatype is valid; the pointers are too.
    let code = unsafe {
        (real.mpi.type_get_envelope)(datatype, &raw mut integers, &raw mut addresses, &raw mut types, &raw mut combiner)
    };
    let [integers, addresses, types] = [integers, addresses, types].map(|n: c_int| n as usize);
    (code == 0).then_some(Envelope { integers, addresses, counts: 0, types, combiner })
}

/// The arguments that `datatype`, which is not predefined, was made with.
fn contents(real: &Real, datatype: MPI_Datatype, of: &Envelope) -> Option<Contents> {
    let mut integers: Vec<c_int> = vec![0; of.integers];
    let mut addresses: Vec<MPI_Aint> = vec![0; of.addresses];
    let mut types = vec![real.handles.datatype_null; of.types];
    #[cfg(mpi_large_count)]
    let mut counts: Vec<MPI_Count> = vec![0; of.counts];
    // SAFETY: the arrays are as long as the envelope announced, and so are the lengths.
    #[cfg(mpi_large_count)]
    let code = unsafe {
        (real.large.type_get_contents)(
            datatype,
            of.integers as MPI_Count,
            of.addresses as MPI_Count,
            of.counts as MPI_Count,
            of.types as MPI_Count,
            integers.as_mut_ptr(),
            addresses.as_mut_ptr(),
            counts.as_mut_ptr(),
            types.as_mut_ptr(),
        )
    };
    // SAFETY: as above.
    #[cfg(not(mpi_large_count))]
    let code = unsafe {
        (real.mpi.type_get_contents)(
            datatype,
            of.integers as c_int,
            of.addresses as c_int,
            of.types as c_int,
            integers.as_mut_ptr(),
            addresses.as_mut_ptr(),
            types.as_mut_ptr(),
        )
    };
    #[allow(clippy::unnecessary_cast, reason = "MPI_Aint is isize in Open MPI, i64 in MPICH")]
    let others = addresses.into_iter().map(|address| address as i64);
    #[cfg(mpi_large_count)]
    let others = others.chain(counts);
    let integers = integers.into_iter().map(i64::from).collect();
    (code == 0).then(|| Contents { integers, others: others.collect(), types })
}

/// The constructor of that combiner and its numbers, as [`typemap::bytes`] wants them; `None` for those that are not
/// followed.
fn arguments(combiner: c_int, mut numbers: Vec<i64>, others: &[i64]) -> Option<(Constructor, Vec<i64>)> {
    use self::combiner::{
        CONTIGUOUS, DUP, HINDEXED, HINDEXED_BLOCK, HVECTOR, INDEXED, INDEXED_BLOCK, RESIZED, STRUCT, SUBARRAY, VECTOR,
    };
    let constructor = match combiner {
        DUP | RESIZED => Constructor::Same,
        CONTIGUOUS => Constructor::Contiguous,
        VECTOR => Constructor::Vector,
        HVECTOR => Constructor::Hvector,
        INDEXED => Constructor::Indexed,
        HINDEXED => Constructor::Hindexed,
        INDEXED_BLOCK => Constructor::IndexedBlock,
        HINDEXED_BLOCK => Constructor::HindexedBlock,
        STRUCT => Constructor::Struct,
        // The order is the last integer, whether sizes are integers as well or large counts.
        SUBARRAY => Constructor::Subarray { first_is_fastest: numbers.pop()? != ORDER_C },
        _ => return None,
    };
    numbers.extend_from_slice(others);
    Some((constructor, numbers))
}

/// Whether a type of that combiner is predefined, with a name or without, and so must not be freed.
fn is_predefined(combiner: c_int) -> bool {
    use combiner::{F90_INTEGER, F90_REAL, NAMED, VALUE_INDEX};
    combiner == NAMED || combiner == VALUE_INDEX || (F90_REAL..=F90_INTEGER).contains(&combiner)
}

/// Whether a handle of a type of that combiner, got from another type, is to be freed. Of what a later standard adds
/// that is not known.
fn is_made(combiner: c_int) -> bool {
    (combiner::NAMED..=combiner::HINDEXED_BLOCK).contains(&combiner) && !is_predefined(combiner)
}

/// `MPI_ORDER_C`.
const ORDER_C: i64 = if cfg!(mpi_family = "openmpi") { 0 } else { 56 };

/// `MPI_COMBINER_X`: the same order in both families, counted from 0 in Open MPI and from 1 in MPICH.
mod combiner {
    use std::ffi::c_int;

    const FIRST: c_int = if cfg!(mpi_family = "openmpi") { 0 } else { 1 };
    pub const NAMED: c_int = FIRST;
    pub const DUP: c_int = FIRST + 1;
    pub const CONTIGUOUS: c_int = FIRST + 2;
    pub const VECTOR: c_int = FIRST + 3;
    pub const HVECTOR: c_int = FIRST + 5;
    pub const INDEXED: c_int = FIRST + 6;
    pub const HINDEXED: c_int = FIRST + 8;
    pub const INDEXED_BLOCK: c_int = FIRST + 9;
    pub const STRUCT: c_int = FIRST + 11;
    pub const SUBARRAY: c_int = FIRST + 12;
    pub const F90_REAL: c_int = FIRST + 14;
    pub const F90_INTEGER: c_int = FIRST + 16;
    pub const RESIZED: c_int = FIRST + 17;
    pub const HINDEXED_BLOCK: c_int = FIRST + 18;
    pub const VALUE_INDEX: c_int = FIRST + 19;
}
