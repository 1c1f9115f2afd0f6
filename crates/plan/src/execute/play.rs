//! Playing a whole schedule in one thread, to prove that it ends and that every result is right.

use super::layout::Layout;
use super::threads::{Fault, ThreadTransport, World};
use super::{Credits, Executor, Pacing};
use crate::collective::Collective;
use crate::schedule::{Program, ProgramError, Rank, Schedule};
use crate::scrambled;
use thiserror::Error;

/// What is wrong with a schedule.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PlayError {
    /// A plan is inconsistent in itself.
    #[error("rank {rank}: {error}")]
    Program {
        /// Whose plan.
        rank: Rank,
        /// Why.
        error: ProgramError,
    },
    /// Sender and receiver disagree, or a rank waits for nothing.
    #[error(transparent)]
    Fault(#[from] Fault),
    /// Ranks wait for one another.
    #[error("deadlock: ranks {0:?} cannot go on")]
    Deadlock(Vec<Rank>),
    /// A contribution is missing, counted twice, or at the wrong place.
    #[error("rank {rank}, unit {unit}: a contribution is missing, double or misplaced")]
    Wrong {
        /// Rank with the wrong result.
        rank: Rank,
        /// First wrong unit of it.
        unit: usize,
    },
    /// Something was sent that nobody receives.
    #[error("{count} messages from rank {from} to rank {to} are never received")]
    Unreceived {
        /// Sender.
        from: Rank,
        /// Intended receiver.
        to: Rank,
        /// How many.
        count: usize,
    },
}

/// A number that tells (rank, unit) apart: sums of such numbers are equal only if the sets of summands are.
fn weight(rank: Rank, unit: usize) -> u64 {
    scrambled(u64::from(rank) << 32 | unit as u64)
}

/// The buffers of a played call.
struct Game<'s> {
    schedule: &'s Schedule,
    units: u64,
}

impl Game<'_> {
    fn ranks(&self) -> Rank {
        self.schedule.plans.len() as Rank
    }

    fn has_output(&self, rank: Rank) -> bool {
        self.schedule.collective.has_output(self.schedule.root, rank)
    }

    fn has_input(&self, rank: Rank) -> bool {
        self.schedule.collective.has_input(self.schedule.root, rank)
    }

    /// Units of the block from one rank to another; in Alltoallv and Alltoallw some are empty, and none is like the
    /// next.
    fn block(&self, from: Rank, to: Rank) -> u64 {
        match self.schedule.collective {
            Collective::Alltoallv | Collective::Alltoallw => (weight(from, to as usize) % 4) * self.units / 2,
            _ => self.units,
        }
    }

    /// Units of a rank's block, of what is gathered or scattered; where they differ some are empty and none is like
    /// the next.
    fn share(&self, rank: Rank) -> u64 {
        match self.schedule.collective {
            Collective::ReduceScatter | Collective::Allgatherv | Collective::Gatherv | Collective::Scatterv => {
                (weight(rank, 0) % 4) * self.units / 2
            }
            _ => self.units,
        }
    }

    /// Units of the blocks of all ranks before `rank`.
    fn shares_before(&self, rank: Rank) -> u64 {
        (0..rank).map(|r| self.share(r)).sum()
    }

    /// Blocks one after another, as `(first unit, units)`.
    fn places(&self, block: impl Fn(Rank) -> u64) -> Vec<(u64, u64)> {
        let next = |at: &mut u64, peer| {
            let first = *at;
            *at += block(peer);
            Some((first, *at - first))
        };
        (0..self.ranks()).scan(0, next).collect()
    }

    /// Layout of a rank's buffers, and the units of its input and of its output.
    fn buffers(&self, rank: Rank) -> (Layout, usize, usize) {
        let (units, all) = (self.units as usize, self.units as usize * self.ranks() as usize);
        match self.schedule.collective {
            Collective::Reduce | Collective::Bcast | Collective::Allreduce => {
                (Layout::Vector { units: self.units }, units, units)
            }
            Collective::Alltoall => (Layout::Blocks { block: self.units }, all, all),
            Collective::Gather => {
                (Layout::Blocks { block: self.units }, units, if self.has_output(rank) { all } else { 0 })
            }
            Collective::Scatter => {
                (Layout::Blocks { block: self.units }, if self.has_input(rank) { all } else { 0 }, units)
            }
            collective @ (Collective::Allgather
            | Collective::Allgatherv
            | Collective::ReduceScatterBlock
            | Collective::ReduceScatter) => {
                let bounds = (0..=self.ranks()).map(|r| self.shares_before(r)).collect();
                let layout = Layout::cut(collective, bounds, &self.schedule.plans[rank as usize]);
                let (own, all) = (self.share(rank) as usize, self.shares_before(self.ranks()) as usize);
                if collective.scatters() { (layout, all, own) } else { (layout, own, all) }
            }
            Collective::Gatherv | Collective::Scatterv => {
                let own = vec![(0, self.share(rank))];
                let of_root =
                    if rank == self.schedule.root { self.places(|peer| self.share(peer)) } else { Vec::new() };
                let length = |side: &[(u64, u64)]| side.iter().map(|&(_, units)| units as usize).sum();
                let gathers = self.schedule.collective == Collective::Gatherv;
                let (input, output) = if gathers { (own, of_root) } else { (of_root, own) };
                let lengths = (length(&input), length(&output));
                (Layout::Table { input, output }, lengths.0, lengths.1)
            }
            Collective::Alltoallv | Collective::Alltoallw => {
                let input = self.places(|peer| self.block(rank, peer));
                let output = self.places(|peer| self.block(peer, rank));
                let length = |side: &[(u64, u64)]| side.iter().map(|&(_, units)| units as usize).sum();
                let lengths = (length(&input), length(&output));
                (Layout::Table { input, output }, lengths.0, lengths.1)
            }
        }
    }

    /// What `rank`'s result must be.
    fn expected(&self, rank: Rank) -> Vec<u64> {
        let units = 0..self.units as usize;
        let all = 0..self.ranks();
        match self.schedule.collective {
            Collective::Reduce | Collective::Allreduce => {
                units.map(|unit| all.clone().fold(0u64, |sum, r| sum.wrapping_add(weight(r, unit)))).collect()
            }
            Collective::Bcast => units.map(|unit| weight(self.schedule.root, unit)).collect(),
            Collective::Scatter => {
                let before = rank as usize * units.len();
                units.map(|unit| weight(self.schedule.root, before + unit)).collect()
            }
            Collective::ReduceScatterBlock | Collective::ReduceScatter => {
                let own = self.shares_before(rank)..self.shares_before(rank + 1);
                let sum = |unit: u64| all.clone().fold(0u64, |sum, r| sum.wrapping_add(weight(r, unit as usize)));
                own.map(sum).collect()
            }
            Collective::Scatterv => {
                let own = self.shares_before(rank)..self.shares_before(rank + 1);
                own.map(|unit| weight(self.schedule.root, unit as usize)).collect()
            }
            Collective::Gather | Collective::Gatherv | Collective::Allgather | Collective::Allgatherv => {
                let of = |from| (0..self.share(from) as usize).map(move |unit| weight(from, unit));
                all.flat_map(of).collect()
            }
            Collective::Alltoall | Collective::Alltoallv | Collective::Alltoallw => {
                let from_rank = |from| {
                    let before: u64 = (0..rank).map(|to| self.block(from, to)).sum();
                    (before..before + self.block(from, rank)).map(move |unit| weight(from, unit as usize))
                };
                all.flat_map(from_rank).collect()
            }
        }
    }
}

/// Runs `schedule` on vectors of `units` units (exchanges: per rank pair; Gather, Scatter, Allgather and
/// Reduce_scatter: per rank) and compares every result with what it must be.
///
/// `rendezvous`: every send waits for its receive, the strictest a library may be. Input and output are distinct
/// buffers except in Bcast.
///
/// # Errors
/// The first thing that is wrong.
pub fn play(schedule: &Schedule, units: u64, pacing: Pacing, rendezvous: bool) -> Result<(), PlayError> {
    let game = Game { schedule, units };
    let ranks = game.ranks();
    let world = World::new(ranks, rendezvous);
    let bcast = schedule.collective == Collective::Bcast;

    let mut programs = Vec::with_capacity(ranks as usize);
    let mut transports = Vec::with_capacity(ranks as usize);
    for plan in &schedule.plans {
        let rank = plan.rank;
        let program = Program::new(plan.clone(), game.has_output(rank));
        programs.push(program.map_err(|error| PlayError::Program { rank, error })?);
        let contributes = game.has_input(rank);
        let (layout, input, output) = game.buffers(rank);
        let input = (0..input).map(|unit| if contributes { weight(rank, unit) } else { 0 }).collect();
        let transport = ThreadTransport::with_layout(&world, rank, layout, input, output);
        transports.push(if bcast { transport.in_place() } else { transport });
    }
    let mut executors = Vec::with_capacity(ranks as usize);
    let mut credits = vec![Credits::default(); ranks as usize];
    for ((program, transport), credits) in programs.iter().zip(&mut transports).zip(&mut credits) {
        let buffers = (bcast, game.has_output(program.plan.rank));
        executors.push(Executor::new(program, pacing, buffers, credits, transport)?);
    }

    let mut waiting: Vec<Rank> = (0..ranks).collect();
    while !waiting.is_empty() {
        let (before, count) = (world.started(), waiting.len());
        let mut failure = None;
        waiting.retain(|&rank| {
            let done = executors[rank as usize].progress(&mut transports[rank as usize]);
            let done = done.inspect_err(|fault| failure = Some(fault.clone()));
            !done.unwrap_or(true)
        });
        if let Some(fault) = failure {
            return Err(fault.into());
        }
        if world.started() == before && waiting.len() == count && !world.has_news() {
            return Err(PlayError::Deadlock(waiting));
        }
    }
    if let Some(&(from, to, count)) = world.unreceived().first() {
        return Err(PlayError::Unreceived { from, to, count });
    }
    for rank in (0..ranks).filter(|&r| game.has_output(r)) {
        let (output, expected) = (&transports[rank as usize].output, game.expected(rank));
        if let Some(unit) = (0..expected.len()).find(|&unit| output.get(unit) != Some(&expected[unit])) {
            return Err(PlayError::Wrong { rank, unit });
        }
    }
    Ok(())
}
