//! Which hosts belong together, derived from the network.
//!
//! An *upper switch* has no hosts. Hosts whose leaves are joined to the same set of upper switches form a group; a leaf
//! joined to no upper switch is a group by itself. The same rule applied to groups and the tier of upper switches above
//! theirs gives larger groups, and so on. The leaf is a further, inner level: by default in groups where the hosts of
//! some leaf could send more than its uplinks carry, if chosen ([`LevelChoice`]) everywhere.

use std::collections::{BTreeSet, HashMap};

use serde::Serialize;

use super::error::BuildError;
use super::ids::NodeId;
use super::level_choice::LevelChoice;
use super::model::Fabric;
use crate::quoted::quoted;

/// Tiers of switches that are looked at; no machine has more levels, and every one takes memory for all hosts.
const MOST_TIERS: u32 = 64;

/// A partition of the hosts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Level {
    /// `leaf`, `group`, `pod` (a group below further tiers of switches), `pod2`, ...
    pub name: String,
    /// Group number per host; groups are numbered in the order of their first hosts.
    pub of_host: Vec<u32>,
}

impl Level {
    /// Number of groups.
    pub fn group_count(&self) -> usize {
        self.of_host.iter().max().map_or(0, |&g| g as usize + 1)
    }

    /// Number of hosts per group.
    pub fn sizes(&self) -> Vec<usize> {
        let mut sizes = vec![0; self.group_count()];
        for &g in &self.of_host {
            sizes[g as usize] += 1;
        }
        sizes
    }
}

/// Hosts that stay together, with the switches they leave by.
struct Unit {
    hosts: Vec<u32>,
    top: BTreeSet<NodeId>,
}

impl Fabric {
    /// The nested levels of this fabric that count, outermost first, without the node level.
    pub fn levels(&self) -> Vec<Level> {
        self.levels_by(&self.level_choice)
    }

    /// Which of them its file, or [`Self::choose_levels`], has said to count.
    pub fn level_choice(&self) -> &LevelChoice {
        &self.level_choice
    }

    /// Says which levels count.
    ///
    /// # Errors
    /// [`BuildError::UnknownLevel`] for a name that no level has.
    pub fn choose_levels(&mut self, choice: LevelChoice) -> Result<(), BuildError> {
        self.level_choice = match choice {
            LevelChoice::Named(names) if !names.is_empty() => {
                let all = self.levels_by(&LevelChoice::All).into_iter();
                let mut there: Vec<String> = all.map(|level| level.name).collect();
                if let Some(unknown) = names.iter().find(|name| !there.contains(name)) {
                    return Err(BuildError::UnknownLevel(quoted(unknown), there));
                }
                there.retain(|name| names.contains(name));
                LevelChoice::Named(there)
            }
            choice => choice,
        };
        Ok(())
    }

    /// The levels that count by another choice. Those that say nothing are left out: one group over all, the same
    /// groups as the next inner level, every host by itself.
    pub fn levels_by(&self, choice: &LevelChoice) -> Vec<Level> {
        let tier = self.tiers();
        let leaves = self.leaf_units();
        let (mut units, group_of_leaf) = merge(self, &tier, 1, &leaves);
        let innermost = match choice {
            LevelChoice::Default => self.thin_leaves(&tier, &leaves, &group_of_leaf),
            LevelChoice::All | LevelChoice::Named(_) => self.level("leaf".to_owned(), &leaves),
        };
        let mut found = vec![innermost]; // innermost first
        for height in 2..=MOST_TIERS {
            let tier_above = |u: &Unit| !self.above(&tier, height, u).is_empty();
            let more = units.iter().any(tier_above);
            let name = match height {
                2 if units.len() == leaves.len() => "leaf".to_owned(),
                2 if more => "pod".to_owned(),
                2 => "group".to_owned(),
                _ => format!("pod{}", height - 1),
            };
            found.push(self.level(name, &units));
            if !more {
                break;
            }
            units = merge(self, &tier, height, &units).0;
        }
        if found[0].of_host == found[1].of_host {
            found.remove(0); // the leaves are the groups, or no leaf counts
        }
        let mut telling = self.telling(found);
        if let LevelChoice::Named(names) = choice {
            telling.retain(|level| names.contains(&level.name));
        }
        telling
    }

    /// Hops from each switch to the nearest switch with hosts.
    pub(super) fn tiers(&self) -> HashMap<NodeId, u32> {
        let has_host = |s: &NodeId| (self.links_of(*s).iter()).any(|&l| self.is_host(self.end(l)));
        let mut edge: Vec<NodeId> = self.switches().filter(has_host).collect();
        let mut tier: HashMap<NodeId, u32> = edge.iter().map(|&s| (s, 0)).collect();
        for height in 1.. {
            let mut next = Vec::new();
            for l in edge.iter().flat_map(|&s| self.links_of(s)) {
                let n = self.end(*l);
                if !self.is_host(n) && !tier.contains_key(&n) {
                    tier.insert(n, height);
                    next.push(n);
                }
            }
            if next.is_empty() {
                break;
            }
            edge = next;
        }
        tier
    }

    /// Hosts by the set of switches they are attached to: usually one leaf.
    fn leaf_units(&self) -> Vec<Unit> {
        let mut at: HashMap<BTreeSet<NodeId>, usize> = HashMap::new();
        let mut units: Vec<Unit> = Vec::new();
        for host in self.hosts() {
            let ends = self.links_of(host).iter().map(|&l| self.end(l));
            let top: BTreeSet<NodeId> = ends.collect();
            let slot = *at.entry(top.clone()).or_insert(units.len());
            if slot == units.len() {
                units.push(Unit { hosts: Vec::new(), top });
            }
            units[slot].hosts.push(host.0);
        }
        units
    }

    /// Switches of the given tier joined to the unit's own.
    fn above(&self, tier: &HashMap<NodeId, u32>, height: u32, unit: &Unit) -> BTreeSet<NodeId> {
        let ends = (unit.top.iter()).flat_map(|&s| self.links_of(s).iter().map(|&l| self.end(l)));
        ends.filter(|n| tier.get(n) == Some(&height)).collect()
    }

    /// The leaf level: leaves apart in groups where one of them has too little uplink, whole groups elsewhere.
    fn thin_leaves(&self, tier: &HashMap<NodeId, u32>, leaves: &[Unit], group: &[usize]) -> Level {
        let mut thin = vec![false; group.iter().max().map_or(0, |&g| g + 1)];
        for (leaf, &g) in leaves.iter().zip(group) {
            let links = leaf.top.iter().flat_map(|&s| self.links_of(s));
            let (mut need, mut uplink) = (0.0, 0.0);
            for &l in links {
                match tier.get(&self.end(l)) {
                    None => need += self.mbit(l), // a host
                    Some(1) => uplink += self.mbit(l),
                    Some(_) => (),
                }
            }
            thin[g] |= uplink > 0.0 && need > uplink;
        }
        let mut level = vec![0; self.host_count()];
        for (i, (leaf, &g)) in leaves.iter().zip(group).enumerate() {
            let key = if thin[g] { leaves.len() + i } else { g };
            for &h in &leaf.hosts {
                level[h as usize] = key;
            }
        }
        Level { name: "leaf".to_owned(), of_host: renumbered(&level) }
    }

    fn level(&self, name: String, units: &[Unit]) -> Level {
        let mut key = vec![0; self.host_count()];
        for (i, unit) in units.iter().enumerate() {
            for &h in &unit.hosts {
                key[h as usize] = i;
            }
        }
        Level { name, of_host: renumbered(&key) }
    }

    /// Levels that say something, outermost first.
    fn telling(&self, innermost_first: Vec<Level>) -> Vec<Level> {
        let mut kept: Vec<Level> = Vec::new();
        for level in innermost_first {
            let groups = level.group_count();
            let repeats = kept.last().is_some_and(|l| l.of_host == level.of_host);
            if groups > 1 && groups < self.host_count() && !repeats {
                kept.push(level);
            }
        }
        kept.reverse();
        kept
    }
}

/// Units with the same, non-empty set of switches above become one; also the new unit's number per old one.
fn merge(fabric: &Fabric, tier: &HashMap<NodeId, u32>, height: u32, units: &[Unit]) -> (Vec<Unit>, Vec<usize>) {
    let mut at: HashMap<BTreeSet<NodeId>, usize> = HashMap::new();
    let (mut merged, mut number) = (Vec::<Unit>::new(), Vec::new());
    for unit in units {
        let above = fabric.above(tier, height, unit);
        let slot = match above.is_empty() {
            true => merged.len(),
            false => *at.entry(above.clone()).or_insert(merged.len()),
        };
        if slot == merged.len() {
            // A unit with nothing above keeps its own switches: nothing will be found above them either.
            let top = if above.is_empty() { unit.top.clone() } else { above };
            merged.push(Unit { hosts: Vec::new(), top });
        }
        merged[slot].hosts.extend(&unit.hosts);
        number.push(slot);
    }
    (merged, number)
}

/// The same partition with groups numbered in the order of their first members.
fn renumbered(keys: &[usize]) -> Vec<u32> {
    let mut number: HashMap<usize, u32> = HashMap::new();
    keys.iter()
        .map(|&key| {
            let fresh = number.len() as u32;
            *number.entry(key).or_insert(fresh)
        })
        .collect()
}
