//! What a message costs whatever its size: latency, and the gap between messages.

use crate::goodput::firsts;
use crate::together::Together;
use mpi::point_to_point::send_receive_into;
use mpi::request::multiple_scope;
use mpi::traits::{Communicator, Destination, Source};
use nagare_bench::record::{GAP, LATENCY, Message};
use nagare_bench::statistics::median;
use std::time::Instant;

/// Bytes of a message that goes back and forth.
pub const PING: u64 = 8;
/// Round trips of one repetition.
pub const TRIPS: usize = 200;
/// Bytes of a message of a stream.
const SMALL: usize = 64;
/// Messages of a stream on their way at a time.
const WINDOW: usize = 32;
/// Windows of one repetition.
const WINDOWS: usize = 32;
/// Repetitions that count, after one that opens connections.
const REPETITIONS: usize = 5;

/// Both tests, by the first rank on each host; none if there is one host only.
pub fn measure(together: &Together, hosts: &[String]) -> Vec<Message> {
    let firsts = firsts(hosts);
    let count = firsts.len();
    if count < 2 {
        return Vec::new();
    }
    let across = vec![(firsts[0], firsts[count / 2])];
    let next = (0..count).map(|i| (firsts[i], firsts[(i + 1) % count])).collect();
    vec![latency(together, across), gap(together, next)]
}

/// The median of the slowest rank's time for `work`, seconds.
fn repeated(together: &Together, mut work: impl FnMut()) -> f64 {
    let mut times = Vec::new();
    for repetition in 0..=REPETITIONS {
        together.barrier();
        let start = Instant::now();
        work();
        let time = together.largest(start.elapsed().as_secs_f64());
        if repetition > 0 {
            times.push(time);
        }
    }
    median(&times)
}

fn message(test: &str, flows: Vec<(i32, i32)>, bytes: usize, seconds: f64) -> Message {
    let flows = flows.iter().map(|&(from, to)| (from as u32, to as u32)).collect();
    Message { test: test.to_owned(), flows, bytes: bytes as u64, microseconds: seconds * 1e6, links: 0.0 }
}

/// Seconds that a message of so many bytes takes one way, half a round trip between two ranks, all others waiting; the
/// same at all ranks.
pub fn one_way(together: &Together, (a, b): (i32, i32), bytes: u64, trips: usize) -> f64 {
    // The pair's own clock: the others' way through the barriers is none of its.
    let mut own = Vec::new();
    let mut data = vec![0u8; bytes as usize];
    repeated(together, || {
        let start = Instant::now();
        for _ in 0..trips {
            if together.rank == a {
                together.world.process_at_rank(b).send(&data[..]);
                together.world.process_at_rank(b).receive_into(&mut data[..]);
            } else if together.rank == b {
                together.world.process_at_rank(a).receive_into(&mut data[..]);
                together.world.process_at_rank(a).send(&data[..]);
            }
        }
        own.push(start.elapsed().as_secs_f64() / (2.0 * trips as f64));
    });
    // The first repetition opened the connection. The others have waited less than the pair has taken.
    together.largest(median(&own[1..]))
}

fn latency(together: &Together, pair: Vec<(i32, i32)>) -> Message {
    let seconds = one_way(together, pair[0], PING, TRIPS);
    message(LATENCY, pair, PING as usize, seconds)
}

fn gap(together: &Together, flows: Vec<(i32, i32)>) -> Message {
    let to = flows.iter().find(|flow| flow.0 == together.rank).map(|flow| together.world.process_at_rank(flow.1));
    let from = flows.iter().find(|flow| flow.1 == together.rank).map(|flow| together.world.process_at_rank(flow.0));
    let out = [together.rank as u8; SMALL];
    let seconds = repeated(together, || {
        let (Some(to), Some(from)) = (&to, &from) else { return };
        for _ in 0..WINDOWS {
            let mut arriving = [[0u8; SMALL]; WINDOW];
            multiple_scope(2 * WINDOW, |scope, requests| {
                for buffer in &mut arriving {
                    requests.add(from.immediate_receive_into(scope, &mut buffer[..]));
                }
                for _ in 0..WINDOW {
                    requests.add(to.immediate_send(scope, &out[..]));
                }
                requests.wait_all(&mut Vec::with_capacity(2 * WINDOW));
            });
        }
        // The last of this rank's have arrived when the next one answers.
        let mut answer = [0u8; 1];
        send_receive_into(&out[..1], from, &mut answer[..], to);
    });
    message(GAP, flows, SMALL, seconds / (WINDOWS * WINDOW) as f64)
}
