//! Plans that contradict themselves, which are refused, and those of ranks that contradict one another, which never
//! finish.

use nagare_plan::execute::{Credits, Executor, Pacing, ThreadTransport, Traffic, World};
use nagare_plan::schedule::{Action, Parts, Program, ProgramError, RankPlan, Run, Space};

use crate::support::hops::hop;

#[test]
fn inconsistent_plans_are_refused_or_reported() {
    let plan = |hops| RankPlan::new(0, 2, hops);
    let wrong = [
        (plan(vec![hop(Action::Send, 1, Parts::vector(1, 2), vec![])]), true, "hop 0: parts 1..3 of 2"),
        (
            plan(vec![hop(Action::Send, 1, Parts::token(), vec![0])]),
            true,
            "hop 0 waits for hop 0, which is not earlier",
        ),
        (
            plan(vec![hop(Action::Recv, 1, Parts::vector(0, 1), vec![])]),
            false,
            "hop 0: receives into a rank without a result buffer",
        ),
        (
            plan(vec![
                hop(Action::Reduce, 1, Parts::vector(0, 2), vec![]),
                hop(Action::Send, 1, Parts::vector(0, 1), vec![]),
            ]),
            false,
            "hop 1: a rank without a result buffer combines parts that other hops cut differently",
        ),
        (
            plan(vec![
                hop(Action::Reduce, 1, Parts::vector(0, 1), vec![]),
                hop(Action::Send, 1, Parts::vector(0, 2), vec![]),
            ]),
            true,
            "hop 1: some of its parts have been combined or received, others are still the rank's contribution",
        ),
    ];
    let shuffles = |from: Parts, parts: Parts, runs: Vec<Run>| {
        let plan = plan(vec![hop(Action::Shuffle { from, table: 0 }, 0, parts, vec![])]);
        RankPlan { staged: 4, shuffles: vec![runs], ..plan }
    };
    let stage = Parts { space: Space::Stage, first: 0, count: 4 };
    let output = Parts { space: Space::Output, first: 0, count: 2 };
    let run = |from, to, count| Run { from, to, count };
    let in_its_own_way = "hop 0: writes where it reads, or twice in one place";
    let shuffled = [
        (shuffles(stage, output, vec![run(0, 0, 1), run(3, 1, 2)]), true, "hop 0: parts 3..5 of 4"),
        (shuffles(stage, output, vec![run(0, 1, 2)]), true, "hop 0: parts 1..3 of 2"),
        (shuffles(stage, output, vec![run(0, 1, 1), run(2, 1, 1)]), true, in_its_own_way),
        (shuffles(stage, stage, vec![run(0, 1, 2)]), true, in_its_own_way),
        (
            shuffles(output, Parts { space: Space::Input, ..output }, vec![run(0, 1, 1)]),
            true,
            "hop 0: writes to the input",
        ),
        (shuffles(stage, output, vec![run(0, 1, 1)]), false, "hop 0: receives into a rank without a result buffer"),
    ];
    for (plan, has_output, message) in wrong.into_iter().chain(shuffled) {
        let error: ProgramError = Program::new(plan, has_output).unwrap_err();
        assert_eq!(error.to_string(), message);
    }
    // Two ranks that both wait for a receive that nobody sends to.
    let waits = plan(vec![
        hop(Action::Recv, 1, Parts::vector(0, 1), vec![]),
        hop(Action::Send, 1, Parts::vector(1, 1), vec![0]),
    ]);
    let program = Program::new(waits, true).unwrap();
    let world = World::new(2, false);
    let mut transport = ThreadTransport::new(&world, 0, vec![1, 2]);
    let mut credits = Credits::default();
    let pacing = Pacing { segment: 1, window: 2, flow: None };
    let mut executor = Executor::new(&program, pacing, (false, true), &mut credits, &mut transport).unwrap();
    assert_eq!(executor.progress(&mut transport), Ok(false));
    assert_eq!(executor.traffic(), Traffic::default());
}

/// A rank that expects another length than is sent takes no segment: not even one that is as long as it expects.
#[test]
fn ranks_that_disagree_on_the_length_never_finish() {
    let data = Parts::vector(0, 1);
    let pacing = Pacing { segment: 4, window: 8, flow: None };
    for (sent, expected) in [(8, 4), (4, 8), (8, 7), (7, 8), (9, 8), (4, 3)] {
        let world = World::new(2, false);
        let plans = [
            RankPlan::new(0, 1, vec![hop(Action::Send, 1, data, vec![])]),
            RankPlan::new(1, 1, vec![hop(Action::Recv, 0, data, vec![])]),
        ];
        let programs = plans.map(|plan| Program::new(plan, true).unwrap());
        let mut credits = [Credits::default(), Credits::default()];
        let mut transports = [(0, sent), (1, expected)]
            .map(|(rank, units)| ThreadTransport::new(&world, rank, vec![u64::from(rank) + 6; units]).in_place());
        let mut executors: Vec<Executor> = programs
            .iter()
            .zip(&mut credits)
            .zip(&mut transports)
            .map(|((program, credits), transport)| {
                Executor::new(program, pacing, (true, true), credits, transport).unwrap()
            })
            .collect();
        let mut taken = false;
        for _ in 0..10 {
            for (rank, executor) in executors.iter_mut().enumerate() {
                let done = executor.progress(&mut transports[rank]).unwrap();
                taken |= rank == 1 && done;
            }
        }
        assert!(!taken, "{expected} units were taken of {sent}");
        assert_eq!(transports[1].output, vec![7; expected], "nothing arrived");
    }
}
