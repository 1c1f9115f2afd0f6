//! A rank's plan with the order between its hops worked out, ready to execute any number of times.

use super::{Action, Parts, RankPlan, Space};
use thiserror::Error;

/// Where the data of a send, or the running value of a combination, is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// This rank's own contribution, unchanged.
    Input,
    /// The result buffer.
    Output,
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
    /// For a send: where its data is. For a combination: what it is combined with.
    pub source: Source,
    /// For a combination on a rank without a result buffer: the hops that read its scratch segments, which are free
    /// again when all of these are done with them.
    pub freed_by: Vec<u32>,
}

/// A plan and its dependencies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The plan itself.
    pub plan: RankPlan,
    /// One entry per hop of the plan.
    pub dependencies: Vec<Dependencies>,
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
    /// Something is received into a rank that has no result buffer.
    #[error("hop {hop}: receives into a rank without a result buffer")]
    NoOutput {
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

impl Program {
    /// Works out the dependencies of `plan`.
    ///
    /// `has_output`: whether this rank has a result buffer as long as its input; a non-root rank of Reduce has none, and
    /// its combinations stay in scratch segments until they are sent on.
    ///
    /// # Errors
    /// [`ProgramError`] where the plan is inconsistent.
    pub fn new(plan: RankPlan, has_output: bool) -> Result<Self, ProgramError> {
        let spaces = [Space::Vector, Space::Input, Space::Output];
        let mut touched: [Vec<Touched>; 3] = Default::default();
        for (space, parts) in spaces.iter().zip(&mut touched) {
            if plan.hops.iter().any(|h| h.parts.count > 0 && h.parts.space == *space) {
                *parts = vec![Touched::default(); plan.parts as usize];
            }
        }
        let mut dependencies: Vec<Dependencies> = Vec::with_capacity(plan.hops.len());
        for (index, hop) in plan.hops.iter().enumerate() {
            let index = index as u32;
            let Parts { space, first, count } = hop.parts;
            if hop.parts.end() > plan.parts {
                return Err(ProgramError::NoSuchPart { hop: index, first, end: hop.parts.end(), parts: plan.parts });
            }
            if let Some(&after) = hop.after.iter().find(|&&a| a >= index) {
                return Err(ProgramError::NotEarlier { hop: index, after });
            }
            let writes = hop.action != Action::Send;
            let mut data = Vec::new();
            let mut last_writer = None;
            for part in &mut touched[space as usize][first as usize..(first + count) as usize] {
                data.extend(part.writer);
                last_writer = part.writer.max(last_writer);
                if writes {
                    data.append(&mut part.readers);
                    part.writer = Some(index);
                } else {
                    part.readers.push(index);
                }
            }
            data.sort_unstable();
            data.dedup();
            let source = match last_writer {
                None => Source::Input,
                Some(_) if has_output => Source::Output,
                Some(writer) => Source::ScratchOf(writer),
            };
            if !has_output {
                match (hop.action, source) {
                    (Action::Recv | Action::Copy { .. }, _) => return Err(ProgramError::NoOutput { hop: index }),
                    (_, Source::ScratchOf(writer)) => {
                        if data.iter().any(|&d| plan.hops[d as usize].parts != hop.parts) {
                            return Err(ProgramError::Misaligned { hop: index });
                        }
                        dependencies[writer as usize].freed_by.push(index);
                    }
                    _ => {}
                }
            }
            dependencies.push(Dependencies { data, whole: hop.after.clone(), source, freed_by: Vec::new() });
        }
        Ok(Self { plan, dependencies })
    }
}
