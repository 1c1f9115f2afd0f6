//! The in-order binary tree over positions 1..=m: left subtree < node < right subtree.
//!
//! ```text
//!         4
//!       /   \        height of x = number of trailing zero bits; a right subtree that would lie beyond m
//!      2     6       is replaced by the largest one that fits (m = 6: 6 has only the child 5)
//!     / \   / \
//!    1   3 5   7
//! ```
//! Source: Sanders, Speck, Träff 2009 (docs/provenance.md).

/// Root of the tree over 1..=m: the largest power of two not above m. `m` must not be 0.
pub fn root(m: u32) -> u32 {
    1 << m.ilog2()
}

/// Parent of `x` in the tree over 1..=m, `None` for the root.
pub fn parent(m: u32, x: u32) -> Option<u32> {
    if x == root(m) {
        return None;
    }
    let mut height = x.trailing_zeros();
    let mut up = x;
    loop {
        // The next ancestor in the unbounded tree: clear the lowest set bit, set the one above.
        up = (up & !(1 << height)) | (1 << (height + 1));
        height += 1;
        if up <= m {
            return Some(up);
        }
    }
}

/// Left and right child of `x` in the tree over 1..=m.
pub fn children(m: u32, x: u32) -> [Option<u32>; 2] {
    let height = x.trailing_zeros();
    let left = (height > 0).then(|| x - (1 << (height - 1)));
    let right = (0..height).rev().map(|h| x + (1 << h)).find(|&r| r <= m);
    [left, right]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_order(m: u32, x: u32, out: &mut Vec<u32>) {
        let [left, right] = children(m, x);
        if let Some(l) = left {
            in_order(m, l, out);
        }
        out.push(x);
        if let Some(r) = right {
            in_order(m, r, out);
        }
    }

    #[test]
    fn walking_in_order_counts_up_and_parents_match_children() {
        for m in 1..=600 {
            let mut seen = Vec::new();
            in_order(m, root(m), &mut seen);
            assert_eq!(seen, (1..=m).collect::<Vec<_>>());
            for x in 1..=m {
                for child in children(m, x).into_iter().flatten() {
                    assert_eq!(parent(m, child), Some(x), "m {m} child {child}");
                }
            }
            assert_eq!(parent(m, root(m)), None);
        }
    }
}
