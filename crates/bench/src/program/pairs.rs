//! What one pair of ranks of every level can do alone: latency, bytes per second, and from which size on a sender waits
//! for its receiver.
//!
//! An eager message leaves before its receiver has asked for it, a longer one does not. So the receiver waits for a
//! word of the sender before it posts the receive, and the sender gives it once the send has ended, or has had time
//! enough.

use crate::goodput;
use crate::messages::{PING, TRIPS, one_way};
use crate::nagare::Description;
use crate::together::Together;
use mpi::request::scope;
use mpi::traits::{Communicator, Destination, Source};
use nagare_bench::pairs::{Chosen, Pair, chosen};
use nagare_bench::record::Goodput;
use std::time::{Duration, Instant};

/// How long a sender waits for its send to end, beside the time of the bytes.
const WAIT: Duration = Duration::from_millis(20);
/// The time of the bytes counts so many times: others may use the processor.
const PATIENCE: f64 = 3.0;
/// Tags of the message and of the word.
const DATA: i32 = 1;
const GO: i32 = 2;
/// Longest message that is tried, and on slow links …
const LONGEST: u64 = 4 << 20;
/// … the longest that takes so many seconds, but at least …
const LONG: f64 = 0.1;
/// … so many bytes.
const LEAST: u64 = 256 << 10;
/// Round trips of one repetition, with messages of some size.
const LONGER_TRIPS: usize = 20;
/// Seconds of one repetition: where messages are slow, there are fewer round trips.
const REPETITION: f64 = 0.1;

/// Measures a pair of every level in turn, all other ranks waiting: of the levels that Nagare knows, otherwise of the
/// hosts.
///
/// # Errors
/// If what arrives is not what was sent.
pub fn measure(together: &Together, hosts: &[String], described: Option<&Description>) -> Result<Vec<Pair>, String> {
    let number = |host: &String| hosts.iter().position(|other| other == host).unwrap_or_default() as u32;
    let pairs = match described.map(|known| &known.topology) {
        Some(levels) => chosen(&levels.names, &levels.groups),
        None => chosen(&["node".to_owned()], &[hosts.iter().map(number).collect()]),
    };
    let assumed = |(a, b): (u32, u32)| {
        let limits = described?.eager?;
        if hosts.get(a as usize) == hosts.get(b as usize) { limits.local } else { limits.remote }
    };
    pairs.iter().map(|pair| one(together, pair, assumed(pair.ranks))).collect()
}

fn one(together: &Together, Chosen { within, ranks }: &Chosen, assumed: Option<u64>) -> Result<Pair, String> {
    let (from, to) = (ranks.0 as i32, ranks.1 as i32);
    let latency = 1e6 * one_way(together, (from, to), PING, TRIPS);
    let goodput = goodput::test(together, within, &[(from, to)])?;
    let wait = |bytes| WAIT + Duration::from_secs_f64(PATIENCE * seconds_of(&goodput, bytes));
    // The same at all ranks, as these times are.
    let most = ((LONG / seconds_of(&goodput, 1)) as u64).clamp(LEAST, LONGEST);
    let eager = largest(most, |bytes| leaves_at_once(together, from, to, bytes, wait(bytes)));
    // One byte more, and the receiver is asked first.
    let trips = |bytes| (REPETITION / 2.0 / (latency * 1e-6 + seconds_of(&goodput, bytes))) as usize;
    let microseconds = |bytes| 1e6 * one_way(together, (from, to), bytes, trips(bytes).clamp(1, LONGER_TRIPS));
    let rendezvous = eager.map(|eager| microseconds(eager + 1) - microseconds(eager));
    Ok(Pair {
        within: within.clone(),
        ranks: *ranks,
        latency,
        goodput: goodput.bytes as f64 * 8e-6 / goodput.seconds,
        eager,
        rendezvous,
        assumed,
    })
}

/// Seconds of so many bytes, at the rate that was measured.
fn seconds_of(goodput: &Goodput, bytes: u64) -> f64 {
    goodput.seconds * bytes as f64 / goodput.bytes as f64
}

/// The largest number of bytes for which `holds`, if it does for 1 and not for `most`.
fn largest(most: u64, holds: impl Fn(u64) -> bool) -> Option<u64> {
    if holds(most) || !holds(1) {
        return None;
    }
    let (mut yes, mut no) = (1, most);
    while no - yes > 1 {
        let middle = yes + (no - yes) / 2;
        if holds(middle) { yes = middle } else { no = middle }
    }
    Some(yes)
}

/// Whether a send ends before its receiver has posted a receive, in time that is enough for so many bytes; the same
/// answer at all ranks.
fn leaves_at_once(together: &Together, from: i32, to: i32, bytes: u64, wait: Duration) -> bool {
    let mut data = vec![0u8; bytes as usize];
    let mut leaves = true;
    if together.rank == from {
        let receiver = together.world.process_at_rank(to);
        scope(|scope| {
            let start = Instant::now();
            let mut sending = Some(receiver.immediate_send_with_tag(scope, &data[..], DATA));
            while start.elapsed() < wait
                && let Some(request) = sending.take()
            {
                sending = request.test().err();
            }
            leaves = sending.is_none();
            receiver.send_with_tag(&1u8, GO);
            if let Some(request) = sending {
                request.wait_without_status();
            }
        });
    } else if together.rank == to {
        let sender = together.world.process_at_rank(from);
        // Inside the library meanwhile, so that it takes what comes without being asked for.
        sender.receive_with_tag::<u8>(GO);
        sender.receive_into_with_tag(&mut data[..], DATA);
    }
    together.largest(f64::from(u8::from(!leaves))) == 0.0
}
