//! What the calls on a communicator have taught about which candidate is the fastest (docs/decisions/0017).
//!
//! ```text
//!   Learning ─┬─► Beginning: a class whose calls have not yet earned measured calls
//!             └─► Lesson:    a class whose candidates (ways) are measured; then the fastest runs
//! ```

use super::lesson::{Candidates, Lesson, Where};
use crate::report::learned::Learned;
use nagare_plan::algorithm::Algorithm;
use nagare_plan::collective::Collective;
use nagare_plan::learn::{Call, Earning};
use std::fmt;

/// Calls that are alike: a collective, and the largest power of two that is not above its bytes, where all ranks know
/// these. All calls of Alltoallv, Alltoallw, Gatherv and Scatterv are alike: programs have few of them, and of the same
/// sizes most often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Class {
    collective: Collective,
    magnitude: Option<u32>,
}

impl Class {
    /// Of a call of so many bytes, which all ranks know.
    pub fn of(collective: Collective, bytes: u64) -> Self {
        let magnitude = (!collective.has_own_sizes()).then(|| bytes.max(1).ilog2());
        Self { collective, magnitude }
    }

    /// Bytes of its shortest calls, 0 where it has all.
    fn least(self) -> u64 {
        self.magnitude.map_or(0, |magnitude| 1 << magnitude)
    }

    /// Its place among all of a communicator.
    fn order(self) -> (u8, Option<u32>) {
        (self.collective as u8, self.magnitude)
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.magnitude {
            Some(magnitude) => write!(f, "{} of {} bytes and more", self.collective, 1u64 << magnitude),
            None => write!(f, "{}", self.collective),
        }
    }
}

/// How the calls of a class begin.
pub struct Beginning {
    /// What they earn.
    pub earning: Earning,
    /// What of ours is predicted to be far faster than the MPI library, if anything.
    pub ours: Option<Algorithm>,
}

impl Beginning {
    /// What calls run on meanwhile: that, once it is believed, else the MPI library (none).
    pub fn way(&self) -> Option<Algorithm> {
        self.ours.filter(|_| self.earning.is_believed())
    }
}

/// What is known of a class: how its calls begin, and, once they have earned it, what they teach.
struct Known {
    class: Class,
    beginning: Beginning,
    lesson: Option<Box<Lesson>>,
}

/// What runs a call before which no rank is asked, and which is not measured.
pub enum Unasked {
    /// What was settled on: an algorithm of ours, or the MPI library.
    Settled(Option<Algorithm>),
    /// What the calls of the class begin with, since this one is early.
    Early {
        /// An algorithm of ours, or the MPI library.
        way: Option<Algorithm>,
        /// Whether [`Learning::took`] is to be told what the call takes.
        is_timed: bool,
    },
}

/// All classes of a communicator, of which programs have few, in their order.
#[derive(Default)]
pub struct Learning {
    classes: Vec<Known>,
    /// Calls of classes that are the library's before anything is predicted of them; [`u32::MAX`] where that was done
    /// and nothing is tried.
    left: Vec<(Class, u32)>,
}

impl Learning {
    /// Whether a call of the class is the library's without a prediction: one of the `first`, which is counted, or of a
    /// class of which nothing is tried.
    pub fn is_left(&mut self, class: Class, first: u32) -> bool {
        let calls = self.left(class);
        let is_first = *calls < first;
        *calls += u32::from(is_first);
        is_first || *calls == u32::MAX
    }

    /// Notes that nothing is tried in calls of the class.
    pub fn leave(&mut self, class: Class) {
        *self.left(class) = u32::MAX;
    }

    fn left(&mut self, class: Class) -> &mut u32 {
        let at = self.left.iter().position(|known| known.0 == class).unwrap_or_else(|| {
            self.left.push((class, 0));
            self.left.len() - 1
        });
        &mut self.left[at].1
    }

    /// What the next call of the class runs on, if no rank is asked before it and it is not measured; counts it then.
    pub fn unasked(&mut self, class: Class) -> Option<Unasked> {
        let at = self.at(class).ok()?;
        let Known { beginning, lesson, .. } = &mut self.classes[at];
        match lesson {
            None if !beginning.earning.next_unasked() => None,
            None => Some(Unasked::Early { way: beginning.way(), is_timed: beginning.earning.is_timed() }),
            Some(lesson) => lesson.trials.next_unmeasured().map(|way| Unasked::Settled(lesson.ways[way])),
        }
    }

    /// How the calls of the class begin, where nothing is measured yet: as `first` says if this is the first.
    pub fn early(&mut self, class: Class, first: impl FnOnce() -> Beginning) -> Option<&mut Beginning> {
        let Known { beginning, lesson, .. } = self.known(class, first);
        lesson.is_none().then_some(beginning)
    }

    /// The lesson of the class, which begins with these `candidates`.
    pub fn lesson(&mut self, class: Class, candidates: impl FnOnce() -> Candidates) -> &mut Lesson {
        let known = self.known(class, || Beginning { earning: Earning::new(None, false), ours: None });
        known.lesson.get_or_insert_with(|| Box::new(Lesson::new(candidates())))
    }

    /// Whether calls of the class may be planned by what a self-test has found: none was measured yet, or the first
    /// that was came after it.
    pub fn may_be_tested(&self, class: Class) -> bool {
        let lesson = self.at(class).ok().and_then(|at| self.classes[at].lesson.as_ref());
        lesson.is_none_or(|lesson| lesson.is_tested)
    }

    /// Whether no call of the class was measured yet.
    pub fn is_new(&self, class: Class) -> bool {
        let lesson = self.at(class).ok().and_then(|at| self.classes[at].lesson.as_ref());
        lesson.is_none_or(|lesson| lesson.trials.is_new())
    }

    /// What the calls of the class with which it began took here on average, nanoseconds; `None` if there were none.
    pub fn mean(&self, class: Class) -> Option<u64> {
        self.classes[self.at(class).ok()?].beginning.earning.mean()
    }

    /// What ranks took at least to ask each other about the class, nanoseconds; 0 if they have not.
    pub fn asking(&self, class: Class) -> u64 {
        self.at(class).map_or(0, |at| self.classes[at].beginning.earning.asking())
    }

    /// Begins the lesson of the class with these candidates, whatever there was before.
    pub fn begin(&mut self, class: Class, candidates: impl FnOnce() -> Candidates) {
        if let Ok(at) = self.at(class) {
            self.classes[at].lesson = None;
        }
        self.lesson(class, candidates);
    }

    /// What has been measured, for the report.
    pub fn learned(&self, place: Where) -> impl Iterator<Item = Learned> + '_ {
        self.classes.iter().filter_map(move |known| {
            Some(known.lesson.as_ref()?.learned(known.class.collective, known.class.least(), place))
        })
    }

    /// What a call that was to be timed took here, nanoseconds, and how many bytes it was about here.
    pub fn took(&mut self, class: Class, nanoseconds: u64, bytes: u64) {
        let Ok(at) = self.at(class) else { return };
        let Known { beginning, lesson, .. } = &mut self.classes[at];
        match lesson {
            None => beginning.earning.add(nanoseconds),
            // Where ranks know one another's sizes, calls of a class are about alike.
            Some(lesson) => lesson.own = Call { nanoseconds, bytes: if class.magnitude.is_none() { bytes } else { 0 } },
        }
    }

    fn known(&mut self, class: Class, first: impl FnOnce() -> Beginning) -> &mut Known {
        let at = self.at(class).unwrap_or_else(|at| {
            self.classes.insert(at, Known { class, beginning: first(), lesson: None });
            at
        });
        &mut self.classes[at]
    }

    /// Where the class is, or would be.
    fn at(&self, class: Class) -> Result<usize, usize> {
        self.classes.binary_search_by_key(&class.order(), |known| known.class.order())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const CLASS: Class = Class { collective: Collective::Allgather, magnitude: Some(12) };

    /// Of calls of a millisecond, of which some are asked about first, as long as nothing is measured: what each runs
    /// on, and whether its time is kept. What `ours` is predicted to gain is believed if calls of the library take so
    /// many nanoseconds.
    fn early(ours: Option<Algorithm>, between: Option<[f64; 2]>, calls: u32) -> Vec<(Option<Algorithm>, bool)> {
        let mut learning = Learning::default();
        let first = || Beginning { earning: Earning::new(None, false).believed_between(between), ours };
        let run = |_| {
            let (way, is_timed) = match learning.unasked(CLASS) {
                Some(Unasked::Early { way, is_timed }) => (way, is_timed),
                Some(Unasked::Settled(_)) => panic!("nothing is measured yet"),
                None => {
                    let beginning = learning.early(CLASS, first).expect("nothing is measured yet");
                    let way = beginning.way();
                    if beginning.earning.next_call() {
                        // So dear that trials are far away.
                        let dear =
                            |[spent, _, later]: [u64; 3]| Ok(([spent, 1_000_000_000, later], Duration::from_secs(1)));
                        assert_eq!(beginning.earning.is_earned(dear), Ok::<_, ()>(false));
                    }
                    (way, true)
                }
            };
            if is_timed {
                learning.took(CLASS, 1_000_000, 4096);
            }
            (way, is_timed)
        };
        (0..calls).map(run).collect()
    }

    /// Ranks ask each other before the second call.
    #[test]
    fn early_calls_run_on_what_is_believed_and_tell_their_time() {
        let ring = Some(Algorithm::Ring);
        assert_eq!(early(None, None, 40), vec![(None, true); 40]);
        let believed = early(ring, Some([0.5e6, 2e6]), 40);
        assert_eq!((&believed[..2], &believed[2..]), (&[(None, true); 2][..], &[(ring, true); 38][..]));
        // The library is faster, or slower, than predicted.
        for between in [[1.1e6, 4e6], [0.1e6, 0.9e6]] {
            assert_eq!(early(ring, Some(between), 40), vec![(None, true); 40], "{between:?}");
        }
    }

    #[test]
    fn every_class_has_first_calls_of_its_own() {
        let mut learning = Learning::default();
        let shorter = Class { magnitude: Some(11), ..CLASS };
        let left = |learning: &mut Learning, class| (0..20).take_while(|_| learning.is_left(class, 5)).count();
        assert_eq!([CLASS, shorter, CLASS].map(|class| left(&mut learning, class)), [5, 5, 0]);
        learning.leave(shorter);
        assert_eq!([CLASS, shorter].map(|class| left(&mut learning, class)), [0, 20]);
    }

    #[test]
    fn a_lesson_ends_what_calls_begin_with() {
        let mut learning = Learning::default();
        let earning = || Earning::new(None, false).believed_between(Some([1.0, 1e9]));
        let first = || Beginning { earning: earning(), ours: Some(Algorithm::Ring) };
        assert!(!learning.early(CLASS, first).expect("nothing is measured yet").earning.next_call());
        learning.took(CLASS, 1_000_000, 4096);
        let asked = &mut learning.early(CLASS, first).expect("nothing is measured yet").earning;
        let dear = |[spent, _, later]: [u64; 3]| Ok(([spent, 1_000_000_000, later], Duration::from_secs(1)));
        assert_eq!((asked.next_call(), asked.is_earned(dear)), (true, Ok::<_, ()>(false)));
        assert!(matches!(learning.unasked(CLASS), Some(Unasked::Early { way: Some(Algorithm::Ring), .. })));
        learning.lesson(CLASS, || Candidates { algorithms: vec![Algorithm::Ring], ..Candidates::default() });
        assert!(learning.early(CLASS, first).is_none());
        assert!(learning.unasked(CLASS).is_none(), "the first call of the lesson is measured");
    }
}
