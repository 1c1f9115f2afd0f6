//! Which rank runs on which host.

use serde::Serialize;
use thiserror::Error;

use super::groups::Level;
use super::ids::{Adapter, HostId, adapter_of};
use super::model::Fabric;

/// The host of every rank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    hosts: Vec<HostId>,
}

/// Ranks that cannot be placed.
#[derive(Debug, Clone, PartialEq, Eq, Error, Serialize)]
pub enum PlacementError {
    /// More ranks than hosts × ranks per host.
    #[error("{ranks} ranks do not fit on {hosts} hosts with {ppn} per host; expected at most {places}")]
    TooManyRanks {
        /// Ranks asked for.
        ranks: usize,
        /// Hosts there are.
        hosts: usize,
        /// Ranks a host takes.
        ppn: usize,
        /// Hosts × ppn.
        places: usize,
    },
    /// A list with something that is not a host of the fabric.
    #[error("'{name}' (rank {rank}) is not a host of the fabric '{fabric}'")]
    UnknownHost {
        /// The name.
        name: String,
        /// The rank it was given for.
        rank: usize,
        /// The fabric.
        fabric: String,
    },
}

impl Placement {
    /// `ppn` consecutive ranks per host, hosts in order (Open MPI's `--map-by slot`).
    pub fn by_slot(fabric: &Fabric, ranks: usize, ppn: usize) -> Result<Self, PlacementError> {
        room(fabric, ranks, ppn)?;
        let hosts = (0..ranks).map(|r| HostId((r / ppn) as u32));
        Ok(Placement { hosts: hosts.collect() })
    }

    /// Ranks dealt out one per host, round after round, at most `ppn` per host (`--map-by node`).
    pub fn by_node(fabric: &Fabric, ranks: usize, ppn: usize) -> Result<Self, PlacementError> {
        room(fabric, ranks, ppn)?;
        let hosts = (0..ranks).map(|r| HostId((r % fabric.host_count()) as u32));
        Ok(Placement { hosts: hosts.collect() })
    }

    /// Consecutive ranks spread evenly over as few groups as hold them: of groups with equally many places, `ceil(ranks
    /// / places per group)` are used and each gets `ceil(ranks / groups used)` ranks, the last what is left. The rule
    /// is applied to the outermost level of [`Fabric::levels`], then inside each group to the next, and inside the
    /// innermost groups ranks are placed by slot. Among uneven groups the first ones that hold all ranks are used, and
    /// a group too small for its share is filled.
    pub fn balanced(fabric: &Fabric, ranks: usize, ppn: usize) -> Result<Self, PlacementError> {
        room(fabric, ranks, ppn)?;
        let mut hosts = Vec::with_capacity(ranks);
        spread(&fabric.levels(), fabric.hosts().collect(), ranks, ppn, &mut hosts);
        Ok(Placement { hosts })
    }

    /// Rank `r` on the host called `names[r]`.
    pub fn listed<S: AsRef<str>>(fabric: &Fabric, names: &[S]) -> Result<Self, PlacementError> {
        let find = |(rank, name): (usize, &S)| {
            let name = name.as_ref();
            fabric.find_host(name).ok_or_else(|| PlacementError::UnknownHost {
                name: name.to_owned(),
                rank,
                fabric: fabric.name().to_owned(),
            })
        };
        let hosts: Result<_, _> = names.iter().enumerate().map(find).collect();
        Ok(Placement { hosts: hosts? })
    }

    /// Rank `r` on `hosts[r]`, which must be hosts of the fabric it is used with.
    pub fn from_hosts(hosts: Vec<HostId>) -> Self {
        Placement { hosts }
    }

    /// Number of ranks.
    pub fn rank_count(&self) -> usize {
        self.hosts.len()
    }

    /// The host of a rank; `None` for a rank there is not.
    pub fn host(&self, rank: u32) -> Option<HostId> {
        self.hosts.get(rank as usize).copied()
    }

    /// The adapter of every rank: those of a host, in their order, are spread over its adapters.
    pub fn adapters(&self, fabric: &Fabric) -> Vec<Adapter> {
        let mut width = vec![0u32; fabric.host_count()];
        let slots = self.hosts.iter().map(|host| {
            let width = width.get_mut(host.0 as usize)?;
            *width += 1;
            Some(*width - 1)
        });
        let slots: Vec<Option<u32>> = slots.collect();
        let adapter = |(&host, slot): (&HostId, Option<u32>)| match slot {
            Some(slot) => Adapter { host, number: adapter_of(slot, width[host.0 as usize], fabric.adapters(host)) },
            // Of another fabric.
            None => host.into(),
        };
        self.hosts.iter().zip(slots).map(adapter).collect()
    }

    /// The host of every rank.
    pub fn hosts(&self) -> &[HostId] {
        &self.hosts
    }
}

fn room(fabric: &Fabric, ranks: usize, ppn: usize) -> Result<(), PlacementError> {
    let hosts = fabric.host_count();
    let places = hosts.saturating_mul(ppn);
    match ranks <= places {
        true => Ok(()),
        false => Err(PlacementError::TooManyRanks { ranks, hosts, ppn, places }),
    }
}

/// Places `ranks` ranks, which fit, on `hosts`, balanced over the groups of the first level and then inwards.
fn spread(levels: &[Level], hosts: Vec<HostId>, ranks: usize, ppn: usize, placed: &mut Vec<HostId>) {
    let Some((level, inner)) = levels.split_first() else {
        placed.extend((0..ranks).map(|r| hosts[r / ppn]));
        return;
    };
    let mut groups: Vec<(u32, Vec<HostId>)> = Vec::new();
    for host in hosts {
        let group = level.of_host[host.0 as usize];
        match groups.iter_mut().find(|(g, _)| *g == group) {
            Some((_, members)) => members.push(host),
            None => groups.push((group, vec![host])),
        }
    }
    let shares = shares(groups.iter().map(|(_, m)| m.len() * ppn).collect(), ranks);
    for ((_, members), share) in groups.into_iter().zip(shares) {
        spread(inner, members, share, ppn, placed);
    }
}

/// Ranks per group, for the first groups whose places hold all ranks.
fn shares(mut places: Vec<usize>, ranks: usize) -> Vec<usize> {
    let mut held = 0;
    let enough = |p: &usize| {
        held += p;
        held >= ranks
    };
    let used = places.iter().position(enough).map_or(places.len(), |i| i + 1);
    places.truncate(used);
    let mut shares = vec![0; used];
    let mut left = ranks;
    // One pass where groups are even; more only to move what small groups could not take.
    while left > 0 {
        let open = (0..used).filter(|&g| shares[g] < places[g]).count();
        if open == 0 {
            break;
        }
        let each = left.div_ceil(open);
        for g in 0..used {
            let more = each.min(places[g] - shares[g]).min(left);
            shares[g] += more;
            left -= more;
        }
    }
    shares
}
