//! The basic kinds of data, the types made of them, and the operations defined for them; the interpreter has the same
//! names (`kind.h`, `fuzz_type.h`).

/// A basic kind of data: its row in the table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kind(usize);

/// The form of a datatype, of any kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Type {
    /// Name in cases.
    pub name: &'static str,
    /// Values in one element.
    pub values: u64,
    /// Whether a value is in it twice.
    pub overlap: Overlap,
}

/// Whether a type names the same memory twice: such a type can be sent, and nothing can be received in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Overlap {
    /// Every value once.
    None,
    /// An element names some of its values more than once.
    Within,
    /// An element shares values with the next: blocks side by side would as well.
    Across,
}

struct Row {
    name: &'static str,
    /// Of one value.
    bytes: u64,
    /// Defined by the standard (MPI 4.0 sections 6.9.2 and 6.9.4), the simplest first.
    predefined: &'static [&'static str],
    /// Made by the program.
    user: &'static [&'static str],
}

const INTEGER: &[&str] = &["sum", "prod", "max", "min", "band", "bor", "bxor", "land", "lor", "lxor"];
/// No truth: Fortran has logical values for that.
const FORTRAN_INTEGER: &[&str] = &["sum", "prod", "max", "min", "band", "bor", "bxor"];
const BITS: &[&str] = &["bor", "band", "bxor"];
const LOGICAL: &[&str] = &["lor", "land", "lxor"];
const FLOATING: &[&str] = &["sum", "prod", "max", "min"];
const COMPLEX: &[&str] = &["sum", "prod"];
const PAIR: &[&str] = &["minloc", "maxloc"];

const fn row(name: &'static str, bytes: u64, predefined: &'static [&'static str]) -> Row {
    Row { name, bytes, predefined, user: &["user", "first"] }
}

/// Those that programs use most first.
const KINDS: &[Row] = &[
    row("int", 4, INTEGER),
    row("double", 8, FLOATING),
    row("byte", 1, BITS),
    row("int64", 8, INTEGER),
    row("float", 4, FLOATING),
    row("complex", 16, COMPLEX),
    row("double_int", 16, PAIR),
    row("2int", 8, PAIR),
    Row { name: "matrix", bytes: 16, predefined: &[], user: &["matrix", "first"] },
    row("int8", 1, INTEGER),
    row("int16", 2, INTEGER),
    row("uint8", 1, INTEGER),
    row("uint16", 2, INTEGER),
    row("uint32", 4, INTEGER),
    row("uint64", 8, INTEGER),
    row("long_double", 16, FLOATING),
    row("float_complex", 8, COMPLEX),
    row("bool", 1, LOGICAL),
    row("char", 1, &[]),
    row("float_int", 8, PAIR),
    row("long_int", 16, PAIR),
    row("short_int", 8, PAIR),
    row("long_double_int", 32, PAIR),
    row("f90_real", 8, FLOATING),
    row("f90_integer", 4, FORTRAN_INTEGER),
    row("f90_complex", 16, COMPLEX),
];

/// The first is one value and nothing else.
const TYPES: &[Type] = &[
    form("plain", 1, Overlap::None),
    form("contiguous", 3, Overlap::None),
    form("vector", 6, Overlap::None),
    form("indexed", 6, Overlap::None),
    form("negative_lb", 2, Overlap::None),
    form("wide", 1, Overlap::None),
    form("subarray", 4, Overlap::None),
    form("nested", 2, Overlap::None),
    form("struct", 3, Overlap::None),
    form("deep", 2, Overlap::None),
    form("overlap", 4, Overlap::Within),
    form("repeated", 3, Overlap::Within),
    form("overlap_struct", 6, Overlap::Within),
    form("shrunk", 2, Overlap::Across),
    form("large_contiguous", 3, Overlap::None),
    form("large_vector", 6, Overlap::None),
    form("large_hvector", 4, Overlap::None),
    form("large_indexed", 6, Overlap::None),
    form("large_struct", 3, Overlap::None),
    form("large_nested", 2, Overlap::None),
    form("large_subarray", 4, Overlap::None),
];

const fn form(name: &'static str, values: u64, overlap: Overlap) -> Type {
    Type { name, values, overlap }
}

impl Kind {
    /// Every kind, those that programs use most first.
    pub fn all() -> impl ExactSizeIterator<Item = Self> {
        (0..KINDS.len()).map(Self)
    }

    /// The kind of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::all().find(|kind| kind.name() == name)
    }

    /// Name in cases.
    pub fn name(self) -> &'static str {
        KINDS[self.0].name
    }

    /// Bytes of one value.
    pub fn bytes(self) -> u64 {
        KINDS[self.0].bytes
    }

    /// The operations defined for it, the simplest first.
    pub fn operations(self) -> impl Iterator<Item = &'static str> {
        let row = &KINDS[self.0];
        row.predefined.iter().chain(row.user).copied()
    }

    /// Whether a sum of it may depend on the order.
    pub fn rounds(self) -> bool {
        matches!(self.name(), "float" | "double" | "complex" | "float_complex")
    }
}

impl Type {
    /// Every type, the plain one first.
    pub const fn all() -> &'static [Self] {
        TYPES
    }

    /// One value.
    pub const fn plain() -> Self {
        TYPES[0]
    }

    /// The type of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        TYPES.iter().find(|t| t.name == name).copied()
    }
}

/// The operation of that name, as the tables spell it.
pub fn operation(name: &str) -> Option<&'static str> {
    Kind::all().flat_map(Kind::operations).find(|o| *o == name)
}

/// Whether `operation` is made by the program and takes every type of its kinds.
pub fn is_user_defined(operation: &str) -> bool {
    matches!(operation, "user" | "first" | "matrix")
}

/// The smallest number of values that is a whole number of elements of every type.
pub fn common_values<'a>(types: impl IntoIterator<Item = &'a Type>) -> u64 {
    fn divisor(a: u64, b: u64) -> u64 {
        if b == 0 { a } else { divisor(b, a % b) }
    }
    types.into_iter().fold(1, |common, t| common / divisor(common, t.values) * t.values)
}
