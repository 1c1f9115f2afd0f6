//! A star: all hosts on one switch.

use super::{TierRates, attach, bad};
use crate::fabric::build::{FabricBuilder, MAX_NODES};
use crate::fabric::error::BuildError;

pub(super) fn build(b: &mut FabricBuilder, hosts: u32, rates: &TierRates) -> Result<(), BuildError> {
    if hosts == 0 {
        return bad("star", "hosts", hosts, "at least 1");
    }
    if hosts as usize >= MAX_NODES {
        return Err(BuildError::TooLarge { what: "hosts and switches", limit: MAX_NODES });
    }
    b.switch("s0")?;
    attach(b, "s0", 0, hosts, rates.tier(0))
}
