//! `nagare run` with pretended launchers.

use crate::common::{copy_of_nagare, launcher, nagare, script, stand_in, stderr, stdout};
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;

const OPEN_MPI: &str = "mpirun (Open MPI) 4.1.4";
const HYDRA: &str = "HYDRA build details:
    Version:                                 4.0.2";

/// Two pretended launchers that print their arguments, and a library to preload.
struct Site {
    directory: tempfile::TempDir,
    library: String,
}

impl Site {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        launcher(path, "mpirun", OPEN_MPI, r#"printf '%s|' "$@"; exit 7"#);
        launcher(path, "mpiexec", HYDRA, r#"printf '%s|' "$@""#);
        launcher(path, "srun", "slurm 23.11.4", r#"printf '%s|' "$@""#);
        launcher(path, "mpirun_killed", OPEN_MPI, "kill -TERM $$");
        let library = path.join("libnagare.so");
        stand_in(&library);
        let library = library.canonicalize().unwrap().to_str().unwrap().to_owned();
        Self { directory, library }
    }

    /// `nagare run` with only this site's commands in PATH.
    fn run(&self, options: &[&str], command: &[&str]) -> Command {
        let mut run = nagare(&[&["run", "--lib", &self.library], options, &["--"], command].concat());
        run.env("PATH", self.directory.path());
        run
    }

    fn dry(&self, command: &[&str]) -> String {
        let output = self.run(&["--dry-run"], command).output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        stdout(&output)
    }

    fn error(&self, options: &[&str], command: &[&str]) -> String {
        let output = self.run(options, command).output().unwrap();
        assert_eq!(output.status.code(), Some(125), "{}", stdout(&output));
        let error = stderr(&output);
        assert!(error.starts_with("nagare: ") && error.lines().count() == 1, "{error}");
        error
    }
}

#[test]
fn ranks_of_open_mpi_get_the_library_and_the_variables() {
    let site = Site::new();
    let lib = &site.library;
    let line = site.dry(&["mpirun", "-np", "2", "./a b"]);
    assert_eq!(line, format!("mpirun -x LD_PRELOAD={lib} -np 2 './a b'\n"));
    let mut run = site.run(&["--dry-run"], &["mpirun", "-np", "1", "./a", ":", "-np", "2", "./b"]);
    let output = run.env("NAGARE_LOG", "info").env("LD_PRELOAD", "").output().unwrap();
    let each = format!("-x LD_PRELOAD={lib} -x NAGARE_LOG");
    assert_eq!(stdout(&output), format!("mpirun {each} -np 1 ./a : {each} -np 2 ./b\n"));
}

#[test]
fn ranks_of_hydra_and_slurm_get_the_library() {
    let site = Site::new();
    let lib = &site.library;
    assert_eq!(site.dry(&["mpiexec", "-n", "2", "./a"]), format!("mpiexec -genv LD_PRELOAD {lib} -n 2 ./a\n"));
    let slurm = site.run(&["--dry-run", "--mpi", "mpich"], &["srun", "-n", "2", "./a"]).output().unwrap();
    assert_eq!(stdout(&slurm), format!("srun --export=ALL,LD_PRELOAD={lib} -n 2 ./a\n"));
    let error = site.error(&[], &["srun", "-n", "2", "./a"]);
    assert!(error.contains("say --mpi openmpi or --mpi mpich"), "{error}");
}

#[test]
fn an_own_preload_is_kept() {
    let site = Site::new();
    let lib = &site.library;
    let line = site.dry(&["mpirun", "-x", "LD_PRELOAD=/t/tool.so", "./a"]);
    assert_eq!(line, format!("mpirun -x LD_PRELOAD=/t/tool.so:{lib} ./a\n"));
    let line = site.dry(&["mpiexec", "-genv", "LD_PRELOAD", "/t/tool.so", "./a"]);
    assert_eq!(line, format!("mpiexec -genv LD_PRELOAD /t/tool.so:{lib} ./a\n"));
    // A library that does not exist would make the dynamic linker complain in every process: this one is loaded anyway.
    let own = "libc.so.6";
    let output = site.run(&["--dry-run"], &["mpirun", "./a"]).env("LD_PRELOAD", own).output().unwrap();
    assert_eq!(stdout(&output), format!("mpirun -x LD_PRELOAD={own}:{lib} ./a\n"));
}

#[test]
fn the_command_takes_the_place_of_nagare() {
    let site = Site::new();
    let output = site.run(&["-v"], &["mpirun", "-np", "2", "./a"]).output().unwrap();
    assert_eq!(output.status.code(), Some(7));
    assert_eq!(stdout(&output), format!("-x|LD_PRELOAD={}|-np|2|./a|", site.library));
    let told = stderr(&output);
    assert!(told.contains("Open MPI 4.1.4") && told.contains(&site.library), "{told}");
    let killed = site.run(&[], &["mpirun_killed"]).output().unwrap();
    assert_eq!(killed.status.signal(), Some(15));
}

#[test]
fn a_program_without_a_launcher_is_preloaded_itself() {
    let site = Site::new();
    let program = script(site.directory.path(), "app", "exit 0");
    let program = program.to_str().unwrap();
    let output = site.run(&["--dry-run", "--mpi", "openmpi"], &[program, "x"]).output().unwrap();
    assert_eq!(stdout(&output), format!("LD_PRELOAD={} {program} x\n", site.library));
    let error = site.error(&[], &[program]);
    assert!(error.contains("it is a script or other file") && error.contains("--mpi openmpi"), "{error}");
    // This test program is linked to libraries, but to no MPI.
    let this = std::env::current_exe().unwrap();
    let error = site.error(&[], &[this.to_str().unwrap()]);
    assert!(error.contains("it is linked to ") && error.contains("libc.so.6"), "{error}");
}

#[test]
fn mistakes_are_one_clear_line() {
    let site = Site::new();
    launcher(site.directory.path(), "mpirun_odd", "odd launcher 1.0", "");
    let error = |command: &[&str]| site.error(&[], command);
    assert_eq!(error(&["mpirun_missing"]), "nagare: mpirun_missing: no such command in PATH\n");
    assert_eq!(error(&["./missing"]), "nagare: ./missing: no such file\n");
    assert!(error(&["mpirun_odd"]).contains("printed 'odd launcher 1.0'; expected Open MPI, MPICH (Hydra)"));
    assert!(error(&["mpirun", "--app", "file"]).contains("put `-x LD_PRELOAD="));
    assert!(error(&["mpirun", "--mca", "mca_base_env_list", "A=1", "./a"]).contains("mca_base_env_list"));
    assert!(error(&["mpiexec", "-configfile", "file"]).contains("put `-genv LD_PRELOAD "));
    assert!(site.error(&["--mpi", "mpich"], &["mpirun", "./a"]).contains("Open MPI 4.1.4"));
}

#[test]
fn a_missing_library_is_told_with_every_place() {
    let site = Site::new();
    let run = |lib: Option<&str>| {
        let options = lib.map_or(vec![], |lib| vec!["--lib", lib]);
        let mut command = nagare(&[&["run"], &options[..], &["--", "mpirun", "./a"]].concat());
        let output = command.env("PATH", site.directory.path()).output().unwrap();
        assert_eq!(output.status.code(), Some(125));
        stderr(&output)
    };
    let empty = tempfile::tempdir().unwrap();
    let error = run(empty.path().to_str());
    assert!(error.contains("no libnagare.so for Open MPI; looked for "), "{error}");
    for place in ["libnagare.so", "openmpi/libnagare.so", "openmpi/release/libnagare.so"] {
        let place = empty.path().join(place);
        assert!(error.contains(place.to_str().unwrap()), "{place:?} is not in {error}");
    }
}

#[test]
fn another_file_is_not_preloaded() {
    let site = Site::new();
    let text = site.directory.path().join("mpirun");
    for other in [text.to_str().unwrap(), env!("CARGO_BIN_EXE_nagare")] {
        let output =
            nagare(&["run", "--lib", other, "--", "mpirun", "./a"]).env("PATH", site.directory.path()).output();
        let output = output.unwrap();
        assert_eq!(output.status.code(), Some(125));
        assert!(stderr(&output).contains("exports no nagare_describe; expected a libnagare.so"), "{}", stderr(&output));
    }
}

/// Where its symbols tell: it would end the job in MPI_Init, or run beside it without a word.
#[test]
fn a_library_for_the_other_mpi_is_refused() {
    let site = Site::new();
    for (symbol, launcher, built, wanted) in
        [("PMIx_Put", "mpiexec", "Open MPI", "MPICH"), ("MPI_Bcast_c", "mpirun", "MPICH", "Open MPI")]
    {
        let (source, library) = (site.directory.path().join("other.c"), site.directory.path().join("libother.so"));
        fs::write(&source, format!("int nagare_describe, {symbol};")).unwrap();
        let status = Command::new("cc").args(["-shared", "-fPIC", "-o"]).args([&library, &source]).status();
        assert!(status.unwrap().success());
        let lib = library.canonicalize().unwrap();
        let lib = lib.to_str().unwrap();
        let mut run = nagare(&["run", "--lib", lib, "--", launcher, "-n", "2", "./a"]);
        let output = run.env("PATH", site.directory.path()).output().unwrap();
        assert_eq!(output.status.code(), Some(125));
        assert_eq!(stderr(&output), format!("nagare: --lib {lib}: built for {built}, expected one for {wanted}\n"));
    }
}

#[test]
fn the_library_is_found_in_build_trees_and_installations() {
    let site = Site::new();
    for (program, library) in [
        ("target/release/nagare", "target/openmpi/release/libnagare.so"),
        ("usr/bin/nagare", "usr/lib/nagare/openmpi/libnagare.so"),
    ] {
        let root = tempfile::tempdir().unwrap();
        let (program, library) = (root.path().join(program), root.path().join(library));
        for file in [&program, &library] {
            fs::create_dir_all(file.parent().unwrap()).unwrap();
        }
        copy_of_nagare(&program);
        fs::write(&library, "").unwrap();
        let output = Command::new(&program)
            .args(["run", "--dry-run", "--", "mpirun", "./a"])
            .env_clear()
            .env("PATH", site.directory.path())
            .output()
            .unwrap();
        let library = library.canonicalize().unwrap();
        assert_eq!(stdout(&output), format!("mpirun -x LD_PRELOAD={} ./a\n", library.display()), "{}", stderr(&output));
    }
}
