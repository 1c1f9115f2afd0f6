//! The basic kinds of data, the types made of them, and the operations defined for them; the interpreter has the same names
//! (`kind.h`, `fuzz_type.h`).

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
];

/// The first is one value and nothing else.
const TYPES: &[Type] = &[
    Type { name: "plain", values: 1 },
    Type { name: "contiguous", values: 3 },
    Type { name: "vector", values: 6 },
    Type { name: "indexed", values: 6 },
    Type { name: "negative_lb", values: 2 },
    Type { name: "wide", values: 1 },
    Type { name: "subarray", values: 4 },
    Type { name: "nested", values: 2 },
    Type { name: "struct", values: 3 },
];

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
