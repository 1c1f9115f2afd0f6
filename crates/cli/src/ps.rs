//! `nagare ps`: what the collectives of running jobs are in, as their watches tell it.

use crate::output::{print, print_json, tell};
use anyhow::{Context, ensure};
use clap::Args;
use nagare_plan::quoted;
use nagare_watch::{Answer, Job, behind, door, running};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with, sockopt};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

/// The sockets of this network namespace.
const SOCKETS: &str = "/proc/net/unix";

/// A watch says at once what job it is, unless it asks other ranks just now, and waits a second for 64 that do not
/// answer.
const FIRST: Duration = Duration::from_secs(4);
const PATIENCE: Duration = Duration::from_secs(10);

/// Ranks of a job that are waited for, one after another: those of a stopped job do not answer.
const TRIED: usize = 3;

/// Jobs that are asked at the same time.
const AT_ONCE: usize = 64;

/// Longest answer that is read, a line of each of a million ranks, and how long it may take.
const MOST: u64 = 1 << 30;
const LONGEST: Duration = Duration::from_secs(600);

/// Ranks of the largest job that is believed.
const MOST_RANKS: u32 = 1 << 24;

#[derive(Args)]
pub struct PsArgs {
    /// Only jobs of this program, or of this number of the batch system
    pub job: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Found {
    #[serde(flatten)]
    job: Job,
    answers: Vec<Answer>,
}

/// Asks one rank of every job on this host.
pub fn run(args: &PsArgs) -> anyhow::Result<ExitCode> {
    let text = fs::read_to_string(SOCKETS).context(SOCKETS)?;
    let mut jobs: BTreeMap<u64, BTreeSet<u32>> = BTreeMap::new();
    // A rank has a line more for everybody who waits for its answer.
    for (world, rank) in text.lines().filter_map(|line| behind(line.split_once('@')?.1)) {
        jobs.entry(world).or_default().insert(rank);
    }
    if jobs.is_empty() {
        tell!(
            "no job on this host is watched: start it with NAGARE_WATCH=10m, and ask on a host where a rank of \
             it runs"
        );
    }
    let mut found: Vec<Found> = Vec::new();
    let mut silent = Vec::new();
    // One job that does not answer keeps no other waiting.
    let asked = |(&world, ranks): (&u64, &BTreeSet<u32>)| {
        let ours = ranks.iter().filter_map(|&rank| reach(world, rank).ok());
        ours.take(TRIED).find_map(|stream| ask(stream).ok())
    };
    for some in jobs.iter().collect::<Vec<_>>().chunks(AT_ONCE) {
        let answers: Vec<Option<Found>> = thread::scope(|scope| {
            let asking: Vec<_> = some.iter().map(|&job| scope.spawn(move || asked(job))).collect();
            asking.into_iter().map(|one| one.join().ok().flatten()).collect()
        });
        for ((_, ranks), answer) in some.iter().zip(answers) {
            match answer {
                Some(answer) => found.push(answer),
                None => silent.push(ranks.len()),
            }
        }
    }
    let is_wanted = |found: &Found| {
        args.job.as_ref().is_none_or(|job| found.job.program == *job || found.job.job.as_ref() == Some(job))
    };
    let is_none = found.is_empty();
    found.retain(is_wanted);
    for ranks in silent {
        tell!("a job with {ranks} ranks here does not answer: it is another user's, or it is stopped");
    }
    if let Some(job) = args.job.as_ref().filter(|_| found.is_empty() && !is_none) {
        tell!("no job on this host is {}; without a name, all are shown", quoted(job));
    }
    if args.json {
        print_json(&found)?;
    } else {
        let texts: Vec<String> = found.iter().map(|found| running(&found.job, &found.answers)).collect();
        print(&texts.join("\n"))?;
    }
    Ok(if found.is_empty() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// The watch of a rank, if this user may ask it; at once, whoever has the socket and however many wait there.
fn reach(world: u64, rank: u32) -> anyhow::Result<UnixStream> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    connect(&socket, &SocketAddrUnix::new_abstract_name(door(world, rank).as_bytes())?)?;
    // Anybody may give a socket such a name. Root sees the jobs of all users, each at most so long.
    let (theirs, own) = (sockopt::socket_peercred(&socket)?.uid, rustix::process::geteuid());
    ensure!(theirs == own || own.is_root(), "another user's");
    let stream = UnixStream::from(socket);
    stream.set_nonblocking(false)?;
    Ok(stream)
}

/// What all ranks of a job are in, as one of them tells it.
fn ask(stream: UnixStream) -> anyhow::Result<Found> {
    stream.set_read_timeout(Some(FIRST))?;
    let (start, patience) = (Instant::now(), stream.try_clone()?);
    let mut lines = BufReader::new(stream.take(MOST)).lines();
    let first = lines.next().context("no answer")??;
    patience.set_read_timeout(Some(PATIENCE))?;
    let job: Job = serde_json::from_str(&first)?;
    ensure!(job.ranks <= MOST_RANKS, "a job of {} ranks", job.ranks);
    let mut answers = Vec::new();
    for line in lines {
        ensure!(start.elapsed() < LONGEST, "no end");
        answers.push(serde_json::from_str(&line?)?);
    }
    answers.sort_by_key(|answer: &Answer| answer.rank);
    Ok(Found { job, answers })
}
