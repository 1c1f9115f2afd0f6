//! A small cache: the answers to the last few questions of one kind, since programs make the same calls again and
//! again.

use parking_lot::Mutex;

/// Questions whose answers are kept.
const KEPT: usize = 16;

/// The answers to the last few questions of one kind.
#[derive(Debug)]
pub(crate) struct Recent<Q, A> {
    /// Answers, and the place of the oldest once there are as many as are kept.
    known: Mutex<(Vec<(Q, A)>, usize)>,
}

impl<Q: PartialEq, A: Copy> Recent<Q, A> {
    /// None yet.
    pub fn new() -> Self {
        Self { known: Mutex::default() }
    }

    /// The answer to `question`, worked out if it is not known.
    pub fn answer(&self, question: Q, work_out: impl FnOnce() -> A) -> A {
        let known = || self.known.lock();
        if let Some(&(_, answer)) = known().0.iter().find(|(known, _)| *known == question) {
            return answer;
        }
        let answer = work_out();
        let (all, oldest) = &mut *known();
        if all.len() < KEPT {
            all.push((question, answer));
        } else {
            all[*oldest] = (question, answer);
            *oldest = (*oldest + 1) % KEPT;
        }
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn the_last_questions_are_not_worked_out_again() {
        let (recent, worked) = (Recent::new(), Cell::new(0));
        let square = |n: usize| {
            recent.answer(n, || {
                worked.set(worked.get() + 1);
                n * n
            })
        };
        for n in (0..KEPT).chain(0..KEPT) {
            assert_eq!(square(n), n * n);
        }
        assert_eq!(worked.get(), KEPT);
        // One more takes the place of the first alone.
        for n in [KEPT, 1, KEPT, 0] {
            assert_eq!(square(n), n * n);
        }
        assert_eq!(worked.get(), KEPT + 2);
    }
}
