//! A torus of switches with any number of dimensions.
//!
//! A dimension of size 2 has two cables between its neighbours, one of size 1 none. Switches are called after their
//! coordinates: `t01`, or `t0-11` where a coordinate has two digits. Hosts are numbered with the last coordinate
//! fastest. Tier 0 of the rates is the host links, tier `d + 1` dimension `d`.

use super::{TierRates, attach, bad};
use crate::fabric::build::{FabricBuilder, LinkRate, MAX_NODES};
use crate::fabric::error::BuildError;

pub(super) fn build(
    b: &mut FabricBuilder,
    dims: &[u32],
    hosts_per_switch: u32,
    rates: &TierRates,
) -> Result<(), BuildError> {
    if dims.is_empty() || dims.len() > 16 || dims.contains(&0) {
        return bad("torus", "dims", dims, "1 to 16 sizes, all at least 1");
    }
    if hosts_per_switch == 0 {
        return bad("torus", "hosts_per_switch", hosts_per_switch, "at least 1");
    }
    let total = dims.iter().fold(1usize, |p, &d| p.saturating_mul(d as usize));
    if total.saturating_mul(hosts_per_switch as usize) > MAX_NODES {
        return bad("torus", "dims", dims, "fewer hosts");
    }
    let separator = if dims.iter().any(|&d| d > 10) { "-" } else { "" };
    let name = |at: &[u32]| {
        let digits: Vec<String> = at.iter().map(u32::to_string).collect();
        format!("t{}", digits.join(separator))
    };
    let all = || (0..total as u32).map(|i| coordinates(i, dims));
    for (i, at) in (0..).zip(all()) {
        b.switch(&name(&at))?;
        attach(b, &name(&at), i * hosts_per_switch, hosts_per_switch, rates.tier(0))?;
    }
    for at in all() {
        for (d, &size) in dims.iter().enumerate() {
            // In a dimension of size 2 both neighbours are the same switch, joined once with both cables.
            if size == 1 || (size == 2 && at[d] == 1) {
                continue;
            }
            let mut next = at.clone();
            next[d] = (at[d] + 1) % size;
            let parallel = if size == 2 { 2 } else { 1 };
            let rate = LinkRate { parallel, ..rates.tier(d + 1) };
            b.link(&name(&at), &name(&next), rate)?;
        }
    }
    b.set_torus(dims)
}

fn coordinates(mut i: u32, dims: &[u32]) -> Vec<u32> {
    let mut at = vec![0; dims.len()];
    for (slot, &size) in at.iter_mut().zip(dims).rev() {
        *slot = i % size;
        i /= size;
    }
    at
}
