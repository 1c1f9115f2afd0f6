//! Compiling the programs of `tests/programs` and `examples`, once as long as their sources stay as they are.

use super::launcher::run_limited;
use super::mpi::{Mpi, root_directory};
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::time::Duration;

/// A program that can be launched: what is executed, and its leading arguments.
#[derive(Clone, Debug)]
pub struct Program {
    /// Executable and, for scripts, the script.
    pub words: Vec<OsString>,
    /// Environment variables that it needs.
    pub variables: Vec<(String, String)>,
    /// The MPI it runs with.
    pub mpi: Mpi,
}

impl Program {
    /// A Python script that imports mpi4py.
    pub fn python(mpi: Mpi, script: &str) -> Self {
        let words = vec![mpi.python().into(), root_directory().join(script).into()];
        Self { words, variables: mpi.python_variables(), mpi }
    }

    /// An executable that is there already.
    pub fn executable(mpi: Mpi, path: impl Into<OsString>) -> Self {
        Self { words: vec![path.into()], variables: Vec::new(), mpi }
    }
}

/// A directory for this test run's files.
pub fn scratch_directory() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

/// Compiles `source` (relative to the project; C, C++ or Fortran) with the wrapper of `mpi`.
pub fn compile(mpi: Mpi, source: &str) -> Program {
    compile_with(mpi, source, "", &[])
}

/// As [`compile`], with more arguments for the linker; `kind` tells such a program from others of the same source.
pub fn compile_with(mpi: Mpi, source: &str, kind: &str, linker: &[String]) -> Program {
    static COMPILING: Mutex<()> = Mutex::new(());
    let _one_at_a_time = COMPILING.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let source = root_directory().join(source);
    let name = source.file_name().expect("a file name").to_string_lossy().replace('.', "_") + kind;
    let directory = root_directory().join("target/programs").join(mpi.name());
    let binary = directory.join(&name);
    if !is_current(&binary, &source) {
        // Fortran writes module files: each program has a directory for its own.
        let modules = directory.join(format!("{name}.modules"));
        fs::create_dir_all(&modules).expect("a directory for modules");
        let mut command = compiler(mpi, &source, &modules);
        let fresh = directory.join(format!("{name}.{}", std::process::id()));
        command.arg("-o").arg(&fresh).arg(&source).args(linker).args(["-lm", "-lpthread", "-ldl"]);
        command.args(is_cpp(&source).then_some("-lstdc++"));
        let ended = run_limited(&mut command, Duration::from_secs(600));
        assert!(ended.success(), "{command:?}\n{}", ended.output());
        fs::rename(&fresh, &binary).expect("the compiled program");
    }
    Program::executable(mpi, binary)
}

fn compiler(mpi: Mpi, source: &Path, modules: &Path) -> Command {
    let fortran = source.extension().is_some_and(|e| e == "f90");
    let mut command = Command::new(if fortran { mpi.fortran_compiler() } else { mpi.c_compiler() });
    command.arg("-O2");
    if fortran {
        // One routine is called with buffers of several types, as MPI programs in Fortran do.
        command.args(["-w", "-fallow-argument-mismatch", "-J"]).arg(modules);
    } else if is_cpp(source) {
        // The C interface from C++; the old C++ bindings have a library of their own.
        command.args(["-x", "c++", "-std=c++17", "-Wall", "-Wextra", "-D_GNU_SOURCE"]);
        command.args(["-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX"]);
    } else {
        command.args(["-std=c11", "-Wall", "-Wextra", "-D_GNU_SOURCE", "-I"]).arg(root_directory().join("c_api"));
    }
    command
}

fn is_cpp(source: &Path) -> bool {
    source.extension().is_some_and(|e| e == "cc")
}

/// Whether `binary` is newer than everything that its source may include: the files beside it, and the C interface.
fn is_current(binary: &Path, source: &Path) -> bool {
    let modified = |path: &Path| fs::metadata(path).and_then(|m| m.modified());
    let Ok(built) = modified(binary) else { return false };
    let beside = fs::read_dir(source.parent().expect("a directory")).expect("a directory of sources");
    let files = beside.flatten().map(|entry| entry.path()).chain([root_directory().join("c_api/nagare.h")]);
    files.filter_map(|path| modified(&path).ok()).max().is_some_and(|newest| newest < built)
}
