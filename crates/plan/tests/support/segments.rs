//! Pipelines in time: schedules in segments, on switches that store packets, for the player of whole messages.

use nagare_plan::Planner;
use nagare_plan::algorithm::Algorithm;
use nagare_plan::collective::Collective;
use nagare_plan::fabric::{Fabric, HostId, timeline};
use nagare_plan::schedule::{Action, Parts, RankPlan, Schedule};

/// Bytes that a segment adds on the wire, and the share of a link's rate that is data.
const HEADER: f64 = 80.0;
const SHARE: f64 = 1448.0 / 1514.0;

/// Every transfer of a part as so many messages. Those of one stream go one after another, as over a connection.
fn in_segments(schedule: &Schedule, segments: u32) -> Schedule {
    let plan = |plan: &RankPlan| {
        let mut last = vec![None; plan.hops.len()];
        let mut hops = Vec::new();
        for segment in 0..segments {
            for (number, hop) in plan.hops.iter().enumerate() {
                let mut hop = hop.clone();
                assert_eq!((hop.parts.count, hop.after.len()), (1, 0), "a pipeline");
                hop.parts = Parts::vector(hop.parts.first * segments + segment, 1);
                if hop.action == Action::Send {
                    hop.after = last[number].into_iter().collect();
                }
                last[number] = Some(hops.len() as u32);
                hops.push(hop);
            }
        }
        RankPlan::new(plan.rank, plan.parts * segments, hops)
    };
    Schedule { plans: schedule.plans.iter().map(plan).collect(), ..schedule.clone() }
}

/// The fabric with what its switches store of a message before they pass it on as latency of their links: the first
/// packet once for every switch, so half of it on each link of a host.
fn storing(fabric: &Fabric, segment: f64) -> Fabric {
    let packet = (segment + HEADER + 66.0).min(1514.0);
    let after = |line: &str, key: &str| -> String {
        let value = line.split_once(key).expect(key).1.trim_start_matches([' ', '=']);
        value.trim_start_matches('"').split([',', ' ', '"']).next().expect("a value").to_owned()
    };
    let rewritten = |line: &str| {
        if !line.trim_start().starts_with("{ from") {
            return line.to_owned();
        }
        let [mbit, us] = ["bandwidth", "latency"].map(|key| after(line, key).parse::<f64>().expect("a number"));
        let of_host = ["from", " to"].iter().any(|key| fabric.find_host(&after(line, key)).is_some());
        let stored = packet * 8.0 / mbit * if of_host { 0.5 } else { 1.0 };
        line.replace(&format!("latency = {us:?}"), &format!("latency = {:?}", us + stored))
    };
    let text: Vec<String> = fabric.to_toml().lines().map(rewritten).collect();
    Fabric::from_toml(&text.join("\n"), fabric.name()).expect("the same fabric")
}

/// Milliseconds that a call of `bytes` takes, a pipeline in segments of `segment` bytes, all else in whole messages.
pub fn played(
    planner: &Planner,
    (collective, algorithm): (Collective, Algorithm),
    (fabric, hosts): (&Fabric, &[HostId]),
    bytes: u64,
    segment: u64,
) -> f64 {
    let chunks = planner.chunks(collective, algorithm, bytes);
    let schedule = planner.schedule_cut(collective, algorithm, 0, chunks).expect("implemented");
    let part = bytes as f64 / f64::from(schedule.plans[0].parts);
    let schedule = match algorithm {
        Algorithm::Ring | Algorithm::HalvingDoubling => schedule,
        _ => in_segments(&schedule, (part / segment as f64).ceil().max(1.0) as u32),
    };
    let sent = bytes as f64 * (1.0 + HEADER / (segment as f64).min(bytes as f64)) / SHARE;
    let fabric = storing(fabric, segment as f64);
    timeline(&schedule, &fabric, hosts, sent as u64, None).expect("played").finish * 1e3
}
