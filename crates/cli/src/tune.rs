//! `nagare tune`: measures where the user is, and writes what was the fastest as a profile.
//!
//! ```text
//!   first job: the network ──► costs ──► second job, planned by them: stock and every algorithm, in races ──► profile
//! ```
//!
//! Two jobs, since segments are chosen by what messages cost: the algorithms are measured as they will run.

mod written;

use crate::bench::place::{Place, PlaceArgs, end_with_this_process, text};
use crate::output::{print, tell};
use crate::own;
use crate::profile::{gains, table};
use anyhow::{Context, ensure};
use clap::Args;
use nagare_bench::arguments::Arguments;
use nagare_bench::operation::Operation;
use nagare_bench::record::{Results, STOCK};
use nagare_bench::statistics::median;
use nagare_bench::tuning;
use nagare_plan::algorithm::{ALGORITHMS, Algorithm};
use nagare_plan::profile::Profile;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, SystemTime};
use written::Written;

/// What is measured where nothing is said: vectors from 256 bytes to 4 MiB.
const SIZES: &str = "256,1K,4K,16K,64K,256K,1M,4M";
/// All that a profile can say something about.
const COLLECTIVES: &str =
    "bcast,reduce,allreduce,alltoall,gather,scatter,allgather,allgatherv,reduce_scatter_block,reduce_scatter";

#[derive(Args)]
pub struct TuneArgs {
    #[command(flatten)]
    place: PlaceArgs,
    /// Time for all measurements, such as 90s, 5m or 1h; collectives and sizes not begun by then are left out, and each
    /// that is begun has three rounds at least, of the MPI library's own and of what may be the fastest
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = humantime::parse_duration)]
    budget: Duration,
    /// Bytes of a rank's vector, separated by commas, with suffix K, M or G; where ranks have blocks, the sum of these
    #[arg(long, value_name = "BYTES,…", default_value = SIZES)]
    sizes: String,
    /// The collectives, separated by commas
    #[arg(long, value_name = "NAME,…", default_value = COLLECTIVES)]
    collectives: String,
    /// The profile [default: PLACE.toml, after fabric or launcher, ranks and MPI, in this directory]
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Replace the profile if there is one
    #[arg(long)]
    force: bool,
    /// Also measure what the MPI library can be told to run, in as much time again, and write a file that tells it:
    /// openmpi-rules, which `coll_tuned_dynamic_rules_filename` names, or mpich-json, for
    /// `MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE`, begun with what this host's file of rank 0's library holds
    #[arg(long, num_args = 2, value_names = ["KIND", "FILE"])]
    write: Vec<String>,
}

/// Measures, and writes the profile.
pub fn run(args: &TuneArgs) -> anyhow::Result<ExitCode> {
    let place = Place::find(&args.place)?;
    let out = args.out.clone().unwrap_or_else(|| PathBuf::from(format!("{}.toml", place.name())));
    let shown = out.display();
    ensure!(
        args.force || out.symlink_metadata().is_err(),
        "{shown} exists; --force replaces it, --out FILE names another"
    );
    let directory = match out.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        Some(parent) => parent.to_owned(),
        None => PathBuf::from("."),
    };
    let directory = directory.canonicalize().with_context(|| directory.display().to_string())?;
    let file = directory.join(out.file_name().with_context(|| format!("{shown}: expected the name of a file"))?);
    let beside = |suffix: &str| {
        let name: OsString = [file.as_os_str(), suffix.as_ref()].into_iter().collect();
        PathBuf::from(name)
    };
    // No name that jobs take for a profile.
    let (lines, costs, new) = (beside(".jsonl"), beside(".costs"), beside(".new"));
    let algorithms: Vec<&str> = [STOCK].into_iter().chain(ALGORITHMS.iter().map(|spec| spec.name)).collect();
    let words = vec![
        text(&lines)?,
        "--sizes".to_owned(),
        args.sizes.clone(),
        "--collectives".to_owned(),
        args.collectives.clone(),
        "--race".to_owned(),
        args.budget.as_secs_f64().to_string(),
    ];
    // A mistake is told before anything is started.
    let asked = Arguments::parse(words.iter().cloned()).map_err(anyhow::Error::msg)?;
    ensure!(!args.budget.is_zero(), "--budget 0s; expected some time to measure in, such as 5m");
    ensure!(!asked.sizes.is_empty(), "--sizes {}; expected at least one size", args.sizes);
    let able = asked.collectives;
    let is_told = |operation: &Operation| tuning::is_told(*operation);
    ensure!(able.iter().any(is_told), "--collectives {}; a profile says nothing of these", args.collectives);
    let implements = |name: &&str| {
        let algorithm = Algorithm::from_name(name);
        algorithm.is_none_or(|a| able.iter().any(|operation| operation.planned().is_some_and(|c| a.implements(c))))
    };
    let algorithms: Vec<&str> = algorithms.into_iter().filter(implements).collect();
    let raced = [words.clone(), vec!["--algorithms".to_owned(), algorithms.join(",")]].concat();
    let date = humantime::format_rfc3339(SystemTime::now()).to_string();
    let date = &date[..date.find('T').unwrap_or(date.len())];
    let written = Written::new(args, place.family())?;
    let cells = able.iter().filter(|operation| is_told(operation)).count() * asked.sizes.len();
    let outcome = (|| {
        tell!("first what messages cost and what hosts send");
        let network = network(&args.place, &file)?;
        let profile = profile_of(&network, date)?;
        let told = match &written {
            Some(written) => {
                let written = written.known(&network.job)?;
                tell!("what the MPI library can be told to run");
                Some(written.write(args, cells)?)
            }
            None => None,
        };
        fs::write(&costs, profile.to_toml()).with_context(|| costs.display().to_string())?;
        tell!("then the MPI library and the algorithms, in turn");
        fs::write(&lines, "").with_context(|| lines.display().to_string())?;
        let code = place.start(raced, vec![set("NAGARE_LEARN", "off"), set("NAGARE_PROFILE", &text(&costs)?)])?;
        let results = place.results(&lines, place.name())?;
        let alone = profile;
        let profile = Profile { pairs: alone.pairs, reduction: alone.reduction, ..profile_of(&results, date)? };
        ensure!(!profile.cells.is_empty(), "nothing was measured: the job ended before");
        fs::write(&new, profile.to_toml()).with_context(|| new.display().to_string())?;
        // At once: another job may be reading it.
        fs::rename(&new, &file).with_context(|| file.display().to_string())?;
        print(&format!("{}{}{}", table(&profile), conclusion(&profile, &file), told.unwrap_or_default()))?;
        if !results.complete {
            tell!("the job did not come to its end; what it measured until then is in the profile");
        }
        Ok(code)
    })();
    for temporary in [&lines, &costs, &new] {
        // Whether they were made depends on how far it came.
        let _ = fs::remove_file(temporary);
    }
    outcome
}

fn set(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

/// What the network is, by a run of `nagare bench` without any size, in a process of its own: one that has been in a
/// testbed does not leave it.
fn network(place: &PlaceArgs, file: &Path) -> anyhow::Result<Results> {
    measured(place, file, &["--sizes", "none"])
}

/// What a run of `nagare bench` with these words measures. Its files are in a directory beside `file` until they are
/// read.
fn measured(place: &PlaceArgs, file: &Path, words: &[&str]) -> anyhow::Result<Results> {
    let beside = file.parent().unwrap_or(Path::new("."));
    let directory = beside.join(format!("nagare-tune-{}", std::process::id()));
    fs::create_dir(&directory).with_context(|| directory.display().to_string())?;
    let results = measured_in(&directory, place, words);
    fs::remove_dir_all(&directory).with_context(|| directory.display().to_string())?;
    results
}

fn measured_in(directory: &Path, place: &PlaceArgs, words: &[&str]) -> anyhow::Result<Results> {
    let name = "results";
    let (options, last) = place.words()?;
    let out = directory.join(format!("{name}.json"));
    let mut command = Command::new(own::file()?);
    command.arg("bench").args(words).args(["--name", name, "--out"]).arg(directory).args(options).args(last);
    end_with_this_process(&mut command);
    let status = command.env("NAGARE_PROFILE", "off").stdout(Stdio::null()).status().context("nagare bench")?;
    ensure!(status.success(), "it could not be measured; what was said of it is above");
    let text = fs::read_to_string(&out).with_context(|| out.display().to_string())?;
    serde_json::from_str(&text).with_context(|| out.display().to_string())
}

fn profile_of(results: &Results, date: &str) -> anyhow::Result<Profile> {
    tuning::profile(results, date).context("the ranks ran without Nagare; `nagare doctor` finds out why")
}

/// How much of it runs on algorithms of ours, how much faster that is, and how to use the profile.
fn conclusion(profile: &Profile, file: &Path) -> String {
    let gains = gains(profile);
    let worth = match gains.iter().copied().reduce(f64::max) {
        None => "the MPI library's own are the fastest for all of them".to_owned(),
        Some(most) => format!(
            "{} of them run on algorithms of Nagare's, {:.2} times as fast as the MPI library's own (median), at most \
             {most:.2} times",
            gains.len(),
            median(&gains),
        ),
    };
    let shown = file.display();
    format!(
        "{} collectives and sizes: {worth}\n\nwritten: {shown}\nused by jobs with NAGARE_PROFILE={shown}, or from \
         ~/.config/nagare/profiles\n",
        profile.cells.len()
    )
}
