//! Ranks in words.

use nagare_plan::schedule::Rank;

/// What a list names at most: somebody reads it.
pub const MOST: usize = 10;

/// A number of things, in words.
pub fn counted(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

/// `ranks 0-3, 7`.
pub fn ranges(ranks: &[Rank]) -> String {
    let mut ranks = ranks.to_vec();
    ranks.sort_unstable();
    let mut parts: Vec<(Rank, Rank)> = Vec::new();
    for &rank in &ranks {
        match parts.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(rank) => *last = rank,
            _ => parts.push((rank, rank)),
        }
    }
    let shown = parts.iter().take(MOST).map(|&(first, last)| match last - first {
        0 => first.to_string(),
        _ => format!("{first}-{last}"),
    });
    let more = if parts.len() > MOST { ", …" } else { "" };
    let word = if ranks.len() == 1 { "rank" } else { "ranks" };
    if ranks.is_empty() {
        "no rank".to_owned()
    } else {
        format!("{word} {}{more}", shown.collect::<Vec<_>>().join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_listed_as_ranges() {
        assert_eq!(ranges(&[]), "no rank");
        assert_eq!(ranges(&[4]), "rank 4");
        assert_eq!(ranges(&[Rank::MAX, Rank::MAX]), "ranks 4294967295, 4294967295", "whatever was sent");
        assert_eq!(ranges(&[9, 1, 2, 3, 7]), "ranks 1-3, 7, 9");
        assert_eq!(ranges(&(0..40).map(|i| 2 * i).collect::<Vec<_>>()), "ranks 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, …");
    }
}
