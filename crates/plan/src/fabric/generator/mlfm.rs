//! The multi-layer full mesh (docs/provenance.md): `p/2` layers of `p/2 + 1` leaves, and one spine between every two
//! leaf positions, shared by the layers.
//!
//! ```text
//! p = 6      spines   A = ab   B = ac   C = ad   D = bc   E = bd   F = cd
//! layer 1:   a1 -> A B C    b1 -> A D E    c1 -> B D F    d1 -> C E F
//! layers 2 and 3 likewise; every leaf has three hosts: n0..n2 on a1, n3..n5 on a2, n6..n8 on a3, n9..n11 on b1, ...
//! ```
//! `p²(p+2)/8` hosts, `3p(p+2)/8` switches.

use super::{TierRates, attach, bad};
use crate::fabric::build::FabricBuilder;
use crate::fabric::error::BuildError;

pub(super) fn build(b: &mut FabricBuilder, ports: u32, rates: &TierRates) -> Result<(), BuildError> {
    if ports < 6 || ports % 2 != 0 || ports > 200 {
        return bad("mlfm", "ports", ports, "an even number from 6 to 200");
    }
    let half = ports / 2;
    let positions = half + 1;
    let spine = |p: u32, q: u32| {
        let (low, high) = (p.min(q), p.max(q));
        let before = low * (2 * positions - low - 1) / 2; // pairs whose smaller position is below `low`
        letters(SPINES, before + high - low - 1)
    };
    for pair in 0..positions * half / 2 {
        b.switch(&letters(SPINES, pair))?;
    }
    for p in 0..positions {
        for layer in 0..half {
            let leaf = format!("{}{}", letters(POSITIONS, p), layer + 1);
            b.switch(&leaf)?;
            attach(b, &leaf, (p * half + layer) * half, half, rates.tier(0))?;
            for q in (0..positions).filter(|&q| q != p) {
                b.link(&leaf, &spine(p, q), rates.tier(1))?;
            }
        }
    }
    Ok(())
}

/// Leaf positions are never called `n`: `n1` is a host.
const POSITIONS: &[u8] = b"abcdefghijklmopqrstuvwxyz";
const SPINES: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ";

/// `a` to `z`, then `aa`, `ab`, ... as columns of a spreadsheet.
fn letters(alphabet: &[u8], mut i: u32) -> String {
    let base = alphabet.len() as u32;
    let mut text = Vec::new();
    loop {
        text.push(char::from(alphabet[(i % base) as usize]));
        match i / base {
            0 => break,
            more => i = more - 1,
        }
    }
    text.iter().rev().collect()
}
