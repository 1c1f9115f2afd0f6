//! What is known of the costs of messages and links: by measurement, by the network's file, or by what machines say.

use super::Topology;
use crate::fabric::MessageCost;
use crate::topology::{Costs, Transport};

/// How many times slower links may be than is assumed where nobody has said it: 100 Mbit/s in place of 10 Gbit/s.
const SLOWER: f64 = 100.0;

impl Topology {
    /// The same facts with what was measured of the network.
    pub fn with_costs(self, costs: Costs) -> Self {
        Self { costs: Some(costs), ..self }
    }

    /// What a message costs: as it was measured, else by the fabric's file, which may be older, else as much as it does
    /// at least by such a transport where so many ranks share a processor.
    pub fn message_cost(&self) -> MessageCost {
        let costs = self.costs();
        Costs::or(self.known_cost(), Transport::message(costs.transport, costs.crowding))
    }

    /// The least and the most that a message may cost beside the time of its bytes, as multiples of
    /// [`Self::message_cost`]. The most is 1 where the gap between two messages, which decides segments, was measured.
    /// The least is 1 where rates are known: links that are slower than is assumed have the same effect as messages
    /// that cost less, since only the ratio of the two decides.
    pub fn message_range(&self) -> [f64; 2] {
        let is_measured = self.known_cost().gap_us.is_some();
        let dearer = if is_measured { 1.0 } else { Transport::spread(self.costs().transport, self.costs().crowding) };
        [if self.knows_rates() { 1.0 } else { 1.0 / SLOWER }, dearer]
    }

    /// Whether both are known by more than what is assumed of machines like these: what messages cost, and how fast
    /// links are.
    pub fn is_measured(&self) -> bool {
        self.known_cost().gap_us.is_some() && (self.network.is_some() || self.costs().host_goodput.is_some())
    }

    fn known_cost(&self) -> MessageCost {
        let file = self.network().map(|network| network.fabric().message_cost()).unwrap_or_default();
        Costs::or(self.costs().message, file)
    }

    /// Rate of a host's link where no fabric tells it, Mbit/s: by the data that a host was measured to send, else as
    /// machines say it.
    pub fn host_mbit(&self) -> Option<f64> {
        self.costs.and_then(|costs| costs.host_mbit())
    }

    /// What a rank sends at most, Mbit/s, where software moves its messages and neither their costs nor what a host
    /// sends were measured; else infinite.
    pub fn most_sent(&self) -> f64 {
        let is_measured = self.known_cost().gap_us.is_some() || self.costs().host_goodput.is_some();
        if is_measured { f64::INFINITY } else { Transport::most_sent(self.costs().transport, self.costs().crowding) }
    }

    /// What messages and links cost, by measurement or by what machines say.
    pub fn costs(&self) -> Costs {
        self.costs.unwrap_or_default()
    }

    /// Whether it is known how fast links are: by a fabric, a measurement, or what machines say of theirs.
    pub fn knows_rates(&self) -> bool {
        self.network.is_some() || self.host_mbit().is_some()
    }
}
