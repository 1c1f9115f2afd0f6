//! Plays rounds of transfers on a fabric and reports what meets on a link.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use thiserror::Error;

use super::model::{DirectedLink, Fabric};
use super::placement::Placement;
use super::routing::Router;

/// A message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Transfer {
    /// Sending rank.
    pub from: u32,
    /// Receiving rank.
    pub to: u32,
    /// Size.
    pub bytes: u64,
}

/// Transfers that may run at the same time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Round {
    /// What the report calls it, such as `local, colour 1`.
    pub label: String,
    /// The transfers.
    pub transfers: Vec<Transfer>,
}

/// Load of one direction of a link over all rounds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LinkUse {
    /// The link and direction.
    #[serde(skip)]
    pub link: DirectedLink,
    /// Where it starts.
    pub from: String,
    /// Where it ends.
    pub to: String,
    /// Bandwidth over all cables, Mbit/s.
    pub mbit: f64,
    /// Bytes in all rounds.
    pub bytes: u64,
    /// Transfers in all rounds.
    pub transfers: usize,
    /// Most transfers in one round.
    pub most_at_once: usize,
}

/// Two transfers of one round that share at least one directed link with fewer cables than transfers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Conflict {
    /// Number of the round.
    pub round: usize,
    /// Label of the round.
    pub label: String,
    /// The one listed first in the round.
    pub first: Transfer,
    /// The other.
    pub second: Transfer,
    /// The shared links in the order of the first transfer's route, as `a2 -> A`.
    pub links: Vec<String>,
}

/// What [`check`] found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CheckReport {
    /// Number of rounds.
    pub rounds: usize,
    /// Number of transfers between different hosts.
    pub transfers: usize,
    /// Every directed link that is used, in link order, the direction `a -> b` first.
    pub links: Vec<LinkUse>,
    /// By round, then in the order of the transfers.
    pub conflicts: Vec<Conflict>,
}

/// Input that does not fit together.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CheckError {
    /// A rank without a host.
    #[error("round '{label}': rank {rank} takes part, but only ranks below {ranks} are placed")]
    UnknownRank {
        /// Label of the round.
        label: String,
        /// The rank.
        rank: u32,
        /// Ranks placed.
        ranks: usize,
    },
    /// A placement made for another fabric.
    #[error("rank {rank} is placed on host {host}, but the fabric has only {hosts} hosts")]
    UnknownHost {
        /// The rank.
        rank: usize,
        /// The host's number.
        host: u32,
        /// Hosts there are.
        hosts: usize,
    },
}

/// Plays the rounds one after another. Transfers inside a host use no link. Two transfers of one round conflict when they
/// share a directed link (host links included) that has fewer cables than transfers in that round; a pair counts once,
/// however many links it shares. Load of n transfers costs O(total route length) plus the conflicts themselves.
pub fn check(fabric: &Fabric, placement: &Placement, rounds: &[Round]) -> Result<CheckReport, CheckError> {
    let hosts = fabric.host_count();
    let stray = (placement.hosts().iter()).position(|h| h.0 as usize >= hosts);
    if let Some(rank) = stray {
        let host = placement.hosts()[rank].0;
        return Err(CheckError::UnknownHost { rank, host, hosts });
    }
    let mut router = Router::new(fabric);
    let mut uses: BTreeMap<DirectedLink, (u64, usize, usize)> = BTreeMap::new();
    let (mut conflicts, mut transfers) = (Vec::new(), 0);
    for (number, round) in rounds.iter().enumerate() {
        let mut on_link: BTreeMap<DirectedLink, Vec<usize>> = BTreeMap::new();
        let mut routes = Vec::with_capacity(round.transfers.len());
        for (i, t) in round.transfers.iter().enumerate() {
            let place = |rank: u32| {
                placement.host(rank).ok_or_else(|| CheckError::UnknownRank {
                    label: round.label.clone(),
                    rank,
                    ranks: placement.rank_count(),
                })
            };
            let route = router.route(place(t.from)?, place(t.to)?);
            transfers += usize::from(!route.is_empty());
            for &link in &route {
                on_link.entry(link).or_default().push(i);
                let slot = uses.entry(link).or_default();
                slot.0 = slot.0.saturating_add(t.bytes);
                slot.1 += 1;
            }
        }
        let mut pairs: BTreeMap<(usize, usize), BTreeSet<DirectedLink>> = BTreeMap::new();
        for (&link, users) in &on_link {
            if let Some(slot) = uses.get_mut(&link) {
                slot.2 = slot.2.max(users.len());
            }
            if users.len() <= fabric.parallel(link) as usize {
                continue;
            }
            for (k, &i) in users.iter().enumerate() {
                for &j in &users[k + 1..] {
                    pairs.entry((i, j)).or_default().insert(link);
                }
            }
        }
        conflicts.extend(pairs.into_iter().map(|((i, j), links)| Conflict {
            round: number,
            label: round.label.clone(),
            first: round.transfers[i],
            second: round.transfers[j],
            links,
        }));
    }
    let links = uses.into_iter().map(|(link, (bytes, transfers, most))| LinkUse {
        link,
        from: fabric.node_name(fabric.start(link)).to_owned(),
        to: fabric.node_name(fabric.end(link)).to_owned(),
        mbit: fabric.mbit(link),
        bytes,
        transfers,
        most_at_once: most,
    });
    Ok(CheckReport { rounds: rounds.len(), transfers, links: links.collect(), conflicts })
}
