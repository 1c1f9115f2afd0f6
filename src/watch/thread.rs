//! The thread that answers other ranks and `nagare ps`, and asks other ranks when a call of this process does not end.
//!
//! ```text
//!   overdue? ─► ask the members below me: is one of them in the call, it tells; has it told, all is said
//!            └► else ask all members: has one told, all is said
//!                                     is one of them in an earlier call on the communicator, later again
//!                                     else words ─► standard error
//! ```

use super::Watch;
use super::doing::{CALLS, Doing};
use super::door::Door;
use super::peers::Peers;
use crate::boundary::say;
use nagare_plan::schedule::Rank;
use nagare_plan::topology::Topology;
use nagare_watch::{Answer, Job, LIBRARY, Now, Overdue, overdue};
use std::io::Write;
use std::os::fd::RawFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

/// How often the thread looks, at least.
const TICK: Duration = Duration::from_secs(1);

/// How often ranks are asked that have not said yet what they wait for, and how long they have between.
const ASKED: u32 = 5;
const LATE: Duration = Duration::from_millis(200);

/// What the thread has.
pub struct Thread {
    pub watch: Arc<Watch>,
    pub peers: Peers,
    pub rank: Rank,
    /// What `nagare ps` is told of the job.
    pub job: Job,
    /// Where that asks; none where there is none to be had.
    pub door: Option<Door>,
    /// Where the ranks are, and the network, where it is known.
    pub topology: Arc<Topology>,
}

impl Thread {
    /// Until the watch ends, or the program has closed all descriptors.
    pub fn run(mut self) {
        let limit = self.watch.limit();
        let tick = TICK.min(limit / 4);
        loop {
            let descriptors = [Some(self.peers.descriptor()), self.door.as_ref().map(Door::descriptor)];
            let descriptors: Vec<RawFd> = descriptors.into_iter().flatten().collect();
            let within = CALLS.next_look().map_or(tick, |next| next.min(tick));
            if !super::poll(&descriptors, within) || self.watch.has_ended() || !self.peers.answer_all() {
                return;
            }
            match self.door.as_ref().map(Door::caller) {
                Some(Ok(Some(caller))) => self.serve(caller),
                Some(Err(_)) => self.door = None,
                _ => {}
            }
            CALLS.ask(TICK.min(limit / 2));
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
        let below: Vec<Rank> = members.iter().copied().take_while(|&rank| rank != self.rank).collect();
        let answers = self.peers.ask(&below, Some(call.comm), |answer| within(answer).is_some());
        match answers.iter().find_map(within) {
            Some(now) if now.told => return CALLS.told(call),
            // That one tells, once it looks.
            Some(_) => return,
            None => {}
        }
        let (mut answers, mut is_told) = (Vec::new(), false);
        for _ in 0..ASKED {
            answers = self.peers.ask(members, Some(call.comm), |answer| within(answer).is_some_and(|now| now.told));
            is_told = answers.iter().filter_map(within).any(|now| now.told);
            let waits = |now: Now| !now.awaited.is_empty() || now.runs.as_deref().is_none_or(|runs| runs == LIBRARY);
            if is_told || answers.iter().filter_map(within).all(waits) {
                break;
            }
            // On a busy host a rank comes late to say what it waits for.
            std::thread::sleep(LATE);
        }
        let is_kept = answers.iter().flat_map(|answer| &answer.now).any(|now| now.call.is_before(call));
        let is_over = !CALLS.now().iter().any(|now| now.call == *call);
        if is_told {
            CALLS.told(call);
        } else if !is_kept && !is_over && !self.watch.has_ended() {
            CALLS.told(call);
            let route = |from: Rank, to: Rank| self.route(from, to);
            let is_world = members.len() == self.peers.size() as usize && call.comm == self.watch.name(members, true);
            let seconds = doing.since.elapsed().as_secs_f64();
            say(&overdue(&Overdue { call, seconds, members, is_world }, &answers, &route));
        }
    }

    /// The hosts and switches that a message between two ranks passes, where the network is known.
    fn route(&self, from: Rank, to: Rank) -> Option<String> {
        let (network, nodes) = (self.topology.network()?, self.topology.nodes());
        let host = |rank: Rank| Some(network.host(*nodes.get(rank as usize)?));
        let (fabric, from) = (network.fabric(), host(from)?);
        let links = fabric.route(from, host(to)?);
        let passed = links.iter().map(|&link| fabric.node_name(fabric.end(link)));
        (!links.is_empty()).then(|| [fabric.node_name(from)].into_iter().chain(passed).collect::<Vec<_>>().join(" > "))
    }

    /// Tells `nagare ps` what all ranks are in, if it asks: one line of the job, one of each rank.
    fn serve(&mut self, mut caller: UnixStream) {
        let mut tell = |line: serde_json::Result<Vec<u8>>| match line {
            Ok(mut line) => {
                line.push(b'\n');
                // Who does not read any more has gone.
                caller.write_all(&line).is_ok()
            }
            Err(_) => true,
        };
        if !tell(serde_json::to_vec(&self.job)) {
            return;
        }
        let all: Vec<Rank> = (0..self.peers.size()).collect();
        for some in all.chunks(super::peers::AT_ONCE) {
            let answers = self.peers.ask(some, None, |_| false);
            if !answers.iter().all(|answer| tell(serde_json::to_vec(answer))) {
                return;
            }
        }
    }
}
