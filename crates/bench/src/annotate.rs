//! Limits beside measurements, and where the machine rather than the network limits.

use crate::limit::{Limit, limit, routed};
use crate::record::{Goodput, LATENCY, Results};
use nagare_plan::fabric::{Fabric, HostId, Placement, Router};

/// A test of the network below this share of its limit shows that the machine cannot keep up.
const KEPT_UP: f64 = 0.85;

/// Fills in the limits of all measurements in `results`, whose ranks are where `placement` says.
///
/// Where one machine emulates the fabric, it limits a cell if the cell's limit needs more bytes over links per second
/// than any test of the network reached, and some test fell short of what the links allow.
pub fn annotate(results: &mut Results, fabric: &Fabric, placement: &Placement, is_emulated: bool) {
    let mut short = false;
    let mut reached = 0.0f64;
    for goodput in &mut results.goodput {
        let least = least(goodput, fabric, placement);
        goodput.limit = Some(least.seconds);
        short |= least.seconds < KEPT_UP * goodput.seconds;
        reached = reached.max(least.link_bytes / goodput.seconds);
    }
    let root = results.job.root;
    for cell in &mut results.cells {
        let least = limit(fabric, placement, cell.collective, root, cell.block);
        cell.limit = (least.seconds > 0.0).then_some(least.seconds);
        cell.cpu_bound = is_emulated && short && least.seconds > 0.0 && least.link_bytes / least.seconds > reached;
    }
}

/// Fills in what of the latency of messages the links take by the file: the mean of several ways where a hash picks.
pub fn annotate_links(results: &mut Results, fabric: &Fabric, placement: &Placement) {
    let adapters = placement.adapters(fabric);
    let mut router = Router::new(fabric);
    for message in results.messages.iter_mut().filter(|message| message.test == LATENCY) {
        let adapters = |&(from, to): &(u32, u32)| Some((*adapters.get(from as usize)?, *adapters.get(to as usize)?));
        let Some((from, to)) = message.flows.first().and_then(adapters) else { continue };
        // Half a round trip.
        let both = [router.shares(from, to), router.shares(to, from)].concat();
        message.links = both.into_iter().map(|(link, share)| share * fabric.latency_us(link)).sum::<f64>() / 2.0;
    }
}

fn least(goodput: &Goodput, fabric: &Fabric, placement: &Placement) -> Limit {
    let adapters = placement.adapters(fabric);
    let adapter = |rank: u32| adapters.get(rank as usize).copied().unwrap_or(HostId(0).into());
    routed(fabric, goodput.flows.iter().map(|&(from, to)| (adapter(from), adapter(to), goodput.bytes as f64)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::Operation;
    use crate::record::{Cell, GAP, Message};
    use nagare_plan::fabric::shipped;

    /// One megabyte from every host of star16 to the next in `share` of what the links allow, and an Alltoall.
    fn star(share: f64, is_emulated: bool) -> Results {
        let fabric = Fabric::from_toml(shipped("star16").unwrap_or_default(), "star16").expect("shipped");
        let placement = Placement::by_slot(&fabric, 16, 1).expect("one per host");
        let flows = (0..16).map(|i| (i, (i + 1) % 16)).collect();
        let bytes = 1_000_000;
        // 50 Mbit/s of frames, 1448 of 1514 bytes of each being data.
        let seconds = 8.0 / 50.0 * 1514.0 / 1448.0 / share;
        let goodput = Goodput { test: "next".into(), flows, bytes, seconds, limit: None };
        let cell = Cell::new(Operation::Alltoall, 16 * 1024, 1024);
        let mut results = Results { goodput: vec![goodput], cells: vec![cell], ..Results::default() };
        annotate(&mut results, &fabric, &placement, is_emulated);
        results
    }

    #[test]
    fn cells_are_marked_only_where_the_machine_fell_short() {
        let fast = star(0.99, true);
        let share = fast.goodput[0].limit.unwrap_or_default() / fast.goodput[0].seconds;
        assert!((share - 0.99).abs() < 1e-9, "{share}");
        assert!(!fast.cells[0].cpu_bound);
        assert!(star(0.5, true).cells[0].cpu_bound);
        // The links of machines of their own may be slower than the file says.
        let alone = star(0.5, false);
        assert!(!alone.cells[0].cpu_bound && alone.cells[0].limit == fast.cells[0].limit);
    }

    /// Two links of 5 µs and one of 500: predictions add them to what the file says of messages.
    #[test]
    fn the_latency_of_links_is_no_part_of_what_a_message_costs() {
        let fabric = Fabric::from_toml(shipped("wan2x8").unwrap_or_default(), "wan2x8").expect("shipped");
        let placement = Placement::by_slot(&fabric, 16, 1).expect("one per host");
        let message = |test: &str| {
            let test = test.to_owned();
            Message { test, flows: vec![(0, 8)], bytes: 8, microseconds: 600.0, links: 0.0 }
        };
        let mut results = Results { messages: vec![message(LATENCY), message(GAP)], ..Results::default() };
        annotate_links(&mut results, &fabric, &placement);
        assert_eq!((results.message(LATENCY), results.message(GAP)), (Some(90.0), Some(600.0)));
        assert_eq!(results.messages[0].microseconds, 600.0);
        // One that was measured to be shorter than the file says tells nothing.
        results.messages[0].microseconds = 400.0;
        assert_eq!(results.message(LATENCY), None);
    }

    /// Between the two leaves one way takes 200 µs and the other 600, and hosts are 10 µs from their leaves.
    #[test]
    fn the_latency_of_hashed_links_is_that_of_the_mean_way() {
        let text = "routing = \"ecmp\"\nhosts = [\"a\", \"b\"]\nswitches = [\"l[0-1]\", \"s[0-1]\"]\nbandwidth = 10\n\
                    [[link]]\nfrom = \"a\"\nto = \"l0\"\nlatency = 10\n\
                    [[link]]\nfrom = \"b\"\nto = \"l1\"\nlatency = 10\n\
                    [[link]]\nfrom = \"l[0-1]\"\nto = \"s0\"\nlatency = 100\n\
                    [[link]]\nfrom = \"l[0-1]\"\nto = \"s1\"\nlatency = 300\n";
        let fabric = Fabric::from_toml(text, "hashed").expect("valid");
        let placement = Placement::by_slot(&fabric, 2, 1).expect("one per host");
        let test = LATENCY.to_owned();
        let message = Message { test, flows: vec![(0, 1)], bytes: 8, microseconds: 600.0, links: 0.0 };
        let mut results = Results { messages: vec![message], ..Results::default() };
        annotate_links(&mut results, &fabric, &placement);
        assert!((results.messages[0].links - 420.0).abs() < 1e-9, "{}", results.messages[0].links);
    }
}
