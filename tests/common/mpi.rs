//! The four MPI installations: Debian's two, and the newer ones in virtual environments.

use super::program::root_directory;
use std::path::PathBuf;

/// The MPI families a library is built for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// Open MPI.
    OpenMpi,
    /// MPICH.
    Mpich,
}

/// One installation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mpi {
    /// Debian's Open MPI 4.1.
    OpenMpi4,
    /// Debian's MPICH 4.0.
    Mpich4,
    /// The wheel of Open MPI 5.0.
    OpenMpi5,
    /// The wheel of MPICH 5.0.
    Mpich5,
}

impl Family {
    /// Directory name under `target/`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::OpenMpi => "openmpi",
            Self::Mpich => "mpich",
        }
    }

    /// The library that `make build` made for it.
    pub fn library(self) -> PathBuf {
        let path = root_directory().join("target").join(self.name()).join("release/libnagare.so");
        assert!(path.exists(), "{} is missing: run `make build` first", path.display());
        path
    }
}

impl Mpi {
    /// Its family.
    pub const fn family(self) -> Family {
        match self {
            Self::OpenMpi4 | Self::OpenMpi5 => Family::OpenMpi,
            Self::Mpich4 | Self::Mpich5 => Family::Mpich,
        }
    }

    /// Short name for directories and messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::OpenMpi4 => "openmpi4",
            Self::Mpich4 => "mpich4",
            Self::OpenMpi5 => "openmpi5",
            Self::Mpich5 => "mpich5",
        }
    }

    /// The virtual environment it lives in.
    fn environment(self) -> Option<PathBuf> {
        let path = match self {
            Self::OpenMpi5 | Self::Mpich5 => root_directory().join("target/venv").join(self.name()),
            Self::OpenMpi4 | Self::Mpich4 => return None,
        };
        assert!(path.join("complete").exists(), "{} is missing: run scripts/python-mpis.sh first", path.display());
        Some(path)
    }

    fn tool(self, debian: &str, wheel: &str) -> PathBuf {
        match self.environment() {
            None => format!("{debian}.{}", self.family().name()).into(),
            Some(environment) => environment.join("bin").join(wheel),
        }
    }

    /// The C compiler wrapper.
    pub fn c_compiler(self) -> PathBuf {
        self.tool("mpicc", "mpicc")
    }

    /// The Fortran compiler wrapper; the wheels have none.
    pub fn fortran_compiler(self) -> PathBuf {
        assert!(self.environment().is_none(), "{} has no Fortran", self.name());
        self.tool("mpif90", "")
    }

    /// The Python interpreter with mpi4py; Debian's MPIs have none here.
    pub fn python(self) -> PathBuf {
        let environment = self.environment();
        environment.unwrap_or_else(|| panic!("{} has no mpi4py", self.name())).join("bin/python3")
    }

    /// The launcher and the options that every job needs.
    pub fn launcher(self) -> (PathBuf, Vec<&'static str>) {
        match self.family() {
            Family::OpenMpi => {
                let transport = if self == Self::OpenMpi4 { "self,vader" } else { "self,sm" };
                let options = vec!["--oversubscribe", "--mca", "mpi_yield_when_idle", "1", "--mca", "btl", transport];
                (self.tool("mpirun", "mpirun"), options)
            }
            Family::Mpich => (self.tool("mpiexec", "mpiexec"), Vec::new()),
        }
    }
}
