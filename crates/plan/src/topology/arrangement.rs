//! In which order ranks are on nodes and in groups, in words: what is measured in one order says little about another.
//!
//! ```text
//!   node of ranks 0, 1, 2 …    0 0 1 1 2 2    node 3 x 2
//!                              0 1 2 0 1 2    node 3 x 2 in turn
//!                              0 0 0 1 2 2    node 3, order 846ff74c
//! ```

use super::Topology;
use std::collections::HashMap;

impl Topology {
    /// The order of its ranks, by level, the outermost first. The same for two communicators if their ranks are
    /// together in the same groups, however these are called.
    pub fn arrangement(&self) -> String {
        let level = |(level, name): (usize, &String)| format!("{name} {}", order(self.groups(level)));
        self.level_names().iter().enumerate().map(level).collect::<Vec<_>>().join(", ")
    }
}

fn order(groups: &[u32]) -> String {
    // By first appearance.
    let mut numbers: HashMap<u32, usize> = HashMap::new();
    let numbered: Vec<usize> = groups
        .iter()
        .map(|&group| {
            let next = numbers.len();
            *numbers.entry(group).or_insert(next)
        })
        .collect();
    let (count, ranks) = (numbers.len().max(1), numbered.len());
    let each = ranks.div_ceil(count);
    let is = |expected: &dyn Fn(usize) -> usize| numbered.iter().enumerate().all(|(rank, &at)| at == expected(rank));
    if ranks == count * each && is(&|rank| rank / each) {
        return format!("{count} x {each}");
    }
    if ranks == count * each && is(&|rank| rank % count) {
        return format!("{count} x {each} in turn");
    }
    format!("{count}, order {:08x}", hash(&numbered))
}

/// FNV-1a of the numbers, folded: the same in all versions of all builds, since it stands in files.
fn hash(numbers: &[usize]) -> u32 {
    let bytes = numbers.iter().flat_map(|&number| (number as u32).to_le_bytes());
    let hash =
        bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    (hash ^ hash >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_told_apart_whatever_nodes_are_called() {
        let of = |nodes: &[u32]| Topology::of_nodes(nodes.to_vec()).expect("a topology").arrangement();
        assert_eq!(of(&[0, 0, 1, 1, 2, 2]), "node 3 x 2");
        assert_eq!(of(&[2, 2, 0, 0, 1, 1]), "node 3 x 2");
        assert_eq!(of(&[0, 1, 2, 0, 1, 2]), "node 3 x 2 in turn");
        assert_eq!(of(&[0, 1, 2]), "node 3 x 1");
        assert_eq!(of(&[5]), "node 1 x 1");
        let uneven = of(&[0, 0, 0, 1, 2, 2]);
        assert_eq!(uneven, of(&[7, 7, 7, 3, 5, 5]));
        assert_ne!(uneven, of(&[0, 0, 1, 1, 1, 2]));
        assert_eq!(uneven, "node 3, order 846ff74c");
    }

    #[test]
    fn groups_outside_nodes_count() {
        let names = || vec!["leaf".to_owned(), "node".to_owned()];
        let of = |leaves: [u32; 4]| {
            let topology = Topology::new(names(), vec![leaves.to_vec(), vec![0, 1, 2, 3]], vec![0; 4]);
            topology.expect("a topology").arrangement()
        };
        assert_eq!(of([0, 0, 1, 1]), "leaf 2 x 2, node 4 x 1");
        assert_eq!(of([0, 1, 0, 1]), "leaf 2 x 2 in turn, node 4 x 1");
    }
}
