//! Whether no two messages of any round meet on a link, for schedules too large to keep whole.

use super::check::{CheckError, Conflict, Transfer, host_of};
use super::model::Fabric;
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
    pub counterexample: Option<Conflict>,
}

/// Looks at every round: its label, and the ranks between which messages go. Takes O(total route length).
///
/// # Errors
/// A rank that is not placed.
pub fn certify<'a>(
    fabric: &Fabric,
    placement: &Placement,
    rounds: impl Iterator<Item = (String, &'a [(u32, u32)])>,
) -> Result<Certificate, CheckError> {
    let mut router = Router::new(fabric);
    let mut certificate = Certificate { rounds: 0, messages: 0, in_conflict: 0, counterexample: None };
    // Of every directed link the messages of this round on it, and the first of them.
    let mut carried: Vec<(u32, usize)> = vec![(0, 0); fabric.directed_link_count()];
    for (number, (label, messages)) in rounds.enumerate() {
        certificate.rounds += 1;
        let mut met = None;
        let mut touched = Vec::new();
        for (at, &(from, to)) in messages.iter().enumerate() {
            let route = router.route(host_of(placement, &label, from)?, host_of(placement, &label, to)?);
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
        touched.iter().for_each(|link| carried[link.index()].0 = 0);
        let Some(pair) = met else { continue };
        certificate.in_conflict += 1;
        if certificate.counterexample.is_none() {
            let transfer = |at: usize| Transfer { from: messages[at].0, to: messages[at].1, bytes: 0 };
            let [first, second] = [pair.0, pair.1].map(transfer);
            let mut route =
                |t: Transfer| Ok(router.route(host_of(placement, &label, t.from)?, host_of(placement, &label, t.to)?));
            let (one, other) = (route(first)?, route(second)?);
            let shared = one.iter().filter(|link| other.contains(link)).map(|&link| fabric.link_name(link));
            certificate.counterexample =
                Some(Conflict { round: number, links: shared.collect(), label, first, second });
        }
    }
    Ok(certificate)
}
