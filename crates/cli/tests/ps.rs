//! `nagare ps`, at sockets of pretended watches: all tests of this host see them.

use crate::common::{nagare, stderr, stdout};
use nagare_watch::{Answer, Job, door};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, connect, listen, socket_with};
use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;

/// A job that no other test has.
fn world(number: u64) -> u64 {
    (u64::from(std::process::id()) << 8) | number
}

fn socket() -> OwnedFd {
    socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK, None).unwrap()
}

fn at(world: u64, rank: u32) -> SocketAddrUnix {
    SocketAddrUnix::new_abstract_name(door(world, rank).as_bytes()).unwrap()
}

/// The socket of a rank, where so many may wait.
fn listener(world: u64, rank: u32, most: i32) -> OwnedFd {
    let listener = socket();
    bind(&listener, &at(world, rank)).unwrap();
    listen(&listener, most).unwrap();
    listener
}

/// Those who wait there, as many as may.
fn crowd(world: u64, rank: u32) -> Vec<OwnedFd> {
    let waits = || {
        let socket = socket();
        connect(&socket, &at(world, rank)).ok().map(|()| socket)
    };
    std::iter::from_fn(waits).collect()
}

/// Answers one question with what `rank`, the last of its job, is in: nothing.
fn answer(world: u64, rank: u32, program: &str) {
    let job = Job { world, program: program.to_owned(), job: None, ranks: rank + 1, rank };
    let (host, now) = (String::new(), Vec::new());
    let answer = Answer { rank, host, process: 1, now, last: None, ended: None };
    let lines = [serde_json::to_string(&job).unwrap(), serde_json::to_string(&answer).unwrap()];
    let listener = UnixListener::from(listener(world, rank, 16));
    listener.set_nonblocking(false).unwrap();
    std::thread::spawn(move || {
        // Whoever else asks on this host gets the same.
        for mut stream in listener.incoming().flatten() {
            let _ = stream.write_all((lines.join("\n") + "\n").as_bytes());
        }
    });
}

/// Anybody may have sockets of such names, and let so many wait there that a connection would have to wait as well.
#[test]
fn sockets_that_are_full_are_passed_over() {
    let (full, other, program) = (world(1), world(2), format!("other-{}", std::process::id()));
    let silent: Vec<_> = (0..5).map(|rank| (listener(full, rank, 1), crowd(full, rank))).collect();
    let _before: Vec<_> = (0..5).map(|rank| (listener(other, rank, 1), crowd(other, rank))).collect();
    assert!(silent.iter().all(|(_, crowd)| !crowd.is_empty()));
    answer(other, 5, &program);
    let output = nagare(&["ps", &program]).output().unwrap();
    assert!(stdout(&output).contains(&format!("{program}, 6 ranks\n")), "{}", stderr(&output));
    assert!(stderr(&output).contains("a job with 5 ranks here does not answer"), "{}", stderr(&output));
}

/// A stopped rank, at which others ask as well, is waited for once.
#[test]
fn the_next_rank_is_asked_where_one_is_stopped() {
    let (world, program) = (world(3), format!("stopped-{}", std::process::id()));
    let _stopped = listener(world, 0, 16);
    let _others: Vec<OwnedFd> = (0..4)
        .map(|_| {
            let socket = socket();
            connect(&socket, &at(world, 0)).unwrap();
            socket
        })
        .collect();
    answer(world, 1, &program);
    let output = nagare(&["ps", &program]).output().unwrap();
    assert!(
        stdout(&output).contains(&format!("{program}, 2 ranks\n  no collective yet: rank 1")),
        "{}",
        stderr(&output)
    );
}
