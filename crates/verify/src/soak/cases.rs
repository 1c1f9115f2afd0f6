//! Programs that run under memcheck and the sanitizers.

/// A program and its arguments.
#[derive(Clone, Copy)]
pub struct Case {
    /// Relative to the project.
    pub source: &'static str,
    /// Arguments of the program.
    pub arguments: &'static [&'static str],
    /// What it calls itself in its line `PASS`.
    pub name: &'static str,
}

/// All of them, or a few.
pub fn cases(quick: bool) -> &'static [Case] {
    const CASES: [Case; 5] = [
        Case { source: "tests/programs/soak.c", arguments: &["cycles=20", "calls=30"], name: "soak" },
        Case {
            source: "tests/programs/collectives.c",
            arguments: &["sizes=0,3,1000,4097", "thin=40"],
            name: "collectives",
        },
        Case { source: "tests/programs/lifetime.c", arguments: &["cycles=60"], name: "lifetime" },
        Case { source: "tests/programs/threads.c", arguments: &["threads=3", "iterations=20"], name: "threads" },
        Case { source: "tests/programs/edge.c", arguments: &["count=1000"], name: "edge" },
    ];
    if quick { &CASES[..1] } else { &CASES }
}
