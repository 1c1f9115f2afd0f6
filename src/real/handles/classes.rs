//! Which predefined operations are defined on which predefined types, and where their results are exact.

/// What a predefined operation needs to know about a type (MPI 4.0 section 6.9.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TypeClass {
    /// C integers.
    Integer,
    /// Fortran integers: not for the logical operations.
    FortranInteger,
    /// Floating point.
    Float,
    /// Fortran LOGICAL and C `_Bool`.
    Logical,
    /// Complex.
    Complex,
    /// `MPI_BYTE`.
    Byte,
    /// `MPI_AINT`, `MPI_OFFSET`, `MPI_COUNT`.
    Address,
    /// Pairs of a value and an index.
    Pair,
}

/// Predefined operations by what they accept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OpClass {
    /// MAX, MIN.
    Order,
    /// SUM, PROD.
    Arithmetic,
    /// LAND, LOR, LXOR.
    Logical,
    /// BAND, BOR, BXOR.
    Bitwise,
    /// MINLOC, MAXLOC.
    Location,
    /// REPLACE and NO_OP: not for collectives.
    OneSided,
}

/// Classes of predefined handles, sorted by handle: they are looked up in every call.
pub(super) struct Classes<C>(Vec<(usize, C)>);

impl<C: Copy> Classes<C> {
    /// Of pairs of a handle and its class. Where a handle comes twice, under two names, the later one says its class.
    pub fn new(mut classes: Vec<(usize, C)>) -> Self {
        classes.reverse();
        classes.sort_by_key(|class| class.0);
        classes.dedup_by_key(|class| class.0);
        Self(classes)
    }

    /// The class of a handle, `None` if it is none of these.
    pub fn of(&self, handle: usize) -> Option<C> {
        let found = self.0.binary_search_by_key(&handle, |class| class.0);
        found.ok().map(|at| self.0[at].1)
    }
}

impl TypeClass {
    /// Whether predefined operations give the same bits in whatever order they combine: not where results are rounded,
    /// nor where a NaN decides by its place.
    pub fn is_exact(self) -> bool {
        matches!(self, Self::Integer | Self::FortranInteger | Self::Logical | Self::Byte | Self::Address)
    }
}

impl OpClass {
    /// Whether the standard defines the operation on types of that class.
    pub fn accepts(self, class: TypeClass) -> bool {
        use TypeClass::{Address, Byte, Complex, Float, FortranInteger, Integer, Logical, Pair};
        match self {
            Self::Order => matches!(class, Integer | FortranInteger | Float | Address),
            Self::Arithmetic => matches!(class, Integer | FortranInteger | Float | Complex | Address),
            Self::Logical => matches!(class, Integer | Logical),
            Self::Bitwise => matches!(class, Integer | FortranInteger | Byte | Address),
            Self::Location => class == Pair,
            Self::OneSided => false,
        }
    }
}
