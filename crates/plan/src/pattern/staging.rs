//! A plan under construction in which blocks are staged: room in the staging space, messages, and shuffles between
//! spaces.

use crate::schedule::{Action, Hop, Parts, Rank, RankPlan, Round, Run, Space};

/// Collects the hops of one rank.
pub(crate) struct Staging {
    plan: RankPlan,
}

impl Staging {
    /// Nothing yet, for `rank` of `ranks`.
    pub fn new(rank: Rank, ranks: u32) -> Self {
        Self { plan: RankPlan::new(rank, ranks, Vec::new()) }
    }

    /// First block of fresh room for that many.
    pub fn room(&mut self, blocks: usize) -> u32 {
        let first = self.plan.staged;
        self.plan.staged += blocks as u32;
        first
    }

    /// Sends `count` blocks that begin at `first`.
    pub fn send(&mut self, peer: Rank, (space, first): (Space, u32), count: usize, round: Round) {
        self.push(Action::Send, peer, Parts { space, first, count: count as u32 }, round);
    }

    /// Receives `count` blocks to where `first` is.
    pub fn recv(&mut self, peer: Rank, (space, first): (Space, u32), count: usize, round: Round) {
        self.push(Action::Recv, peer, Parts { space, first, count: count as u32 }, round);
    }

    /// Copies single blocks inside the rank, each from its first place to its second; blocks that stay neighbours go
    /// together.
    pub fn shuffle(&mut self, from: Space, to: Space, blocks: impl IntoIterator<Item = (u32, u32)>, stage: u16) {
        if let Some((action, to)) = shuffled(&mut self.plan.shuffles, from, to, blocks) {
            self.push(action, self.plan.rank, to, Round { stage, step: 0 });
        }
    }

    /// Where the blocks for `ranks` are together: in the input where the ranks are consecutive, else in a copy.
    pub fn together(&mut self, ranks: &[Rank], stage: u16) -> (Space, u32) {
        if let Some(first) = first_of_run(ranks) {
            return (Space::Input, first);
        }
        let copy = self.room(ranks.len());
        self.shuffle(Space::Input, Space::Stage, ranks.iter().copied().zip(copy..), stage);
        (Space::Stage, copy)
    }

    /// Receives a block of every one of `sources`, in that order, from `peer`: in place where they are consecutive.
    pub fn recv_all(&mut self, sources: &[Rank], peer: Rank, round: Round) {
        if let Some(first) = first_of_run(sources) {
            self.recv(peer, (Space::Output, first), sources.len(), round);
        } else {
            let staged = self.room(sources.len());
            self.recv(peer, (Space::Stage, staged), sources.len(), round);
            self.shuffle(Space::Stage, Space::Output, (staged..).zip(sources.iter().copied()), round.stage);
        }
    }

    /// The plan.
    pub fn finish(self) -> RankPlan {
        self.plan
    }

    /// Streams between the same two ranks are told apart by their stage.
    fn push(&mut self, action: Action, peer: Rank, parts: Parts, round: Round) {
        self.plan.hops.push(Hop { action, peer, parts, round, tag: round.stage.into(), turn: 0, after: Vec::new() });
    }
}

/// A copy of single blocks, each from its first place to its second, and where it writes; what takes a table gets one
/// among `tables`. `None` for no blocks.
pub(crate) fn shuffled(
    tables: &mut Vec<Vec<Run>>,
    from: Space,
    to: Space,
    blocks: impl IntoIterator<Item = (u32, u32)>,
) -> Option<(Action, Parts)> {
    let mut runs: Vec<Run> = Vec::new();
    for (from, to) in blocks {
        match runs.last_mut() {
            Some(run) if (from, to) == (run.from + run.count, run.to + run.count) => run.count += 1,
            _ => runs.push(Run { from, to, count: 1 }),
        }
    }
    let cover = |space, first: fn(&Run) -> u32| {
        let begin = runs.iter().map(first).min()?;
        let end = runs.iter().map(|run| first(run) + run.count).max()?;
        Some(Parts { space, first: begin, count: end - begin })
    };
    let (from, to) = (cover(from, |run| run.from)?, cover(to, |run| run.to)?);
    if runs.len() == 1 {
        return Some((Action::Copy { from }, to));
    }
    tables.push(runs);
    Some((Action::Shuffle { from, table: tables.len() as u32 - 1 }, to))
}

/// The first of `ranks`, if they are consecutive: their blocks then are neighbours in the program's buffers.
pub(crate) fn first_of_run(ranks: &[Rank]) -> Option<Rank> {
    ranks.windows(2).all(|w| w[0] + 1 == w[1]).then(|| ranks.first().copied()).flatten()
}

/// Ranks in ascending order.
pub(crate) fn sorted(ranks: &[Rank]) -> Vec<Rank> {
    let mut ranks = ranks.to_vec();
    ranks.sort_unstable();
    ranks
}

/// Place of a rank among others in ascending order.
pub(crate) fn place_of(ranks: &[Rank], rank: Rank) -> u32 {
    ranks.partition_point(|&r| r < rank) as u32
}
