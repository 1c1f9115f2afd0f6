//! A rank's plan with the order between its hops worked out, ready to execute any number of times.

use super::connections::{Connection, connections};
use super::{Action, Hop, Parts, RankPlan, Run, Space};
use thiserror::Error;

/// Where the data of a send, or the running value of a combination, is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// This rank's own contribution, unchanged.
    Input,
    /// The result buffer.
    Output,
    /// The staging space.
    Stage,
    /// The scratch segments of that hop (index into the plan), on ranks without a result buffer.
    ScratchOf(u32),
}

/// What one hop waits for and works on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dependencies {
    /// Earlier hops on overlapping parts, segment by segment.
    pub data: Vec<u32>,
    /// Hops that must be complete as a whole.
    pub whole: Vec<u32>,
    /// The other way round: hops that wait for this one to be complete as a whole.
    pub released: Vec<u32>,
    /// For a send: where its data is. For a combination: what it is combined with.
    pub source: Source,
    /// For a send or a combination of staged parts: the copy or shuffle from the input that has written all of them,
    /// and nothing else, for this hop alone. It may take them from the input instead, where the result is another
    /// buffer.
    pub staged_by: Option<u32>,
    /// For a copy of staged parts to the output: the combination that has written all of them, and nothing else, for
    /// this hop alone. It may leave its result in the output instead, where the input is another buffer.
    pub combined_by: Option<u32>,
    /// For a combination on a rank without a result buffer: the hops that read its scratch segments, which are free
    /// again when all of these are done with them.
    pub freed_by: Vec<u32>,
    /// Hops that may be able to go on when this one is done with another segment: those that name it in `data` or in
    /// `freed_by`.
    pub followers: Vec<u32>,
    /// For a send: its connection, an index into [`Program::connections`].
    pub connection: u32,
}

/// A plan and its dependencies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The plan itself.
    pub plan: RankPlan,
    /// One entry per hop of the plan.
    pub dependencies: Vec<Dependencies>,
    /// The ranks that are sent to.
    pub connections: Vec<Connection>,
}

/// Why a plan cannot be executed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ProgramError {
    /// A hop refers to parts that do not exist.
    #[error("hop {hop}: parts {first}..{end} of {parts}")]
    NoSuchPart {
        /// Index of the hop.
        hop: u32,
        /// First part it names.
        first: u32,
        /// One past the last part it names.
        end: u32,
        /// Number of parts of the plan.
        parts: u32,
    },
    /// `after` names the hop itself or a later one.
    #[error("hop {hop} waits for hop {after}, which is not earlier")]
    NotEarlier {
        /// Index of the hop.
        hop: u32,
        /// What it waits for.
        after: u32,
    },
    /// A combination without a result buffer must work on the same parts as the hops around it.
    #[error("hop {hop}: a rank without a result buffer combines parts that other hops cut differently")]
    Misaligned {
        /// Index of the hop.
        hop: u32,
    },
    /// Of what it sends or combines a part is still the rank's own contribution, in another buffer than the rest.
    #[error("hop {hop}: some of its parts have been combined or received, others are still the rank's contribution")]
    InTwoBuffers {
        /// Index of the hop.
        hop: u32,
    },
    /// A copy or shuffle would overwrite what it reads or has written.
    #[error("hop {hop}: writes where it reads, or twice in one place")]
    InItsOwnWay {
        /// Index of the hop.
        hop: u32,
    },
    /// Something is received into a rank that has no result buffer.
    #[error("hop {hop}: receives into a rank without a result buffer")]
    NoOutput {
        /// Index of the hop.
        hop: u32,
    },
    /// Something is received into blocks that are only to be sent.
    #[error("hop {hop}: writes to the input")]
    WritesInput {
        /// Index of the hop.
        hop: u32,
    },
}

/// Hops that touched one part so far.
#[derive(Clone, Default)]
struct Touched {
    writer: Option<u32>,
    readers: Vec<u32>,
}

/// What a hop waits for, while its parts are looked through.
#[derive(Default)]
struct Waits {
    data: Vec<u32>,
    whole: Vec<u32>,
    last_writer: Option<u32>,
    /// It touches a part that no hop has written before.
    unwritten: bool,
    /// It writes a part that it also reads, or one part twice.
    itself: bool,
}

/// Every part of every space.
struct Parted<'p> {
    plan: &'p RankPlan,
    touched: [Vec<Touched>; Space::ALL.len()],
}

impl<'p> Parted<'p> {
    fn new(plan: &'p RankPlan) -> Self {
        let named = |hop: &Hop, space| {
            [Some(hop.parts), hop.action.copied()]
                .into_iter()
                .flatten()
                .any(|parts| parts.count > 0 && parts.space == space)
        };
        let of_space = |space| {
            let parts = if plan.hops.iter().any(|hop| named(hop, space)) { plan.parts_of(space) } else { 0 };
            vec![Touched::default(); parts as usize]
        };
        Self { plan, touched: Space::ALL.map(of_space) }
    }

    /// The copy or shuffle from the input that has written all staged parts of `hop` and nothing else, if no hop has
    /// touched them since.
    fn staged_by(&self, hop: &Hop) -> Option<u32> {
        if hop.parts.space != Space::Stage || !matches!(hop.action, Action::Send | Action::Reduce) {
            return None;
        }
        let touched = self.touched_at(hop.parts)?;
        let by = touched.first()?.writer?;
        let copy = &self.plan.hops[by as usize];
        let is_input = copy.action.copied().is_some_and(|from| from.space == Space::Input);
        let alone = touched.iter().all(|part| part.writer == Some(by) && part.readers.is_empty());
        (alone && is_input && copy.parts == hop.parts).then_some(by)
    }

    /// The combination that has written the staged parts that `hop` copies to the output, and nothing else, if no hop
    /// has read them, none has touched the output there, and the copy waits for nothing but contributions to be copied.
    fn combined_by(&self, hop: &Hop) -> Option<u32> {
        let Action::Copy { from } = hop.action else { return None };
        if from.space != Space::Stage || hop.parts.space != Space::Output {
            return None;
        }
        let touched = self.touched_at(from)?;
        let by = touched.first()?.writer?;
        let combination = &self.plan.hops[by as usize];
        let alone = touched.iter().all(|part| part.writer == Some(by) && part.readers.is_empty());
        let untouched = |part: &Touched| part.writer.is_none() && part.readers.is_empty();
        let is_contribution = |&after: &u32| {
            let copied = self.plan.hops[after as usize].action.copied();
            copied.is_some_and(|from| from.space == Space::Input)
        };
        if !self.touched_at(hop.parts)?.iter().all(untouched) || !hop.after.iter().all(is_contribution) {
            return None;
        }
        (alone && combination.action == Action::Reduce && combination.parts == from).then_some(by)
    }

    fn touched_at(&self, Parts { space, first, count }: Parts) -> Option<&[Touched]> {
        self.touched[space as usize].get(first as usize..(first + count) as usize)
    }

    /// Whether `hop` is the last one that touches these parts, and reads them.
    fn is_last(&self, hop: u32, parts: Parts) -> bool {
        let is_last = |part: &Touched| part.writer != Some(hop) && part.readers == [hop];
        self.touched_at(parts).is_some_and(|touched| touched.iter().all(is_last))
    }

    /// Whether `hop` is the only one that touches these parts, and writes them.
    fn is_alone(&self, hop: u32, parts: Parts) -> bool {
        let is_alone = |part: &Touched| part.writer == Some(hop) && part.readers.is_empty();
        self.touched_at(parts).is_some_and(|touched| touched.iter().all(is_alone))
    }

    fn check(&self, hop: u32, parts: Parts) -> Result<(), ProgramError> {
        let known = self.plan.parts_of(parts.space);
        if parts.end() > known {
            return Err(ProgramError::NoSuchPart { hop, first: parts.first, end: parts.end(), parts: known });
        }
        Ok(())
    }

    /// What a hop copies inside the rank, and what it writes (or sends).
    fn places(&self, hop: &Hop) -> (Vec<Parts>, Vec<Parts>) {
        let Action::Shuffle { from, .. } = hop.action else {
            return (hop.action.copied().into_iter().collect(), vec![hop.parts]);
        };
        let runs = self.plan.runs(hop);
        let places = |space, first: fn(&Run) -> u32| {
            runs.iter().map(|run| Parts { space, first: first(run), count: run.count }).collect()
        };
        (places(from.space, |run| run.from), places(hop.parts.space, |run| run.to))
    }

    /// Takes note that `hop` reads or writes `parts`.
    fn touch(&mut self, hop: u32, parts: Parts, writes: bool, waits: &mut Waits) {
        let Parts { space, first, count } = parts;
        // A copy or shuffle works on all its parts at once, and on parts of two places: what comes before and after it
        // is ordered as a whole.
        let is_copy = |h: u32| self.plan.hops[h as usize].action.copied().is_some();
        let mut wait = |earlier: u32| {
            waits.itself |= earlier == hop;
            let list = if is_copy(hop) || is_copy(earlier) { &mut waits.whole } else { &mut waits.data };
            list.push(earlier);
        };
        for part in &mut self.touched[space as usize][first as usize..(first + count) as usize] {
            part.writer.into_iter().for_each(&mut wait);
            waits.last_writer = part.writer.max(waits.last_writer);
            waits.unwritten |= part.writer.is_none();
            if writes {
                part.readers.drain(..).for_each(&mut wait);
                part.writer = Some(hop);
            } else {
                part.readers.push(hop);
            }
        }
    }
}

impl Program {
    /// Works out the dependencies of `plan`.
    ///
    /// `has_output`: whether this rank has a result buffer (for a reduction of a whole vector as long as its input); a
    /// non-root rank of Reduce has none, and its combinations stay in scratch segments until they are sent on.
    ///
    /// # Errors
    /// [`ProgramError`] where the plan is inconsistent.
    pub fn new(plan: RankPlan, has_output: bool) -> Result<Self, ProgramError> {
        let mut parted = Parted::new(&plan);
        let (connections, connection_of) = connections(&plan);
        let mut dependencies: Vec<Dependencies> = Vec::with_capacity(plan.hops.len());
        for (index, hop) in (0..).zip(&plan.hops) {
            let parts = hop.parts;
            let (read, written) = parted.places(hop);
            for &place in read.iter().chain(&written) {
                parted.check(index, place)?;
            }
            if let Some(&after) = hop.after.iter().find(|&&a| a >= index) {
                return Err(ProgramError::NotEarlier { hop: index, after });
            }
            let (staged_by, combined_by) = (parted.staged_by(hop), parted.combined_by(hop));
            let mut waits = Waits { whole: hop.after.clone(), ..Waits::default() };
            for place in read {
                parted.touch(index, place, false, &mut waits);
                waits.last_writer = None;
            }
            let writes = hop.action != Action::Send;
            for place in written {
                parted.touch(index, place, writes, &mut waits);
            }
            let Waits { mut data, mut whole, last_writer, unwritten, itself } = waits;
            if itself {
                return Err(ProgramError::InItsOwnWay { hop: index });
            }
            let uses = matches!(hop.action, Action::Send | Action::Reduce) && parts.space == Space::Vector;
            if uses && unwritten && last_writer.is_some() {
                return Err(ProgramError::InTwoBuffers { hop: index });
            }
            for list in [&mut data, &mut whole] {
                list.sort_unstable();
                list.dedup();
            }
            if writes && parts.space == Space::Input {
                return Err(ProgramError::WritesInput { hop: index });
            }
            let source = match (parts.space, last_writer) {
                (Space::Stage, _) => Source::Stage,
                (Space::Output, _) => Source::Output,
                (_, None) => Source::Input,
                (_, Some(_)) if has_output => Source::Output,
                (_, Some(writer)) => Source::ScratchOf(writer),
            };
            let mut followers = Vec::new();
            if !has_output {
                let kept = matches!(parts.space, Space::Stage | Space::Input);
                match (hop.action, source) {
                    (Action::Recv | Action::Copy { .. } | Action::Shuffle { .. }, _) if !kept && parts.count > 0 => {
                        return Err(ProgramError::NoOutput { hop: index });
                    }
                    (_, Source::ScratchOf(writer)) => {
                        if data.iter().any(|&d| plan.hops[d as usize].parts != parts) {
                            return Err(ProgramError::Misaligned { hop: index });
                        }
                        dependencies[writer as usize].freed_by.push(index);
                        followers.push(writer);
                    }
                    _ => {}
                }
            }
            for &earlier in &whole {
                dependencies[earlier as usize].released.push(index);
            }
            for &earlier in &data {
                dependencies[earlier as usize].followers.push(index);
            }
            dependencies.push(Dependencies {
                data,
                whole,
                released: Vec::new(),
                source,
                staged_by,
                combined_by,
                freed_by: Vec::new(),
                followers,
                connection: connection_of[index as usize],
            });
        }
        // What is sent without having been combined must not be read again from where it never was.
        for (index, hop) in (0..).zip(&plan.hops) {
            let of = &mut dependencies[index as usize];
            if of.staged_by.is_some() && hop.action == Action::Send && !parted.is_last(index, hop.parts) {
                of.staged_by = None;
            }
            // Nor what is combined where it is wanted, which nobody else may have touched.
            let is_last = |from| parted.is_last(index, from) && parted.is_alone(index, hop.parts);
            let is_last = of.released.is_empty() && hop.action.copied().is_some_and(is_last);
            if of.combined_by.is_some() && !is_last {
                of.combined_by = None;
            }
        }
        Ok(Self { plan, dependencies, connections })
    }
}
