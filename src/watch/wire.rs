//! What the watches of ranks send each other: datagrams of JSON behind a seal, which only the ranks of the world can
//! make.
//!
//! ```text
//!   8 bytes: SipHash-2-4 of the rest with the world's key     JSON: from, to, number, what it says
//! ```
//!
//! Source: Aumasson and Bernstein, SipHash: a fast short-input PRF (2012), section 1: a message authentication code.

use nagare_plan::schedule::Rank;
use nagare_watch::Answer;
use serde::{Deserialize, Serialize};
use siphasher::sip::SipHasher24;

/// Bytes of the longest datagram.
pub const LONGEST: usize = 60_000;

/// Bytes of the seal.
const SEAL: usize = 8;

/// What only the ranks of the world know, and whoever may read their memory.
#[derive(Clone, Copy)]
pub struct Key(pub [u64; 2]);

/// A datagram.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Datagram {
    pub from: Rank,
    pub to: Rank,
    /// Of the question, also in its answers: an old answer is none.
    pub number: u64,
    pub says: Says,
}

/// Questions and answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Says {
    /// What are you in, and how far have you come on this communicator?
    Ask(Option<u64>),
    /// This.
    Answer(Answer),
}

impl Key {
    fn seal(self, text: &[u8]) -> [u8; SEAL] {
        SipHasher24::new_with_keys(self.0[0], self.0[1]).hash(text).to_le_bytes()
    }

    /// The bytes of a datagram; `None` if it is too long.
    pub fn seals(self, datagram: &Datagram) -> Option<Vec<u8>> {
        let text = serde_json::to_vec(datagram).ok().filter(|text| text.len() + SEAL <= LONGEST)?;
        Some([&self.seal(&text)[..], &text].concat())
    }

    /// What a rank of the world has sent; `None` of anybody else's.
    pub fn opens(self, bytes: &[u8]) -> Option<Datagram> {
        let (seal, text) = bytes.split_first_chunk::<SEAL>()?;
        // Whoever measures how long the comparison takes has one guess in each datagram all the same.
        (*seal == self.seal(text)).then(|| serde_json::from_slice(text).ok())?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first vectors of the paper's authors: key 0, 1, …, 15; texts "", "0", "0 1", ….
    #[test]
    fn the_seal_is_siphash() {
        let key = Key([0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908]);
        let vectors = [0x726f_db47_dd0e_0e31_u64, 0x74f8_39c5_93dc_67fd, 0x0d6c_8009_d9a9_4f5a];
        for (length, expected) in vectors.into_iter().enumerate() {
            let text: Vec<u8> = (0..length as u8).collect();
            assert_eq!(u64::from_le_bytes(key.seal(&text)), expected, "{length} bytes");
        }
    }

    #[test]
    fn only_ranks_of_the_world_are_heard() {
        let (key, other) = (Key([1, 2]), Key([1, 3]));
        let datagram = Datagram { from: 3, to: 4, number: 17, says: Says::Ask(Some(7)) };
        let bytes = key.seals(&datagram).expect("short");
        assert_eq!(key.opens(&bytes), Some(datagram));
        assert_eq!(other.opens(&bytes), None);
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert_eq!(key.opens(&changed), None, "byte {at}");
        }
        (0..bytes.len()).for_each(|length| assert_eq!(key.opens(&bytes[..length]), None, "{length} bytes"));
    }
}
