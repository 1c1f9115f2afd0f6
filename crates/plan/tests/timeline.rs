//! Schedules played in time, against times worked out by hand.

use crate::support::network;
use nagare_plan::Planner;
use nagare_plan::algorithm::Algorithm;
use nagare_plan::collective::Collective::Alltoall;
use nagare_plan::fabric::{Fabric, HostId, LinkTime, Placement, Timeline, TimelineError, timeline};
use nagare_plan::pattern::Steps;
use nagare_plan::schedule::{Action, Hop, Parts, RankPlan, Round, Schedule, Space};
use nagare_plan::topology::Topology;

/// Ten megabits.
const BLOCK: u64 = 1_250_000;

/// Latency of a link in these fabrics, seconds.
const L: f64 = 1e-3;

/// Hosts n0, n1, … on one switch, a link of so many Mbit/s each.
fn star(mbit: &[f64]) -> Fabric {
    let mut text =
        format!("name = \"star\"\nhosts = [\"n[0-{}]\"]\nswitches = [\"s\"]\nlatency = 1000\n", mbit.len() - 1);
    for (host, mbit) in mbit.iter().enumerate() {
        text += &format!("[[link]]\nfrom = \"n{host}\"\nto = \"s\"\nbandwidth = {mbit}\n");
    }
    Fabric::from_toml(&text, "star").unwrap()
}

fn hop(action: Action, peer: u32, blocks: u32, after: &[u32]) -> Hop {
    let parts = match (action, blocks) {
        (_, 0) => Parts::token(),
        (Action::Send, count) => Parts { space: Space::Input, first: 0, count },
        (_, count) => Parts { space: Space::Output, first: 0, count },
    };
    Hop { action, peer, parts, round: Round { stage: 0, step: 0 }, tag: 0, turn: 0, after: after.to_vec() }
}

fn send(peer: u32, blocks: u32) -> Hop {
    hop(Action::Send, peer, blocks, &[])
}

/// A receive into a place of its own, so that receives do not wait for one another.
fn recv(peer: u32, blocks: u32) -> Hop {
    let mut hop = hop(Action::Recv, peer, blocks, &[]);
    hop.parts.first = if blocks == 0 { 0 } else { 8 * peer };
    hop
}

fn schedule(plans: Vec<Vec<Hop>>) -> Schedule {
    let plan = |(rank, hops)| RankPlan::new(rank, 64, hops);
    let plans = (0..).zip(plans).map(plan).collect();
    Schedule { collective: Alltoall, algorithm: "by hand".into(), root: 0, stages: vec!["step".into()], plans }
}

/// One rank per host, in order.
fn play(fabric: &Fabric, plans: Vec<Vec<Hop>>) -> Timeline {
    let hosts: Vec<HostId> = fabric.hosts().collect();
    timeline(&schedule(plans), fabric, &hosts, BLOCK, None).unwrap()
}

#[track_caller]
fn near(found: f64, expected: f64) {
    assert!((found - expected).abs() <= 1e-9 * expected.abs().max(1e-3), "{found}, expected {expected}");
}

fn link<'t>(timeline: &'t Timeline, from: &str, to: &str) -> &'t LinkTime {
    timeline.links.iter().find(|l| l.from == from && l.to == to).expect("used")
}

#[test]
fn two_messages_share_a_link() {
    let fabric = star(&[100.0; 3]);
    // 10 and 20 Mbit to one host: half the link each for 0.2 s, then the second alone for 0.1 s.
    let t = play(&fabric, vec![vec![recv(1, 1), recv(2, 2)], vec![send(0, 1)], vec![send(0, 2)]]);
    near(t.finish, 0.3 + 2.0 * L);
    near(t.bound, 0.3);
    near(t.ratio(), (0.3 + 2.0 * L) / 0.3);
    assert_eq!((t.messages, t.tokens, t.links.len()), (2, 0, 3));
    let shared = link(&t, "s", "n0");
    assert_eq!((shared.bytes, shared.mbit, shared.overloads.len()), (3 * BLOCK, 100.0, 1));
    let over = shared.overloads[0];
    assert_eq!((over.start, over.messages), (0.0, 2));
    near(over.end, 0.2);
    near(over.demand, 2.0);
    near(shared.overloaded(), 0.2);
    near(shared.busy, 0.3 / t.finish);
    near(shared.used, 0.3 / t.finish);
    // The first host's link is busy as long, at half its rate.
    let own = link(&t, "n1", "s");
    near(own.busy, 0.2 / t.finish);
    near(own.used, 0.1 / t.finish);
    assert_eq!(t.conflicts(), [shared]);
}

#[test]
fn slower_inputs_leave_the_rest_to_faster_ones() {
    // 30 Mbit/s from n1, 70 from n2, until n2 is done after 10/70 s; n1 needs 10/30 s.
    let fabric = star(&[100.0, 30.0, 100.0]);
    let t = play(&fabric, vec![vec![recv(1, 1), recv(2, 1)], vec![send(0, 1)], vec![send(0, 1)]]);
    near(t.finish, 1.0 / 3.0 + 2.0 * L);
    near(t.bound, 1.0 / 3.0);
    let over = link(&t, "s", "n0").overloads[0];
    near(over.end, 1.0 / 7.0);
    near(over.demand, 1.3);
    // Three thin inputs fit on the fat link.
    let fabric = star(&[100.0, 30.0, 30.0, 30.0]);
    let t =
        play(&fabric, vec![(1..4).map(|r| recv(r, 1)).collect(), vec![send(0, 1)], vec![send(0, 1)], vec![send(0, 1)]]);
    near(t.finish, 1.0 / 3.0 + 2.0 * L);
    assert_eq!(t.conflicts(), Vec::<&LinkTime>::new());
}

#[test]
fn a_token_puts_one_message_after_another() {
    // 1 → 0, then a token 0 → 2, then 2 → 0.
    let fabric = star(&[100.0; 3]);
    let zero = vec![recv(1, 1), hop(Action::Send, 2, 0, &[0]), recv(2, 1)];
    let two = vec![recv(0, 0), hop(Action::Send, 0, 1, &[0])];
    let t = play(&fabric, vec![zero, vec![send(0, 1)], two]);
    // Message, its latency, the token's, message, its latency; a latency is that of two links.
    near(t.finish, 0.1 + 2.0 * L + 2.0 * L + 0.1 + 2.0 * L);
    near(t.bound, 0.2);
    assert_eq!((t.messages, t.tokens), (2, 1));
    assert_eq!(t.conflicts(), Vec::<&LinkTime>::new());
    near(link(&t, "s", "n0").busy, 0.2 / t.finish);
}

#[test]
fn a_token_may_be_there_before_anybody_waits_for_it() {
    // Rank 1 takes the token only after it has received a message.
    let fabric = star(&[100.0; 2]);
    let mut token = recv(0, 0);
    token.after = vec![0];
    token.tag = 1;
    let mut early = send(1, 0);
    early.tag = 1;
    let t = play(
        &fabric,
        vec![vec![early, send(1, 1), recv(1, 1)], vec![recv(0, 1), token, hop(Action::Send, 0, 1, &[1])]],
    );
    near(t.finish, 0.1 + 2.0 * L + 0.1 + 2.0 * L);
}

#[test]
fn a_host_shares_its_own_link_without_conflict() {
    // Two hosts send to each of two others at the same time: halves arrive, as much as each link carries.
    let fabric = star(&[100.0; 4]);
    let both = || vec![send(2, 1), send(3, 1)];
    let from = || vec![recv(0, 1), recv(1, 1)];
    let t = play(&fabric, vec![both(), both(), from(), from()]);
    near(t.finish, 0.2 + 2.0 * L);
    assert_eq!(t.conflicts(), Vec::<&LinkTime>::new());
    // If rank 1 sends to rank 2 alone, that link gets three halves; rank 0 has what is left of its own: 50 + 50.
    let t = play(&fabric, vec![both(), vec![send(2, 1)], from(), vec![recv(0, 1)]]);
    near(t.finish, 0.2 + 2.0 * L);
    let over = link(&t, "s", "n2").overloads[0];
    near(over.demand, 1.5);
    near(over.end, 0.2);
}

#[test]
fn an_uplink_narrows_what_comes_after_it() {
    // Three hosts of one leaf to three of the other, over links of one host's rate: only the uplink is exceeded.
    let fabric = network::load("tree8");
    let to = |rank: u32| if rank < 3 { vec![send(rank + 4, 1)] } else { vec![] };
    let from = |rank: u32| if rank < 7 { vec![recv(rank - 4, 1)] } else { vec![] };
    let t = play(&fabric, (0..8).map(|r| if r < 4 { to(r) } else { from(r) }).collect());
    let names: Vec<(&str, &str)> = t.conflicts().iter().map(|l| (l.from.as_str(), l.to.as_str())).collect();
    assert_eq!(names, [("l0", "s0")]);
    near(t.conflicts()[0].overloads[0].demand, 3.0);
    near(t.bound, 0.3);
    // Four links of 5 µs, and the file's 80 µs for a message.
    near(t.finish, 0.3 + 4.0 * 5e-6 + 80e-6);
}

#[test]
fn a_message_takes_one_cable() {
    let text = "name = \"pair\"\nhosts = [\"a\", \"b\", \"c\", \"d\"]\nswitches = [\"s\", \"t\"]\nbandwidth = \
        100\nlatency = 0\n\
                [[link]]\nfrom = [\"a\", \"b\"]\nto = \"s\"\n[[link]]\nfrom = [\"c\", \"d\"]\nto = \"t\"\n\
                [[link]]\nfrom = \"s\"\nto = \"t\"\nbandwidth = 40\nparallel = 2\n";
    let fabric = Fabric::from_toml(text, "pair").unwrap();
    let one = play(&fabric, vec![vec![send(2, 1)], vec![], vec![recv(0, 1)], vec![]]);
    near(one.finish, 10.0 / 40.0);
    near(one.bound, 10.0 / 80.0);
    assert_eq!(one.conflicts(), Vec::<&LinkTime>::new());
    let two = play(&fabric, vec![vec![send(2, 1)], vec![send(3, 1)], vec![recv(0, 1)], vec![recv(1, 1)]]);
    near(two.finish, 10.0 / 40.0);
    near(two.conflicts()[0].overloads[0].demand, 200.0 / 80.0);
}

#[test]
fn inside_a_host_no_time_passes() {
    let fabric = star(&[100.0; 2]);
    let s = schedule(vec![vec![send(1, 1)], vec![recv(0, 1), hop(Action::Send, 2, 1, &[0])], vec![recv(1, 1)]]);
    let t = timeline(&s, &fabric, &[HostId(0), HostId(0), HostId(1)], BLOCK, None).unwrap();
    near(t.finish, 0.1 + 2.0 * L);
    assert_eq!((t.messages, t.links.len()), (1, 2));
    let t = timeline(&s, &fabric, &[HostId(0); 3], BLOCK, None).unwrap();
    assert_eq!((t.finish, t.bound, t.ratio(), t.links.len()), (0.0, 0.0, 1.0, 0));
}

/// A node works on 64 hops at a time: 64 receives for messages that come last keep it from the first.
#[test]
fn ranks_work_on_a_window_of_hops() {
    let fabric = star(&[100.0; 2]);
    let waits = |count: u32| {
        // Rank 0 answers tokens only after its message has been received; that receive is number `count` of rank 1.
        let mut zero = vec![send(1, 1)];
        zero.extend((0..count).map(|_| hop(Action::Send, 1, 0, &[0])));
        zero[0].tag = 1;
        let mut one: Vec<Hop> = (0..count).map(|_| recv(0, 0)).collect();
        one.push(Hop { tag: 1, ..recv(0, 1) });
        timeline(&schedule(vec![zero, one]), &fabric, &[HostId(0), HostId(1)], BLOCK, None)
    };
    near(waits(63).unwrap().finish, 0.1 + 2.0 * L);
    assert_eq!(waits(64), Err(TimelineError::Stuck(vec![0, 1])));
}

#[test]
fn what_cannot_be_played_is_said() {
    let fabric = star(&[100.0; 2]);
    let hosts = [HostId(0), HostId(1)];
    let error = |plans| timeline(&schedule(plans), &fabric, &hosts, BLOCK, None).unwrap_err();
    assert_eq!(error(vec![vec![send(1, 1)], vec![]]), TimelineError::Unmatched { from: 0, to: 1, tag: 0 });
    assert_eq!(error(vec![vec![], vec![recv(0, 1)]]), TimelineError::Unmatched { from: 0, to: 1, tag: 0 });
    assert_eq!(error(vec![vec![], vec![], vec![]]), TimelineError::NoHost(2));
    assert_eq!(error(vec![vec![send(5, 1)], vec![]]), TimelineError::NoHost(5));
    let each = |peer| vec![recv(peer, 1), hop(Action::Send, peer, 1, &[0])];
    assert_eq!(error(vec![each(1), each(0)]), TimelineError::Stuck(vec![0, 1]));
    assert!(matches!(error(vec![vec![hop(Action::Send, 1, 65, &[])], vec![]]), TimelineError::Program { rank: 0, .. }));
}

#[test]
fn an_exchange_on_one_switch_takes_its_bound_and_the_latencies() {
    let fabric = network::load("star16");
    let placement = Placement::by_slot(&fabric, 16, 1).unwrap();
    let planner = network::planner(&fabric, &placement).with_steps(Steps::InFlight(2));
    let s = planner.schedule(Alltoall, Algorithm::Xor, 0).unwrap();
    let t = timeline(&s, &fabric, placement.hosts(), BLOCK, None).unwrap();
    assert_eq!(t.conflicts(), Vec::<&LinkTime>::new());
    near(t.bound, 15.0 * 10.0 / 50.0);
    // Fifteen exchanges, two at a time; the next two start when both have arrived: 80 + 2 · 5 µs later, eight times.
    near(t.finish, 15.0 * 10.0 / 50.0 + 8.0 * 90e-6);
}

/// Two ranks on each of sixteen hosts of a switch, in step by one block: the ring loses nothing by it.
#[test]
fn a_send_waits_while_more_than_that_is_missing() {
    let fabric = network::load("star16");
    let placement = Placement::by_slot(&fabric, 32, 2).unwrap();
    let s = network::planner(&fabric, &placement).schedule(Alltoall, Algorithm::TwoLevelRing, 0).unwrap();
    let free = timeline(&s, &fabric, placement.hosts(), BLOCK, None).unwrap();
    let of = |behind| timeline(&s, &fabric, placement.hosts(), BLOCK, Some(behind)).unwrap();
    assert!(of(BLOCK).finish < 1.01 * free.bound, "{}", of(BLOCK).finish);
    assert_eq!(of(u64::MAX).finish, free.finish);
    // By hand, two ranks: the second send waits for the first block.
    let fabric = star(&[50.0, 50.0]);
    let later = Hop { parts: Parts { space: Space::Output, first: 0, count: 1 }, ..recv(1, 1) };
    let plan = |peer| vec![send(peer, 1), recv(1, 1), send(peer, 1), later.clone()];
    let plan = |peer| plan(peer).into_iter().map(|hop| Hop { peer, ..hop }).collect::<Vec<_>>();
    let s = schedule(vec![plan(1), plan(0)]);
    let of = |behind| timeline(&s, &fabric, &[HostId(0), HostId(1)], BLOCK, Some(behind)).unwrap().finish;
    near(of(0), 2.0 * (0.2 + 2.0 * L));
    near(of(BLOCK), 0.4 + 2.0 * L);
}

/// Every pair once, in every placement, uneven ones too: each link carries what the ranks behind it exchange, and the
/// whole takes no less than the bound and no more than one message after another.
#[test]
fn exchanges_stay_between_the_bound_and_one_after_another() {
    for (name, how, ranks, ppn) in [
        ("tree8", "by slot", 8, 1),
        ("tree8", "by node", 16, 2),
        ("tree8", "by slot", 13, 3),
        ("wan2x8", "by slot", 16, 1),
        ("mlfm36", "balanced", 32, 1),
        ("torus16", "by slot", 32, 2),
        ("fattree", "by slot", 16, 1),
    ] {
        let fabric = network::load(name);
        let placement = network::place(&fabric, how, ranks, ppn);
        let hosts = placement.hosts();
        let s = network::planner(&fabric, &placement).schedule(Alltoall, Algorithm::Xor, 0).unwrap();
        let t = timeline(&s, &fabric, hosts, BLOCK, None).unwrap();
        let pairs = (0..ranks).flat_map(|a| (0..ranks).map(move |b| (a, b))).filter(|&(a, b)| hosts[a] != hosts[b]);
        assert_eq!(t.messages, pairs.clone().count(), "{name}");
        let mut load = vec![0u64; fabric.directed_link_count()];
        pairs.clone().for_each(|(a, b)| fabric.route(hosts[a], hosts[b]).iter().for_each(|l| load[l.index()] += BLOCK));
        t.links.iter().for_each(|l| assert_eq!(l.bytes, load[l.link.index()], "{name} {} {}", l.from, l.to));
        assert_eq!(t.links.len(), load.iter().filter(|&&l| l > 0).count());
        let alone = pairs.map(|(a, b)| {
            let rates = fabric.route(hosts[a], hosts[b]).into_iter().map(|l| fabric.links()[l.link()].mbit);
            10.0 / rates.fold(f64::INFINITY, f64::min)
        });
        assert!(t.bound < t.finish && t.finish < alone.sum::<f64>(), "{name}: {} {}", t.bound, t.finish);
        assert!(t.links.iter().all(|l| l.used <= l.busy * (1.0 + 1e-9) && l.busy <= 1.0), "{name}");
        assert!(
            t.links.iter().flat_map(|l| &l.overloads).all(|o| o.start < o.end && o.end <= t.finish && o.demand > 1.0)
        );
    }
}

#[test]
fn a_thousand_messages_are_played_at_once() {
    // What matters is that this is no matter of minutes in an unoptimised build; figures are in the benchmarks.
    let planner = Planner::new(Topology::of_nodes((0..32).map(|r| r / 4).collect()).unwrap());
    let fabric = network::load("tree8");
    let hosts: Vec<HostId> = (0..32).map(|r| HostId(r / 4)).collect();
    let s = planner.schedule(Alltoall, Algorithm::Xor, 0).unwrap();
    let t = timeline(&s, &fabric, &hosts, 4096, None).unwrap();
    assert_eq!(t.messages, 32 * 28);
}
