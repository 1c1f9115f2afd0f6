//! MPI installations as seen from outside: launchers, libraries, and how to preload into ranks.

pub mod elf;
pub mod launcher;
pub mod library;
mod options;
#[cfg(test)]
mod parsers;
pub mod preload;
pub mod process;
pub mod program;

use clap::ValueEnum;

/// MPI libraries with one binary interface, for which one libnagare.so is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Family {
    /// Open MPI 4 and 5
    Openmpi,
    /// MPICH and what shares its interface: Intel MPI, MVAPICH
    Mpich,
}

impl Family {
    /// All of them.
    pub const ALL: [Family; 2] = [Self::Openmpi, Self::Mpich];

    /// Name of the directory its libnagare.so is in.
    pub const fn directory(self) -> &'static str {
        match self {
            Self::Openmpi => "openmpi",
            Self::Mpich => "mpich",
        }
    }

    /// What it is called in texts.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Openmpi => "Open MPI",
            Self::Mpich => "MPICH",
        }
    }

    /// File names of the C library, the most common first.
    pub const fn c_libraries(self) -> &'static [&'static str] {
        match self {
            Self::Openmpi => &["libmpi.so.40"],
            Self::Mpich => &["libmpi.so.12", "libmpich.so.12"],
        }
    }

    /// The family of a library that a program needs, by its file name: the C library or a language binding.
    pub fn of_needed(name: &str) -> Option<Self> {
        if !name.starts_with("libmpi") {
            return None;
        }
        match name.split_once(".so.")?.1.split('.').next()? {
            "40" => Some(Self::Openmpi),
            "12" => Some(Self::Mpich),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_that_programs_need_tell_the_family() {
        for name in ["libmpi.so.40", "libmpi_mpifh.so.40", "libmpi_usempif08.so.40.30.0", "libmpi_cxx.so.40"] {
            assert_eq!(Family::of_needed(name), Some(Family::Openmpi), "{name}");
        }
        for name in ["libmpi.so.12", "libmpich.so.12", "libmpichfort.so.12", "libmpifort.so.12", "libmpicxx.so.12"] {
            assert_eq!(Family::of_needed(name), Some(Family::Mpich), "{name}");
        }
        for name in ["libc.so.6", "libmpi.so", "libmpi.so.1", "libmpfr.so.6"] {
            assert_eq!(Family::of_needed(name), None, "{name}");
        }
    }
}
