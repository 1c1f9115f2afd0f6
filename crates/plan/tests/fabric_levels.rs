//! `grouped_two_tree` on fabric files that say which levels count. Groups are told by the names of hosts here, and by
//! the switches of a route.

use crate::support::network::{place, planner};
use crate::support::rounds::rounds;
use nagare_plan::algorithm::Algorithm;
use nagare_plan::collective::Collective::{self, Allreduce, Bcast, Reduce};
use nagare_plan::execute::{Pacing, play};
use nagare_plan::fabric::{Fabric, HostId, Placement, check, shipped};
use nagare_plan::schedule::Schedule;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Small enough that streams have several segments and run out of window.
const PACING: Pacing = Pacing { segment: 3, window: 2, flow: None };

/// What the name of a host says: the groups that it is in, outermost first, and the host.
type Places = fn(&str) -> Vec<String>;

fn read(text: &str) -> Arc<Fabric> {
    Arc::new(Fabric::from_toml(text, "site.toml").unwrap_or_else(|e| panic!("{e}\n{text}")))
}

/// Two tiers of full bandwidth: eight racks of four hosts, four spines. Hosts are in the order of their numbers, which
/// puts those of a rack far apart.
fn racks(levels: &str) -> Arc<Fabric> {
    let link = |rack| format!("[[link]]\nfrom = \"h[0-3]r{rack}\"\nto = \"l{rack}\"\n");
    let links: String = (0..8).map(link).collect();
    read(&format!(
        "levels = {levels}\nrouting = \"dmodk\"\nhosts = [\"h[0-3]r[0-7]\"]\nswitches = [\"l[0-7]\", \
         \"s[0-3]\"]\nbandwidth = 100\n{links}[[link]]\nfrom = \"l[0-7]\"\nto = \"s[0-3]\"\n"
    ))
}

fn place_in_rack(host: &str) -> Vec<String> {
    vec![host[2..].to_owned(), host.to_owned()]
}

/// Three tiers of full bandwidth: four pods of two leaves of two hosts.
fn pods(levels: &str) -> Arc<Fabric> {
    let link = |from: String, to: String| format!("[[link]]\nfrom = \"{from}\"\nto = \"{to}\"\n");
    let mut links = String::new();
    for pod in 0..4 {
        for leaf in 0..2 {
            links += &link(format!("p{pod}l{leaf}h[0-1]"), format!("leaf{pod}{leaf}"));
        }
        links += &link(format!("leaf{pod}[0-1]"), format!("above{pod}[0-1]"));
    }
    links += &link("above[0-3]0".to_owned(), "core[0-1]".to_owned());
    links += &link("above[0-3]1".to_owned(), "core[2-3]".to_owned());
    read(&format!(
        "levels = {levels}\nrouting = \"dmodk\"\nhosts = [\"p[0-3]l[0-1]h[0-1]\"]\nswitches = [\"leaf[0-3][0-1]\", \
         \"above[0-3][0-1]\", \"core[0-3]\"]\nbandwidth = 100\n{links}"
    ))
}

fn place_in_pod(host: &str) -> Vec<String> {
    vec![host[..2].to_owned(), host[..4].to_owned(), host.to_owned()]
}

/// The mesh that comes with Nagare: three hosts on a leaf, three leaves in a group, in order.
fn mesh(levels: &str) -> Arc<Fabric> {
    read(&format!("levels = {levels}\n{}", shipped("mlfm36").unwrap()))
}

fn number(host: &str) -> u32 {
    host[1..].parse().unwrap()
}

fn place_in_mesh(host: &str) -> Vec<String> {
    vec![format!("group {}", number(host) / 9), format!("leaf {}", number(host) / 3), host.to_owned()]
}

fn place_on_leaf(host: &str) -> Vec<String> {
    place_in_mesh(host)[1..].to_vec()
}

fn place_alone(host: &str) -> Vec<String> {
    vec![host.to_owned()]
}

/// Asserts that the levels that count are those of `names`, and their groups what hosts are called after.
fn assert_levels(fabric: &Fabric, names: &[&str], places: Places) {
    let levels = fabric.levels();
    assert_eq!(levels.iter().map(|level| level.name.as_str()).collect::<Vec<_>>(), names);
    for (depth, level) in levels.iter().enumerate() {
        let pairs = |host: HostId| (level.of_host[host.0 as usize], places(fabric.node_name(host))[depth].clone());
        let both: BTreeSet<(u32, String)> = fabric.hosts().map(pairs).collect();
        let groups: BTreeSet<&String> = both.iter().map(|(_, name)| name).collect();
        assert_eq!((both.len(), groups.len()), (level.group_count(), level.group_count()), "{}", level.name);
    }
}

/// The rank that stands for each group and host, by its place from outside to there.
fn representatives(places: &[Vec<String>], root: u32) -> BTreeMap<&[String], u32> {
    let mut found = BTreeMap::new();
    let in_order = [root].into_iter().chain(0..places.len() as u32);
    for rank in in_order {
        let place = &places[rank as usize];
        for depth in 0..place.len() {
            found.entry(&place[..=depth]).or_insert(rank);
        }
    }
    found
}

/// Transfers by the outermost level at which their ends differ, of `places[rank]`; those of one host last. Asserts that
/// nothing but representatives takes part in any.
fn transfers_by_depth(schedule: &Schedule, places: &[Vec<String>]) -> Vec<usize> {
    let mut counts = vec![0; places[0].len() + 1];
    let representatives = representatives(places, schedule.root);
    for m in schedule.moves() {
        let [from, to] = [m.from, m.to].map(|rank| &places[rank as usize]);
        let depth = (0..from.len()).find(|&depth| from[depth] != to[depth]).unwrap_or(from.len());
        counts[depth] += 1;
        if depth < from.len() {
            for (rank, place) in [(m.from, from), (m.to, to)] {
                assert_eq!(representatives[&place[..=depth]], rank, "root {}: {} to {}", schedule.root, m.from, m.to);
            }
        }
    }
    counts
}

fn schedules(fabric: &Arc<Fabric>, placement: &Placement) -> Vec<Schedule> {
    let planner = planner(fabric, placement);
    let ranks = placement.rank_count() as u32;
    let of = |collective: Collective| (0..if collective.is_rooted() { ranks } else { 1 }).map(move |r| (collective, r));
    let all = [Bcast, Reduce, Allreduce].into_iter().flat_map(of);
    all.map(|(collective, root)| planner.schedule(collective, Algorithm::GroupedTwoTree, root).expect("implemented"))
        .collect()
}

/// Asserts of all roots that results are right, that every group and host has one representative that talks to others,
/// and that every level has the transfers of two-trees over these. Returns how often two of a round share a link.
fn assert_grouped(fabric: &Arc<Fabric>, placement: &Placement, places: Places) -> usize {
    let of_rank: Vec<Vec<String>> = placement.hosts().iter().map(|&host| places(fabric.node_name(host))).collect();
    let groups = |depth: usize| of_rank.iter().map(|place| &place[..depth]).collect::<BTreeSet<_>>().len();
    let depths = of_rank[0].len();
    let mut conflicts = 0;
    for schedule in schedules(fabric, placement) {
        let what = format!("{}: {} of {}, root {}", fabric.name(), schedule.collective, of_rank.len(), schedule.root);
        play(&schedule, 15, PACING, true).unwrap_or_else(|e| panic!("{what}: {e}"));
        let halves = if schedule.collective == Allreduce { 4 } else { 2 };
        let of_trees = (0..depths).map(|depth| halves * (groups(depth + 1) - groups(depth)));
        let within = halves * (of_rank.len() - groups(depths));
        let expected: Vec<usize> = of_trees.chain([within]).collect();
        assert_eq!(transfers_by_depth(&schedule, &of_rank), expected, "{what}");
        conflicts += check(fabric, placement, &rounds(&schedule, placement)).unwrap().conflicts.len();
    }
    conflicts
}

/// Where a leaf is no level, others than its representative talk to other leaves.
fn assert_not_grouped(fabric: &Arc<Fabric>, placement: &Placement, places: Places) {
    let of_rank: Vec<Vec<String>> = placement.hosts().iter().map(|&host| places(fabric.node_name(host))).collect();
    let leaf = of_rank[0].len() - 2;
    for schedule in schedules(fabric, placement) {
        let crosses = |(a, b): (u32, u32)| of_rank[a as usize][leaf] != of_rank[b as usize][leaf];
        let between = schedule.moves().into_iter().filter(|m| crosses((m.from, m.to)));
        let talkers: BTreeSet<u32> = between.flat_map(|m| [m.from, m.to]).collect();
        let leaves: BTreeSet<&String> = of_rank.iter().map(|place| &place[leaf]).collect();
        assert!(talkers.len() > leaves.len(), "{} talk of {} leaves", talkers.len(), leaves.len());
    }
}

#[test]
fn racks_of_full_bandwidth_are_groups_where_the_file_says_so() {
    for levels in ["\"leaf\"", "[\"leaf\"]", "\"all\""] {
        let fabric = racks(levels);
        assert_levels(&fabric, &["leaf"], place_in_rack);
        for (how, ranks, ppn) in [("by slot", 32, 1), ("by node", 48, 2), ("balanced", 14, 1), ("by slot", 19, 3)] {
            assert_eq!(assert_grouped(&fabric, &place(&fabric, how, ranks, ppn), place_in_rack), 0);
        }
    }
    for levels in ["\"none\"", "[]"] {
        let fabric = racks(levels);
        assert_levels(&fabric, &[], place_alone);
        assert_not_grouped(&fabric, &place(&fabric, "by slot", 32, 1), place_in_rack);
    }
}

/// Where the file leaves it open, ranks that are dealt out to racks are grouped by rack, since that is predicted to be
/// faster; on the hosts of one rack after another they are not.
#[test]
fn racks_are_groups_where_ranks_are_scattered() {
    let fabric = racks("\"default\"");
    assert_levels(&fabric, &[], place_alone);
    assert_eq!(assert_grouped(&fabric, &place(&fabric, "by slot", 32, 1), place_in_rack), 0);
    let mut hosts: Vec<HostId> = fabric.hosts().collect();
    hosts.sort_by_key(|&host| place_in_rack(fabric.node_name(host)));
    assert_not_grouped(&fabric, &Placement::from_hosts(hosts), place_in_rack);
}

/// Alone, leaves of one pod share the switches above them; in another order than that of ranks they do not meet there.
#[test]
fn pods_and_their_leaves_are_three_levels_with_the_nodes() {
    let cases: [(&str, &[&str], Places); 3] = [
        ("\"all\"", &["pod", "leaf"], place_in_pod),
        ("[\"leaf\", \"pod\"]", &["pod", "leaf"], place_in_pod),
        ("[\"leaf\"]", &["leaf"], |host| place_in_pod(host)[1..].to_vec()),
    ];
    for (levels, names, places) in cases {
        let fabric = pods(levels);
        assert_levels(&fabric, names, places);
        let placements = [("by slot", 16, 1), ("by node", 32, 2), ("balanced", 7, 1), ("by slot", 11, 1)];
        let conflicts =
            placements.map(|(how, ranks, ppn)| assert_grouped(&fabric, &place(&fabric, how, ranks, ppn), places));
        assert_eq!(conflicts, [0; 4], "{levels}");
    }
    assert_levels(&pods("\"none\""), &[], place_alone);
    assert_levels(&pods("\"default\""), &["pod"], |host| vec![host[..2].to_owned(), host.to_owned()]);
}

/// By their routes: between pods over a core switch, between leaves of a pod inside the pod, on a leaf over the leaf.
#[test]
fn transfers_of_a_level_stay_below_the_switches_of_that_level() {
    let fabric = pods("\"all\"");
    let placement = place(&fabric, "by slot", 16, 1);
    for schedule in schedules(&fabric, &placement) {
        let mut by_height = BTreeMap::from([("core", 0), ("above", 0), ("leaf", 0)]);
        for m in schedule.moves() {
            let [from, to] = [m.from, m.to].map(|rank| placement.host(rank).unwrap());
            let route = fabric.route(from, to);
            let passed: Vec<&str> = route.iter().map(|&link| fabric.node_name(fabric.end(link))).collect();
            let [pods, leaves] = [2, 4].map(|length| [from, to].map(|host| &fabric.node_name(host)[..length]));
            let height = match (pods[0] == pods[1], leaves[0] == leaves[1]) {
                (false, _) => "core",
                (true, false) => "above",
                (true, true) => "leaf",
            };
            let highest = ["core", "above", "leaf"].into_iter().find(|h| passed.iter().any(|s| s.starts_with(h)));
            assert_eq!(highest, Some(height), "{passed:?}");
            *by_height.get_mut(height).unwrap() += 1;
        }
        let halves = if schedule.collective == Allreduce { 4 } else { 2 };
        // Four pods, eight leaves, sixteen hosts.
        assert_eq!(by_height, BTreeMap::from([("core", 3 * halves), ("above", 4 * halves), ("leaf", 8 * halves)]));
    }
}

/// With leaves as groups every leaf sends one message and receives one in a round: the mesh has no conflict, whatever
/// the root and wherever ranks are. With the four groups alone it has none in another order than that of ranks.
#[test]
fn leaves_of_the_mesh_never_conflict() {
    let cases: [(&str, &[&str], Places); 3] = [
        ("[\"group\", \"leaf\"]", &["group", "leaf"], place_in_mesh),
        ("\"all\"", &["group", "leaf"], place_in_mesh),
        ("\"leaf\"", &["leaf"], place_on_leaf),
    ];
    for (levels, names, places) in cases {
        let fabric = mesh(levels);
        assert_levels(&fabric, names, places);
        for (how, ranks, ppn) in [("by slot", 36, 1), ("balanced", 32, 1), ("by node", 72, 2), ("by slot", 23, 1)] {
            assert_eq!(assert_grouped(&fabric, &place(&fabric, how, ranks, ppn), places), 0);
        }
    }
    let fabric = mesh("\"default\"");
    let placement = place(&fabric, "by slot", 32, 1);
    assert_not_grouped(&fabric, &placement, place_in_mesh);
    let conflicts = |root| {
        let schedule = planner(&fabric, &placement).schedule(Bcast, Algorithm::GroupedTwoTree, root).unwrap();
        check(&fabric, &placement, &rounds(&schedule, &placement)).unwrap().conflicts.len()
    };
    assert_eq!((0..9).map(conflicts).sum::<usize>(), 0);
}
