//! Tags of Nagare's messages: what tells them apart.
//!
//! ```text
//!   | how long, and of how long a stream | call | stream |      as many bits as the library's tags have, 15 at least
//!            0 to 12, a hash               8        12      where there are fewer than 22 bits, the stream alone
//! ```

use nagare_plan::schedule::TAGS;
use std::ffi::c_int;

/// Bits for the stream.
const STREAM: u32 = TAGS.ilog2();

/// Bits for the call. The number comes again after 256 calls; the transport tells messages of such calls apart.
const CALL: u32 = 8;

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
        match bits.checked_sub(STREAM + CALL) {
            Some(free @ 2..) => Self { call: CALL, length: free.min(LENGTH) },
            // Too few to tell for certain what a message is of.
            _ => Self { call: 0, length: 0 },
        }
    }

    /// The tag of a message of the call of that number. `lengths`: of the message and of its stream, bytes.
    pub fn of(self, stream: u32, call: u32, lengths: [u64; 2]) -> c_int {
        // Fibonacci hashing: neighbours and multiples get different numbers.
        let hash = lengths.iter().fold(0u64, |hash, bytes| (hash ^ bytes).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let length = hash.checked_shr(u64::BITS - self.length).unwrap_or(0) as u32;
        (self.start(stream, call) | (length << (STREAM + self.call))) as c_int
    }

    /// Whether a message of that tag is known to be of the same call and stream.
    pub fn is_of(self, tag: c_int, stream: u32, call: u32) -> bool {
        self.call > 0 && tag as u32 % (1 << (STREAM + self.call)) == self.start(stream, call)
    }

    /// The bits of stream and call.
    fn start(self, stream: u32, call: u32) -> u32 {
        (stream % TAGS) | ((call % (1 << self.call)) << STREAM)
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

    /// A hash of so few bits cannot tell all lengths apart, but those that programs mix up are not more alike than any
    /// others.
    #[test]
    fn lengths_that_programs_mix_up_differ() {
        for (bits, most) in [(28, 3), (31, 1)] {
            let tags = Tags::new(bits);
            let of = |message, stream| tags.of(7, 3, [message, stream]);
            let mut same = Vec::new();
            for bytes in [1u64, 4, 100, 1000, 4096, 4104, 8192, 65536] {
                for other in [bytes + 1, bytes + 4, bytes + 8, bytes * 2, bytes * 4, bytes * 8, 0] {
                    same.extend((of(bytes, 1 << 20) == of(other, 1 << 20)).then_some(("messages", bytes, other)));
                    same.extend((of(1024, bytes) == of(1024, other)).then_some(("streams", bytes, other)));
                    same.extend((of(bytes, bytes) == of(other, other)).then_some(("both", bytes, other)));
                }
            }
            assert!(same.len() <= most, "{bits} bits, of 168 pairs: {same:?}");
        }
    }

    #[test]
    fn a_stray_is_of_the_same_call_and_stream() {
        let tags = Tags::new(28);
        let tag = tags.of(5, 300, [999, 999]);
        assert!(tags.is_of(tag, 5, 300));
        assert!(!tags.is_of(tag, 5, 301));
        assert!(!tags.is_of(tag, 6, 300));
        assert!(!Tags::new(15).is_of(Tags::new(15).of(5, 300, [999, 999]), 5, 300), "not known");
    }
}
