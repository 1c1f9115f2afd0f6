//! Which bytes of memory a datatype names, followed from the inside out (MPI 4.0 section 5.1).
//!
//! A constructor places copies of its inner types, and its type map is theirs, one after another. So its bytes are
//! consecutive, in the order of the type map, exactly if those of every copy are and each copy begins where the one
//! before it ends:
//!
//! ```text
//!   indexed, lengths 2 1 1, displacements 0 1 3, of an int      0 1|1|3   size and extent of four ints, not in a row
//! ```

/// The bytes of a type in the order of its type map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bytes {
    /// There are none.
    None,
    /// `count` consecutive bytes, the first of them `first` bytes from the element's address.
    Run { first: i64, count: i64 },
    /// Any others, or not known.
    Scattered,
}

impl Bytes {
    /// These, and then the others.
    fn then(self, others: Self) -> Self {
        match (self, others) {
            (Self::None, bytes) | (bytes, Self::None) => bytes,
            (Self::Run { first, count }, Self::Run { first: next, count: more })
                if first.checked_add(count) == Some(next) =>
            {
                count.checked_add(more).map_or(Self::Scattered, |count| Self::Run { first, count })
            }
            _ => Self::Scattered,
        }
    }

    /// These, `by` bytes further on.
    fn moved(self, by: i64) -> Self {
        match self {
            Self::Run { first, count } => {
                first.checked_add(by).map_or(Self::Scattered, |first| Self::Run { first, count })
            }
            other => other,
        }
    }

    /// These `times` times, every `stride` bytes.
    fn repeated(self, times: i64, stride: i64) -> Self {
        match self {
            _ if times < 1 => Self::None,
            Self::Run { first, count } if count == stride => {
                count.checked_mul(times).map_or(Self::Scattered, |count| Self::Run { first, count })
            }
            Self::Run { .. } if times > 1 => Self::Scattered,
            bytes => bytes,
        }
    }
}

/// A type that others are made of.
#[derive(Clone, Copy, Debug)]
pub struct Inner {
    /// Its bytes.
    pub bytes: Bytes,
    /// Distance from one element to the next, bytes.
    pub extent: i64,
}

impl Inner {
    /// That many consecutive elements.
    fn block(&self, elements: i64) -> Bytes {
        self.bytes.repeated(elements, self.extent)
    }
}

/// How a type is made of others; named after the MPI function, with those of the same effect together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Constructor {
    /// `MPI_Type_dup`, and `MPI_Type_create_resized`, which moves no bytes.
    Same,
    Contiguous,
    Vector,
    Hvector,
    Indexed,
    Hindexed,
    IndexedBlock,
    HindexedBlock,
    Struct,
    /// Which dimension is next to itself in memory: the first (Fortran) or the last (C).
    Subarray {
        first_is_fastest: bool,
    },
}

/// Bytes of a type made of `inner` by `constructor` with the arguments `numbers`: in the order of
/// `MPI_Type_get_contents` (section 5.1.13), integers before addresses, without the order of a subarray, whose number
/// of dimensions comes first. Numbers that make no sense make no sense of the type either.
pub fn bytes(constructor: Constructor, numbers: &[i64], inner: &[Inner]) -> Bytes {
    built(constructor, numbers, inner).unwrap_or(Bytes::Scattered)
}

fn built(constructor: Constructor, numbers: &[i64], inner: &[Inner]) -> Option<Bytes> {
    let number = |at: usize| numbers.get(at).copied();
    let first = || inner.first();
    Some(match constructor {
        Constructor::Same => first()?.bytes,
        Constructor::Contiguous => first()?.block(number(0)?),
        Constructor::Vector => {
            first()?.block(number(1)?).repeated(number(0)?, number(2)?.checked_mul(first()?.extent)?)
        }
        Constructor::Hvector => first()?.block(number(1)?).repeated(number(0)?, number(2)?),
        Constructor::Subarray { first_is_fastest } => subarray(first_is_fastest, numbers, first()?)?,
        _ => blocks(constructor, numbers, inner)?,
    })
}

/// Blocks that each have a displacement.
fn blocks(constructor: Constructor, numbers: &[i64], inner: &[Inner]) -> Option<Bytes> {
    let one_length = matches!(constructor, Constructor::IndexedBlock | Constructor::HindexedBlock);
    let by_elements = matches!(constructor, Constructor::Indexed | Constructor::IndexedBlock);
    let (&count, rest) = numbers.split_first()?;
    let count = usize::try_from(count).ok()?;
    let (lengths, places) = rest.split_at_checked(if one_length { 1 } else { count })?;
    let mut bytes = Bytes::None;
    for (k, place) in places.get(..count)?.iter().enumerate() {
        let part = inner.get(if constructor == Constructor::Struct { k } else { 0 })?;
        let length = lengths.get(if one_length { 0 } else { k })?;
        let unit = if by_elements { part.extent } else { 1 };
        bytes = bytes.then(part.block(*length).moved(place.checked_mul(unit)?));
    }
    Some(bytes)
}

fn subarray(first_is_fastest: bool, numbers: &[i64], part: &Inner) -> Option<Bytes> {
    let (&dimensions, rest) = numbers.split_first()?;
    let dimensions = usize::try_from(dimensions).ok()?;
    let (sizes, rest) = rest.split_at_checked(dimensions)?;
    let (lengths, starts) = rest.split_at_checked(dimensions)?;
    let (mut bytes, mut stride) = (part.bytes, part.extent);
    for step in 0..dimensions {
        let dimension = if first_is_fastest { step } else { dimensions - 1 - step };
        let start = starts.get(dimension)?.checked_mul(stride)?;
        bytes = bytes.repeated(lengths[dimension], stride).moved(start);
        stride = stride.checked_mul(sizes[dimension])?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests;
