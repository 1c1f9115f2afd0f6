//! Slurm, real: a cluster of pretended hosts (scripts/slurm.sh), with and without the plugin (packaging/slurm). Needs
//! root, and Debian's Slurm, which `make test-all` installs.

use nagare_harness::{Ended, Family, Mpi, compile, root_directory, run_limited};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Four hosts, two on each of two switches.
const FABRIC: &str = "name = \"slurm\"\nhosts = [\"n[0-3]\"]\nswitches = [\"s[0-2]\"]\n
[[link]]\nfrom = \"n[0-1]\"\nto = \"s0\"\nbandwidth = 1000\n
[[link]]\nfrom = \"n[2-3]\"\nto = \"s1\"\nbandwidth = 1000\n
[[link]]\nfrom = \"s[0-1]\"\nto = \"s2\"\nbandwidth = 1000\n";

/// The same for Slurm.
const SWITCHES: &str = "SwitchName=s0 Nodes=n[0-1]\nSwitchName=s1 Nodes=n[2-3]\nSwitchName=s2 Switches=s[0-1]\n";

/// What a user types. `has` prints what the tasks of a step preload.
const JOBS: &str = r#"
conf=$(dirname "$SLURM_CONF")/plugstack.conf
plugin() { echo "optional $PLUGIN_FILE libraries=$LIBRARIES $1" >"$conf"; }
has() { echo "== $1"; srun -N1 -n1 "${@:2}" sh -c 'echo "preload=$LD_PRELOAD"'; }
run() { echo "== $1"; srun -N4 -n4 --export=ALL,NAGARE_REPORT=stderr "${@:2}"; echo "exit=$?"; }
words="collective=bcast bytes=1000000 calls=10"

has "without the plugin"
run "by hand, Open MPI" --mpi=pmix env LD_PRELOAD="$LIBRARIES/openmpi/libnagare.so" "$OPENMPI" $words

plugin
has "a site that is off"
has "asked for" --nagare
has "asked for MPICH" --nagare=mpich
LD_PRELOAD=/lib/$(uname -m)-linux-gnu/libm.so.6 has "beside others" --nagare
LD_PRELOAD=$LIBRARIES/openmpi/libnagare.so has "there already" --nagare
LD_PRELOAD=$LIBRARIES/openmpi/libnagare.so has "the other one there" --nagare=mpich
LD_PRELOAD=$LIBRARIES/openmpi/libnagare.so has "there and not wanted" --nagare=off
has "what it does not know" --nagare=maybe
run "Open MPI" --mpi=pmix --nagare=report "$OPENMPI" $words
run "MPICH" --mpi=pmi2 --nagare=mpich timeout 60 "$MPICH" $words

plugin default=on
has "a site that does not say which"
plugin "default=on mpi=openmpi"
has "a site that is on"
has "not wanted" --nagare=off
NAGARE_ENABLE=0 has "switched off"
mkdir -p "$HOME/.config/nagare"
touch "$HOME/.config/nagare/off"
has "opted out"
has "opted out, asked for" --nagare
rm "$HOME/.config/nagare/off"
plugin "default=on mpi=openmpi never=/x:/*/bin/*"
has "filtered"
plugin "default=on mpi=openmpi only=/nowhere/*"
has "not among these"
plugin "default=on mpi=mpich"
has "a shell that could start any program"
has "a shell, asked for" --nagare
run "a site for MPICH, Open MPI" --mpi=pmix "$OPENMPI" $words
run "a site for MPICH, a script for Open MPI" --mpi=pmix sh -c '"$@"' sh "$OPENMPI" $words
run "the wrong word" --mpi=pmix --nagare=mpich "$OPENMPI" $words
plugin "default=on mpi=openmpi"
echo "== a site for Open MPI, MPICH"
timeout 60 srun -N4 -n4 --export=ALL,NAGARE_REPORT=stderr --mpi=pmi2 "$MPICH" $words
echo "== a program of 32 bits"
srun -N1 -n1 --nagare "$HOME/bits32"
plugin "default=sometimes"
has "a mistake of the site"

plugin "default=on mpi=openmpi"
prologs=$(dirname "$SLURM_CONF")/prologs
sleep 1; rm "$prologs"
has "with prologs"
for _ in $(seq 100); do grep -q ^Epilog= "$prologs" && break || sleep 0.1; done
echo "== prologs"
sort "$prologs"
cat >"$HOME/batch" <<END
#!/bin/sh
echo "batch=\$LD_PRELOAD"
mpirun.openmpi -np 4 "$OPENMPI" $words; echo "exit=\$?"
NAGARE_REPORT=stderr "$NAGARE" run -- mpirun.openmpi -np 4 "$OPENMPI" $words; echo "exit=\$?"
END
echo "== batch"
sbatch --quiet --wait -N4 -n4 -o "$HOME/out" "$HOME/batch"
cat "$HOME/out"
plugin
echo "== tuned"
tune() {
    env -u NAGARE_ALGORITHM "$NAGARE" tune --budget 2s --sizes 1000000 --collectives bcast --force "$@"
    echo "exit=$?"
}
tune --mpi openmpi --out "$HOME/srun.toml" -- srun -N4 -n4 --mpi=pmix
echo "== tuned in batch"
{ echo '#!/bin/bash'; declare -f tune; echo 'tune --out "$HOME/batch.toml" -- mpirun.openmpi -np 4'; } >"$HOME/batch"
sbatch --quiet --wait -N4 -n4 -o "$HOME/out" "$HOME/batch"
cat "$HOME/out"
for profile in srun batch; do
    echo "== profile of $profile"
    cat "$HOME/$profile.toml"
    (
        unset NAGARE_ALGORITHM
        export NAGARE_PROFILE=$HOME/$profile.toml
        run "with what $profile measured" --mpi=pmix --nagare=report "$OPENMPI" $words
    )
done
echo "== asked in batch"
printf '#!/bin/sh\nsrun -N1 -n1 sh -c '"'"'echo "preload=$LD_PRELOAD"'"'" >"$HOME/batch"
sbatch --quiet --wait --nagare -N1 -n1 -o "$HOME/out" "$HOME/batch"
cat "$HOME/out"
"#;

/// `sh -c 'echo "preload=$LD_PRELOAD"'` as a program of 32 bits that needs no library.
const BITS32: &str = r#"
    .globl _start
_start: mov (%esp), %ecx
    lea 8(%esp, %ecx, 4), %edx
    push $0
    push $command
    push $c
    push $sh
    mov %esp, %ecx
    mov $sh, %ebx
    mov $11, %eax
    int $0x80
sh: .asciz "/bin/sh"
c: .asciz "-c"
command: .asciz "echo \"preload=$LD_PRELOAD\""
"#;

/// What stands between the line `== name` and the next.
fn section<'o>(ended: &'o Ended, name: &str) -> &'o str {
    let (_, rest) = ended.stdout.split_once(&format!("== {name}\n")).unwrap_or_else(|| panic!("{}", ended.output()));
    rest.split("== ").next().unwrap_or(rest)
}

fn built(directory: &Path) -> PathBuf {
    let plugin = directory.join("nagare_spank.so");
    let source = root_directory().join("packaging/slurm/nagare_spank.c");
    cc("-std=c11 -Wall -Wextra -Wpedantic -Werror -O2 -fPIC -shared -o", &plugin, &source);
    plugin
}

fn cc(options: &str, output: &Path, source: &Path) {
    let ended =
        run_limited(Command::new("cc").args(options.split(' ')).arg(output).arg(source), Duration::from_secs(300));
    assert!(ended.success(), "{}", ended.output());
}

#[test]
#[ignore = "long: make test-all"]
fn jobs_of_a_real_slurm() {
    let target = root_directory().join("target");
    // Hosts have a /tmp of their own.
    let target = target.canonicalize().expect("the directory of what is built");
    let directory = tempfile::tempdir_in(&target).expect("a directory");
    let path = |name: &str| directory.path().join(name);
    let libraries = [(Mpi::OpenMpi4, Family::OpenMpi, "openmpi"), (Mpi::Mpich4, Family::Mpich, "mpich")];
    let [openmpi, mpich] = libraries.map(|(mpi, family, name)| {
        compile(mpi, "tests/programs/learning.c");
        fs::create_dir(path(name)).expect("a directory");
        fs::copy(family.library(), path(name).join("libnagare.so")).expect("the library");
        target.join("programs").join(mpi.name()).join("learning_c")
    });
    for (name, text) in [("slurm.toml", FABRIC), ("topology.conf", SWITCHES), ("jobs", JOBS), ("bits32.s", BITS32)] {
        fs::write(path(name), text).expect("a file");
    }
    cc("-m32 -nostdlib -static -o", &path("bits32"), &path("bits32.s"));
    let mut command = Command::new(root_directory().join("scripts/slurm.sh"));
    command.arg(path("slurm.toml")).arg("bash").arg(path("jobs")).env("SWITCHES", path("topology.conf"));
    command.env("PLUGIN_FILE", built(directory.path())).env("LIBRARIES", directory.path());
    command.env("OPENMPI", openmpi).env("MPICH", mpich).env("HOME", directory.path());
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("NAGARE_")) {
        command.env_remove(name);
    }
    command.env("NAGARE", target.join("release/nagare")).env_remove("XDG_CONFIG_HOME");
    // What runs unasked in a few calls depends on how long they take.
    command.env("NAGARE_ALGORITHM", "bcast=chain");
    let ended = run_limited(&mut command, Duration::from_secs(1200));
    assert!(ended.success(), "{}", ended.output());

    let library = |name: &str| path(name).join("libnagare.so").display().to_string();
    let (openmpi, mpich) = (library("openmpi"), library("mpich"));
    let preloaded = [
        ("without the plugin", String::new()),
        ("a site that is off", String::new()),
        ("asked for", openmpi.clone()),
        ("asked for MPICH", mpich.clone()),
        ("beside others", format!("{openmpi}:/lib/{}-linux-gnu/libm.so.6", std::env::consts::ARCH)),
        ("there already", openmpi.clone()),
        ("the other one there", mpich.clone()),
        ("there and not wanted", String::new()),
        ("a site that does not say which", String::new()),
        ("a site that is on", openmpi.clone()),
        ("not wanted", String::new()),
        ("switched off", String::new()),
        ("opted out", String::new()),
        ("opted out, asked for", openmpi.clone()),
        ("filtered", String::new()),
        ("not among these", String::new()),
        ("a shell that could start any program", String::new()),
        ("a shell, asked for", mpich),
        ("a program of 32 bits", String::new()),
        ("a mistake of the site", String::new()),
        ("with prologs", openmpi.clone()),
        ("asked in batch", openmpi.clone()),
    ];
    for (name, list) in preloaded {
        assert_eq!(section(&ended, name).trim(), format!("preload={list}"), "{name}\n{}", ended.output());
    }
    assert_eq!(section(&ended, "what it does not know").trim(), "");
    for line in ["--nagare=maybe: expected on, off", "plugstack.conf: 'default=sometimes': expected default=on|off"] {
        assert!(ended.stderr.contains(line), "{line}\n{}", ended.output());
    }

    // TaskProlog runs after the plugin, with the task's environment.
    let prologs = format!("Epilog=\nProlog=\nTaskEpilog=\nTaskProlog={openmpi}\n");
    assert_eq!(section(&ended, "prologs"), prologs, "{}", ended.output());

    // Ours ran, on the switches that Slurm told of, with the build that fits whatever site and user say; what the
    // plugin cannot see through ran without it.
    let ran = [
        "by hand, Open MPI",
        "Open MPI",
        "a site for MPICH, Open MPI",
        "a site for MPICH, a script for Open MPI",
        "the wrong word",
        "with what srun measured",
        "with what batch measured",
    ];
    for name in ran {
        let lines = section(&ended, name);
        assert!(lines.contains("PASS learning cases=40\n") && lines.contains("exit=0"), "{name}\n{}", ended.output());
    }
    // Debian's MPICH over UCX hangs in MPI_Finalize now and then, also without Nagare: then it has printed this before.
    for name in ["MPICH", "a site for Open MPI, MPICH"] {
        assert!(section(&ended, name).contains("PASS learning cases=40\n"), "{name}\n{}", ended.output());
    }
    let reports =
        ended.stderr.matches("4 ranks, 4 nodes, levels: switch2 > switch1 > node (from SLURM_TOPOLOGY_ADDR)").count();
    assert_eq!(reports, 8, "{}", ended.output());

    // `nagare tune` by srun, and by mpirun in a batch job: four nodes in each profile, which the next job reads.
    for (name, profile) in [("tuned", "srun"), ("tuned in batch", "batch")] {
        assert!(section(&ended, name).contains("exit=0\n"), "{name}\n{}", ended.output());
        let written = section(&ended, &format!("profile of {profile}"));
        for line in ["ranks = 4\n", "nodes = 4\n", "collective = \"bcast\"\nbytes = 1000000\n"] {
            assert!(written.contains(line), "no {line} in {written}");
        }
        let used = format!("profile: {}\n", path(&format!("{profile}.toml")).display());
        assert!(ended.stderr.contains(&used), "{used}\n{}", ended.output());
    }
    let batch = section(&ended, "batch");
    assert!(batch.starts_with("batch=\n"), "{batch}");
    assert_eq!(batch.matches("PASS learning cases=40\n").count(), 2, "{batch}");
    assert_eq!(batch.matches("exit=0\n").count(), 2, "{batch}");
    assert_eq!(batch.matches("Nagare 0.").count(), 1, "{batch}");
    assert!(!batch.contains("nagare: "), "{batch}");
    for report in [batch, &ended.stderr] {
        let row = report.lines().find(|line| line.starts_with("bcast") && !line.contains("stock"));
        assert!(row.is_some(), "{report}");
    }
}

/// Prints which build of the library fits each program, as the plugin finds out.
const READER: &str = r#"
int main(int count, char **programs)
{
    for (int i = 1; i < count; i++) {
        const char *family = family_named(programs[i]);
        printf("%s\n", family == NULL ? "none" : *family == '\0' ? "not said" : family);
    }
    return 0;
}
"#;

/// Programs that need a library of the name and contents that different MPIs have.
#[test]
#[ignore = "make test-all, which installs Slurm's headers"]
fn the_mpi_library_that_a_program_needs() {
    const OF_OPEN_MPI: &str = "int MPI_Init(int *a, char ***b) { return !a + !b; }\nchar ompi_mpi_comm_world[8];\n";
    const OF_MPICH: &str = "int MPI_Init(int *a, char ***b) { return !a + !b; }\n";
    // As C and Fortran programs of each: Open MPI 1.6, 1.8, 2, 3 to 5, MPICH and what shares its interface.
    let cases = [
        ("libmpi.so.1", OF_OPEN_MPI, "none"),
        ("libmpi.so.12", OF_OPEN_MPI, "none"),
        ("libmpi.so.20", OF_OPEN_MPI, "none"),
        ("libmpi.so.40", OF_OPEN_MPI, "openmpi"),
        ("libmpi_mpifh.so.40", OF_OPEN_MPI, "openmpi"),
        ("libmpich.so.12", OF_MPICH, "mpich"),
        ("libmpi.so.12", OF_MPICH, "mpich"),
        ("libmpifort.so.12", OF_MPICH, "mpich"),
        ("libother.so.40", OF_MPICH, "not said"),
    ];
    let directory = tempfile::tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name);
    let plugin = root_directory().join("packaging/slurm/nagare_spank.c");
    fs::write(path("reader.c"), format!("#include \"{}\"\n{READER}", plugin.display())).expect("a file");
    cc("-O2 -no-pie -Wl,--unresolved-symbols=ignore-all -o", &path("reader"), &path("reader.c"));
    let mut reader = Command::new(path("reader"));
    for (number, (name, library, _)) in cases.into_iter().enumerate() {
        let (source, built) = (path(&format!("{number}.c")), path(&format!("{number}.so")));
        fs::write(&source, library).expect("a file");
        cc(&format!("-shared -fPIC -Wl,-soname,{name} -o"), &built, &source);
        let world = if library == OF_OPEN_MPI { "ompi_mpi_comm_world[0]" } else { "0" };
        let program = format!(
            "int MPI_Init(int *, char ***); extern char ompi_mpi_comm_world[8];\n\
             int main(int n, char **words) {{ return MPI_Init(&n, &words) + {world}; }}\n"
        );
        fs::write(&source, program).expect("a file");
        cc(&format!("-Wl,--no-as-needed {} -o", built.display()), &path(&number.to_string()), &source);
        reader.arg(path(&number.to_string()));
    }
    reader.arg(path("reader.c")).arg(path("none"));
    let ended = run_limited(&mut reader, Duration::from_secs(60));
    let expected = cases.map(|(_, _, expected)| expected).into_iter().chain(["not said"; 2]);
    assert_eq!(ended.stdout.lines().collect::<Vec<_>>(), expected.collect::<Vec<_>>(), "{}", ended.output());
}
