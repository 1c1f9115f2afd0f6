//! Goes through time: starts what can start, and waits for the next end or arrival of a message.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::rc::Rc;

use super::busy::Busy;
use super::flows::{Flows, Way};
use super::order::{Order, Ready};
use super::{LinkTime, Timeline, TimelineError};
use crate::fabric::ids::{Adapter, DirectedLink};
use crate::fabric::model::Fabric;
use crate::fabric::router::Router;
use crate::schedule::Rank;

/// The state of a run; times in microseconds.
pub(super) struct Player<'f> {
    fabric: &'f Fabric,
    adapters: &'f [Adapter],
    router: Router<'f>,
    /// By sending and receiving rank, which have a connection each way.
    ways: HashMap<(Rank, Rank), Rc<Way>>,
    order: Order,
    ready: Vec<Ready>,
    flows: Flows,
    busy: Busy,
    now: f64,
    /// Whether a message has ended at this time.
    ended: bool,
    /// Messages on their last latency, by the time of arrival.
    arriving: BinaryHeap<Reverse<(u64, u32)>>,
    carried: Vec<u64>,
    messages: usize,
    tokens: usize,
}

impl<'f> Player<'f> {
    pub fn new(fabric: &'f Fabric, adapters: &'f [Adapter], order: Order) -> Self {
        let links = fabric.directed_link_count();
        let capacity = (0..links).map(|link| fabric.mbit(DirectedLink(link as u32)));
        let cable = (0..links).map(|link| fabric.links()[link / 2].mbit);
        Self {
            fabric,
            adapters,
            router: Router::new(fabric),
            ways: HashMap::new(),
            order,
            ready: Vec::new(),
            flows: Flows::new(capacity.collect(), cable.collect()),
            busy: Busy::new(links),
            now: 0.0,
            ended: false,
            arriving: BinaryHeap::new(),
            carried: vec![0; links],
            messages: 0,
            tokens: 0,
        }
    }

    /// Plays to the end.
    pub fn run(&mut self) -> Result<(), TimelineError> {
        self.order.begin(&mut self.ready);
        loop {
            let started = self.start();
            if started || self.ended {
                self.flows.share();
                self.busy.note(self.now, &self.flows);
                self.ended = false;
            }
            let arrival = self.arriving.peek().map_or(f64::INFINITY, |Reverse((bits, _))| f64::from_bits(*bits));
            // Differences of times, which may be too small to change `now`.
            let pause = (arrival - self.now).min(self.flows.until_first_end());
            if pause.is_infinite() {
                break;
            }
            self.advance(pause, arrival);
        }
        if self.order.is_finished() { Ok(()) } else { Err(TimelineError::Stuck(self.order.stuck())) }
    }

    /// Starts everything that can start now, and what can start when messages inside hosts are done; true if data is
    /// under way that was not before.
    fn start(&mut self) -> bool {
        let mut started = false;
        while let Some(ready) = self.ready.pop() {
            let message = match ready {
                Ready::Start(message) => message,
                Ready::Finish(hop) => {
                    self.order.finish(hop, &mut self.ready);
                    continue;
                }
            };
            let m = self.order.messages[message as usize];
            let way = self.way(m.from, m.to);
            if m.bytes > 0 && !way.links.is_empty() {
                way.links.iter().for_each(|link| self.carried[link.index()] += m.bytes);
                self.messages += 1;
                self.flows.add(message, way, m.bytes as f64 * 8.0);
                started = true;
            } else {
                self.tokens += usize::from(!way.links.is_empty());
                self.order.finish(m.send, &mut self.ready);
                self.arriving.push(Reverse(((self.now + way.latency).to_bits(), message)));
            }
        }
        started
    }

    /// Lets `pause` microseconds pass, until some message ends or the first one arrives.
    fn advance(&mut self, pause: f64, arrival: f64) {
        let over = self.flows.advance(pause);
        self.now = (self.now + pause).min(arrival);
        self.ended = !over.is_empty();
        for flow in over {
            self.arriving.push(Reverse(((self.now + flow.way.latency).to_bits(), flow.message)));
            self.order.finish(self.order.messages[flow.message as usize].send, &mut self.ready);
        }
        while let Some(&Reverse((_, message))) = self.arriving.peek().filter(|a| f64::from_bits(a.0.0) <= self.now) {
            self.arriving.pop();
            self.order.arrive(message, &mut self.ready);
        }
    }

    fn way(&mut self, from: Rank, to: Rank) -> Rc<Way> {
        let Self { fabric, adapters, router, ways, .. } = self;
        let known = ways.entry((from, to)).or_insert_with(|| {
            let (source, destination) = (adapters[from as usize], adapters[to as usize]);
            let links = router.drawn(source, destination, u64::from(from) << 32 | u64::from(to));
            let most = links.iter().map(|link| fabric.links()[link.link()].mbit).fold(f64::INFINITY, f64::min);
            let message = fabric.message_cost().latency_us.filter(|_| !links.is_empty()).unwrap_or(0.0);
            let latency = links.iter().map(|&link| fabric.latency_us(link)).sum::<f64>() + message;
            Rc::new(Way { source: source.host, links, most, latency })
        });
        Rc::clone(known)
    }

    /// What has been seen.
    pub fn report(self) -> Timeline {
        let fabric = self.fabric;
        let finish = self.now * 1e-6;
        let mut links = Vec::new();
        let mut bound = 0.0f64;
        for ((number, bytes), (busy, overloads)) in (0..).zip(self.carried).zip(self.busy.into_links()) {
            if bytes == 0 {
                continue;
            }
            let link = DirectedLink(number);
            let needed = bytes as f64 * 8.0 / (fabric.mbit(link) * 1e6);
            bound = bound.max(needed);
            links.push(LinkTime {
                link,
                from: fabric.node_name(fabric.start(link)).to_owned(),
                to: fabric.node_name(fabric.end(link)).to_owned(),
                mbit: fabric.mbit(link),
                bytes,
                busy: busy * 1e-6 / finish,
                used: needed / finish,
                overloads,
            });
        }
        Timeline { finish, bound, messages: self.messages, tokens: self.tokens, links }
    }
}
