//! `nagare run` with programs that a library cannot be preloaded into: one line says why, and they run as they would
//! without it.

use crate::common::{launcher, nagare, script, stderr, stdout};
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Programs that print "ran", a launcher of Open MPI that starts its last argument, and a library that is loaded and
/// does nothing.
struct Programs(tempfile::TempDir);

impl Programs {
    fn new() -> Self {
        let site = Self(tempfile::tempdir().unwrap());
        launcher(site.0.path(), "mpirun", "mpirun (Open MPI) 4.1.4", r#"shift $(($# - 1)); "$1""#);
        fs::write(site.path("main.c"), "#include <stdio.h>\nint main(void) { return puts(\"ran\") < 0; }\n").unwrap();
        fs::write(site.path("empty.c"), "int nagare_describe;\n").unwrap();
        site.compile("libnagare.so", &["-shared", "-fPIC", "empty.c"]);
        for (name, library) in [("open_mpi", "libmpi.so.40"), ("mpich", "libmpi.so.12")] {
            let soname = format!("-Wl,-soname,{library}");
            site.compile(library, &["-shared", "-fPIC", "empty.c", &soname]);
            let here = format!("-Wl,-rpath,{}", site.0.path().display());
            site.compile(name, &["main.c", "-Wl,--no-as-needed", library, &here]);
        }
        site.compile("static", &["-static", "main.c"]);
        site
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn name(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    fn compile(&self, output: &str, words: &[&str]) {
        let status = Command::new("cc").args(["-o", output]).args(words).current_dir(self.0.path()).status();
        assert!(status.unwrap().success(), "{words:?}");
    }

    fn run(&self, words: &[&str]) -> Output {
        nagare(&[&["run", "--lib", &self.name("libnagare.so")], words].concat()).output().unwrap()
    }

    /// Runs the program by the launcher, and by itself with the family told.
    fn runs_with_one_line(&self, name: &str, words: &[&str]) {
        let program = self.name(name);
        let launched = self.run(&["--", &self.name("mpirun"), "-n", "2", "--map-by", "sh", &program]);
        self.told(&launched, &program, words);
        let alone = self.run(&["--mpi", "openmpi", "--", &program]);
        self.told(&alone, &program, words);
    }

    #[track_caller]
    fn told(&self, output: &Output, program: &str, words: &[&str]) {
        assert_eq!((output.status.code(), &*stdout(output)), (Some(0), "ran\n"), "{}", stderr(output));
        let error = stderr(output);
        let line = error.strip_suffix('\n').unwrap();
        assert!(line.starts_with(&format!("nagare: {program} ")) && line.lines().count() == 1, "{error}");
        assert!(line.contains("expected") && line.ends_with("it is started, and runs as without Nagare"), "{error}");
        assert!(words.iter().all(|word| line.contains(word)), "{words:?}: {error}");
    }

    #[track_caller]
    fn refused(&self, name: &str, words: &[&str]) {
        let program = self.name(name);
        let output = self.run(&["--", &program]);
        let error = stderr(&output);
        assert_eq!((output.status.code(), &*stdout(&output)), (Some(125), ""), "{error}");
        assert!(error.starts_with(&format!("nagare: {program}")) && error.lines().count() == 1, "{error}");
        assert!(words.iter().all(|word| error.contains(word)), "{words:?}: {error}");
    }
}

#[test]
fn programs_that_get_the_library_are_started_without_a_word() {
    let site = Programs::new();
    script(site.0.path(), "script", &site.name("open_mpi"));
    for program in ["open_mpi", "script"] {
        let output = site.run(&["--", &site.name("mpirun"), "-n", "2", &site.name(program)]);
        assert_eq!((&*stdout(&output), &*stderr(&output)), ("ran\n", ""));
        let alone = site.run(&["--mpi", "openmpi", "--", &site.name(program)]);
        assert_eq!((&*stdout(&alone), &*stderr(&alone)), ("ran\n", ""));
    }
    // What is behind the program are its own words.
    let output = site.run(&["--dry-run", "--", &site.name("mpirun"), &site.name("open_mpi"), &site.name("static")]);
    assert_eq!(stderr(&output), "");
}

/// A library has no interpreter, as a statically linked program has none.
#[test]
fn values_of_launchers_options_are_not_taken_for_programs() {
    let site = Programs::new();
    launcher(site.0.path(), "mpiexec", "HYDRA build details:\n    Version:      4.0.2\n", "exit 0");
    launcher(site.0.path(), "srun", "slurm 23.11.4", "exit 0");
    let (tool, static_one, good) = (site.name("libnagare.so"), site.name("static"), site.name("mpich"));
    let said = |launcher: &str, options: &[&str], program: &str| {
        let launcher = site.name(launcher);
        let words = [&["--dry-run", "--mpi", "mpich", "--", &launcher], options, &["-n", "2", program]].concat();
        stderr(&site.run(&words))
    };
    for options in [
        &["-genv", "LD_PRELOAD", &tool][..],
        &["-genv", "FOO", &static_one],
        &["-env", "LD_PRELOAD", &tool, "-ppn", "2", "-launcher-exec", &static_one],
        &["-genv", "FOO=1", "-wdir", "/tmp", "-n", "1", &good, ":", "-env", "FOO", &static_one],
    ] {
        assert_eq!(said("mpiexec", options, &good), "", "{options:?}");
        assert!(said("mpiexec", options, &static_one).contains("is statically linked"), "{options:?}");
    }
    assert_eq!(said("srun", &["--task-prolog", &static_one, "-J", &tool], &good), "");
    let words = [
        "--dry-run",
        "--",
        &site.name("mpirun"),
        "--launch-agent",
        &static_one,
        "--mca",
        "a",
        &tool,
        &site.name("open_mpi"),
    ];
    assert_eq!(stderr(&site.run(&words)), "");
}

#[test]
fn statically_linked() {
    let site = Programs::new();
    site.runs_with_one_line("static", &["statically linked", "linked to an MPI library"]);
    site.refused("static", &["statically linked"]);
    // Every part of a command line is looked at.
    let (static_one, good) = (site.name("static"), site.name("open_mpi"));
    let words = ["--dry-run", "--", &site.name("mpirun"), "-n", "1", &good, ":", "-n", "1", &static_one];
    let error = stderr(&site.run(&words));
    assert!(error.lines().count() == 1 && error.contains(&static_one), "{error}");
}

#[test]
fn of_the_other_family() {
    let site = Programs::new();
    let launched = site.run(&["--", &site.name("mpirun"), "-n", "2", &site.name("mpich")]);
    site.told(&launched, &site.name("mpich"), &["is linked to MPICH", "expected Open MPI"]);
    let alone = site.run(&["--mpi", "openmpi", "--", &site.name("mpich")]);
    assert_eq!(alone.status.code(), Some(125), "{}", stdout(&alone));
    assert!(stderr(&alone).contains("is linked to MPICH"), "{}", stderr(&alone));
}

#[test]
fn with_more_rights_than_its_user() {
    let site = Programs::new();
    let program = site.path("open_mpi");
    // Giving files away takes a privilege.
    if chown(&program, Some(65534), Some(65534)).is_err() {
        eprintln!("skipped: only root can make a program of another user");
        return;
    }
    for (mode, what) in [(0o4755, "set-user-ID"), (0o2755, "set-group-ID")] {
        fs::set_permissions(&program, fs::Permissions::from_mode(mode)).unwrap();
        site.runs_with_one_line("open_mpi", &["more rights than its user", what]);
    }
}

/// A shell would read such a program as a script.
#[test]
fn for_another_machine_or_none() {
    let site = Programs::new();
    let mut bytes = fs::read(site.path("open_mpi")).unwrap();
    // e_machine of the ELF header: IBM S/390.
    bytes[18..20].copy_from_slice(&22u16.to_le_bytes());
    executable(&site.path("foreign"), &bytes);
    site.refused("foreign", &["is built for S390 (64 bits), expected "]);
    let (launcher, foreign) = (site.name("mpirun"), site.name("foreign"));
    let launched = site.run(&["--dry-run", "--", &launcher, "-n", "2", &foreign]);
    assert!(stderr(&launched).contains("foreign is built for S390"), "{}", stderr(&launched));

    executable(&site.path("text"), b"MPI\n");
    site.refused("text", &["a script or other file without an ELF header"]);
    executable(&site.path("cut"), &bytes[..100]);
    site.refused("cut", &["cut: "]);
    fs::write(site.path("plain"), &bytes).unwrap();
    site.refused("plain", &["not an executable file"]);
    fs::create_dir(site.path("directory")).unwrap();
    site.refused("directory", &["not an executable file"]);
    site.refused("missing", &["no such file"]);
}

fn executable(path: &Path, bytes: &[u8]) {
    fs::write(path, bytes).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}
