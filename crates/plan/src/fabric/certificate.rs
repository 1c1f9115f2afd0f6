//! Whether no two messages of any round meet on a link, for schedules too large to keep whole.

use super::check::{CheckError, check_hosts, placed};
use super::model::{DirectedLink, Fabric};
use super::placement::Placement;
use super::routing::Router;
use serde::Serialize;

/// What [`certify`] found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Certificate {
    /// Rounds.
    pub rounds: usize,
    /// Messages between different hosts.
    pub messages: u64,
    /// Rounds in which messages meet on a link with fewer cables than messages.
    pub in_conflict: usize,
    /// Two messages that meet, of the first of these rounds.
    pub counterexample: Option<Counterexample>,
}

/// Two messages of a round that share a link with fewer cables than messages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Counterexample {
    /// Number of the round.
    pub round: usize,
    /// Label of the round.
    pub label: String,
    /// Sending and receiving rank of one.
    pub first: (u32, u32),
    /// Of the other.
    pub second: (u32, u32),
    /// Such links on the way of both, in the order of the first one's, as `a2 -> A`.
    pub links: Vec<String>,
}

/// Looks at every round: its label, and the ranks between which messages go. Takes O(total route length).
///
/// # Errors
/// A rank that is not placed, or a host that the fabric does not have.
pub fn certify<'a>(
    fabric: &Fabric,
    placement: &Placement,
    rounds: impl Iterator<Item = (String, &'a [(u32, u32)])>,
) -> Result<Certificate, CheckError> {
    check_hosts(fabric, placement)?;
    let adapters = placement.adapters(fabric);
    let mut router = Router::new(fabric);
    let mut certificate = Certificate { rounds: 0, messages: 0, in_conflict: 0, counterexample: None };
    // Of every directed link the messages of this round on it, and the first of them.
    let mut carried: Vec<(u32, usize)> = vec![(0, 0); fabric.directed_link_count()];
    for (number, (label, messages)) in rounds.enumerate() {
        certificate.rounds += 1;
        let mut met = None;
        let mut touched = Vec::new();
        for (at, &(from, to)) in messages.iter().enumerate() {
            let route = router.route(placed(&adapters, &label, from)?, placed(&adapters, &label, to)?);
            certificate.messages += u64::from(!route.is_empty());
            for link in route {
                let (count, first) = &mut carried[link.index()];
                if *count == 0 {
                    *first = at;
                    touched.push(link);
                }
                *count += 1;
                if *count > fabric.parallel(link) && met.is_none() {
                    met = Some((*first, at));
                }
            }
        }
        if let Some((first, second)) = met {
            certificate.in_conflict += 1;
            if certificate.counterexample.is_none() {
                let (first, second) = (messages[first], messages[second]);
                let mut route = |(from, to)| {
                    Ok::<_, CheckError>(router.route(placed(&adapters, &label, from)?, placed(&adapters, &label, to)?))
                };
                let (one, other) = (route(first)?, route(second)?);
                let is_crowded = |link: &DirectedLink| carried[link.index()].0 > fabric.parallel(*link);
                let shared = one.into_iter().filter(|link| other.contains(link) && is_crowded(link));
                let links = shared.map(|link| fabric.link_name(link)).collect();
                certificate.counterexample = Some(Counterexample { round: number, label, first, second, links });
            }
        }
        touched.iter().for_each(|link| carried[link.index()].0 = 0);
    }
    Ok(certificate)
}
