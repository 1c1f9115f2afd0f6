//! What may happen when: the dependencies of every hop, the window of hops a rank works on, and both ends of each
//! message.

use std::collections::{HashMap, VecDeque};

use super::TimelineError;
use super::step::{InStep, Kind};
use crate::schedule::{ACTIVE_HOPS, Action, Hop, Program, Rank, RankPlan, Schedule};

/// One send and its receive; hops are numbered through all plans.
#[derive(Debug, Clone, Copy)]
pub(super) struct Message {
    pub from: Rank,
    pub to: Rank,
    pub send: u32,
    pub recv: u32,
    /// 0 for a token.
    pub bytes: u64,
    /// Ends that are not ready.
    waiting: u8,
    /// Whether a token has arrived before its receive was ready.
    arrived: bool,
}

/// A hop that can go on.
#[derive(Debug, Clone, Copy)]
pub(super) enum Ready {
    /// Data whose sender and receiver are both there, or a token whose sender is.
    Start(u32),
    /// A receive whose token has been there before.
    Finish(u32),
}

/// The state of all hops.
pub(super) struct Order {
    pub messages: Vec<Message>,
    rank_of: Vec<Rank>,
    /// First hop of every plan, and one past the last.
    first: Vec<u32>,
    /// Per plan: hops taken into its window so far, and those of them unfinished.
    taken: Vec<(u32, u32)>,
    /// Per hop: unfinished hops it waits for, and one more while it is not in the window.
    unmet: Vec<u32>,
    /// Hops that wait for hop h: `followers[first_follower[h]..first_follower[h + 1]]`.
    first_follower: Vec<u32>,
    followers: Vec<u32>,
    /// Message of every hop, `None` for a copy.
    message_of: Vec<Option<u32>>,
    unfinished: usize,
    in_step: Option<InStep>,
    /// Per hop, where ranks are kept in step: whether it is done.
    done: Vec<bool>,
}

impl Order {
    /// `behind`: bytes that may be missing where a send starts, any number if none is given.
    pub fn new(
        schedule: &Schedule,
        behind: Option<u64>,
        size: impl Fn(&RankPlan, &Hop) -> u64,
    ) -> Result<Self, TimelineError> {
        let mut first = vec![0];
        let (mut unmet, mut waits, mut rank_of) = (Vec::new(), Vec::new(), Vec::new());
        for plan in &schedule.plans {
            let (rank, base) = (plan.rank, unmet.len() as u32);
            let has_output = schedule.collective.has_output(schedule.root, rank);
            let program =
                Program::new(plan.clone(), has_output).map_err(|error| TimelineError::Program { rank, error })?;
            for (hop, dependencies) in program.dependencies.iter().enumerate() {
                let mut before = [&dependencies.data[..], &dependencies.whole[..]].concat();
                before.sort_unstable();
                before.dedup();
                unmet.push(before.len() as u32 + 1);
                waits.extend(before.into_iter().map(|earlier| (base + earlier, base + hop as u32)));
                rank_of.push(rank);
            }
            first.push(unmet.len() as u32);
        }
        waits.sort_unstable();
        let first_follower = (0..=unmet.len() as u32).map(|h| waits.partition_point(|w| w.0 < h) as u32).collect();
        let (messages, message_of) = pair_up(schedule, &first, size)?;
        if behind.is_some() {
            messages.iter().filter(|m| m.bytes > 0).for_each(|m| unmet[m.send as usize] += 1);
        }
        Ok(Self {
            in_step: behind.map(|behind| InStep::new(behind, schedule.plans.len())),
            done: vec![false; unmet.len()],
            messages,
            rank_of,
            taken: vec![(0, 0); schedule.plans.len()],
            unfinished: unmet.len(),
            first,
            unmet,
            first_follower,
            followers: waits.into_iter().map(|w| w.1).collect(),
            message_of,
        })
    }

    /// Takes the first hops of every rank into its window.
    pub fn begin(&mut self, ready: &mut Vec<Ready>) {
        (0..self.taken.len()).for_each(|plan| {
            self.refill(plan, ready);
            let mut done = Vec::new();
            self.keep_in_step(plan, ready, &mut done);
            done.into_iter().for_each(|hop| self.finish(hop, ready));
        });
    }

    /// The hop is done.
    pub fn finish(&mut self, hop: u32, ready: &mut Vec<Ready>) {
        // Copies finish at once and may be many in a row.
        let mut done = vec![hop];
        while let Some(hop) = done.pop() {
            self.unfinished -= 1;
            let followers = self.first_follower[hop as usize]..self.first_follower[hop as usize + 1];
            for follower in followers {
                self.release(self.followers[follower as usize], ready, &mut done);
            }
            let plan = self.first.partition_point(|&f| f <= hop) - 1;
            self.taken[plan].1 -= 1;
            self.take(plan, ready, &mut done);
            self.done[hop as usize] = true;
            if let (Some(in_step), Some(message)) = (&mut self.in_step, self.message_of[hop as usize]) {
                let message = &self.messages[message as usize];
                if message.recv == hop && message.bytes > 0 {
                    in_step.received(plan, hop - self.first[plan], message.bytes);
                    self.keep_in_step(plan, ready, &mut done);
                }
            }
        }
    }

    /// Lets the sends of a plan start that have come into step.
    fn keep_in_step(&mut self, plan: usize, ready: &mut Vec<Ready>, done: &mut Vec<u32>) {
        let (base, count) = (self.first[plan], self.first[plan + 1] - self.first[plan]);
        let Some(in_step) = &mut self.in_step else { return };
        let sends = in_step.release(plan, count, |hop| {
            let hop = base + hop;
            match self.message_of[hop as usize].map(|message| &self.messages[message as usize]) {
                Some(message) if message.bytes == 0 => Kind::Other,
                Some(message) if message.send == hop => Kind::Send,
                Some(_) if self.done[hop as usize] => Kind::Receive(0),
                Some(message) => Kind::Receive(message.bytes),
                None => Kind::Other,
            }
        });
        sends.into_iter().for_each(|hop| self.release(base + hop, ready, done));
    }

    /// The message is at the receiver; its receive is finished if it is ready, which that of data always is.
    pub fn arrive(&mut self, message: u32, ready: &mut Vec<Ready>) {
        let m = &mut self.messages[message as usize];
        m.arrived = true;
        if m.waiting == 0 {
            let recv = m.recv;
            self.finish(recv, ready);
        }
    }

    /// Ranks that have not finished.
    pub fn stuck(&self) -> Vec<Rank> {
        let plans = 0..self.taken.len();
        let unfinished = plans.filter(|&p| self.taken[p].1 > 0 || self.taken[p].0 < self.first[p + 1] - self.first[p]);
        unfinished.map(|p| self.rank_of[self.first[p] as usize]).collect()
    }

    pub fn is_finished(&self) -> bool {
        self.unfinished == 0
    }

    fn refill(&mut self, plan: usize, ready: &mut Vec<Ready>) {
        let mut done = Vec::new();
        self.take(plan, ready, &mut done);
        done.into_iter().for_each(|hop| self.finish(hop, ready));
    }

    fn take(&mut self, plan: usize, ready: &mut Vec<Ready>, done: &mut Vec<u32>) {
        let count = self.first[plan + 1] - self.first[plan];
        while (self.taken[plan].1 as usize) < ACTIVE_HOPS && self.taken[plan].0 < count {
            let hop = self.first[plan] + self.taken[plan].0;
            self.taken[plan].0 += 1;
            self.taken[plan].1 += 1;
            self.release(hop, ready, done);
        }
    }

    /// One thing less that `hop` waits for.
    fn release(&mut self, hop: u32, ready: &mut Vec<Ready>, done: &mut Vec<u32>) {
        self.unmet[hop as usize] -= 1;
        if self.unmet[hop as usize] > 0 {
            return;
        }
        let Some(message) = self.message_of[hop as usize] else {
            done.push(hop);
            return;
        };
        let m = &mut self.messages[message as usize];
        m.waiting -= 1;
        let is_token = m.bytes == 0;
        if is_token && hop == m.send || !is_token && m.waiting == 0 {
            ready.push(Ready::Start(message));
        } else if is_token && m.arrived {
            ready.push(Ready::Finish(hop));
        }
    }
}

type Pairs = (Vec<Message>, Vec<Option<u32>>);

/// Every send with its receive: those between the same two ranks with the same tag match in list order.
fn pair_up(schedule: &Schedule, first: &[u32], size: impl Fn(&RankPlan, &Hop) -> u64) -> Result<Pairs, TimelineError> {
    let mut sends: HashMap<(Rank, Rank, u32), VecDeque<u32>> = HashMap::new();
    let mut messages: Vec<Message> = Vec::new();
    let mut message_of = vec![None; first[first.len() - 1] as usize];
    let hops = || {
        let plans = schedule.plans.iter().zip(first);
        plans.flat_map(|(plan, &base)| (base..).zip(&plan.hops).map(move |(number, hop)| (plan, number, hop)))
    };
    for (plan, send, hop) in hops().filter(|(_, _, hop)| hop.action == Action::Send) {
        let message = messages.len() as u32;
        let (from, to, bytes) = (plan.rank, hop.peer, size(plan, hop));
        messages.push(Message { from, to, send, recv: u32::MAX, bytes, waiting: 2, arrived: false });
        message_of[send as usize] = Some(message);
        sends.entry((from, to, hop.tag)).or_default().push_back(message);
    }
    for (plan, recv, hop) in hops().filter(|(_, _, hop)| matches!(hop.action, Action::Recv | Action::Reduce)) {
        let to = plan.rank;
        let unmatched = TimelineError::Unmatched { from: hop.peer, to, tag: hop.tag };
        let message = sends.get_mut(&(hop.peer, to, hop.tag)).and_then(VecDeque::pop_front).ok_or(unmatched)?;
        messages[message as usize].recv = recv;
        message_of[recv as usize] = Some(message);
    }
    match sends.into_iter().filter(|(_, left)| !left.is_empty()).map(|(key, _)| key).min() {
        Some((from, to, tag)) => Err(TimelineError::Unmatched { from, to, tag }),
        None => Ok((messages, message_of)),
    }
}
