//! A tree of switches under one root.
//!
//! ```text
//! children = [4, 2]           s0
//!                         l0      l1
//!                       n0..n3  n4..n7
//! ```
//! Leaves are called `l*`, the root `s0`, switches between them `a*`, or `a2-*`, `a3-*` where there is more than one
//! tier of them.

use super::{TierRates, attach, bad};
use crate::fabric::build::{FabricBuilder, MAX_NODES};
use crate::fabric::error::BuildError;

pub(super) fn build(b: &mut FabricBuilder, children: &[u32], rates: &TierRates) -> Result<(), BuildError> {
    let expected = "at least two numbers, all at least 1: hosts per leaf, leaves per switch above, ...";
    if children.len() < 2 || children.contains(&0) {
        return bad("tree", "children", children, expected);
    }
    let total = children.iter().fold(1usize, |p, &c| p.saturating_mul(c as usize));
    if total > MAX_NODES || children.len() > 32 {
        return bad("tree", "children", children, "fewer hosts and tiers");
    }
    let top = children.len();
    // Number of switches of tier 1 (leaves) to `top` (the root).
    let count = |tier: usize| children[tier..].iter().product::<u32>();
    let name = |tier: usize, i: u32| match tier {
        1 => format!("l{i}"),
        _ if tier == top => format!("s{i}"),
        _ if top == 3 => format!("a{i}"),
        _ => format!("a{tier}-{i}"),
    };
    for i in 0..count(1) {
        b.switch(&name(1, i))?;
        attach(b, &name(1, i), i * children[0], children[0], rates.tier(0))?;
    }
    for tier in 2..=top {
        for i in 0..count(tier) {
            b.switch(&name(tier, i))?;
        }
        for i in 0..count(tier - 1) {
            let up = name(tier, i / children[tier - 1]);
            b.link(&name(tier - 1, i), &up, rates.tier(tier - 1))?;
        }
    }
    Ok(())
}
