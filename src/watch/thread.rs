//! The thread that answers other ranks and `nagare ps`, and asks other ranks when a call of this process does not end.
//!
//! ```text
//!   overdue? ─► ask the members below me: is one of them in the call, it tells
//!            └► else ask all members: is one of them in an earlier call on the communicator, later again
//!                                     └► else words ─► standard error
//! ```

use super::doing::{CALLS, Doing};
use super::door::Door;
use super::wire::{Datagram, LISTED, LONGEST, Place, Says};
use crate::boundary::say;
use nagare_plan::schedule::Rank;
use nagare_plan::topology::Topology;
use nagare_watch::{Answer, Call, Job, Now, overdue};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{Result, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// How often the thread looks, at least.
const TICK: Duration = Duration::from_secs(1);

/// Ranks that are asked at the same time, how long they have for an answer, and how often they are asked meanwhile:
/// datagrams get lost.
const AT_ONCE: usize = 64;
const PATIENCE: Duration = Duration::from_millis(900);
const ASKED: u32 = 3;

/// Bytes of the thread's stack.
const STACK: usize = 256 << 10;

/// What a watch knows of its job.
pub struct Setting {
    pub rank: Rank,
    pub host: String,
    /// Where all ranks listen, by rank.
    pub places: Vec<Place>,
    /// Where they are, and the network, where it is known.
    pub topology: Arc<Topology>,
    /// File of the program, and what the batch system calls the job.
    pub program: String,
    pub job: Option<String>,
}

/// The watch of this process.
pub struct Watch {
    socket: UdpSocket,
    /// Where there is one to be had.
    door: Option<Door>,
    setting: Setting,
    key: u64,
    /// After so long a call is overdue.
    limit: Duration,
    /// How many communicators there have been of the same ranks.
    alike: Mutex<HashMap<u64, u32>>,
    ends: AtomicBool,
}

/// Binds the socket that others are to ask, and says where it is; `limit` in seconds, 0 where this process did not ask
/// for a watch.
///
/// # Errors
/// Why there is none.
pub fn bind(limit: u32) -> Result<(UdpSocket, Place)> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    let port = u32::from(socket.local_addr()?.port());
    let mut addresses = [0; 4];
    let own = if_addrs::get_if_addrs()?;
    let own = own.iter().filter_map(|interface| match interface.ip() {
        IpAddr::V4(address) => Some((interface.is_loopback(), address)),
        IpAddr::V6(_) => None,
    });
    let mut own: Vec<(bool, Ipv4Addr)> = own.collect();
    // The loopback last: of use among processes of one host.
    own.sort_by_key(|(is_loopback, _)| *is_loopback);
    addresses.iter_mut().zip(&own).for_each(|(into, (_, address))| *into = u32::from(*address));
    let mut key = [0u8; 8];
    getrandom(&mut key);
    Ok((socket, Place { addresses, port, limit, key: u64::from_ne_bytes(key) }))
}

/// A number for the world that says nothing of its key.
fn world(key: u64) -> u64 {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    hasher.finish()
}

/// Bytes that nobody can guess.
fn getrandom(into: &mut [u8]) {
    // SAFETY: the buffer is as long as said. Without random bytes the key stays 0, which protects nothing, and shows
    // no more than which collectives the program is in.
    unsafe { libc::getrandom(into.as_mut_ptr().cast(), into.len(), 0) };
}

impl Watch {
    /// Starts the thread.
    ///
    /// # Errors
    /// If there is no thread to be had.
    pub fn start(socket: UdpSocket, setting: Setting) -> Result<Arc<Self>> {
        let places = &setting.places;
        let key = places.first().map_or(0, |first| first.key);
        let seconds = places.iter().map(|place| place.limit).filter(|&limit| limit > 0).min().unwrap_or(u32::MAX);
        let limit = Duration::from_secs(seconds.into());
        socket.set_read_timeout(Some(TICK.min(limit / 4)))?;
        let door = Door::open(world(key), setting.rank).ok();
        let (alike, ends) = (Mutex::default(), AtomicBool::new(false));
        let watch = Arc::new(Self { socket, door, setting, key, limit, alike, ends });
        let own = Arc::clone(&watch);
        let thread = std::thread::Builder::new().name("nagare-watch".to_owned()).stack_size(STACK);
        without_signals(|| thread.spawn(move || own.run()))?;
        Ok(watch)
    }

    /// The thread ends soon, and tells nothing any more.
    pub fn end(&self) {
        self.ends.store(true, Relaxed);
    }

    /// A number for a communicator of these ranks, the same on all of them where they come to use communicators of the
    /// same ranks in the same order.
    pub fn name(&self, members: &[Rank]) -> u64 {
        let mut hasher = DefaultHasher::new();
        members.hash(&mut hasher);
        let mut alike = self.alike.lock();
        let before = alike.entry(hasher.finish()).or_insert(0);
        *before += 1;
        before.hash(&mut hasher);
        hasher.finish()
    }

    fn run(&self) {
        while !self.ends.load(Relaxed) {
            if let Some((datagram, from)) = self.receive() {
                self.reply(&datagram.says, from);
            }
            self.serve();
            CALLS.ask(TICK.min(self.limit / 2));
            if let Some(doing) = CALLS.overdue(self.limit) {
                self.look(&doing);
            }
        }
    }

    /// Tells about a call that does not end, unless another rank does, or one waits in an earlier call on the
    /// communicator, which is what keeps this one.
    fn look(&self, doing: &Doing) {
        let members = &doing.members;
        let below: Vec<Rank> = members.iter().copied().take_while(|&rank| rank != self.setting.rank).collect();
        let is_there = |answer: &Answer| answer.now.iter().any(|now| now.call.is_place_of(&doing.call));
        for some in below.chunks(AT_ONCE) {
            if self.answers(some).iter().any(is_there) {
                return CALLS.told(&doing.call);
            }
        }
        let answers: Vec<Answer> = members.chunks(AT_ONCE).flat_map(|some| self.answers(some)).collect();
        let is_kept = answers.iter().flat_map(|answer| &answer.now).any(|now| now.call.is_before(&doing.call));
        let is_over = !CALLS.now().iter().any(|now| now.call == doing.call);
        if !is_kept && !is_over && !self.ends.load(Relaxed) {
            CALLS.told(&doing.call);
            let seconds = doing.since.elapsed().as_secs_f64();
            let route = |from: Rank, to: Rank| self.route(from, to);
            say(&overdue(&doing.call, seconds, members, &answers, &route));
        }
    }

    /// The hosts and switches that a message between two ranks passes, where the network is known.
    fn route(&self, from: Rank, to: Rank) -> Option<String> {
        let topology = &self.setting.topology;
        let (network, nodes) = (topology.network()?, topology.nodes());
        let host = |rank: Rank| Some(network.host(*nodes.get(rank as usize)?));
        let (fabric, from) = (network.fabric(), host(from)?);
        let links = fabric.route(from, host(to)?);
        let passed = links.iter().map(|&link| fabric.node_name(fabric.end(link)));
        (!links.is_empty()).then(|| [fabric.node_name(from)].into_iter().chain(passed).collect::<Vec<_>>().join(" > "))
    }

    /// Tells `nagare ps` what all ranks are in, if it asks.
    fn serve(&self) {
        let Some(mut caller) = self.door.as_ref().and_then(Door::caller) else { return };
        let Setting { rank, places, program, job, .. } = &self.setting;
        let ranks = places.len() as Rank;
        let job = Job { world: world(self.key), program: program.clone(), job: job.clone(), ranks, rank: *rank };
        let all: Vec<Rank> = (0..ranks).collect();
        let answers = all.chunks(AT_ONCE).flat_map(|some| self.answers(some));
        let lines = [serde_json::to_vec(&job)].into_iter().chain(answers.map(|answer| serde_json::to_vec(&answer)));
        for mut line in lines.flatten() {
            line.push(b'\n');
            // Who does not read any more has gone.
            if caller.write_all(&line).is_err() {
                return;
            }
        }
    }

    /// What some ranks are in, of those that answer in time. Answers others meanwhile, who may ask at the same time.
    fn answers(&self, ranks: &[Rank]) -> Vec<Answer> {
        let mut answers: Vec<Answer> =
            ranks.iter().filter(|&&rank| rank == self.setting.rank).map(|_| self.answer()).collect();
        let start = Instant::now();
        let mut asked = 0;
        while answers.len() < ranks.len() && start.elapsed() < PATIENCE {
            if start.elapsed() >= PATIENCE / ASKED * asked {
                asked += 1;
                let is_silent = |rank: &&Rank| !answers.iter().any(|answer| answer.rank == **rank);
                ranks.iter().filter(is_silent).for_each(|&rank| self.ask(rank));
            }
            match self.receive() {
                Some((Datagram { says: Says::Answer(answer), .. }, _)) => {
                    let is_new = !answers.iter().any(|other| other.rank == answer.rank);
                    if is_new && ranks.contains(&answer.rank) {
                        answers.push(answer);
                    }
                }
                Some((datagram, from)) => self.reply(&datagram.says, from),
                None => {}
            }
        }
        answers
    }

    fn ask(&self, rank: Rank) {
        let Some(place) = self.setting.places.get(rank as usize) else { return };
        for to in place.sockets() {
            self.send(Says::Ask, to);
        }
    }

    fn reply(&self, says: &Says, from: SocketAddr) {
        match says {
            Says::Ask => self.send(Says::Answer(self.answer()), from),
            Says::Answer(_) => {}
        }
    }

    /// What this process is in.
    fn answer(&self) -> Answer {
        let now = CALLS.now().into_iter().map(|doing| Now {
            seconds: doing.since.elapsed().as_secs_f64(),
            call: doing.call,
            runs: doing.runs.map(str::to_owned),
            awaited: doing.awaited.into_iter().take(LISTED).collect(),
        });
        let last: Option<(Call, f64)> = CALLS.last().map(|(call, at)| (call, at.elapsed().as_secs_f64()));
        Answer {
            rank: self.setting.rank,
            host: self.setting.host.clone(),
            process: std::process::id(),
            now: now.collect(),
            last,
        }
    }

    /// A datagram of somebody who knows the key, if one comes before long.
    fn receive(&self) -> Option<(Datagram, SocketAddr)> {
        let mut bytes = vec![0; LONGEST];
        let (length, from) = self.socket.recv_from(&mut bytes).ok()?;
        let datagram: Datagram = serde_json::from_slice(&bytes[..length]).ok()?;
        (datagram.key == self.key).then_some((datagram, from))
    }

    fn send(&self, says: Says, to: SocketAddr) {
        if let Ok(bytes) = serde_json::to_vec(&Datagram { key: self.key, says }) {
            // Who does not get it asks again.
            let _ = self.socket.send_to(&bytes, to);
        }
    }
}

/// Starts what is started there with all signals blocked, which are for the program's threads.
fn without_signals<R>(start: impl FnOnce() -> R) -> R {
    // SAFETY: both sets are this function's own; a signal set is plain data.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        let mut before: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const all, &raw mut before);
        let started = start();
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut());
        started
    }
}
