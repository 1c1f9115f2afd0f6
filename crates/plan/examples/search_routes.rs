//! Finds the forwarding tables in `fabrics/mlfm36.toml`: `cargo run -p nagare-plan --example search_routes`.
//!
//! Inside a group of the p = 6 mesh (three leaves of three hosts) a leaf reaches each of the six hosts on the other
//! leaves by any of three spines, and forwarding depends on the destination alone: 18 choices of 3. A table clears a
//! two-tree when no two transfers of one round, Reduce or Bcast, share a link.
//!
//! The search wants two-trees over the first 5, 8 and 9 hosts of a group, rooted at the first, cleared; then, one by
//! one and where a table remains, those over other numbers of hosts. Trees over 6 and 7 hosts have two different
//! colourings (the edges fall into two parts that do not touch); each is tried. Of all tables that remain it takes the
//! ones with fewest conflicts summed over all other roots, of these the most even use of the links, of these the first.
//! The groups of the mesh are alike, so each gets the same table.

use std::collections::BTreeSet;

use nagare_plan::fabric::{Fabric, Generator, HostId, NodeId, TierRates};
use nagare_plan::tree::TwoTree;

/// Entry `(leaf, destination)` of the tables of a group, by host number and leaf number in the group.
type Entry = (usize, usize);
/// Two entries that must not name the same spine.
type Pair = (Entry, Entry);

const LEAVES: usize = 3;
const HOSTS: usize = 9;

fn leaf(host: usize) -> usize {
    host / 3
}

/// All colourings of the two-tree over `members`, of which the first is the root, each as the transfers (child, parent)
/// of its two rounds. Only the trees are taken from the library, not its choice among colourings.
fn colourings(members: &[usize]) -> Vec<[Vec<(usize, usize)>; 2]> {
    let host = |member: Option<u32>| members[member.unwrap_or(0) as usize];
    let mut edges = Vec::new();
    if members.len() > 1 {
        let trees = TwoTree::new(members.len() as u32 - 1);
        for (tree, member) in (0..2).flat_map(|t| (1..members.len() as u32).map(move |m| (t, m))) {
            edges.push((host(Some(member)), host(trees.parent(tree, member).peer)));
        }
    }
    let (mut colour, mut part) = (vec![0; edges.len()], vec![usize::MAX; edges.len()]);
    let mut parts = 0;
    for start in 0..edges.len() {
        let mut open = vec![(start, 0)];
        let found = part[start] == usize::MAX;
        while let Some((e, c)) = open.pop() {
            if part[e] == usize::MAX {
                (colour[e], part[e]) = (c, parts);
                let touches = |&f: &usize| edges[f].0 == edges[e].0 || edges[f].1 == edges[e].1;
                open.extend((0..edges.len()).filter(touches).map(|f| (f, 1 - c)));
            }
        }
        parts += usize::from(found);
    }
    // Swapping the colours of all parts at once changes nothing, so the first part keeps its own.
    let swaps = (0..1usize << parts).filter(|swap| swap & 1 == 0);
    let rounds = |swap: usize| {
        [0, 1].map(|c| (0..edges.len()).filter(|&e| colour[e] ^ (swap >> part[e] & 1) == c).map(|e| edges[e]).collect())
    };
    swaps.map(rounds).collect()
}

/// The pairs of entries used at the same time at the same leaf or towards the same leaf: once per round and direction.
fn sharing(rounds: &[Vec<(usize, usize)>; 2]) -> Vec<Pair> {
    let mut pairs = Vec::new();
    for (round, up) in rounds.iter().flat_map(|r| [(r, true), (r, false)]) {
        let directed = round.iter().map(|&(child, parent)| if up { (child, parent) } else { (parent, child) });
        let entries: Vec<Entry> =
            directed.filter(|&(from, to)| leaf(from) != leaf(to)).map(|(from, to)| (leaf(from), to)).collect();
        for (i, &a) in entries.iter().enumerate() {
            for &b in entries[i + 1..].iter().filter(|b| a.0 == b.0 || leaf(a.1) == leaf(b.1)) {
                pairs.push((a.min(b), a.max(b)));
            }
        }
    }
    pairs
}

/// Members `0..size` with `root` first.
fn rooted(size: usize, root: usize) -> Vec<usize> {
    std::iter::once(root).chain((0..size).filter(|&h| h != root)).collect()
}

/// Tables in which no forbidden pair names the same spine, at most `limit`, by depth-first search over the entries in
/// order.
fn tables(entries: &[Entry], forbidden: &BTreeSet<Pair>, limit: usize) -> Vec<Vec<usize>> {
    let earlier: Vec<Vec<usize>> = (0..entries.len())
        .map(|i| (0..i).filter(|&j| forbidden.contains(&(entries[j], entries[i]))).collect())
        .collect();
    let mut found = Vec::new();
    let mut stack = vec![Vec::new()];
    while let Some(table) = stack.pop() {
        if table.len() == entries.len() {
            found.push(table);
            if found.len() == limit {
                break;
            }
            continue;
        }
        for spine in (0..3).rev() {
            if earlier[table.len()].iter().all(|&j| table[j] != spine) {
                let mut longer = table.clone();
                longer.push(spine);
                stack.push(longer);
            }
        }
    }
    found
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let entries: Vec<Entry> =
        (0..LEAVES).flat_map(|l| (0..HOSTS).map(move |d| (l, d))).filter(|&(l, d)| leaf(d) != l).collect();
    for size in [5, 8, 9] {
        let mut forbidden = BTreeSet::new();
        for root in 0..size {
            forbidden.extend(colourings(&rooted(size, root)).iter().flat_map(sharing));
            if tables(&entries, &forbidden, 1).is_empty() {
                eprintln!("{size} hosts: no table clears all of the roots 0..={root}");
                break;
            }
        }
    }
    let mut forbidden = BTreeSet::new();
    for size in [5, 8, 9, 2, 3, 4, 6, 7] {
        for (number, rounds) in colourings(&rooted(size, 0)).iter().enumerate() {
            let mut with = forbidden.clone();
            with.extend(sharing(rounds));
            match tables(&entries, &with, 1).is_empty() {
                true => eprintln!("{size} hosts, colouring {number}: not together with the others"),
                false => forbidden = with,
            }
        }
    }
    let others = (1..=HOSTS).flat_map(|size| (1..size).map(move |root| rooted(size, root)));
    let other_roots: Vec<Pair> =
        others.flat_map(|members| colourings(&members).iter().flat_map(sharing).collect::<Vec<_>>()).collect();
    let tables = tables(&entries, &forbidden, 1_000_000);
    eprintln!("{} tables clear all other sizes, rooted at the first, in both directions", tables.len());
    let index = |e: Entry| entries.iter().position(|&x| x == e);
    let conflicts = |t: &[usize]| {
        let same = |&&(a, b): &&Pair| index(a).map(|i| t[i]) == index(b).map(|i| t[i]);
        other_roots.iter().filter(same).count()
    };
    let unevenness = |t: &[usize]| {
        let mut load = [[0usize; 3]; 2 * LEAVES];
        for (&(l, d), &spine) in entries.iter().zip(t) {
            load[l][spine] += 1;
            load[LEAVES + leaf(d)][spine] += 1;
        }
        load.iter().flatten().map(|n| n * n).sum::<usize>()
    };
    let Some(best) = tables.iter().min_by_key(|t| (conflicts(t), unevenness(t), (*t).clone())) else {
        return Err("no table clears all sizes".into());
    };
    eprintln!("the one taken leaves {} conflicts over all other roots together", conflicts(best));
    let fabric = Generator::Mlfm { ports: 6 }.builder("mlfm36", &TierRates::uniform(20.0, 5.0))?.build()?;
    print_tables(&fabric, &entries, best);
    Ok(())
}

/// The tables as `[routes]` of a fabric file.
fn print_tables(fabric: &Fabric, entries: &[Entry], table: &[usize]) {
    for first in (0..fabric.host_count()).step_by(HOSTS) {
        for l in 0..LEAVES {
            let own = HostId((first + 3 * l) as u32);
            let leaf_switch = fabric.end(fabric.links_of(own)[0]);
            let up = fabric.links_of(leaf_switch).iter().map(|&link| fabric.end(link));
            let spines: Vec<NodeId> = up.filter(|&n| !fabric.is_host(n)).collect();
            println!("\n[routes.{}]", fabric.node_name(leaf_switch));
            for (s, &spine) in spines.iter().enumerate() {
                let by_it = entries.iter().zip(table).filter(|&(&(from, _), &t)| from == l && t == s);
                let hosts: Vec<String> = by_it.map(|(&(_, d), _)| (first + d).to_string()).collect();
                if !hosts.is_empty() {
                    println!("\"n[{}]\" = \"{}\"", hosts.join(","), fabric.node_name(spine));
                }
            }
        }
    }
}
