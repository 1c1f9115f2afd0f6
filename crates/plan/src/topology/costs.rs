//! What was measured of the network where the program runs: stands in for what no fabric file says.

use crate::fabric::MessageCost;

/// Share of a link's rate that reaches the program: 1448 bytes of data in a frame of 1514.
pub(super) const GOODPUT: f64 = 1448.0 / 1514.0;

/// What a message costs, and how fast a host sends.
#[derive(Clone, Copy, Debug, Default)]
pub struct Costs {
    /// Beyond its bytes.
    pub message: MessageCost,
    /// Data that a host sends while all do, Mbit/s.
    pub host_goodput: Option<f64>,
}

impl Costs {
    /// Rate of a host's link, Mbit/s, by the data that it sends.
    pub fn host_mbit(&self) -> Option<f64> {
        self.host_goodput.map(|goodput| goodput / GOODPUT)
    }

    /// Those of `first`, and where it has none, of `second`.
    pub fn or(first: MessageCost, second: Option<&Self>) -> MessageCost {
        let second = second.map(|costs| costs.message).unwrap_or_default();
        MessageCost { latency_us: first.latency_us.or(second.latency_us), gap_us: first.gap_us.or(second.gap_us) }
    }

    fn bits(&self) -> [Option<u64>; 3] {
        [self.message.latency_us, self.message.gap_us, self.host_goodput].map(|value| value.map(f64::to_bits))
    }
}

impl PartialEq for Costs {
    fn eq(&self, other: &Self) -> bool {
        self.bits() == other.bits()
    }
}

impl Eq for Costs {}
