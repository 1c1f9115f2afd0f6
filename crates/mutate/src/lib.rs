//! Texts that are almost right, for the tests of parsers, and what must hold whatever a parser is given: no panic (the
//! test would fail), no more memory than [`MOST_BYTES`], no case that never ends, and of every error that it is one
//! clear line.
//!
//! ```text
//!   texts that are right ──► Edits ──► text ──► checked(parser) ──► use of what was understood, or assert_clear
//! ```
//!
//! * [`texts`], [`bytes`]: strategies; [`apply`] mutates one text, [`Edit`] by `Edit`.
//! * [`assert_clear`]: of errors. [`checked`]: runs one case within limits of memory and time.
//! * [`cases`]: how many.

mod alloc;
mod edit;
mod watch;

pub use alloc::Counting;
pub use edit::{Edit, apply, edits};

use proptest::collection::vec;
use proptest::prelude::*;
use std::fmt::Debug;

/// Most memory that reading any text of a test may need at the same time: a network of the largest size that is allowed
/// fits.
pub const MOST_BYTES: usize = 2 << 30;

/// Longest error line, in characters: what is quoted of the text is cut off.
pub const LONGEST_LINE: usize = 1000;

/// The variable that makes properties longer: how many times as many cases.
pub const TIMES: &str = "MUTATE_TIMES";

/// The configuration of a property over `usual` cases, or [`TIMES`] as many.
pub fn cases(usual: u32) -> ProptestConfig {
    let times = std::env::var(TIMES).ok().and_then(|text| text.parse::<u32>().ok()).unwrap_or(1);
    let cases = usual.saturating_mul(times.max(1));
    // What has failed is kept as a named test, beside the property.
    ProptestConfig { cases, failure_persistence: None, max_shrink_iters: 4096, ..ProptestConfig::default() }
}

/// Mostly `valid` texts with a few edits, which may put in one of `words`; else any text at all.
pub fn texts(valid: &'static [&'static str], words: &'static [&'static str]) -> BoxedStrategy<String> {
    let mutated = (proptest::sample::select(valid), edits()).prop_map(move |(text, edits)| apply(text, &edits, words));
    let any_text = vec(any::<char>(), 0..120).prop_map(|letters| letters.into_iter().collect());
    let any_bytes = vec(any::<u8>(), 0..120).prop_map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    prop_oneof![12 => mutated, 1 => any_text, 1 => any_bytes].boxed()
}

/// The same as bytes, some of which are no UTF-8.
pub fn bytes(valid: &'static [&'static str], words: &'static [&'static str]) -> BoxedStrategy<Vec<u8>> {
    let broken = (texts(valid, words), any::<prop::sample::Index>(), any::<u8>()).prop_map(|(text, at, byte)| {
        let mut bytes = text.into_bytes();
        let at = at.index(bytes.len() + 1);
        bytes.insert(at, byte);
        bytes
    });
    prop_oneof![3 => texts(valid, words).prop_map(String::into_bytes), 1 => broken].boxed()
}

/// Asserts that an error is one line that says something, also on a terminal: no control characters, not endless.
#[track_caller]
pub fn assert_clear(message: &str) {
    assert!(!message.trim().is_empty(), "an empty error");
    assert!(!message.chars().any(char::is_control), "an error with control characters: {message:?}");
    let length = message.chars().count();
    assert!(length <= LONGEST_LINE, "an error of {length} characters: {message:?}");
}

/// Asserts that an error is clear and says what was expected.
#[track_caller]
pub fn assert_helpful(message: &str) {
    assert_clear(message);
    assert!(message.contains("expected"), "an error that does not say what was expected: {message:?}");
}

/// Runs `case` on `input`, and ends the test with the input where it takes more memory than [`MOST_BYTES`] or a minute.
///
/// Memory is counted only where the test has [`Counting`] as its allocator.
#[track_caller]
pub fn checked<I: Debug + ?Sized, R>(input: &I, case: impl FnOnce(&I) -> R) -> R {
    let _watched = watch::start(format!("{input:?}"));
    let (result, peak) = alloc::peak_of(|| case(input));
    assert!(peak <= MOST_BYTES, "{peak} bytes of memory for {input:?}");
    result
}
