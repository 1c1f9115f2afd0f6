//! A delay line: the process in the place of a link's cable, where the fabric gives the link 0.5 ms or more.
//!
//! ```text
//!   host                                                                        switch
//!   rate and queue ──► data0 (TAP) ──► read, held for the latency, written ──► p0 (TAP)
//!            data0 (TAP) ◄── written, held for the latency, read ◄── p0 (TAP) ◄── rate and queue
//! ```
//!
//! The holder makes both devices and starts the process with them as its standard input and output: it needs no rights
//! and no namespaces of its own.

use crate::error::Error;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::AsFd;
use rustix::io::{Errno, read, write};
use rustix::process::setpriority_process;
use rustix::thread::set_current_timer_slack;
use std::collections::VecDeque;
use std::io::{Write, stderr, stdin, stdout};
use std::num::NonZeroU64;
use std::time::{Duration, Instant};

/// Links of at least this latency are delayed; of a shorter one, the time in which a process wakes up is too large a
/// part.
pub const LEAST_LATENCY: Duration = Duration::from_micros(500);

/// A direction has room for what the link carries in its latency and in this time, by which the process may be late.
const LATE: Duration = Duration::from_millis(100);

/// More than any packet has, with its header.
const LARGEST: usize = 1 << 17;

/// Packets taken from one end before the other end, and those whose time has come, have their turn.
const TURN: usize = 32;

/// Bytes that one direction of a delay line has room for: at least those of any packet, however slow the link is.
pub fn room(bits_per_second: u64, latency: Duration) -> u64 {
    (bits_per_second as f64 / 8.0 * (latency + LATE).as_secs_f64()) as u64 + LARGEST as u64
}

/// The packets on their way in one direction, in order.
#[derive(Debug)]
pub struct OnTheWay {
    latency: Duration,
    room: u64,
    bytes: u64,
    packets: VecDeque<(Instant, Box<[u8]>)>,
}

impl OnTheWay {
    /// Nothing yet.
    pub fn new(latency: Duration, room: u64) -> Self {
        Self { latency, room, bytes: 0, packets: VecDeque::new() }
    }

    /// Takes a packet that leaves at `now`; returns whether there was room for it.
    pub fn take(&mut self, packet: &[u8], now: Instant) -> bool {
        let bytes = self.bytes + packet.len() as u64;
        let fits = bytes <= self.room;
        if fits {
            self.bytes = bytes;
            self.packets.push_back((now + self.latency, packet.into()));
        }
        fits
    }

    /// The next packet, if it has arrived at `now`.
    pub fn arrived(&mut self, now: Instant) -> Option<Box<[u8]>> {
        self.next().filter(|at| *at <= now)?;
        let (_, packet) = self.packets.pop_front()?;
        self.bytes -= packet.len() as u64;
        Some(packet)
    }

    /// When the next packet arrives.
    pub fn next(&self) -> Option<Instant> {
        self.packets.front().map(|(at, _)| *at)
    }
}

/// What waking up takes: about the median of late. Where processors have slept deeply, or are busy, it takes longer.
#[derive(Debug)]
struct WakingUp(Duration);

impl WakingUp {
    /// Nothing is known yet.
    fn new() -> Self {
        Self(Duration::from_micros(20))
    }

    /// It took so long once.
    fn took(&mut self, time: Duration) {
        let (step, most) = (Duration::from_micros(1), Duration::from_micros(50));
        let moved = if time > self.0 { self.0 + step } else { self.0.saturating_sub(step) };
        // No more: where processors are busy, what is read has not waited for this process alone.
        self.0 = moved.min(most);
    }
}

/// Delays what passes between the two devices, for ever. `link` is what messages call it; `room` is in bytes, of each
/// direction.
///
/// # Errors
/// If a device is gone.
pub fn run(link: &str, latency: Duration, room: u64) -> Result<(), Error> {
    // Wake up when asked to and before ranks that compute. An ordinary user may not ask for the latter.
    let _ = set_current_timer_slack(NonZeroU64::new(1));
    let _ = setpriority_process(None, -20);
    let (one, other) = (stdin(), stdout());
    let ends = [one.as_fd(), other.as_fd()];
    let mut ways = [(); 2].map(|()| OnTheWay::new(latency, room));
    let mut waking = WakingUp::new();
    let mut packet = vec![0; LARGEST];
    let mut told = false;
    loop {
        for (way, to) in ways.iter_mut().zip([ends[1], ends[0]]) {
            while let Some(packet) = way.arrived(Instant::now()) {
                match write(to, &packet) {
                    // A device that is down takes nothing, like a port that is switched off.
                    Ok(_) | Err(Errno::IO) => {}
                    Err(error) => tell_once(&mut told, &format!("the delay line {link} has lost packets: {error}")),
                }
            }
        }
        let next = ways.iter().filter_map(OnTheWay::next).min();
        let before = Instant::now();
        // Where that leaves nothing, the process spins until the time has come.
        let wait = next.map(|next| next.saturating_duration_since(before).saturating_sub(waking.0));
        let mut files = ends.map(|end| PollFd::from_borrowed_fd(end, PollFlags::IN));
        let doing = || format!("the delay line {link}");
        // Latencies are at most a second.
        let timeout = wait.and_then(|wait| Timespec::try_from(wait).ok());
        let ready = match poll(&mut files, timeout.as_ref()) {
            Err(Errno::INTR) => continue,
            ready => ready.map_err(Error::system(doing()))?,
        };
        let asleep = before.elapsed();
        if let Some(wait) = wait.filter(|wait| ready == 0 && !wait.is_zero()) {
            waking.took(asleep.saturating_sub(wait));
        }
        // What has woken this process up had left before it was awake.
        let left = before + asleep.saturating_sub(waking.0);
        for (way, from) in ways.iter_mut().zip(&files).filter(|(_, file)| !file.revents().is_empty()) {
            for _ in 0..TURN {
                match read(from, &mut packet[..]) {
                    Ok(length) if way.take(&packet[..length], left) => {}
                    Ok(_) => tell_once(&mut told, &format!("the delay line {link} was full and has dropped packets")),
                    Err(Errno::AGAIN) => break,
                    Err(Errno::INTR) => {}
                    Err(error) => return Err(Error::system(doing())(error)),
                }
            }
        }
    }
}

fn tell_once(told: &mut bool, line: &str) {
    if !*told {
        // Without a reader, nobody is told.
        let _ = writeln!(stderr(), "{line}");
    }
    *told = true;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(start: Instant, microseconds: u64) -> Instant {
        start + Duration::from_micros(microseconds)
    }

    #[test]
    fn a_packet_arrives_one_latency_after_it_left_and_in_order() {
        let start = Instant::now();
        let mut way = OnTheWay::new(Duration::from_micros(2000), 100);
        assert_eq!((way.next(), way.arrived(after(start, 1_000_000))), (None, None));
        assert!(way.take(b"first", start) && way.take(b"second", start) && way.take(b"third", after(start, 300)));
        assert_eq!((way.next(), way.arrived(after(start, 1999))), (Some(after(start, 2000)), None));
        assert_eq!(way.arrived(after(start, 2000)).as_deref(), Some(&b"first"[..]));
        assert_eq!(way.arrived(after(start, 2299)).as_deref(), Some(&b"second"[..]));
        assert_eq!((way.next(), way.arrived(after(start, 2299))), (Some(after(start, 2300)), None));
        // Whoever looks late gets what has arrived meanwhile.
        assert_eq!(way.arrived(after(start, 9000)).as_deref(), Some(&b"third"[..]));
        assert_eq!(way.next(), None);
    }

    #[test]
    fn what_has_no_room_is_dropped_and_what_has_arrived_makes_room() {
        let start = Instant::now();
        let mut way = OnTheWay::new(Duration::from_micros(1000), 10);
        assert!(way.take(&[1; 6], start) && way.take(&[2; 4], start) && !way.take(&[3; 1], start));
        assert_eq!(way.arrived(after(start, 1000)).as_deref(), Some(&[1; 6][..]));
        assert!(!way.take(&[4; 7], after(start, 1000)) && way.take(&[5; 6], after(start, 1000)));
        let rest: Vec<u8> = std::iter::from_fn(|| way.arrived(after(start, 2000))).map(|packet| packet[0]).collect();
        assert_eq!(rest, [2, 5]);
    }

    #[test]
    fn waking_up_takes_what_it_mostly_took() {
        let times = |usual: u64, rare: u64| (0..1000).map(move |n| if n % 10 == 0 { rare } else { usual + n % 3 });
        let mut waking = WakingUp::new();
        times(40, 9000).for_each(|time| waking.took(Duration::from_micros(time)));
        assert!((39..=43).contains(&waking.0.as_micros()), "{waking:?}");
        times(5, 9000).for_each(|time| waking.took(Duration::from_micros(time)));
        assert!((4..=8).contains(&waking.0.as_micros()), "{waking:?}");
        times(3000, 1).for_each(|time| waking.took(Duration::from_micros(time)));
        assert_eq!(waking.0.as_micros(), 50);
    }

    #[test]
    fn there_is_room_for_what_a_link_carries_in_its_latency_and_more() {
        // 100 Mbit/s for 5 ms and 100 ms, and a packet.
        assert_eq!(room(100_000_000, Duration::from_millis(5)), 1_312_500 + (1 << 17));
        assert!(room(1_000, LEAST_LATENCY) > 2 * 1514);
    }
}
