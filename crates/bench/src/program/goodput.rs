//! The network itself: bytes per second between hosts, one pair alone and all hosts at once.

use crate::together::Together;
use mpi::point_to_point::send_receive_into;
use mpi::traits::{Communicator, Destination, Source};
use nagare_bench::record::Goodput;
use nagare_bench::statistics::{LEAST, median};
use std::time::Instant;

/// Bytes of a message: long enough for TCP to fill a link, short enough for slow ones.
const BYTES: usize = 1 << 20;

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
    let from = flows.iter().find(|flow| flow.1 == together.rank).map(|flow| together.world.process_at_rank(flow.0));
    let send = vec![together.rank as u8; BYTES];
    let mut receive = vec![!0u8; BYTES];
    let mut times = Vec::new();
    // The first opens connections and TCP's windows.
    for iteration in 0..=LEAST {
        together.barrier();
        let start = Instant::now();
        match (&to, &from) {
            (Some(to), Some(from)) => {
                send_receive_into(&send[..], to, &mut receive[..], from);
            }
            (Some(to), None) => to.send(&send[..]),
            (None, Some(from)) => {
                from.receive_into(&mut receive[..]);
            }
            (None, None) => {}
        }
        let time = together.largest(start.elapsed().as_secs_f64());
        if iteration > 0 {
            times.push(time);
        }
    }
    if let Some(flow) = flows.iter().find(|flow| flow.1 == together.rank)
        && receive.iter().any(|&byte| byte != flow.0 as u8)
    {
        return Err(format!("goodput {name}: the message from rank {} is not what was sent", flow.0));
    }
    let flows = flows.iter().map(|&(from, to)| (from as u32, to as u32)).collect();
    Ok(Goodput { test: name.to_owned(), flows, bytes: BYTES as u64, seconds: median(&times), limit: None })
}
