//! What was measured of the network where the program runs, which comes before what a fabric's file says, or what its
//! machines say, which comes after it.

use super::Transport;
use crate::fabric::MessageCost;
use std::fmt;

/// Share of a link's rate that reaches the program: 1448 bytes of data in a frame of 1514.
pub(super) const GOODPUT: f64 = 1448.0 / 1514.0;

/// What a core copies at once, Mbit/s; between processes, shorter than the caches.
const COPIED: u32 = 80_000;

/// What a message costs, and how fast a host sends.
#[derive(Clone, Copy, Debug, Default)]
pub struct Costs {
    /// Beyond its bytes, as it was measured.
    pub message: MessageCost,
    /// Data that a host sends while all do, Mbit/s.
    pub host_goodput: Option<f64>,
    /// How messages travel, by which their costs are assumed where nobody has measured them.
    pub transport: Option<Transport>,
    /// Rate of a host's fastest link as its machine says it, Mbit/s.
    pub adapter_mbit: Option<u32>,
    /// Ranks for each processor that they may run on, where ranks are more.
    pub crowding: Option<f64>,
}

impl Costs {
    /// What is known without measuring: `transport`, and the rate of a host's fastest link, Mbit/s.
    pub fn of_machine(transport: Option<Transport>, mbit: Option<u32>) -> Self {
        let adapter_mbit = if transport == Some(Transport::SharedMemory) { Some(COPIED) } else { mbit };
        Self { transport, adapter_mbit, ..Self::default() }
    }

    /// Rate of a host's link, Mbit/s: by the data that it was measured to send, else as its machine says it.
    pub fn host_mbit(&self) -> Option<f64> {
        self.host_goodput.map(|goodput| goodput / GOODPUT).or(self.adapter_mbit.map(f64::from))
    }

    /// Those of `first`, and where it has none, of `second`.
    pub fn or(first: MessageCost, second: MessageCost) -> MessageCost {
        MessageCost { latency_us: first.latency_us.or(second.latency_us), gap_us: first.gap_us.or(second.gap_us) }
    }

    /// These, and what they do not say, from `others`.
    pub fn or_else(self, others: Self) -> Self {
        Self {
            message: Self::or(self.message, others.message),
            host_goodput: self.host_goodput.or(others.host_goodput),
            transport: self.transport.or(others.transport),
            adapter_mbit: self.adapter_mbit.or(others.adapter_mbit),
            crowding: self.crowding.or(others.crowding),
        }
    }

    /// What a test of the network has found, in words.
    pub fn found(&self) -> String {
        let MessageCost { latency_us, gap_us } = self.message;
        let named =
            [("latency", latency_us, "us"), ("gap", gap_us, "us"), ("data of a host", self.host_goodput, "Mbit/s")];
        let found = named.iter().filter_map(|(name, value, unit)| Some(format!("{name} {:.1} {unit}", (*value)?)));
        let found = found.collect::<Vec<_>>().join(", ");
        if found.is_empty() { "nothing, for want of time".to_owned() } else { found }
    }

    fn bits(&self) -> [Option<u64>; 4] {
        let MessageCost { latency_us, gap_us } = self.message;
        [latency_us, gap_us, self.host_goodput, self.crowding].map(|value| value.map(f64::to_bits))
    }
}

impl fmt::Display for Costs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = |value: Option<f64>, otherwise: &str| {
            value.map_or_else(|| otherwise.to_owned(), |value| format!("{value:.1}"))
        };
        let MessageCost { latency_us, gap_us } = self.message;
        let assumed = Transport::message(self.transport, self.crowding);
        let of = |measured, assumed| number(measured, &format!("{} (assumed)", number(assumed, "unknown")));
        let (latency, gap) = (of(latency_us, assumed.latency_us), of(gap_us, assumed.gap_us));
        write!(f, "latency {latency} us, gap {gap} us, ")?;
        let how = if self.transport == Some(Transport::SharedMemory) { "copied, assumed" } else { "by its adapter" };
        match (self.host_goodput, self.adapter_mbit) {
            (Some(goodput), _) => write!(f, "{goodput:.1} Mbit/s of data from a host"),
            (None, Some(mbit)) => write!(f, "{mbit} Mbit/s from a host ({how})"),
            (None, None) => write!(f, "unknown Mbit/s from a host"),
        }
    }
}

impl PartialEq for Costs {
    fn eq(&self, other: &Self) -> bool {
        (self.bits(), self.transport, self.adapter_mbit) == (other.bits(), other.transport, other.adapter_mbit)
    }
}

impl Eq for Costs {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Planner;
    use crate::topology::Topology;

    #[test]
    fn plans_know_what_the_machine_says() {
        let nodes = || Topology::of_nodes((0..8).collect()).expect("a topology");
        let fast = Costs::of_machine(Some(Transport::Rdma), Some(100_000));
        let planner = Planner::new(nodes().with_costs(fast));
        let message = planner.message();
        assert_eq!((message.latency, message.gap), (2000.0, 500.0));
        let close = |a: f64, b: f64| (a - b).abs() < 1e-6 * b;
        assert!(planner.topology().host_mbit().is_some_and(|mbit| close(mbit, 1e5)));
        assert!(planner.topology().knows_rates());
        let shared = nodes().with_costs(Costs::of_machine(Some(Transport::SharedMemory), Some(1000)));
        assert_eq!(shared.host_mbit(), Some(f64::from(COPIED)));
        let told = "latency 2.0 (assumed) us, gap 0.5 (assumed) us, 100000 Mbit/s from a host (by its adapter)";
        assert_eq!(fast.to_string(), told);
        let unknown = nodes().with_costs(Costs::of_machine(Some(Transport::Tcp), None));
        assert!(!unknown.knows_rates());
    }
}
