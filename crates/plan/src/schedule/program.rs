//! A rank's plan with the order between its hops worked out, ready to execute any number of times.

mod error;
mod touched;

pub use error::ProgramError;

use super::connections::{Connection, connections};
use super::{Action, RankPlan, Space};
use touched::{Parted, Waits};

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
