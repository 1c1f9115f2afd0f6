//! What every counter of calls has, and names as numbers.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Calls and the time in them.
#[derive(Default)]
pub struct Calls {
    calls: AtomicU64,
    nanoseconds: AtomicU64,
}

impl Calls {
    /// Counts one.
    pub fn count(&self, nanoseconds: u64) {
        self.calls.fetch_add(1, Relaxed);
        self.nanoseconds.fetch_add(nanoseconds, Relaxed);
    }

    /// Calls and nanoseconds of each, one after another.
    pub fn numbers(several: &[Self]) -> impl Iterator<Item = u64> {
        several.iter().flat_map(|calls| [&calls.calls, &calls.nanoseconds].map(|value| value.load(Relaxed)))
    }
}

/// A name as numbers; what does not fit is cut off.
pub fn words<const N: usize>(name: &str) -> [u64; N] {
    let mut bytes = [[0; size_of::<u64>()]; N];
    bytes.as_flattened_mut().iter_mut().zip(name.bytes()).for_each(|(byte, letter)| *byte = letter);
    bytes.map(u64::from_ne_bytes)
}

/// The name that these numbers are.
pub fn name(words: &[u64]) -> String {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    String::from_utf8_lossy(&bytes).trim_end_matches('\0').to_owned()
}
