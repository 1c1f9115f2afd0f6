//! The network itself: bytes per second between hosts, one pair alone and all hosts at once.
//!
//! A message goes whole and in short ones, and what takes less time counts. Where each of two ranks sends the other a
//! long message over Open MPI's TCP, each way has half of what the link carries, probably since the word that asks for
//! more of the one waits behind the data of the other; in short messages, which nobody asks for, both have all of it.

use crate::together::Together;
use mpi::request::multiple_scope;
use mpi::traits::{Communicator, Destination, Source};
use nagare_bench::record::Goodput;
use nagare_bench::statistics::{LEAST, median};
use std::time::Instant;

/// Bytes of a message: long enough for TCP to fill a link, short enough for slow ones.
const BYTES: usize = 1 << 20;
/// Bytes of the short ones: libraries send so many before their receivers ask.
const SHORT: usize = 4 << 10;

/// All tests, by the first rank on each host; none if there is one host only.
///
/// # Errors
/// If what arrives is not what was sent.
pub fn measure(together: &Together, hosts: &[String]) -> Result<Vec<Goodput>, String> {
    let firsts = firsts(hosts);
    let count = firsts.len();
    if count < 2 {
        return Ok(Vec::new());
    }
    let shifted = |by: usize| (0..count).map(|i| (firsts[i], firsts[(i + by) % count])).collect::<Vec<_>>();
    let tests = [("pair", vec![(firsts[0], firsts[count / 2])]), ("across", shifted(count / 2)), ("next", shifted(1))];
    tests.into_iter().map(|(name, flows)| test(together, name, &flows)).collect()
}

/// The first rank of every host, in the order of the ranks.
pub fn firsts(hosts: &[String]) -> Vec<i32> {
    let mut firsts: Vec<i32> = Vec::new();
    for (rank, host) in (0i32..).zip(hosts) {
        if firsts.iter().all(|&first| &hosts[first as usize] != host) {
            firsts.push(rank);
        }
    }
    firsts
}

/// What so many messages at once take.
///
/// # Errors
/// If what arrives is not what was sent.
pub fn test(together: &Together, name: &str, flows: &[(i32, i32)]) -> Result<Goodput, String> {
    let to = flows.iter().find(|flow| flow.0 == together.rank).map(|flow| together.world.process_at_rank(flow.1));
    let sender = flows.iter().find(|flow| flow.1 == together.rank).map(|flow| flow.0);
    let from = sender.map(|sender| together.world.process_at_rank(sender));
    let send = content(together.rank);
    let median_of = |piece: usize| {
        let mut times = Vec::new();
        let mut receive = vec![0; BYTES];
        // The first opens connections and TCP's windows.
        for iteration in 0..=LEAST {
            together.barrier();
            let start = Instant::now();
            multiple_scope(2 * BYTES / piece, |scope, requests| {
                if let Some(from) = &from {
                    for part in receive.chunks_mut(piece) {
                        requests.add(from.immediate_receive_into(scope, part));
                    }
                }
                if let Some(to) = &to {
                    for part in send.chunks(piece) {
                        requests.add(to.immediate_send(scope, part));
                    }
                }
                requests.wait_all(&mut Vec::new());
            });
            let time = together.largest(start.elapsed().as_secs_f64());
            if iteration > 0 {
                times.push(time);
            }
        }
        match sender {
            Some(sender) if receive != content(sender) => {
                Err(format!("goodput {name}: messages of {piece} bytes from rank {sender} are not what was sent"))
            }
            _ => Ok(median(&times)),
        }
    };
    let (whole, short) = (median_of(BYTES), median_of(SHORT));
    let seconds = whole?.min(short?);
    let flows = flows.iter().map(|&(from, to)| (from as u32, to as u32)).collect();
    Ok(Goodput { test: name.to_owned(), flows, bytes: BYTES as u64, seconds, limit: None })
}

/// What a rank sends: no byte is 0, and those of two places of short messages differ nearly always.
fn content(rank: i32) -> Vec<u8> {
    (0..BYTES).map(|at| 1 + ((at + at / SHORT * 7 + rank as usize * 31) % 255) as u8).collect()
}
