//! Small networks drawn at random: none that predictions were fitted to (`make bench-unknown`).
//!
//! ```text
//!   seed ─► tree with mixed rates │ dragonfly │ torus of unequal sides │ two sites and a long link │ star
//!           4 to 16 hosts, 1 to 4 ranks on each, links of 10 Mbit/s to as fast as the machine copies, or slow ones
//! ```

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use std::fmt::Write;

/// Rates of links, Mbit/s. The last is more than an emulation can carry: there the machine is the limit.
const RATES: [u32; 6] = [10, 40, 100, 250, 1000, 40_000];

/// Rates instead of those, of links that sixteen hosts can fill on two processors: there the links are the limit.
const SLOW_RATES: [u32; 6] = [5, 8, 12, 16, 20, 24];

/// Ranks on all hosts together, at most: they share the machine's processors.
const MOST_RANKS: u32 = 32;

/// The file of a network; its first lines say what it is and how many ranks a host is to get. The same seed always
/// gives the same text; with `slow` links, of 5 to 24 Mbit/s, it is the same network at other rates.
pub fn draw(seed: u64, slow: bool) -> String {
    let random = &mut Draw { numbers: Pcg64::seed_from_u64(seed), rates: if slow { SLOW_RATES } else { RATES } };
    let (what, hosts, network) = match random.numbers.random_range(0..5) {
        0 => tree(random),
        1 => dragonfly(random),
        2 => torus(random),
        3 => sites(random),
        _ => star(random),
    };
    let ranks = random.numbers.random_range(1..=4u32.min(MOST_RANKS / hosts));
    let name = if slow { "slow" } else { "unknown" };
    format!("# {what}\n# Ranks on a host: {ranks}\nname = \"{name}{seed}\"\nqueue = 128\n{network}")
}

/// Where the numbers of a network come from.
struct Draw {
    numbers: Pcg64,
    rates: [u32; 6],
}

impl Draw {
    fn rate(&mut self) -> u32 {
        self.one_of(self.rates)
    }

    /// Latency of a link between switches, microseconds.
    fn latency(&mut self) -> u32 {
        self.one_of([1, 5, 20, 100])
    }

    fn one_of<T: Copy, const N: usize>(&mut self, values: [T; N]) -> T {
        values[self.numbers.random_range(0..N)]
    }
}

fn link(text: &mut String, from: &str, to: &str, rate: u32, latency: u32) {
    let _ = write!(text, "\n[[link]]\nfrom = \"{from}\"\nto = \"{to}\"\nbandwidth = {rate}\nlatency = {latency}\n");
}

fn listed(hosts: u32, switches: &str) -> String {
    format!("hosts = [\"n[0-{}]\"]\nswitches = [\"{switches}\"]\n", hosts - 1)
}

/// Leaves of two to four hosts under a root; every leaf has a rate of its own for its hosts and for its uplink.
fn tree(random: &mut Draw) -> (String, u32, String) {
    let leaves = random.numbers.random_range(2..=4);
    let sizes: Vec<u32> = (0..leaves).map(|_| random.numbers.random_range(2..=4)).collect();
    let hosts = sizes.iter().sum();
    let mut text = listed(hosts, &format!("l[0-{leaves}]"));
    let (mut first, top) = (0, format!("l{leaves}"));
    for (leaf, size) in sizes.iter().enumerate() {
        link(&mut text, &format!("n[{first}-{}]", first + size - 1), &format!("l{leaf}"), random.rate(), 1);
        link(&mut text, &format!("l{leaf}"), &top, random.rate(), random.latency());
        first += size;
    }
    (format!("A tree of {leaves} leaves with {sizes:?} hosts, every leaf with rates of its own."), hosts, text)
}

/// Groups of two routers, each router with one or two hosts; a link between every two groups.
fn dragonfly(random: &mut Draw) -> (String, u32, String) {
    let groups: u32 = random.numbers.random_range(3..=4);
    let each = random.numbers.random_range(1..=2);
    let hosts = groups * 2 * each;
    let mut text = listed(hosts, &format!("r[0-{}]", groups * 2 - 1));
    let [host, local, global] = [random.rate(), random.rate(), random.rate()];
    let far = random.latency();
    for router in 0..groups * 2 {
        let last = (router + 1) * each - 1;
        link(&mut text, &format!("n[{}-{last}]", router * each), &format!("r{router}"), host, 1);
    }
    for group in 0..groups {
        link(&mut text, &format!("r{}", 2 * group), &format!("r{}", 2 * group + 1), local, 1);
        for other in group + 1..groups {
            // Routers take turns at the links to other groups.
            let ends = [2 * group + other % 2, 2 * other + group % 2];
            link(&mut text, &format!("r{}", ends[0]), &format!("r{}", ends[1]), global, far);
        }
    }
    (format!("A dragonfly of {groups} groups with two routers, {each} hosts on each."), hosts, text)
}

fn torus(random: &mut Draw) -> (String, u32, String) {
    let sides = random.one_of([[2, 3], [2, 4], [3, 4], [2, 6], [3, 5], [2, 8]]);
    let rates = [random.rate(), random.rate(), random.rate()];
    let text = format!("\n[generator]\nkind = \"torus\"\ndims = {sides:?}\nbandwidth = {rates:?}\nlatency = 1\n");
    (format!("A torus of {} x {} switches with a host each.", sides[0], sides[1]), sides[0] * sides[1], text)
}

/// Two switches of unequal size with a link far slower to cross.
fn sites(random: &mut Draw) -> (String, u32, String) {
    let sizes = [(); 2].map(|()| random.numbers.random_range(2..=8));
    let hosts = sizes[0] + sizes[1];
    let mut text = listed(hosts, "s[0-1]");
    link(&mut text, &format!("n[0-{}]", sizes[0] - 1), "s0", random.rate(), 1);
    link(&mut text, &format!("n[{}-{}]", sizes[0], hosts - 1), "s1", random.rate(), 1);
    link(&mut text, "s0", "s1", random.rate(), random.one_of([500, 2000, 5000]));
    (format!("Two sites of {} and {} hosts, far from one another.", sizes[0], sizes[1]), hosts, text)
}

fn star(random: &mut Draw) -> (String, u32, String) {
    let hosts = random.numbers.random_range(4..=16);
    let mut text = listed(hosts, "s0");
    link(&mut text, &format!("n[0-{}]", hosts - 1), "s0", random.rate(), random.latency());
    (format!("{hosts} hosts on one switch."), hosts, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nagare_plan::fabric::Fabric;
    use std::collections::BTreeSet;

    #[test]
    fn every_seed_draws_a_network_of_the_promised_size_and_all_kinds_come() {
        let mut kinds = BTreeSet::new();
        for seed in 0..300 {
            let text = draw(seed, false);
            let fabric = Fabric::from_toml(&text, "drawn").unwrap_or_else(|error| panic!("{error}\n{text}"));
            assert!((4..=16).contains(&fabric.host_count()), "{text}");
            let mut lines = text.lines();
            kinds.extend(lines.next().and_then(|what| what.split_whitespace().nth(2)).map(str::to_owned));
            let ranks = lines.next().and_then(|line| line.strip_prefix("# Ranks on a host: ")?.parse::<usize>().ok());
            let all = ranks.map(|ranks| ranks * fabric.host_count());
            assert!(all.is_some_and(|all| (4..=32).contains(&all)), "{text}");
        }
        assert!(
            kinds.is_superset(&["tree", "dragonfly", "torus", "sites", "hosts"].map(str::to_owned).into()),
            "{kinds:?}"
        );
    }

    #[test]
    fn a_seed_means_the_same_network_everywhere() {
        assert_eq!(draw(1, false), draw(1, false));
        assert_ne!(draw(1, false), draw(2, false));
        assert_eq!(draw(3, false).lines().nth(2), Some("name = \"unknown3\""));
    }

    #[test]
    fn slow_links_are_those_of_the_same_network() {
        for seed in 0..100 {
            let [drawn, slow] = [false, true].map(|slow| draw(seed, slow));
            let shape = |text: &str| -> Vec<String> {
                text.lines()
                    .filter(|line| !line.starts_with("bandwidth") && !line.starts_with("name"))
                    .map(str::to_owned)
                    .collect()
            };
            assert_eq!(shape(&drawn), shape(&slow));
            let fabric = Fabric::from_toml(&slow, "drawn").unwrap_or_else(|error| panic!("{error}\n{slow}"));
            assert!(fabric.links().iter().all(|link| (5.0..=24.0).contains(&link.mbit)), "{slow}");
        }
    }
}
