//! Whether no two messages of any round meet on a link, for schedules too large to keep whole.

use super::check::{CheckError, check_hosts, placed};
use super::ids::DirectedLink;
use super::model::Fabric;
use super::placement::Placement;
use super::router::Router;
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
    /// Other rounds in which a hash may bring messages together on such a link.
    pub may_conflict: usize,
    /// Two messages that meet, of the first round in conflict; where there is none, two that may meet.
    pub counterexample: Option<Counterexample>,
}

/// Two messages of a round that share, or may share, a link with fewer cables than messages.
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

/// What a link carries in a round.
#[derive(Clone, Copy, Default)]
struct Carried {
    /// Messages that take it, and the first of them.
    certain: (u32, usize),
    /// Messages that take it or may, and the first of them.
    any: (u32, usize),
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
    let mut certificate = Certificate { rounds: 0, messages: 0, in_conflict: 0, may_conflict: 0, counterexample: None };
    // Of every directed link.
    let mut carried: Vec<Carried> = vec![Carried::default(); fabric.directed_link_count()];
    for (number, (label, messages)) in rounds.enumerate() {
        certificate.rounds += 1;
        let (mut met, mut may_meet) = (None, None);
        let mut touched = Vec::new();
        for (at, &(from, to)) in messages.iter().enumerate() {
            let shares = router.shares(placed(&adapters, &label, from)?, placed(&adapters, &label, to)?);
            certificate.messages += u64::from(!shares.is_empty());
            for (link, share) in shares {
                let here = &mut carried[link.index()];
                if here.any.0 == 0 {
                    touched.push(link);
                }
                let crowded = |count: &mut (u32, usize)| {
                    if count.0 == 0 {
                        count.1 = at;
                    }
                    count.0 += 1;
                    (count.0 > fabric.parallel(link)).then_some((count.1, at))
                };
                may_meet = may_meet.or(crowded(&mut here.any));
                if share == 1.0 {
                    met = met.or(crowded(&mut here.certain));
                }
            }
        }
        let is_first = match met {
            Some(_) => certificate.in_conflict == 0,
            None => certificate.in_conflict + certificate.may_conflict == 0,
        };
        certificate.in_conflict += usize::from(met.is_some());
        certificate.may_conflict += usize::from(met.is_none() && may_meet.is_some());
        if let Some((first, second)) = met.or(may_meet).filter(|_| is_first) {
            let (first, second) = (messages[first], messages[second]);
            let mut links_of = |(from, to)| {
                Ok::<_, CheckError>(router.shares(placed(&adapters, &label, from)?, placed(&adapters, &label, to)?))
            };
            let (one, other) = (links_of(first)?, links_of(second)?);
            let is_crowded = |link: DirectedLink| {
                let Carried { certain, any } = carried[link.index()];
                (if met.is_some() { certain.0 } else { any.0 }) > fabric.parallel(link)
            };
            let counts = |share: f64| met.is_none() || share == 1.0;
            let has = |link| other.iter().any(|&(l, share)| l == link && counts(share));
            let shared = one.into_iter().filter(|&(link, share)| counts(share) && has(link) && is_crowded(link));
            let links = shared.map(|(link, _)| fabric.link_name(link)).collect();
            certificate.counterexample = Some(Counterexample { round: number, label, first, second, links });
        }
        touched.iter().for_each(|link| carried[link.index()] = Carried::default());
    }
    Ok(certificate)
}
