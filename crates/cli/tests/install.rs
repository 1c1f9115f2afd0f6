//! scripts/install.sh: what it installs, that it works there, and that nothing of it stays. It needs what `make` has
//! built in target/, at least a library; without, tests print why they do nothing.

use crate::common::{limited, nagare, nagare_at, stderr, stdout};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const PREFIX: &str = "/opt/nagare/1";
const MPIS: [(&str, &str); 2] = [("openmpi", "mpicc.openmpi"), ("mpich", "mpicc.mpich")];
const LIST: &str = "share/nagare/installed";

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Families with a built library.
fn families() -> Vec<&'static str> {
    let built = |family: &str| project().join("target").join(family).join("release/libnagare.so").is_file();
    MPIS.map(|(family, _)| family).into_iter().filter(|family| built(family)).collect()
}

/// A root below which something is installed.
struct Site(tempfile::TempDir);

impl Site {
    /// `None`, and why, if there is nothing to install.
    fn new() -> Option<Self> {
        if families().is_empty() || !project().join("target/notices.txt").is_file() {
            eprintln!("skipped: no target/*/release/libnagare.so or target/notices.txt (`make` builds them)");
            return None;
        }
        Some(Self(tempfile::tempdir().unwrap()))
    }

    fn make(&self, what: &str, prefix: &str) -> Output {
        let mut command = Command::new("make");
        command.arg("--no-print-directory").arg("-C").arg(project()).arg(what).arg(format!("PREFIX={prefix}"));
        command.arg(format!("DESTDIR={}", self.0.path().display())).env("NAGARE", env!("CARGO_BIN_EXE_nagare"));
        // This may be below a make of its own.
        command.env_remove("MAKEFLAGS").env_remove("MAKELEVEL").output().unwrap()
    }

    fn done(&self, what: &str) {
        let output = self.make(what, PREFIX);
        assert!(output.status.success(), "{}", stderr(&output));
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(&PREFIX[1..]).join(name)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// All files, relative to PREFIX.
    fn files(&self) -> BTreeSet<String> {
        let found = Command::new("find").arg(self.path("")).args(["-type", "f", "-printf", "%P\n"]).output().unwrap();
        stdout(&found).lines().map(str::to_owned).collect()
    }
}

#[test]
fn every_file_is_in_its_place_and_nothing_stays() {
    let Some(site) = Site::new() else { return };
    site.done("install");
    let version = env!("CARGO_PKG_VERSION");
    let mut expected = vec!["include/nagare.h".to_owned(), "share/pkgconfig/nagare.pc".to_owned(), LIST.to_owned()];
    for page in ["nagare", "nagare-run", "nagare-tune", "nagare-testbed-run", "nagare-bench-compare"] {
        expected.push(format!("share/man/man1/{page}.1"));
    }
    for shell in ["bash-completion/completions/nagare", "zsh/site-functions/_nagare"] {
        expected.push(format!("share/{shell}"));
    }
    expected.push("share/fish/vendor_completions.d/nagare.fish".to_owned());
    for text in ["LICENSE-MIT", "LICENSE-APACHE", "notices.txt", "CHANGELOG.md", "CITATION.cff"] {
        expected.push(format!("share/doc/nagare/{text}"));
    }
    for (from, to) in [("docs", "nagare"), ("docs/decisions", "nagare/decisions")] {
        let documents = fs::read_dir(project().join(from)).unwrap().map(|entry| entry.unwrap().file_name());
        let documents = documents.filter_map(|name| name.into_string().ok()).filter(|name| name.ends_with(".md"));
        expected.extend(documents.map(|name| format!("share/doc/{to}/{name}")));
    }
    assert!(expected.contains(&"share/doc/nagare/algorithms.md".to_owned()));
    let mut programs = vec!["bin/nagare".to_owned()];
    for family in families() {
        programs.push(format!("lib/nagare/{family}/libnagare.so"));
        if project().join("target").join(family).join("release/nagare-bench").is_file() {
            programs.push(format!("lib/nagare/{family}/nagare-bench"));
        }
        for end in ["", ".lua"] {
            expected.push(format!("share/nagare/modulefiles/nagare/{version}-{family}{end}"));
        }
    }
    // There after `make slurm`.
    if project().join("target/nagare_spank.so").is_file() {
        programs.push("lib/nagare/nagare_spank.so".to_owned());
    }
    let files = site.files();
    for (mode, names) in [(0o644, &expected), (0o755, &programs)] {
        for name in names {
            assert!(files.contains(name), "no {name} in {files:?}");
            assert_eq!(fs::metadata(site.path(name)).unwrap().permissions().mode() & 0o777, mode, "{name}");
        }
    }
    let known: BTreeSet<String> = expected.into_iter().chain(programs).collect();
    let others: Vec<&String> = files.iter().filter(|name| !known.contains(*name)).collect();
    assert!(others.iter().all(|name| name.starts_with("share/man/man1/nagare-")), "{others:?}");
    let listed: BTreeSet<String> =
        site.read(LIST).lines().filter(|line| !line.ends_with('/')).map(str::to_owned).collect();
    assert_eq!(listed, files);
    for name in files.iter().filter(|name| name.starts_with("share/")) {
        let text = site.read(name);
        assert!(!text.contains(site.0.path().to_str().unwrap()), "{name} names DESTDIR");
        assert!(!text.contains("@PREFIX@") && !text.contains("@VERSION@"), "{name}");
    }
    let completions = site.read("share/bash-completion/completions/nagare");
    assert!(completions.contains("guidelines") && !completions.contains("pages"), "hidden commands are offered");
    let shown = Command::new(site.path("bin/nagare")).arg("--version").output().unwrap();
    assert_eq!(stdout(&shown), format!("nagare {version}\n"));

    // A file of someone else's, and one of a version that had more files.
    fs::write(site.path("share/man/man1/other.1"), "").unwrap();
    fs::write(site.path("share/nagare/older"), "").unwrap();
    let list = site.read(LIST) + "share/nagare/older\n";
    fs::write(site.path(LIST), list).unwrap();
    let library = site.path(&format!("lib/nagare/{}/libnagare.so", families()[0]));
    let mapped = fs::File::open(&library).unwrap();
    let text = fs::read(&library).unwrap();
    site.done("install");
    assert_ne!(mapped.metadata().unwrap().ino(), fs::metadata(&library).unwrap().ino(), "overwritten in place");
    assert_eq!((mapped.metadata().unwrap().len(), mapped.metadata().unwrap().nlink()), (text.len() as u64, 0));
    let again = site.files();
    assert!(!again.contains("share/nagare/older"));
    assert_eq!(again.difference(&files).collect::<Vec<_>>(), ["share/man/man1/other.1"]);

    site.done("uninstall");
    assert_eq!(site.files().into_iter().collect::<Vec<_>>(), ["share/man/man1/other.1"]);
    fs::remove_file(site.path("share/man/man1/other.1")).unwrap();
    fs::remove_dir_all(site.path("")).unwrap();
    site.done("install");
    site.done("uninstall");
    assert!(!site.path("").exists());
    let nothing = site.make("uninstall", PREFIX);
    assert!(!nothing.status.success() && stderr(&nothing).contains("nothing was installed there"));
    for prefix in ["opt", "/o p", "/opt/[x]", "/a/../b"] {
        let refused = site.make("install", prefix);
        let line = stderr(&refused).lines().next().unwrap_or_default().to_owned();
        assert!(line.starts_with("install: PREFIX=") && line.contains("expected an absolute path"), "{line}");
    }
}

/// Every page says of which version it is, and shows what can be typed as it is typed.
#[test]
fn manual_pages_have_a_footer_and_examples() {
    let directory = tempfile::tempdir().unwrap();
    assert!(nagare(&["pages", directory.path().to_str().unwrap()]).status().unwrap().success());
    let pages = directory.path().join("man/man1");
    let footer = format!(" 1 \"\" \"nagare {}\" \"Nagare\"", env!("CARGO_PKG_VERSION"));
    for entry in fs::read_dir(&pages).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        let title = text.lines().find(|line| line.starts_with(".TH ")).unwrap();
        assert!(title.starts_with(".TH NAGARE") && title.ends_with(&footer), "{title}");
        assert_eq!(text.matches("\n.nf\n").count(), text.matches("\n.fi\n").count(), "{title}");
        assert!(!text.contains("\nExample"), "{text}");
    }
    let page = fs::read_to_string(pages.join("nagare-check.1")).unwrap();
    for part in [
        ".SH EXAMPLES\n.nf\nnagare check bcast \\-\\-algorithm two_tree \\-\\-fabric mlfm36 \\-\\-np 32\n",
        "\n.fi\n.SH NOTES\n",
        "\n.SH \"EXIT STATUS\"\n0 if the schedule ends",
    ] {
        assert!(page.contains(part), "no {part} in {page}");
    }
    assert!(fs::read_to_string(pages.join("nagare-ps.1")).unwrap().contains("share/doc/nagare/NAME.md"));
}

/// Interpreters of module files, with just enough of a module system to see what a file asks for.
#[test]
fn module_files_keep_what_is_preloaded_already() {
    let Some(site) = Site::new() else { return };
    site.done("install");
    let tcl = "proc prepend-path {name value} { if {$name eq \"LD_PRELOAD\"} { puts $value:$::env($name) } }
        proc module-whatis {text} {}; proc conflict {name} {}; source [lindex $argv 0]; ModulesHelp\n";
    let lua = "function prepend_path(n, v) if n == 'LD_PRELOAD' then print(v .. ':' .. os.getenv(n)) end end
        function help() end; whatis = help; conflict = help; dofile(arg[1])\n";
    let version = env!("CARGO_PKG_VERSION");
    for family in families() {
        let library = format!("{PREFIX}/lib/nagare/{family}/libnagare.so");
        for (interpreters, program, end) in [(&["tclsh"][..], tcl, ""), (&["lua", "lua5.4"], lua, ".lua")] {
            let name = format!("share/nagare/modulefiles/nagare/{version}-{family}{end}");
            let text = site.read(&name);
            assert!(text.contains(&format!("\"{library}\"")) && !text.contains("setenv"), "{text}");
            let stub = site.0.path().join("stub");
            fs::write(&stub, program).unwrap();
            let run = |interpreter: &&str| {
                Command::new(interpreter).arg(&stub).arg(site.path(&name)).env("LD_PRELOAD", "").output().ok()
            };
            let Some(output) = interpreters.iter().find_map(run) else { continue };
            assert_eq!(stdout(&output), format!("{library}:\n"), "{name}: {}", stderr(&output));
        }
    }
}

#[test]
fn the_installed_command_finds_what_is_installed() {
    let Some(site) = Site::new() else { return };
    site.done("install");
    let command = site.path("bin/nagare");
    assert_eq!(stdout(&nagare_at(&command, &["fabrics"]).output().unwrap()), {
        let built = nagare(&["fabrics"]).output().unwrap();
        stdout(&built)
    });
    for (family, compiler) in MPIS.into_iter().filter(|(family, _)| families().contains(family)) {
        let (program, report) = (site.0.path().join(family), site.0.path().join("report.json"));
        let built = Command::new(compiler).arg("-o").arg(&program).arg(project().join("examples/hello.c")).status();
        if !built.is_ok_and(|status| status.success()) {
            eprintln!("skipped: no {compiler}");
            continue;
        }
        let launcher: &[&str] = match family {
            "openmpi" => &["mpirun.openmpi", "--oversubscribe", "--allow-run-as-root"],
            _ => &["mpiexec.mpich"],
        };
        let words = [&["run", "-v", "--"], launcher, &["-n", "2", program.to_str().unwrap()]].concat();
        let mut job = nagare_at(&command, &words);
        job.env("NAGARE_REPORT", &report).env("NAGARE_TOPOLOGY", "synthetic:node:2 core:1");
        let output = limited(&job);
        assert!(output.status.success() && stdout(&output).contains("OK"), "{family}: {}", stderr(&output));
        let library = site.path(&format!("lib/nagare/{family}/libnagare.so"));
        assert!(stderr(&output).contains(library.to_str().unwrap()), "{}", stderr(&output));
        assert!(fs::read_to_string(&report).unwrap().contains("\"nodes\": 2"), "{family}");
        fs::remove_file(&report).unwrap();
        let bench = site.path(&format!("lib/nagare/{family}/nagare-bench"));
        let words = [&["bench", "--sizes", "Q", "--mpi", family, "--"], launcher, &["-n", "2"]].concat();
        let refused = stderr(&nagare_at(&command, &words).output().unwrap());
        // Without the program this would be what is missing.
        assert!(refused.contains(if bench.is_file() { "'Q'" } else { "no nagare-bench" }), "{refused}");
    }
}

#[test]
fn recipes_are_of_this_version() {
    let version = env!("CARGO_PKG_VERSION");
    for (file, line) in [
        ("CITATION.cff".to_owned(), format!("version: {version}\n")),
        ("packaging/spack/package.py".to_owned(), format!("version(\"{version}\")\n")),
        ("packaging/spack/package.py".to_owned(), format!("/nagare-{version}.tar.gz\"\n")),
        (format!("packaging/easybuild/nagare-{version}-gompi-2025a.eb"), format!("version = '{version}'\n")),
    ] {
        let text = fs::read_to_string(project().join(&file)).unwrap_or_else(|error| panic!("{file}: {error}"));
        assert!(text.contains(&line), "{file} lacks {line}");
    }
}
