//! Keeps the ranks of an exchange in step, as the executor does: a send starts when at most so many bytes are to be
//! received by hops before it in the list.

/// What one rank's sends wait for.
pub(super) struct InStep {
    /// Bytes that may be missing.
    behind: u64,
    /// Per plan: hops from the start of the list on that are in step, and the bytes to be received among them.
    reached: Vec<(u32, u64)>,
}

/// A hop as it counts here.
pub(super) enum Kind {
    /// Data to be sent.
    Send,
    /// So many bytes to be received, 0 if they have been.
    Receive(u64),
    /// Tokens and copies.
    Other,
}

impl InStep {
    pub fn new(behind: u64, plans: usize) -> Self {
        Self { behind, reached: vec![(0, 0); plans] }
    }

    /// Hop number `hop` of a plan has received its bytes.
    pub fn received(&mut self, plan: usize, hop: u32, bytes: u64) {
        let (reached, missing) = &mut self.reached[plan];
        if hop < *reached {
            *missing -= bytes;
        }
    }

    /// The sends of a plan of `count` hops that have come into step, by their number.
    pub fn release(&mut self, plan: usize, count: u32, kind: impl Fn(u32) -> Kind) -> Vec<u32> {
        let (reached, missing) = &mut self.reached[plan];
        let mut sends = Vec::new();
        while *missing <= self.behind && *reached < count {
            match kind(*reached) {
                Kind::Send => sends.push(*reached),
                Kind::Receive(bytes) => *missing += bytes,
                Kind::Other => {}
            }
            *reached += 1;
        }
        sends
    }
}
