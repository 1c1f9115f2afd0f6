//! What is assumed of software where links are faster than it.

use super::*;
use nagare_plan::fabric::MessageCost;
use nagare_plan::topology::{Costs, Hierarchy, Transport, Wires};

/// Nanoseconds per byte of a Bcast among four hosts on a switch, by what the file says first.
fn on_switch(first: &str, mbit: u32, (algorithm, ppn): (Algorithm, usize), transport: Option<Transport>) -> f64 {
    let fabric = parse(&format!(
        "{first}hosts = ['n[0-3]']\nswitches = ['s0']\nbandwidth = {mbit}\n[[link]]\nfrom = 'n[0-3]'\nto = 's0'\n"
    ));
    let placement = Placement::by_slot(&fabric, 4 * ppn, ppn).expect("the ranks fit");
    let topology = network::topology(&fabric, &placement).with_costs(Costs::of_machine(transport, None));
    demand(&Planner::new(topology), Bcast, algorithm).per_byte
}

#[test]
fn over_tcp_a_rank_sends_10_gbit_at_most() {
    let (chain, rdma) = ((Algorithm::Chain, 1), Some(Transport::Rdma));
    for transport in [None, Some(Transport::Tcp), Some(Transport::OpenMpiTcp)] {
        close(on_switch("", 40_000, chain, transport), per_byte(10_000.0));
        close(on_switch("", 5000, chain, transport), per_byte(5000.0));
        // Which of two ranks of a host send depends on the algorithm.
        close(on_switch("", 40_000, (Algorithm::Chain, 2), transport), per_byte(40_000.0));
    }
    close(on_switch("", 40_000, chain, rdma), per_byte(40_000.0));
    // What a message costs was measured: nothing is assumed of software.
    close(on_switch("message_gap = 0.5\n", 40_000, chain, None), per_byte(40_000.0));
}

/// A file may be older than the measurement, or of another machine.
#[test]
fn what_was_measured_comes_before_what_the_file_says() {
    let file = "message_latency = 80\nmessage_gap = 75\n[generator]\nkind = 'star'\nhosts = 4\nbandwidth = 100\n";
    let fabric = parse(&format!("{file}latency = 5"));
    let placement = Placement::by_slot(&fabric, 4, 1).expect("the ranks fit");
    let message = MessageCost { latency_us: Some(12.5), gap_us: None };
    let costs = Costs { message, ..Costs::default() };
    let message = Planner::new(network::topology(&fabric, &placement).with_costs(costs)).message();
    assert_eq!((message.latency, message.gap), (12_500.0, 75_000.0));
}

/// Twelve ranks on two processors: each gets a sixth of one, and takes six times as long for what software does.
#[test]
fn ranks_that_share_a_processor_share_its_time() {
    let fabric = parse("[generator]\nkind = 'star'\nhosts = 12\nbandwidth = 40000\nlatency = 5");
    let placement = Placement::by_slot(&fabric, 12, 1).expect("the ranks fit");
    let shared = |transport, crowding| {
        let costs = Costs { crowding, ..Costs::of_machine(transport, None) };
        Planner::new(network::topology(&fabric, &placement).with_costs(costs))
    };
    let of = |planner: &Planner| (planner.message(), planner.topology().message_range()[1]);
    for transport in [None, Some(Transport::Tcp)] {
        let [alone, six] = [None, Some(6.0)].map(|crowding| shared(transport, crowding));
        assert_eq!(of(&alone), (Message { latency: 20e3, gap: 7e3 }, 10.0));
        // What is known of why messages are dear is no longer a part of how dear they may be.
        assert_eq!(of(&six), (Message { latency: 120e3, gap: 42e3 }, 3.0));
        assert_eq!(of(&shared(transport, Some(2.0))).1, 5.0);
        close(demand(&alone, Bcast, Algorithm::Chain).per_byte, per_byte(10_000.0));
        close(demand(&six, Bcast, Algorithm::Chain).per_byte, per_byte(10_000.0 / 6.0));
    }
    let rdma = shared(Some(Transport::Rdma), Some(6.0));
    assert_eq!(of(&rdma), (Message { latency: 12e3, gap: 3e3 }, 1.0));
    close(demand(&rdma, Bcast, Algorithm::Chain).per_byte, per_byte(40_000.0));
}

#[test]
fn software_feeds_the_links_of_hosts_alone() {
    let fabric = parse(
        "hosts = ['n[0-3]']\nswitches = ['a', 'b', 'c']\nbandwidth = 40000\n[[link]]\nfrom = 'n[0-1]'\nto = 'a'\n\
         [[link]]\nfrom = 'n[2-3]'\nto = ['b', 'c']\n[[link]]\nfrom = 'b'\nto = 'c'\n\
         [[link]]\nfrom = 'a'\nto = 'b'\nbandwidth = 15000\n",
    );
    let topology = network::topology(&fabric, &Placement::by_slot(&fabric, 4, 1).expect("the ranks fit"));
    let hierarchy = Hierarchy::new(&topology);
    let rates = |wires: &mut Wires, from, to| -> Vec<f64> {
        wires.way(from, to).links.iter().map(|&(link, _)| wires.per_byte(link)).collect()
    };
    let expect = |found: Vec<f64>, expected: [f64; 3]| {
        assert_eq!(found.len(), 3);
        found.into_iter().zip(expected).for_each(|(found, mbit)| close(found, per_byte(mbit)));
    };
    let mut wires = Wires::new(&topology, &hierarchy);
    expect(rates(&mut wires, 0, 2), [40_000.0, 15_000.0, 40_000.0]);
    let mut limited = wires.with_hosts_sending(10_000.0);
    expect(rates(&mut limited, 0, 2), [10_000.0, 15_000.0, 10_000.0]);
    close(limited.of_host(0), per_byte(40_000.0));
}
