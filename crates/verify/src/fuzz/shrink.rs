//! Makes a failing case smaller, as long as it fails: fewer statements, ranks and settings, less data, simpler types.

use super::case::{Action, Call, Case, Shape, Statement};
use super::settings::Settings;
use super::tables::{Kind, Type};
use super::valid::{State, check};

/// A case with what it runs with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failing {
    /// Environment and number of ranks.
    pub settings: Settings,
    /// The program.
    pub case: Case,
}

/// The smallest that was found within `tries` calls of `fails`.
pub fn shrink(failing: &Failing, tries: usize, fails: &mut dyn FnMut(&Failing) -> bool) -> Failing {
    let mut best = failing.clone();
    let mut left = tries;
    loop {
        let before = best.clone();
        for simplify in [fewer_statements, fewer_settings, simpler_calls] {
            let mut index = 0;
            // A candidate that fails takes the place of the best one, and the candidates are made anew.
            while let Some(candidate) = simplify(&best, index) {
                let worth_trying = candidate != best && check(&candidate.case, candidate.settings.ranks).is_ok();
                if worth_trying && left == 0 {
                    return best;
                }
                if worth_trying {
                    left -= 1;
                    if fails(&candidate) {
                        best = candidate;
                        continue;
                    }
                }
                index += 1;
            }
        }
        if best == before {
            return best;
        }
    }
}

/// Candidate `index` without some of the statements: long runs first, then single ones.
fn fewer_statements(from: &Failing, index: usize) -> Option<Failing> {
    let count = from.case.statements.len();
    let mut runs = Vec::new();
    let mut length = count.div_ceil(2);
    while length > 0 {
        runs.extend((0..count).step_by(length).map(|start| (start, length)));
        length = if length == 1 { 0 } else { length.div_ceil(2) };
    }
    let &(start, length) = runs.get(index)?;
    let mut smaller = from.clone();
    smaller.case.statements.drain(start..(start + length).min(count));
    repair(&mut smaller);
    Some(smaller)
}

/// Candidate `index` with fewer ranks, threads or variables.
fn fewer_settings(from: &Failing, index: usize) -> Option<Failing> {
    let mut simpler = from.clone();
    match index {
        0 => simpler.settings.ranks = simpler.settings.ranks.saturating_sub(1).max(1),
        1 => {
            let used = simpler.case.statements.iter().map(|s| s.thread + 1).max().unwrap_or(1);
            simpler.case.threads = used;
        }
        _ => {
            (index - 2 < simpler.settings.variables.len()).then_some(())?;
            simpler.settings.variables.remove(index - 2);
        }
    }
    repair(&mut simpler);
    Some(simpler)
}

/// Ways to make a call simpler.
const SIMPLIFICATIONS: [fn(&mut Call); 15] = [
    |call| call.items = 0,
    |call| call.items = 1,
    |call| call.items /= 2,
    |call| call.items = call.items.saturating_sub(1),
    |call| (call.send, call.receive) = (vec![Type::plain()], vec![Type::plain()]),
    |call| call.kind = Kind::from_name("int").unwrap_or(call.kind),
    |call| call.in_place = false,
    |call| call.large = false,
    |call| call.start = false,
    |call| call.last = false,
    |call| call.series.iter_mut().for_each(|series| series.times = series.times.div_ceil(2)),
    |call| {
        if call.series.take().is_some() {
            call.shape = Shape::Even;
        }
    },
    |call| {
        if call.series.is_none() {
            call.shape = Shape::Even;
        }
    },
    |call| call.root = 0,
    |call| (call.op, call.rounding) = (call.kind.operations().next().unwrap_or(call.op), false),
];

/// Candidate `index` with one call simpler.
fn simpler_calls(from: &Failing, index: usize) -> Option<Failing> {
    let mut simpler = from.clone();
    let calls = simpler.case.statements.iter_mut().filter_map(|s| match &mut s.action {
        Action::Call(call) => Some(call),
        _ => None,
    });
    let call = calls.into_iter().nth(index / SIMPLIFICATIONS.len())?;
    SIMPLIFICATIONS[index % SIMPLIFICATIONS.len()](call);
    repair(&mut simpler);
    Some(simpler)
}

/// Leaves out what is no longer valid, and finishes what is no longer finished.
fn repair(failing: &mut Failing) {
    let case = &mut failing.case;
    let mut state = State::new(failing.settings.ranks, case.threads);
    case.statements.retain(|statement| state.apply(statement).is_ok());
    for thread in 0..case.threads {
        for id in state.open_of(thread) {
            case.statements.push(Statement { thread, action: Action::Finish(id) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::generate::case;
    use super::*;
    use nagare_harness::Mpi;

    fn has_gather(failing: &Failing) -> bool {
        failing.case.statements.iter().any(|s| match &s.action {
            Action::Call(call) => call.what.name() == "gather" && call.items > 5 && failing.settings.ranks > 2,
            _ => false,
        })
    }

    /// The "bug": a gather of more than five values on more than two ranks.
    #[test]
    fn only_what_makes_it_fail_is_left() {
        let mut found = 0;
        for seed in 0..60 {
            let settings = Settings::new(seed, Mpi::OpenMpi4);
            let failing = Failing { case: case(seed, 1, &settings), settings };
            if !has_gather(&failing) {
                continue;
            }
            found += 1;
            let mut tried = 0;
            let small = shrink(&failing, 2000, &mut |candidate| {
                tried += 1;
                check(&candidate.case, candidate.settings.ranks).expect("candidates are valid");
                has_gather(candidate)
            });
            assert!(has_gather(&small), "{}", small.case);
            // A communicator that is needed may need more ranks than the call on it.
            assert!(small.settings.ranks == 3 || small.case.statements.len() > 1, "{}", small.case);
            assert!(small.settings.variables.is_empty(), "{:?}", small.settings);
            // The call, its communicators, and a finish if it cannot do without.
            let others = small.case.statements.iter().filter(|s| !matches!(s.action, Action::Comm { .. }));
            assert!(others.count() <= 2, "{} of {}", small.case, failing.case);
            assert!(tried <= 2000);
        }
        assert!(found > 5, "{found} cases with a gather");
    }
}
