//! Asks other ranks what they are in, and answers them.
//!
//! ```text
//!   this rank ─► Ask ─► ranks 5, 6, 7       answered: 5, 7      after 300 ms: Ask ─► rank 6      after 900 ms: silent
//! ```

use super::doing::CALLS;
use super::kept::Kept;
use super::place::Place;
use super::wire::{Datagram, Key, LONGEST, Says};
use nagare_plan::schedule::Rank;
use nagare_watch::{Answer, Awaited, Call, Now};
use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsRawFd, RawFd};
use std::time::{Duration, Instant};

/// Ranks that are asked at the same time, how long they have for an answer, and how often they are asked meanwhile:
/// datagrams get lost.
pub const AT_ONCE: usize = 64;
const PATIENCE: Duration = Duration::from_millis(900);
const ASKED: u32 = 3;

/// Datagrams that are read in a row: anybody may send some, without end.
const HEARD: usize = 64;

/// Messages that an answer lists at most, of all threads.
const LISTED: usize = 100;

/// The program has closed the socket.
#[derive(Debug)]
pub struct Closed;

/// The ranks of the world, as one of them reaches the others.
pub struct Peers {
    socket: Kept<UdpSocket>,
    key: Key,
    rank: Rank,
    host: String,
    /// Where all ranks listen, by rank.
    places: Vec<Place>,
    /// The nodes they are on, by rank.
    nodes: Vec<u32>,
    /// Of the question that was asked last.
    number: u64,
}

impl Peers {
    /// Those of `rank`, on a host of that name, which listens at the socket; places and nodes by rank.
    ///
    /// # Errors
    /// Why the socket is of no use.
    pub fn new(
        socket: UdpSocket,
        key: Key,
        (rank, host): (Rank, String),
        places: Vec<Place>,
        nodes: Vec<u32>,
    ) -> std::io::Result<Self> {
        socket.set_nonblocking(true)?;
        Ok(Self { socket: Kept::new(socket)?, key, rank, host, places, nodes, number: 0 })
    }

    /// Ranks of the world.
    pub fn size(&self) -> Rank {
        self.places.len() as Rank
    }

    /// What can be waited for by poll(2), unless the program has closed it.
    pub fn descriptor(&self) -> Option<RawFd> {
        self.socket.get().map(AsRawFd::as_raw_fd)
    }

    /// What these ranks are in, in their order, of those that answer in time; how far they have come on `comm`. Ends
    /// once an answer says `enough`, which is then the last. `meanwhile` has its turn now and then.
    pub fn ask(
        &mut self,
        ranks: &[Rank],
        comm: Option<u64>,
        enough: impl Fn(&Answer) -> bool,
        mut meanwhile: impl FnMut(&mut Self),
    ) -> Vec<Answer> {
        let mut all: Vec<Answer> = Vec::new();
        // A few at first, for whom one answer may do: all ranks may ask the same ones.
        let (mut rest, mut at_once) = (ranks, 1);
        while !rest.is_empty() {
            let (some, later) = rest.split_at(at_once.min(rest.len()));
            let answers = self.ask_at_once(some, comm, &enough);
            let is_enough = answers.iter().any(&enough);
            all.extend(answers);
            if is_enough {
                break;
            }
            meanwhile(self);
            (rest, at_once) = (later, (at_once * 8).min(AT_ONCE));
        }
        all.sort_by_cached_key(|answer| ranks.iter().position(|&rank| rank == answer.rank));
        all
    }

    /// Answers others meanwhile, who may ask at the same time.
    fn ask_at_once(&mut self, ranks: &[Rank], comm: Option<u64>, enough: &impl Fn(&Answer) -> bool) -> Vec<Answer> {
        self.number += 1;
        let mut answers: Vec<Answer> =
            ranks.iter().filter(|&&rank| rank == self.rank).map(|_| self.answer(comm)).collect();
        let start = Instant::now();
        let mut asked = 0;
        while answers.len() < ranks.len() && start.elapsed() < PATIENCE && !answers.last().is_some_and(enough) {
            let again = PATIENCE / ASKED * asked;
            if start.elapsed() >= again {
                asked += 1;
                let is_silent = |rank: &&Rank| !answers.iter().any(|answer| answer.rank == **rank);
                ranks.iter().filter(is_silent).for_each(|&rank| self.send(rank, self.number, &Says::Ask(comm)));
                continue;
            }
            self.wait(again.min(PATIENCE).saturating_sub(start.elapsed()));
            let Ok(heard) = self.receive() else { break };
            for (datagram, from) in heard {
                let Datagram { says: Says::Answer(answer), number, .. } = datagram else {
                    self.reply(&datagram, from);
                    continue;
                };
                let is_asked = number == self.number && answer.rank == datagram.from && ranks.contains(&answer.rank);
                if is_asked && !answers.iter().any(|other| other.rank == answer.rank) {
                    answers.push(answer);
                }
            }
        }
        answers
    }

    /// Answers those who ask now.
    ///
    /// # Errors
    /// If nobody can be heard any more.
    pub fn answer_all(&self) -> Result<(), Closed> {
        self.receive()?.iter().for_each(|(datagram, from)| self.reply(datagram, *from));
        Ok(())
    }

    /// Waits until somebody says something, or for so long.
    fn wait(&self, within: Duration) {
        super::poll(self.descriptor().as_slice(), within);
    }

    /// To all addresses of the rank: the key is not in it.
    fn send(&self, to: Rank, number: u64, says: &Says) {
        let datagram = Datagram { from: self.rank, to, number, says: says.clone() };
        let (Some(place), Some(bytes)) = (self.places.get(to as usize), self.key.seals(&datagram)) else { return };
        for socket in place.sockets(self.is_here(to)) {
            self.send_to(&bytes, socket);
        }
    }

    fn reply(&self, asked: &Datagram, from: SocketAddr) {
        let Says::Ask(comm) = &asked.says else { return };
        // Somebody else may have sent it once more.
        let is_theirs = self.places.get(asked.from as usize).is_some_and(|p| p.sockets(true).any(|own| own == from));
        if asked.to != self.rank || !is_theirs {
            return;
        }
        let says = Says::Answer(self.answer(*comm));
        let datagram = Datagram { from: self.rank, to: asked.from, number: asked.number, says };
        if let Some(bytes) = self.key.seals(&datagram) {
            self.send_to(&bytes, from);
        }
    }

    /// Who does not get it is asked again, or asks again.
    fn send_to(&self, bytes: &[u8], to: SocketAddr) {
        let _ = self.socket.get().map(|socket| socket.send_to(bytes, to));
    }

    fn is_here(&self, rank: Rank) -> bool {
        let node = |rank: Rank| self.nodes.get(rank as usize);
        node(rank) == node(self.rank)
    }

    /// What this process is in.
    fn answer(&self, comm: Option<u64>) -> Answer {
        let calls = CALLS.now();
        let listed = LISTED / calls.len().max(1);
        let now = calls.into_iter().take(LISTED).map(|doing| Now {
            seconds: doing.since.elapsed().as_secs_f64(),
            call: doing.call,
            runs: doing.runs.map(str::to_owned),
            awaited: doing.awaited.into_iter().take(listed).collect::<Vec<Awaited>>(),
            told: doing.is_told,
        });
        let last: Option<(Call, f64)> = CALLS.last().map(|(call, at)| (call, at.elapsed().as_secs_f64()));
        Answer {
            rank: self.rank,
            host: self.host.clone(),
            process: std::process::id(),
            now: now.collect(),
            last,
            ended: comm.and_then(|comm| CALLS.ended(comm)),
        }
    }

    /// The next datagrams of ranks of the world to this one, of those that are there now.
    ///
    /// # Errors
    /// If there will be none any more.
    fn receive(&self) -> Result<Vec<(Datagram, SocketAddr)>, Closed> {
        let mut bytes = vec![0; LONGEST];
        let mut heard = Vec::new();
        for _ in 0..HEARD {
            match self.socket.get().ok_or(Closed)?.recv_from(&mut bytes) {
                Ok((length, from)) => {
                    let datagram = self.key.opens(&bytes[..length]).filter(|datagram| datagram.to == self.rank);
                    heard.extend(datagram.map(|datagram| (datagram, from)));
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Err(Closed),
            }
        }
        Ok(heard)
    }
}

#[cfg(test)]
mod tests;
