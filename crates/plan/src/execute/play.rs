//! Playing a whole schedule in one thread, to prove that it ends and that every result is right.

use super::threads::{Fault, ThreadTransport, World};
use super::{Credits, Executor, Pacing};
use crate::collective::Collective;
use crate::schedule::{Program, ProgramError, Rank, Schedule};
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
    // The finaliser of SplitMix64 (Steele, Lea, Flood 2014).
    let mut z = (u64::from(rank) << 32 | unit as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// What `unit` of `rank`'s result must be.
fn expected(schedule: &Schedule, units: usize, rank: Rank, unit: usize) -> u64 {
    let ranks = schedule.plans.len();
    match schedule.collective {
        Collective::Reduce | Collective::Allreduce => {
            (0..ranks as Rank).fold(0u64, |sum, r| sum.wrapping_add(weight(r, unit)))
        }
        Collective::Bcast => weight(schedule.root, unit),
        Collective::Alltoall => {
            let block = units / ranks;
            weight((unit / block) as Rank, rank as usize * block + unit % block)
        }
    }
}

/// Runs `schedule` on vectors of `units` units (Alltoall: per rank pair) and compares every result with what it must be.
///
/// `rendezvous`: every send waits for its receive, the strictest a library may be. Input and output are distinct buffers
/// except in Bcast.
///
/// # Errors
/// The first thing that is wrong.
pub fn play(schedule: &Schedule, units: u64, pacing: Pacing, rendezvous: bool) -> Result<(), PlayError> {
    let ranks = schedule.plans.len() as u32;
    let world = World::new(ranks, rendezvous);
    let units = if schedule.collective == Collective::Alltoall { units * u64::from(ranks) } else { units } as usize;
    let bcast = schedule.collective == Collective::Bcast;
    let has_output = |rank: Rank| schedule.collective != Collective::Reduce || rank == schedule.root;

    let mut programs = Vec::with_capacity(ranks as usize);
    let mut transports = Vec::with_capacity(ranks as usize);
    for plan in &schedule.plans {
        let rank = plan.rank;
        let program = Program::new(plan.clone(), has_output(rank));
        programs.push(program.map_err(|error| PlayError::Program { rank, error })?);
        let contributes = !bcast || rank == schedule.root;
        let input = (0..units).map(|unit| if contributes { weight(rank, unit) } else { 0 }).collect();
        let transport = ThreadTransport::new(&world, rank, input);
        transports.push(if bcast { transport.in_place() } else { transport });
    }
    let mut executors = Vec::with_capacity(ranks as usize);
    let mut credits = vec![Credits::default(); ranks as usize];
    for ((program, transport), credits) in programs.iter().zip(&mut transports).zip(&mut credits) {
        let buffers = (bcast, has_output(program.plan.rank));
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
    for rank in (0..ranks).filter(|&r| has_output(r)) {
        let output = &transports[rank as usize].output;
        if let Some(unit) = (0..units).find(|&unit| output[unit] != expected(schedule, units, rank, unit)) {
            return Err(PlayError::Wrong { rank, unit });
        }
    }
    Ok(())
}
