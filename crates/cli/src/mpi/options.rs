//! Options of launchers whose values are words of their own, so that no value is taken for a program.

use super::launcher::Kind;

/// With one value, without dashes.
const OPEN_MPI: &[&str] = &[
    "H",
    "N",
    "am",
    "app",
    "bind-to",
    "c",
    "cpu-list",
    "cpu-set",
    "cpus-per-proc",
    "cpus-per-rank",
    "default-hostfile",
    "display",
    "dvm",
    "dvm-uri",
    "fwd-mpirun-port",
    "host",
    "hostfile",
    "launch-agent",
    "machinefile",
    "map-by",
    "max-restarts",
    "n",
    "np",
    "npernode",
    "npersocket",
    "ompi-server",
    "output",
    "output-filename",
    "path",
    "personality",
    "prefix",
    "preload-files",
    "rank-by",
    "rankfile",
    "report-pid",
    "report-uri",
    "rf",
    "runtime-options",
    "slot-list",
    "stdin",
    "timeout",
    "tune",
    "wd",
    "wdir",
    "x",
    "xml-file",
    "xterm",
];
const OPEN_MPI_TWO: &[&str] = &["gmca", "gomca", "gpmixmca", "gprtemca", "mca", "omca", "pmixmca", "prtemca"];
const HYDRA: &[&str] = &[
    "bind-to",
    "binding",
    "bootstrap",
    "bootstrap-exec",
    "bootstrap-exec-args",
    "configfile",
    "demux",
    "envlist",
    "errfile-pattern",
    "f",
    "genvlist",
    "gpus-per-proc",
    "grr",
    "host",
    "hostfile",
    "hosts",
    "iface",
    "launcher",
    "launcher-exec",
    "localhost",
    "machine",
    "machinefile",
    "map-by",
    "membind",
    "memory-alloc-kinds",
    "n",
    "nameserver",
    "np",
    "order-nodes",
    "outfile-pattern",
    "path",
    "perhost",
    "ppn",
    "prepend-pattern",
    "rankmap",
    "rmk",
    "topolib",
    "umask",
    "usize",
    "wd",
    "wdir",
];
const SRUN: &[&str] = &[
    "account",
    "chdir",
    "cluster-constraint",
    "clusters",
    "constraint",
    "core-spec",
    "cores-per-socket",
    "cpu-bind",
    "cpu-freq",
    "cpus-per-gpu",
    "cpus-per-task",
    "deadline",
    "dependency",
    "distribution",
    "epilog",
    "error",
    "exclude",
    "export",
    "gpu-bind",
    "gpus",
    "gpus-per-node",
    "gpus-per-task",
    "gres",
    "hint",
    "input",
    "job-name",
    "jobid",
    "licenses",
    "mem",
    "mem-bind",
    "mem-per-cpu",
    "mem-per-gpu",
    "mpi",
    "network",
    "nodefile",
    "nodelist",
    "nodes",
    "ntasks",
    "ntasks-per-core",
    "ntasks-per-gpu",
    "ntasks-per-node",
    "ntasks-per-socket",
    "output",
    "partition",
    "priority",
    "prolog",
    "qos",
    "relative",
    "reservation",
    "sockets-per-node",
    "switches",
    "task-epilog",
    "task-prolog",
    "threads-per-core",
    "time",
    "time-min",
    "tmp",
    "wckey",
];
/// Letters of srun's options with a value, which may also stand right behind the letter.
const SRUN_LETTERS: &str = "ABCDEFGJLMNPSTVcdehijmnopqrtwx";

/// How many of the words behind `option` are its values, 0 where the option is not known.
fn values(kind: Kind, option: &str, next: Option<&String>) -> usize {
    let Some(name) = option.strip_prefix("--").or(option.strip_prefix('-')) else { return 0 };
    let one = |names: &[&str]| usize::from(names.contains(&name));
    match kind {
        Kind::OpenMpi if OPEN_MPI_TWO.contains(&name) => 2,
        Kind::OpenMpi => one(OPEN_MPI),
        // Either `-genv NAME VALUE` or `-genv NAME=VALUE`.
        Kind::Hydra if ["genv", "env"].contains(&name) => {
            if next.is_some_and(|next| next.contains('=')) {
                1
            } else {
                2
            }
        }
        Kind::Hydra => one(HYDRA),
        Kind::Srun if option.starts_with("--") => one(SRUN),
        Kind::Srun => usize::from(name.len() == 1 && SRUN_LETTERS.contains(name)),
    }
}

/// The words of one application context that may be its program: neither options nor what is known to be a value of
/// one.
pub fn candidates(kind: Kind, words: &[String]) -> Vec<&String> {
    let mut candidates = Vec::new();
    let mut at = 0;
    while let Some(word) = words.get(at) {
        if !word.starts_with('-') {
            candidates.push(word);
        }
        at += 1 + values(kind, word, words.get(at + 1));
    }
    candidates
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(kind: Kind, line: &str) -> String {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        candidates(kind, &words).into_iter().cloned().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn values_are_no_programs() {
        for (kind, line) in [
            (Kind::Hydra, "-genv LD_PRELOAD t.so -n 2 ./a x"),
            (Kind::Hydra, "-env A=t.so ./a x"),
            (
                Kind::Hydra,
                "-genvlist A,B -genvnone -hosts a,b -f hosts -ppn 2 -wdir /tmp -launcher-exec ssh -np 2 ./a x",
            ),
            (Kind::OpenMpi, "--mca btl self,tcp -x A --oversubscribe --hostfile h -np 2 --wdir /tmp ./a x"),
            (Kind::Srun, "-n 2 -N2 --task-prolog ./p --export=ALL --chdir /tmp -l ./a x"),
        ] {
            assert_eq!(found(kind, line), "./a x", "{line}");
        }
        // Of an option that is not known, the value may be the program.
        assert_eq!(found(Kind::Hydra, "-unknown v ./a"), "v ./a");
        // Cut short.
        assert_eq!(found(Kind::Hydra, "-n 2 ./a -genv A"), "./a");
    }
}
