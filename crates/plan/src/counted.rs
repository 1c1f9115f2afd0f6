//! Numbers of things in texts.

use std::fmt::Display;

/// The number with its noun: `1 round`, `2 rounds`, `1 switch`, `0 switches`, `2 processes`.
pub fn counted<N: Display + PartialEq + From<u8>>(number: N, noun: &str) -> String {
    let ending = if number == N::from(1) {
        ""
    } else if noun.ends_with("ch") || noun.ends_with('s') {
        "es"
    } else {
        "s"
    };
    format!("{number} {noun}{ending}")
}

#[cfg(test)]
mod tests {
    use super::counted;

    #[test]
    fn one_is_singular() {
        assert_eq!(
            [counted(0u32, "rank"), counted(1usize, "rank"), counted(2u64, "rank")],
            ["0 ranks", "1 rank", "2 ranks"]
        );
        assert_eq!([counted(1u32, "switch"), counted(3u32, "switch")], ["1 switch", "3 switches"]);
        assert_eq!([counted(1u32, "process"), counted(0u32, "process")], ["1 process", "0 processes"]);
    }
}
