//! The four MPI installations: Debian's two, and the newer ones in virtual environments.

use std::path::{Path, PathBuf};

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
    /// All of them.
    pub const ALL: [Self; 4] = [Self::OpenMpi4, Self::OpenMpi5, Self::Mpich4, Self::Mpich5];

    /// All of them where [everything](super::everything) is tested; else one of each family, an older and a newer one:
    /// which two, `turn` (0 or 1) says, so that over all tests no installation is left out.
    pub fn in_turn(turn: usize) -> &'static [Self] {
        const PAIRS: [[Mpi; 2]; 2] = [[Mpi::OpenMpi4, Mpi::Mpich5], [Mpi::OpenMpi5, Mpi::Mpich4]];
        if super::everything() { &Self::ALL } else { &PAIRS[turn] }
    }

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
        match self {
            Self::OpenMpi5 | Self::Mpich5 => Some(environment(self.name())),
            Self::OpenMpi4 | Self::Mpich4 => None,
        }
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

    /// The Python interpreter with mpi4py.
    pub fn python(self) -> PathBuf {
        self.environment().unwrap_or_else(|| environment("mpi4py")).join("bin/python3")
    }

    /// What makes mpi4py load this MPI: a wheel finds the MPI library of its own environment, and is told of Debian's.
    pub fn python_variables(self) -> Vec<(String, String)> {
        let variable = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        match self {
            Self::OpenMpi5 | Self::Mpich5 => Vec::new(),
            Self::OpenMpi4 => vec![variable("MPI4PY_MPIABI", "openmpi"), variable("MPI4PY_LIBMPI", "libmpi.so.40")],
            Self::Mpich4 => {
                // The wheel asks for the name that MPICH itself gives its library; Debian has another.
                let names = environment("mpi4py").join("mpich").display().to_string();
                vec![
                    variable("MPI4PY_MPIABI", "mpich"),
                    variable("MPI4PY_LIBMPI", "libmpich.so.12"),
                    variable("LD_LIBRARY_PATH", &names),
                ]
            }
        }
    }

    /// The launcher and the options that every job needs.
    pub fn launcher(self) -> (PathBuf, Vec<&'static str>) {
        match self.family() {
            Family::OpenMpi => {
                // Shared memory within a world; worlds that spawn each other use TCP, which needs no network here.
                let transports = if self == Self::OpenMpi4 { "self,vader,tcp" } else { "self,sm,tcp" };
                let mut options =
                    vec!["--oversubscribe", "--mca", "mpi_yield_when_idle", "1", "--mca", "btl", transports];
                options.extend(["--mca", "btl_tcp_if_include", "lo"]);
                (self.tool("mpirun", "mpirun"), options)
            }
            Family::Mpich => (self.tool("mpiexec", "mpiexec"), Vec::new()),
        }
    }
}

/// A virtual environment that scripts/python-mpis.sh made.
fn environment(name: &str) -> PathBuf {
    let path = root_directory().join("target/venv").join(name);
    assert!(path.join("complete").exists(), "{} is missing: run scripts/python-mpis.sh first", path.display());
    path
}

/// Where the project is.
pub fn root_directory() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}
