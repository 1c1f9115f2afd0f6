//! What the rounds of a scheme do to the links of a communicator.

use super::part::Among;
use super::scheme::{Scheme, rounds};
use crate::context::Context;
use crate::cost::RoundCosts;

/// Transfers of all rounds up to which they are looked at: some 50 ms of work.
const MOST_TRANSFERS: usize = 1 << 17;

/// The rounds of a scheme on the network; `None` if there are more transfers than are looked at.
pub fn on_network(context: &Context, scheme: Scheme, among: Among) -> Option<RoundCosts> {
    let hierarchy = context.grouped();
    let members: Vec<u32> = match among {
        Among::Ranks => (0..context.topology().ranks()).collect(),
        Among::Nodes => (0..hierarchy.node_count()).map(|node| hierarchy.leader(node, 0)).collect(),
    };
    let places = context.places(members);
    let rounds = rounds(scheme, places.len() as u32, MOST_TRANSFERS)?;
    Some(RoundCosts::new(rounds, &places, &mut context.predicted_wires()))
}
