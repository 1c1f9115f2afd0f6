//! Random programs: a pure function of a seed, a number and the settings.
//!
//! Statements are proposed at random (`calls.rs`, `comms.rs`) and taken if they are valid where they stand, so that
//! what comes out is valid as a whole.

use super::case::{Action, Case, Message, Statement};
use super::settings::Settings;
use super::sizes;
use super::valid::{Known, State};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

/// Case `id` of the batch with this seed.
pub fn case(seed: u64, id: u64, settings: &Settings) -> Case {
    let mut random = Pcg64::seed_from_u64(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(id));
    let threads = if settings.threads { random.random_range(1..=3u32) } else { 1 };
    let budget = match random.random_range(0..100u32) {
        0..70 => 1 << 20,
        70..92 => 6 << 20,
        _ => 30 << 20,
    };
    let state = State::new(settings.ranks, threads);
    let case = Case { id, threads, statements: Vec::new() };
    let mut generator = Generator { random, settings, state, case, budget, next: u64::from(threads) };
    let steps = generator.random.random_range(3..=22u32);
    for _ in 0..steps {
        generator.step();
    }
    generator.finish_all();
    generator.case
}

/// Percent of the calls that become a series.
const SERIES: u32 = 1;

pub(super) struct Generator<'a> {
    pub(super) random: Pcg64,
    pub(super) settings: &'a Settings,
    pub(super) state: State,
    pub(super) case: Case,
    /// Bytes that may still be moved.
    pub(super) budget: u64,
    /// The next number of a communicator, call or message.
    pub(super) next: u64,
}

impl Generator<'_> {
    fn step(&mut self) {
        let thread = self.below(self.case.threads);
        match self.below(100) {
            0..58 => self.call(thread),
            58..72 => self.make(thread),
            72..78 => self.free(thread),
            78..87 => self.message(thread),
            87..94 => self.finish(thread),
            94..96 => self.stall(thread),
            _ => self.burst(thread),
        }
    }

    /// Takes a statement if it is valid here.
    pub(super) fn take(&mut self, thread: u32, action: Action) -> bool {
        let statement = Statement { thread, action };
        let valid = self.state.apply(&statement).is_ok();
        if valid {
            self.next += 1;
            self.case.statements.push(statement);
        }
        valid
    }

    pub(super) fn below(&mut self, end: u32) -> u32 {
        self.random.random_range(0..end.max(1))
    }

    pub(super) fn chance(&mut self, percent: u32) -> bool {
        self.below(100) < percent
    }

    pub(super) fn pick<T: Copy>(&mut self, items: &[T]) -> Option<T> {
        let index = self.below(items.len() as u32) as usize;
        items.get(index).copied()
    }

    /// A communicator of the thread; the younger ones more often.
    pub(super) fn comm(&mut self, thread: u32) -> Option<(u64, Known)> {
        let ids = self.state.comms_of(thread);
        let young = &ids[ids.len().saturating_sub(2)..];
        let id = if self.chance(60) { self.pick(young)? } else { self.pick(&ids)? };
        Some((id, self.state.comm(id)?.clone()))
    }

    fn call(&mut self, thread: u32) {
        if let Some((comm, _)) = self.comm(thread) {
            self.call_on(thread, comm);
        }
    }

    pub(super) fn call_on(&mut self, thread: u32, comm: u64) {
        let Some(known) = self.state.comm(comm).cloned() else { return };
        let Some(what) = self.what() else { return };
        let start = self.chance(10) && comm != self.newest_of_burst();
        let mut call = self.proposal(what, comm, &known, start);
        call.last = !start && self.case.threads == 1 && comm > 0 && self.chance(20);
        // More ranks than that wait for each other too long in a library that exchanges empty blocks.
        if !start && !call.last && known.most() <= 4 && self.chance(SERIES) {
            call = self.series(call, &known);
        }
        self.budget = self.budget.saturating_sub(sizes::cost(what, call.items * call.kind.bytes(), &known));
        self.take(thread, Action::Call(call));
    }

    /// The communicator that a burst is about to free: nothing may stay open on it.
    fn newest_of_burst(&self) -> u64 {
        match self.case.statements.last() {
            Some(Statement { action: Action::Comm { id, .. }, .. }) => *id,
            _ => u64::MAX,
        }
    }

    fn message(&mut self, thread: u32) {
        let Some((comm, known)) = self.comm(thread) else { return };
        let items = match self.below(4) {
            0 => self.below(3),
            1 => self.below(100),
            2 => 900 + self.below(400),
            _ => self.below(40_000),
        };
        let message = Message {
            id: self.next,
            comm,
            from: self.below(known.least()),
            to: self.below(known.least()),
            items: u64::from(items),
            tag: self.below(32768),
            wild: self.chance(60),
            early: self.chance(30),
        };
        self.take(thread, Action::Message(message));
    }

    fn stall(&mut self, thread: u32) {
        let most = if self.chance(20) { 30 } else { 5 };
        let milliseconds = 1 + self.below(most);
        let rank = self.below(self.settings.ranks);
        self.take(thread, Action::Stall { rank, milliseconds });
    }

    fn finish(&mut self, thread: u32) {
        let open = self.state.open_of(thread);
        if let Some(id) = self.pick(&open) {
            self.take(thread, Action::Finish(id));
        }
    }

    fn finish_all(&mut self) {
        for thread in 0..self.case.threads {
            while !self.state.open_of(thread).is_empty() {
                self.finish(thread);
            }
            while self.chance(50) && self.state.comms_of(thread).len() > 1 {
                self.free(thread);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::case::Shape;
    use super::super::read::read_cases;
    use super::super::tables::{Kind, Type};
    use super::super::valid::check;
    use super::super::what::What;
    use super::*;
    use nagare_harness::Mpi;
    use std::collections::BTreeSet;

    fn batch(seed: u64, mpi: Mpi) -> (Settings, Vec<Case>) {
        let settings = Settings::new(seed, mpi);
        let cases = (1..=20).map(|id| case(seed, id, &settings)).collect();
        (settings, cases)
    }

    #[test]
    fn programs_are_valid_and_read_as_written() {
        for seed in 0..100 {
            let (settings, cases) = batch(seed, Mpi::ALL[seed as usize % 4]);
            let text: String = cases.iter().map(ToString::to_string).collect();
            for case in &cases {
                if let Err(error) = check(case, settings.ranks) {
                    panic!("{error:#}\n{case}");
                }
            }
            assert_eq!(read_cases(&text).expect("the text of cases"), cases);
        }
    }

    /// A block of very many segments takes minutes where ranks share a processor, and the watchdog ends it.
    #[test]
    fn no_block_has_more_segments_than_a_watchdog_waits_for() {
        for seed in 0..100 {
            let (settings, cases) = batch(seed, Mpi::OpenMpi5);
            let Some(segment) = settings.segment() else { continue };
            for statement in cases.iter().flat_map(|case| &case.statements) {
                let Action::Call(call) = &statement.action else { continue };
                let bytes = call.items * call.kind.bytes();
                assert!(bytes <= sizes::MOST_SEGMENTS * segment, "{bytes} bytes in segments of {segment}");
            }
        }
    }

    #[test]
    fn a_seed_always_means_the_same() {
        let (settings, cases) = batch(7, Mpi::Mpich4);
        assert_eq!((settings, cases), batch(7, Mpi::Mpich4));
        assert_ne!(batch(7, Mpi::Mpich4).1, batch(8, Mpi::Mpich4).1);
    }

    /// Everything that the tables name comes up.
    #[test]
    fn everything_is_used() {
        let mut words = BTreeSet::new();
        for seed in 0..60 {
            let (_, cases) = batch(seed, Mpi::OpenMpi4);
            for case in cases {
                words.extend(case.to_string().split_whitespace().map(str::to_owned));
            }
        }
        let expected = What::all().map(|what| format!("what={what}"));
        let expected = expected.chain(Kind::all().map(|kind| format!("kind={}", kind.name())));
        let expected = expected.chain(Type::all().iter().map(|t| format!("send={}", t.name)));
        let expected = expected.chain(Kind::all().flat_map(Kind::operations).map(|op| format!("op={op}")));
        let expected = expected.chain(Shape::ALL.iter().map(|shape| format!("shape={}", shape.name())));
        let makes = ["dup", "idup", "split", "cart", "sub", "group", "create", "merge"];
        let expected = expected.chain(makes.iter().map(|make| format!("make={make}")));
        let bits = [
            "start=1",
            "inplace=1",
            "large=1",
            "wild=1",
            "early=1",
            "data=rounding",
            "items=0",
            "threads=3",
            "last=1",
            "every=256",
            "disconnect=1",
            "stall",
        ];
        let missing: Vec<String> =
            expected.chain(bits.map(str::to_owned)).filter(|word| !words.contains(word)).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }
}
