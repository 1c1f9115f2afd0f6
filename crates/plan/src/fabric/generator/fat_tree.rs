//! Folded Clos networks of `k`-port switches.
//!
//! * 2 levels: `k` leaves `l*`, `k/2` spines `s*`, every leaf joined to every spine.
//! * 3 levels: `k` pods of `k/2` leaves `l*` and `k/2` aggregation switches `a*`, completely joined inside the pod, and
//!   `k²/4` core switches `c*`; aggregation switch `i` of every pod is joined to the cores `i·k/2 .. (i+1)·k/2`.
//!
//! Routes are D-mod-K, as those of most fat trees, unless the file says otherwise.
//!
//! With the usual `k/2` hosts per leaf there are `k²/2` and `k³/4` hosts; more hosts per leaf oversubscribe the leaves.

use super::{TierRates, attach, bad};
use crate::fabric::build::FabricBuilder;
use crate::fabric::error::BuildError;
use crate::fabric::model::Routing;

const KIND: &str = "fat-tree";

pub(super) fn build(
    b: &mut FabricBuilder,
    ports: u32,
    levels: u32,
    hosts_per_leaf: Option<u32>,
    rates: &TierRates,
) -> Result<(), BuildError> {
    if ports < 2 || ports % 2 != 0 || ports > 1 << 12 {
        return bad(KIND, "ports", ports, "an even number from 2 to 4096");
    }
    b.set_routing(Routing::DModK);
    let half = ports / 2;
    let per_leaf = hosts_per_leaf.unwrap_or(half);
    if per_leaf == 0 || per_leaf > 1 << 12 {
        return bad(KIND, "hosts_per_leaf", per_leaf, "1 to 4096");
    }
    let leaves_per_pod = match levels {
        2 => ports,
        3 => half,
        _ => return bad(KIND, "levels", levels, "2 or 3"),
    };
    let pods = if levels == 2 { 1 } else { ports };
    for leaf in 0..pods * leaves_per_pod {
        let name = format!("l{leaf}");
        b.switch(&name)?;
        attach(b, &name, leaf * per_leaf, per_leaf, rates.tier(0))?;
    }
    let middle = if levels == 2 { 's' } else { 'a' };
    for i in 0..pods * half {
        b.switch(&format!("{middle}{i}"))?;
    }
    for leaf in 0..pods * leaves_per_pod {
        for i in 0..half {
            let up = leaf / leaves_per_pod * half + i;
            b.link(&format!("l{leaf}"), &format!("{middle}{up}"), rates.tier(1))?;
        }
    }
    if levels == 2 {
        return Ok(());
    }
    for core in 0..half * half {
        b.switch(&format!("c{core}"))?;
    }
    for agg in 0..pods * half {
        for i in 0..half {
            let core = agg % half * half + i;
            b.link(&format!("a{agg}"), &format!("c{core}"), rates.tier(2))?;
        }
    }
    Ok(())
}
