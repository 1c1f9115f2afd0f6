//! Profiles (docs/profiles.md): rank 0 finds and reads them and tells the others, so that all ranks have the same and a
//! job of thousands of them opens no more files than one.
//!
//! ```text
//!   NAGARE_PROFILE=FILE                                     that one
//!   otherwise   $XDG_CONFIG_HOME/nagare/profiles/*.toml     in the order of names; of two with the same ranks and
//!               /etc/nagare/profiles/*.toml                 nodes the first
//! ```

use crate::real::{Real, transport};
use mpi::ffi::MPI_Comm;
use nagare_config::{ProfileSource, profile_files, read_text};
use nagare_plan::choice::Rule;
use nagare_plan::profile::{MAX_FILE_BYTES, Measured, Profile};
use nagare_plan::quoted;
use nagare_plan::topology::{Costs, Topology};
use serde::{Deserialize, Serialize};
use std::env::var_os;
use std::ffi::c_int;
use std::path::Path;

/// How the names of those begin that jobs have written.
pub const LEARNT: &[u8] = b"learned-";

/// What rank 0 has read, before anybody knows whether it fits.
#[derive(Default, Serialize, Deserialize)]
pub struct Found {
    /// Name and text of each file.
    texts: Vec<(String, String)>,
    /// One line for each that could not be read.
    problems: Vec<String>,
    /// Whether the user named it: then it is to fit.
    named: bool,
    /// What rank 0's MPI library calls itself, and what carries its messages between nodes.
    library: (String, String),
}

/// The profiles that fit, the same on all ranks.
#[derive(Clone, Debug, Default)]
pub struct Profiles {
    fitting: Vec<(String, Profile)>,
    /// One line for each that cannot be used.
    pub problems: Vec<String>,
    /// Whether the user named one.
    named: bool,
}

impl Found {
    /// Looks for profiles on this host.
    pub fn here(real: &Real, source: &ProfileSource) -> Self {
        let (paths, problems) = profile_files(source, |name| var_os(name));
        let named = matches!(source, ProfileSource::File(_));
        let library = (real.version(), transport::name(real));
        let mut found = Self { texts: Vec::new(), problems, named, library };
        let mut left = MAX_FILE_BYTES;
        for path in paths {
            match read_text(&path, MAX_FILE_BYTES, "a profile (TOML)") {
                Ok(text) if text.len() > left => {
                    let name = quoted(&path.to_string_lossy());
                    let problem =
                        format!("{name}: not read; expected profiles of at most {MAX_FILE_BYTES} bytes in all");
                    found.problems.push(problem);
                }
                Ok(text) => {
                    left -= text.len();
                    found.texts.push((path.to_string_lossy().into_owned(), text));
                }
                Err(problem) => found.problems.push(problem),
            }
        }
        found
    }

    /// As bytes; none if there is nothing to tell.
    pub fn encoded(&self) -> Vec<u8> {
        let is_empty = self.texts.is_empty() && self.problems.is_empty();
        if is_empty { Vec::new() } else { serde_json::to_vec(self).unwrap_or_default() }
    }
}

/// What rank 0 has `encoded`, at all ranks: so many bytes; collective over `comm`.
///
/// # Errors
/// MPI's, of the broadcast.
pub fn share(real: &Real, comm: MPI_Comm, mut encoded: Vec<u8>, bytes: u64) -> Result<Found, c_int> {
    encoded.resize(bytes as usize, 0);
    // SAFETY: the buffer has that many bytes at every rank; texts are limited far below the largest int.
    let code = unsafe {
        (real.mpi.bcast)(encoded.as_mut_ptr().cast(), bytes as c_int, real.handles.byte.into(), 0, comm.into())
    };
    if code != 0 {
        return Err(code);
    }
    // Written by the same build of this library.
    Ok(serde_json::from_slice(&encoded).unwrap_or_default())
}

impl Profiles {
    /// Those of `found` that fit rank 0's library, and the network with links of so many Mbit/s: on all ranks the same.
    /// `has_network`: the job has several nodes, and so one of the profiles should fit.
    pub fn fitting(found: Found, network: &str, mbit: Option<u32>, has_network: bool) -> Self {
        let (mpi, transport) = &found.library;
        let transport = &at_rate(transport, mbit);
        let mut profiles = Self { fitting: Vec::new(), problems: found.problems, named: found.named };
        let mut misfits = Vec::new();
        for (name, text) in found.texts {
            match Profile::from_toml(&text, &name) {
                Ok(profile) => match profile.misfit(mpi, transport, network) {
                    None => profiles.fitting.push((name, profile)),
                    Some(misfit) => {
                        let line = format!("{}: {misfit}", quoted(&name));
                        log::debug!("{line}");
                        // Nobody has asked for those of earlier jobs, or for those of other libraries here.
                        let product = |mpi: &str| mpi.split_whitespace().next().map(str::to_owned);
                        let is_expected = product(&profile.measured.mpi) == product(mpi) && !is_learnt(&name);
                        misfits.extend((found.named || is_expected).then_some(line));
                    }
                },
                Err(error) => profiles.problems.push(error.to_string()),
            }
        }
        // A directory may have those of several networks.
        let is_missed = profiles.fitting.is_empty() && (has_network || found.named);
        if let (true, Some(first)) = (is_missed, misfits.first()) {
            let others = match misfits.len() - 1 {
                0 => String::new(),
                1 => ", nor is another profile".to_owned(),
                others => format!(", nor are {others} other profiles"),
            };
            profiles.problems.push(format!("{first}; it is not used{others}"));
        }
        profiles
    }

    /// The files.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.fitting.iter().map(|(name, _)| name.as_str())
    }

    /// Why a job ends that is to end where something is wrong: the profile that its user named cannot be used.
    pub fn fatal(&self) -> Option<&String> {
        self.problems.first().filter(|_| self.named)
    }

    /// What messages and links cost: of the profiles that know, the first that was measured on as many ranks and nodes
    /// as the job has, else the first.
    pub fn costs(&self, topology: &Topology) -> Option<Costs> {
        let shape = (topology.ranks(), topology.node_count());
        let known = || self.fitting.iter().map(|(_, profile)| profile).filter(|p| p.costs != Costs::default());
        let of_shape = known().find(|p| (p.measured.ranks, p.measured.nodes) == shape);
        of_shape.or_else(|| known().next()).map(|profile| profile.costs)
    }

    /// What was the fastest on so many ranks and nodes, in the order of `topology`: the first rule that holds counts,
    /// and those of what a job has learnt come last.
    pub fn rules(&self, topology: &Topology) -> Vec<Rule> {
        let placement = if self.fitting.is_empty() { String::new() } else { topology.arrangement() };
        let (ranks, nodes) = (topology.ranks(), topology.node_count());
        let of = |learnt| self.fitting.iter().filter(move |(name, _)| is_learnt(name) == learnt);
        let all = of(false).chain(of(true));
        all.flat_map(|(_, profile)| profile.rules(ranks, nodes, &placement)).collect()
    }

    /// The rules for all communicators.
    pub fn all_rules(&self) -> Vec<Rule> {
        self.fitting.iter().flat_map(|(_, profile)| profile.all_rules()).collect()
    }
}

/// Whether a job has written the file.
fn is_learnt(name: &str) -> bool {
    Path::new(name).file_name().is_some_and(|n| n.as_encoded_bytes().starts_with(LEARNT))
}

/// What carries messages between nodes, with the rate of their links where all hosts tell it.
pub fn at_rate(transport: &str, mbit: Option<u32>) -> String {
    mbit.map_or_else(|| transport.to_owned(), |mbit| format!("{transport} at {mbit} Mbit/s"))
}

/// Whether two profiles are about the same jobs.
pub fn is_of(one: &Measured, other: &Measured) -> bool {
    let about = |m: &Measured| (m.mpi.clone(), m.network.clone(), m.transport.clone(), m.placement.clone());
    about(one) == about(other) && (one.ranks, one.nodes) == (other.ranks, other.nodes)
}
