//! Plays rounds of transfers on a fabric and reports what meets on a link. Where connections are hashed over several
//! ways: what is to be expected on it, and how many can meet there at worst.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use thiserror::Error;

use super::ids::{Adapter, DirectedLink};
use super::model::{Fabric, Routing};
use super::placement::Placement;
use super::router::Router;

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
    /// Bytes in all rounds that are to be expected, of each transfer to the nearest byte.
    pub bytes: u64,
    /// Transfers in all rounds that take the link, or may.
    pub transfers: usize,
    /// Most such transfers in one round.
    pub most_at_once: usize,
    /// Most transfers in one round that are to be expected; less than the former where a hash decides.
    pub expected_at_once: f64,
}

impl LinkUse {
    /// Whether a hash may bring more transfers of a round here than the link has cables.
    pub fn may_meet(&self, fabric: &Fabric) -> bool {
        self.expected_at_once < self.most_at_once as f64 && self.most_at_once > fabric.parallel(self.link) as usize
    }
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
    /// By round, then in the order of the transfers; the first 100 000.
    pub conflicts: Vec<Conflict>,
    /// Whether there are further conflicts.
    pub more: bool,
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
    /// More than a check takes on, where every message may take many links.
    #[error(
        "routing = \"ecmp\": with round '{label}' the transfers may take more than {MOST_WAYS} links, counted for \
         each, which are too many to add up; check fewer ranks, or ask for a certificate alone (--certificate)"
    )]
    TooManyWays {
        /// Label of the round.
        label: String,
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

/// Most conflicts a report lists.
const MAX_CONFLICTS: usize = 100_000;

/// Links that hashed transfers of all rounds may take together at most: some ten seconds, and 1 GiB if all are of one
/// round.
const MOST_WAYS: usize = 1 << 25;

/// Plays the rounds one after another. Transfers inside a host use no link. Two transfers of one round conflict when
/// they share a directed link (host links included) that has fewer cables than transfers in that round; a pair counts
/// once, however many links it shares. Where a hash picks among several ways, only the links that all of them have
/// count. Takes O(total route length) plus the conflicts themselves.
///
/// # Errors
/// A rank that is not placed, a host that the fabric does not have, or too many links where hashes pick them.
pub fn check(fabric: &Fabric, placement: &Placement, rounds: &[Round]) -> Result<CheckReport, CheckError> {
    check_within(fabric, placement, rounds, MOST_WAYS)
}

fn check_within(
    fabric: &Fabric,
    placement: &Placement,
    rounds: &[Round],
    most_ways: usize,
) -> Result<CheckReport, CheckError> {
    check_hosts(fabric, placement)?;
    let adapters = placement.adapters(fabric);
    let mut router = Router::new(fabric);
    let mut uses: BTreeMap<DirectedLink, LinkUse> = BTreeMap::new();
    let mut report =
        CheckReport { rounds: rounds.len(), transfers: 0, links: Vec::new(), conflicts: Vec::new(), more: false };
    let mut left = (fabric.routing() == Routing::Ecmp).then_some(most_ways);
    for (number, round) in rounds.iter().enumerate() {
        let routes = routes(round, &adapters, &mut router, &mut left)?;
        report.transfers += routes.iter().filter(|r| !r.is_empty()).count();
        let mut on_link: BTreeMap<DirectedLink, Vec<(usize, f64)>> = BTreeMap::new();
        for (i, route) in routes.iter().enumerate() {
            for &(link, share) in route {
                on_link.entry(link).or_default().push((i, share));
            }
        }
        for (&link, users) in &on_link {
            let load = uses.entry(link).or_insert_with(|| LinkUse::unused(fabric, link));
            let bytes = users.iter().map(|&(i, share)| match round.transfers[i].bytes {
                bytes if share < 1.0 => (bytes as f64 * share).round() as u64,
                bytes => bytes,
            });
            load.bytes = bytes.fold(load.bytes, u64::saturating_add);
            load.transfers += users.len();
            load.most_at_once = load.most_at_once.max(users.len());
            load.expected_at_once = load.expected_at_once.max(users.iter().map(|&(_, share)| share).sum());
        }
        let certain = |users: Vec<(usize, f64)>| -> Vec<usize> {
            users.into_iter().filter(|&(_, share)| share == 1.0).map(|(i, _)| i).collect()
        };
        let mut on_link: BTreeMap<_, _> = on_link.into_iter().map(|(link, users)| (link, certain(users))).collect();
        on_link.retain(|&link, users| users.len() > fabric.parallel(link) as usize);
        for ((i, j), links) in sharing(&on_link, MAX_CONFLICTS - report.conflicts.len(), &mut report.more) {
            let shared = routes[i].iter().filter(|(link, _)| links.contains(link));
            report.conflicts.push(Conflict {
                round: number,
                label: round.label.clone(),
                first: round.transfers[i],
                second: round.transfers[j],
                links: shared.map(|&(link, _)| fabric.link_name(link)).collect(),
            });
        }
    }
    report.links = uses.into_values().collect();
    Ok(report)
}

impl LinkUse {
    fn unused(fabric: &Fabric, link: DirectedLink) -> Self {
        let name = |node| fabric.node_name(node).to_owned();
        let (from, to) = (name(fabric.start(link)), name(fabric.end(link)));
        LinkUse {
            link,
            from,
            to,
            mbit: fabric.mbit(link),
            bytes: 0,
            transfers: 0,
            most_at_once: 0,
            expected_at_once: 0.0,
        }
    }
}

/// The links of every transfer of a round, with its share of each; `left` more of them at most.
fn routes(
    round: &Round,
    adapters: &[Adapter],
    router: &mut Router,
    left: &mut Option<usize>,
) -> Result<Vec<Vec<(DirectedLink, f64)>>, CheckError> {
    let adapter = |rank| placed(adapters, &round.label, rank);
    let route = |transfer: &Transfer| {
        let shares = router.shares(adapter(transfer.from)?, adapter(transfer.to)?);
        if let Some(left) = left {
            let too_many = || CheckError::TooManyWays { label: round.label.clone() };
            *left = left.checked_sub(shares.len()).ok_or_else(too_many)?;
        }
        Ok(shares)
    };
    round.transfers.iter().map(route).collect()
}

/// Whether the placement is one on this fabric.
pub(super) fn check_hosts(fabric: &Fabric, placement: &Placement) -> Result<(), CheckError> {
    let hosts = fabric.host_count();
    match placement.hosts().iter().position(|h| h.0 as usize >= hosts) {
        Some(rank) => Err(CheckError::UnknownHost { rank, host: placement.hosts()[rank].0, hosts }),
        None => Ok(()),
    }
}

/// The adapter of a rank that takes part in a round, of those of all ranks.
pub(super) fn placed(adapters: &[Adapter], label: &str, rank: u32) -> Result<Adapter, CheckError> {
    let unknown = || CheckError::UnknownRank { label: label.to_owned(), rank, ranks: adapters.len() };
    adapters.get(rank as usize).copied().ok_or_else(unknown)
}

/// Pairs of transfers and the links they share, at most `limit` pairs; `more` is set where there were more.
fn sharing(
    on_link: &BTreeMap<DirectedLink, Vec<usize>>,
    limit: usize,
    more: &mut bool,
) -> BTreeMap<(usize, usize), BTreeSet<DirectedLink>> {
    let mut pairs: BTreeMap<(usize, usize), BTreeSet<DirectedLink>> = BTreeMap::new();
    for (&link, users) in on_link {
        for (k, &i) in users.iter().enumerate() {
            for &j in &users[k + 1..] {
                if pairs.len() < limit || pairs.contains_key(&(i, j)) {
                    pairs.entry((i, j)).or_default().insert(link);
                } else {
                    *more = true;
                    return pairs;
                }
            }
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::{Generator, TierRates};

    /// Between leaves there are two ways of two links, and every host has a link.
    #[test]
    fn ways_of_hashed_transfers_are_counted_up_to_a_limit() {
        let tree = Generator::FatTree { ports: 4, levels: 2, hosts_per_leaf: None };
        let report = |routing, most| {
            let mut builder = tree.builder("tree", &TierRates::uniform(1.0, 1.0)).unwrap();
            builder.set_routing(routing);
            let fabric = builder.build().unwrap();
            let placement = Placement::by_slot(&fabric, 8, 1).unwrap();
            let round = |to| {
                let transfers = vec![Transfer { from: 0, to, bytes: 1 }];
                Round { label: format!("to {to}"), transfers }
            };
            check_within(&fabric, &placement, &[round(2), round(4)], most).map(|report| report.transfers)
        };
        assert_eq!(report(Routing::Ecmp, 12), Ok(2));
        assert_eq!(report(Routing::Ecmp, 11), Err(CheckError::TooManyWays { label: "to 4".into() }));
        assert_eq!(report(Routing::DModK, 0), Ok(2));
    }
}
