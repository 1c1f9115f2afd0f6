//! Tags of our messages: what tells them apart.
//!
//! ```text
//!   | how long, and of how long a stream | call | stream |      as many bits as the library's tags have, 15 at least
//!          2 to 12, a hash              1 to 6     12
//! ```

use nagare_plan::schedule::TAGS;
use std::ffi::c_int;

/// Bits for the stream.
const STREAM: u32 = TAGS.ilog2();

/// Bits for the call, at most: a rank is never more than a few calls ahead of another.
const CALL: u32 = 6;

/// Bits for the length, at most.
const LENGTH: u32 = 12;

/// How tags are made, the same on all ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tags {
    call: u32,
    length: u32,
}

impl Tags {
    /// For tags of that many bits.
    pub fn new(bits: u32) -> Self {
        let free = bits.saturating_sub(STREAM);
        let call = (free / 2).min(CALL);
        Self { call, length: (free - call).min(LENGTH) }
    }

    /// The tag of a message of the call of that number. `lengths`: of the message and of its stream, bytes.
    pub fn of(self, stream: u32, call: u32, lengths: [u64; 2]) -> c_int {
        // Fibonacci hashing: neighbours and multiples get different numbers.
        let hash = lengths.iter().fold(0u64, |hash, bytes| (hash ^ bytes).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let length = hash.checked_shr(u64::BITS - self.length).unwrap_or(0) as u32;
        (stream % TAGS | self.call(call) << STREAM | length << (STREAM + self.call)) as c_int
    }

    /// Whether a message of that tag is of the same call and stream.
    pub fn is_of(self, tag: c_int, stream: u32, call: u32) -> bool {
        tag as u32 % (1 << (STREAM + self.call)) == stream % TAGS | self.call(call) << STREAM
    }

    fn call(self, number: u32) -> u32 {
        number % (1 << self.call)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_tag_fits_and_streams_and_calls_never_share_one() {
        for bits in [15, 20, 28, 31] {
            let tags = Tags::new(bits);
            let mut seen = HashSet::new();
            for tag in 0..TAGS {
                for call in 0..1 << tags.call {
                    let tag = tags.of(tag, call, [4096, 8192]);
                    assert!(u64::try_from(tag).is_ok_and(|tag| tag < 1 << bits), "{bits} bits: {tag}");
                    assert!(seen.insert(tag), "{bits} bits: {tag} twice");
                }
            }
        }
    }

    #[test]
    fn lengths_that_programs_mix_up_differ() {
        for bits in [28, 31] {
            let tags = Tags::new(bits);
            let of = |message, stream| tags.of(7, 3, [message, stream]);
            for bytes in [1u64, 4, 100, 1000, 4096, 4104, 8192, 65536] {
                let others = [bytes + 1, bytes + 4, bytes + 8, bytes * 2, bytes * 4, bytes * 8, bytes / 2, 0];
                for other in others.into_iter().filter(|&other| other != bytes) {
                    assert_ne!(
                        of(bytes, 1 << 20),
                        of(other, 1 << 20),
                        "{bits} bits: messages of {bytes} and {other} bytes"
                    );
                    assert_ne!(of(1024, bytes), of(1024, other), "{bits} bits: streams of {bytes} and {other} bytes");
                    assert_ne!(of(bytes, bytes), of(other, other), "{bits} bits: {bytes} and {other} bytes");
                }
            }
        }
    }

    #[test]
    fn a_stray_is_of_the_same_call_and_stream() {
        let tags = Tags::new(28);
        let tag = tags.of(5, 70, [999, 999]);
        assert!(tags.is_of(tag, 5, 70));
        assert!(!tags.is_of(tag, 5, 71));
        assert!(!tags.is_of(tag, 6, 70));
    }
}
