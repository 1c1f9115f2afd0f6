//! The table of the environment variables: names, values, defaults and help texts.

use std::fmt::Write;

/// One environment variable.
#[derive(Clone, Copy, Debug)]
pub struct Variable {
    /// Full name.
    pub name: &'static str,
    /// What values it takes, in a few words.
    pub values: &'static str,
    /// What holds when it is not set.
    pub default: &'static str,
    /// What it does.
    pub help: &'static str,
    /// Whether all ranks must have the same value.
    pub shared: bool,
}

/// All of them, in the order in which documentation lists them.
pub const VARIABLES: &[Variable] = &[
    Variable {
        name: "NAGARE_ENABLE",
        values: "1 or 0",
        default: "1",
        help: "0 turns everything off: every call goes straight to the MPI library",
        shared: true,
    },
    Variable {
        name: "NAGARE_ALGORITHM",
        values: "`collective=algorithm[:min-max]`, several divided by semicolons",
        default: "by size and cost, docs/algorithms.md",
        help: "forces algorithms by collective and bytes (suffixes K, M, G), also on one node; \
               `all` stands for every collective, `stock` for the MPI library. \
               Example: `bcast=grouped_two_tree:64K-;alltoall=xor;all=stock`",
        shared: true,
    },
    Variable {
        name: "NAGARE_LEARN",
        values: "`on`, `off` or `write`",
        default: "on",
        help: "once calls of a collective and size on a communicator have taken enough time to pay for it, Nagare \
               measures the MPI library and up to three algorithms in turn and goes on with the fastest; for what \
               moves data, and for reductions that are exact. Where neither a profile nor a fabric's file says what \
               messages cost, a test of the network, of about 20 ms, comes before. Off: the choice by size and \
               predicted time alone. Write: as on, and what was the fastest becomes a profile for later jobs",
        shared: true,
    },
    Variable {
        name: "NAGARE_PROFILE",
        values: "a file, or `off`",
        default: "those in `~/.config/nagare/profiles` and `/etc/nagare/profiles`",
        help: "what `nagare tune` measured: the fastest algorithm, or the MPI library's own, by collective and bytes, \
               and what messages cost; read by rank 0 and used where library and network are the same \
               (docs/profiles.md)",
        shared: true,
    },
    Variable {
        name: "NAGARE_TOPOLOGY",
        values: "a file, `shipped:NAME`, or `synthetic:LEVEL:N …`",
        default: "what Slurm and the MPI library tell",
        help: "a fabric file (TOML), a fabric that comes with Nagare, or a pretended machine that ranks fill in order, \
               such as `synthetic:group:4 node:2 core:4`",
        shared: true,
    },
    Variable {
        name: "NAGARE_SEGMENT",
        values: "bytes, with suffix K or M",
        default: "by cost, from 512 to 1M, in shared memory to 64M; over Open MPI's TCP, within what it sends without \
                  asking, over UCX's up to 16K before UCX 1.16 and 64K since",
        help: "the segment in which vectors are pipelined",
        shared: true,
    },
    Variable {
        name: "NAGARE_WINDOW",
        values: "2 to 1024",
        default: "512K in segments, 16 to 128; of segments above 64K, 1M in segments, at least 2; no more than fits \
                  the queues of the fabric where streams meet, at least 2; there, through a tree or circulant \
                  graph, also no more than the link carries while a message goes there and back twice, or 8 in a \
                  Reduce, and in a Bcast, where links are not fast, 4 or 64K by one less than the streams that meet, \
                  whichever is the most",
        help: "segments that may be under way unreceived on one stream between two ranks",
        shared: true,
    },
    Variable {
        name: "NAGARE_STEPS",
        values: "1 to 32, or `together`",
        default: "as many as the queues of the fabric have room for",
        help: "steps of an exchange (alltoall) that a rank has under way at the same time; 1 completes each step \
               before the next. `together`: no rank begins a step before all ranks have completed the one before; \
               in `contention_free`, whose tasks are no steps of all ranks, the same as 1",
        shared: true,
    },
    Variable {
        name: "NAGARE_PARTNERS",
        values: "1 or 2",
        default: "1",
        help: "partners of a rank in one step of the `xor` exchange: 1 sends to the rank from which it receives, 2 \
               sends to one and receives from another",
        shared: true,
    },
    Variable {
        name: "NAGARE_TORUS",
        values: "sizes such as `4x4x2`, or with names `W4xX2xY1xZ4`",
        default: "the fabric's torus, a Cartesian communicator, or the levels",
        help: "the dimensions of the torus or mesh that the nodes of MPI_COMM_WORLD are on, in the order of their \
               numbers, the last dimension fastest; `halving_doubling` goes along them, and is the default of \
               Allreduce, Allgather and Reduce_scatter then (docs/fabrics.md)",
        shared: true,
    },
    Variable {
        name: "NAGARE_TORUS_ORDER",
        values: "`bandwidth`, `alphabetical` or `given`",
        default: "bandwidth",
        help: "the order in which dimensions are halved: the widest first, by name, or as they are given",
        shared: true,
    },
    Variable {
        name: "NAGARE_TORUS_PARTNERS",
        values: "`near` or `bits`",
        default: "near",
        help: "who exchanges halves along a dimension: `near` nodes, such that the exchanges of a step share no link \
               on rings of up to four nodes and few on longer ones, or nodes whose numbers differ in one bit",
        shared: true,
    },
    Variable {
        name: "NAGARE_AGGREGATORS",
        values: "1 to 64",
        default: "`halving_doubling`: the adapters that the ranks of a node use, where the fabric has several for a \
                  host, else those beside the NUMA nodes that they are bound to, else these NUMA nodes; `aggregated`: \
                  all ranks",
        help: "ranks of every node that exchange with other nodes: in `halving_doubling` each for its share of the \
               vector, at most the ranks of the node with the fewest; in `aggregated` as leaders, which collect and \
               distribute the others' blocks",
        shared: true,
    },
    Variable {
        name: "NAGARE_WAIT",
        values: "`library` or `pause`",
        default: "library",
        help: "how a rank waits inside Nagare's algorithms: as the MPI library does, but it yields where ranks \
               outnumber processors or others want its processor, and then sleeps for one or two milliseconds now \
               and then once somebody is late by a second; or with pauses of 50 microseconds from the third look on",
        shared: false,
    },
    Variable {
        name: "NAGARE_DEVICE_MEMORY",
        values: "`ask`, `managed` or `never`",
        default: "ask",
        help: "calls with a buffer in the memory of a GPU are left to the MPI library; where a host of the job has one, \
               ranks ask the driver (CUDA, ROCm), and each other before each call that Nagare would carry out. \
               `managed`: memory that the driver manages is used as the host's; `never`: nobody is asked, all buffers \
               are the host's",
        shared: true,
    },
    Variable {
        name: "NAGARE_MEETING_TIMEOUT",
        values: "seconds, 10 to 1000000, or 0",
        default: "120",
        help: "how long ranks wait in MPI_Init for one that does not have Nagare, before the job ends; 0: for ever",
        shared: false,
    },
    Variable {
        name: "NAGARE_WATCH",
        values: "`off`, or a time such as `60s`, `5m`, `1h`",
        default: "off",
        help: "a collective that has not ended after that long is told on standard error, once: which ranks are not in \
               it, on which hosts, and what they are in instead; where arguments differ; whom the others wait for. \
               Ranks ask each other by datagrams (UDP, IPv4), each with a thread that is asleep until then. Where some \
               ranks say so, all take part, with the shortest time",
        shared: false,
    },
    Variable {
        name: "NAGARE_STRICT",
        values: "1 or 0",
        default: "0",
        help: "1 makes wrong or contradictory configuration fatal instead of running on the MPI library's own \
               collectives",
        shared: true,
    },
    Variable {
        name: "NAGARE_REPORT",
        values: "`stderr`, `stdout`, a file, or `replace:` and a file",
        default: "no report",
        help: "at MPI_Finalize, what ran how often and for how long; a file whose name ends in .json gets JSON. In the \
               name, %j is the job's number in the batch system (else the process number), %h the host, %p the process \
               number and %t the time (seconds since 1970) of rank 0, and %% a percent sign. A file that is there \
               stays, and the report gets a number: `r.2.json`; `replace:r.json` replaces it. A relative name is one in \
               the directory in which rank 0 called MPI_Init. A world made by MPI_Comm_spawn \
               writes a file of its own beside it: `r.json` becomes `r.spawned-HOST-PROCESS.json`, with the host and \
               process number of its rank 0",
        shared: false,
    },
    Variable {
        name: "NAGARE_LOG",
        values: "`error`, `warn`, `info` or `debug`",
        default: "warn",
        help: "what is told on standard error while running",
        shared: false,
    },
];

/// The table as a Markdown document.
pub fn markdown() -> String {
    let mut text = String::from(
        "# Environment variables\n\n\
         Generated from the table in `crates/config/src/table.rs` by `nagare env --markdown`; do not edit.\n\n\
         | variable | values | default | meaning | same on all ranks |\n|---|---|---|---|---|\n",
    );
    for v in VARIABLES {
        let shared = if v.shared { "yes" } else { "no" };
        let _ = writeln!(text, "| `{}` | {} | {} | {} | {shared} |", v.name, v.values, v.default, v.help);
    }
    text
}
