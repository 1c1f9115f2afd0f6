//! What the rounds of a scheme do to the links of a communicator.

use super::part::Among;
use super::scheme::{Scheme, rounds};
use crate::context::Context;
use crate::cost::RoundCosts;

/// Transfers of all rounds up to which they are looked at: some 50 ms of work.
const MOST_TRANSFERS: usize = 1 << 17;

/// The rounds of a scheme on the network; `None` if there are more transfers than are looked at.
pub fn on_network(context: &Context, scheme: Scheme, among: Among) -> Option<RoundCosts> {
    let places = match among {
        Among::Ranks => context.all_places(),
        Among::Nodes => context.places(context.leaders()),
    };
    let rounds = rounds(scheme, places.len() as u32, MOST_TRANSFERS)?;
    Some(RoundCosts::new(rounds, &places, &mut context.predicted_wires()))
}
