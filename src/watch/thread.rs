//! The thread that answers other ranks and `nagare ps`, and asks other ranks when a call of this process does not end.
//!
//! ```text
//!   overdue? ─► ask the members below me: is one of them in the call, it tells; has it told, all is said
//!            └► else ask all members: has one told, all is said
//!                                     is one of them in an earlier call on the communicator, later again, a few times
//!                                     else words ─► standard error
//! ```

use super::Watch;
use super::doing::{CALLS, Doing};
use super::door::Door;
use super::peers::Peers;
use crate::boundary::say;
use nagare_plan::fabric::{Adapter, Router};
use nagare_plan::schedule::Rank;
use nagare_plan::topology::Topology;
use nagare_watch::{Answer, LIBRARY, Now, Overdue, overdue};
use std::os::fd::RawFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often the thread looks, at least.
const TICK: Duration = Duration::from_secs(1);

/// How often ranks are asked that have not said yet what they wait for, and how long they have between.
const ASKED: u32 = 5;
const LATE: Duration = Duration::from_millis(200);

/// Looks at a call that others keep, by their being in earlier calls on its communicator. Except on the world's, these
/// may be on another one of the same ranks, and hang for ever.
const LOOKS: u32 = 3;

/// Stands for the part of a route that a hash picks.
const HASHED: &str = "(one of several ways)";

/// What the thread has.
pub struct Thread {
    pub watch: Arc<Watch>,
    pub peers: Peers,
    pub rank: Rank,
    /// Where `nagare ps` asks; none where there is none to be had.
    pub door: Option<Door>,
    /// Where the ranks are, and the network, where it is known.
    pub topology: Arc<Topology>,
}

impl Thread {
    /// Until the watch ends, or the program has closed the socket of the ranks.
    pub fn run(mut self) {
        let limit = self.watch.limit();
        let tick = TICK.min(limit / 4);
        let mut asked = Instant::now();
        loop {
            let descriptors = [self.peers.descriptor(), self.door.as_ref().and_then(Door::descriptor)];
            let descriptors: Vec<RawFd> = descriptors.into_iter().flatten().collect();
            let within = CALLS.next_look().map_or(tick, |next| next.min(tick));
            super::poll(&descriptors, within);
            if self.watch.has_ended() || self.peers.answer_all().is_err() {
                return;
            }
            if let Some(door) = &mut self.door {
                door.serve(&mut self.peers);
            }
            // Datagrams wake this thread up at any rate.
            if asked.elapsed() >= tick {
                CALLS.ask(TICK.min(limit / 2));
                asked = Instant::now();
            }
            if let Some(doing) = CALLS.overdue(limit) {
                self.look(&doing);
            }
        }
    }

    /// Tells about a call that does not end, unless another rank does or has done, or one waits in an earlier call on
    /// the communicator, which is what keeps this one.
    fn look(&mut self, doing: &Doing) {
        let (call, members) = (&doing.call, &doing.members);
        let within = |answer: &Answer| answer.now.iter().find(|now| now.call.is_place_of(call)).cloned();
        // It takes seconds where ranks are silent, and whoever asks does not wait as long.
        let Self { peers, door, .. } = self;
        let mut meanwhile = |peers: &mut Peers| door.iter_mut().for_each(|door| door.serve(peers));
        let below: Vec<Rank> = members.iter().copied().take_while(|&rank| rank != self.rank).collect();
        let answers = peers.ask(&below, Some(call.comm), |answer| within(answer).is_some(), &mut meanwhile);
        match answers.iter().find_map(within) {
            Some(now) if now.told => return CALLS.told(call),
            // That one tells, once it looks.
            Some(_) => return,
            None => {}
        }
        let (mut answers, mut is_told) = (Vec::new(), false);
        for _ in 0..ASKED {
            let told = |answer: &Answer| within(answer).is_some_and(|now| now.told);
            answers = peers.ask(members, Some(call.comm), told, &mut meanwhile);
            is_told = answers.iter().filter_map(within).any(|now| now.told);
            let waits = |now: Now| !now.awaited.is_empty() || now.runs.as_deref().is_none_or(|runs| runs == LIBRARY);
            if is_told || answers.iter().filter_map(within).all(waits) {
                break;
            }
            // On a busy host a rank comes late to say what it waits for.
            std::thread::sleep(LATE);
        }
        let is_world = members.len() == self.peers.size() as usize && call.comm == self.watch.name(members, true);
        let is_kept = (is_world || doing.looks < LOOKS)
            && answers.iter().flat_map(|answer| &answer.now).any(|now| now.call.is_before(call));
        let is_over = !CALLS.now().iter().any(|now| now.call == *call);
        if is_told {
            CALLS.told(call);
        } else if !is_kept && !is_over && !self.watch.has_ended() {
            CALLS.told(call);
            let route = |from: Rank, to: Rank| self.route(from, to);
            let seconds = doing.since.elapsed().as_secs_f64();
            say(&overdue(&Overdue { call, seconds, members, is_world }, &answers, &route));
        }
    }

    /// The hosts and switches that a message between two ranks passes, where the network is known. Of several ways that
    /// it may take those that all of them pass.
    fn route(&self, from: Rank, to: Rank) -> Option<String> {
        let (network, nodes) = (self.topology.network()?, self.topology.nodes());
        let adapter = |rank: Rank| {
            Some(Adapter { host: network.host(*nodes.get(rank as usize)?), number: self.topology.adapter(rank) })
        };
        let fabric = network.fabric();
        let links = Router::new(fabric).shares(adapter(from)?, adapter(to)?);
        let ends = links.iter().flat_map(|&(link, share)| match share < 1.0 {
            true => [HASHED; 2],
            false => [fabric.start(link), fabric.end(link)].map(|node| fabric.node_name(node)),
        });
        let mut passed: Vec<&str> = ends.collect();
        passed.dedup();
        (!passed.is_empty()).then(|| passed.join(" > "))
    }
}
