//! What the executor asks of the library that moves the data.

use crate::schedule::{Parts, Rank};

/// A buffer of the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Region {
    /// This rank's contribution: never written.
    Input,
    /// The result buffer.
    Output,
    /// Scratch segment of that number; units count from its start.
    Scratch(u32),
    /// The staging space.
    Stage,
}

/// A run of units in a buffer.
///
/// A unit is what the transport cannot split: an element in a reduction, a byte elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Buffer.
    pub region: Region,
    /// First unit.
    pub start: u64,
    /// Number of units; 0 for a token.
    pub units: u64,
}

/// Hops whose segments start by turns, at most: those of two trees to two children each; of an exchange,
/// `pattern::ABREAST`.
pub const TURNS: usize = 4;

/// The hops of the operations that a [`Transport::poll`] found complete, and how many of each.
pub type Completed = Vec<(u32, u32)>;

/// Which of several segments must not complete before their receivers have started the matching receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Synchronous {
    /// None.
    None,
    /// The last.
    Last,
    /// Every one.
    All,
}

/// What a message and its receive must have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Label {
    /// Of the stream, see [`crate::schedule::Hop::tag`].
    pub tag: u32,
    /// Units of the whole stream: a rank that expects more of them, or fewer, must not take this segment.
    pub stream: u64,
    /// Units of its segments, but for the last, which may be shorter.
    pub segment: u64,
}

/// Point-to-point messages, local combination, and the layout of the call's buffers.
///
/// Messages between the same two ranks with the same label must be matched in the order in which they were sent.
pub trait Transport {
    /// What can go wrong.
    type Error;

    /// Units of `parts`, as `(first unit, one past the last)` in the space's own buffer. All ranks agree on the length.
    fn units(&self, parts: Parts, of: u32) -> (u64, u64);

    /// Provides `slots` scratch segments of `units` units each, and a staging space of `staged` units; called at most
    /// once, before the first message.
    ///
    /// # Errors
    /// When memory runs out; nothing has been sent then.
    fn reserve(&mut self, slots: u32, units: u64, staged: u64) -> Result<(), Self::Error>;

    /// Says whom the messages of a hop are sent to or received from, and what is common to them; called once for each
    /// hop, before its first message.
    fn open(&mut self, hop: u32, peer: Rank, label: Label);

    /// Starts the sends of the next segments of `hop`, one or more, which lie one after another: a message for each.
    ///
    /// # Errors
    /// Of the library underneath.
    fn send(&mut self, hop: u32, from: Place, synchronous: Synchronous) -> Result<(), Self::Error>;

    /// Starts the sends of the next segments of up to [`TURNS`] hops by turns: of each hop one, in that order, so many
    /// rounds. `first`: of each hop where the first of them is; the others lie behind it, as long as it is. None of
    /// them is synchronous, or all are.
    ///
    /// # Errors
    /// Of the library underneath.
    fn send_rounds(
        &mut self,
        first: &[(u32, Place)],
        rounds: u64,
        synchronous: Synchronous,
    ) -> Result<(), Self::Error> {
        for round in 0..rounds {
            for &(hop, place) in first {
                let start = place.start.wrapping_add(round * place.units);
                self.send(hop, Place { start, ..place }, synchronous)?;
            }
        }
        Ok(())
    }

    /// Starts the receives of the next segments of `hop`, one or more, which come to lie one after another.
    ///
    /// # Errors
    /// Of the library underneath.
    fn recv(&mut self, hop: u32, into: Place) -> Result<(), Self::Error>;

    /// `into = from ∘ into`, unit by unit, with the operation of the call.
    ///
    /// # Errors
    /// Of the library underneath.
    fn reduce(&mut self, from: Place, into: Place) -> Result<(), Self::Error>;

    /// `into = from`.
    ///
    /// # Errors
    /// Of the library underneath.
    fn copy(&mut self, from: Place, into: Place) -> Result<(), Self::Error>;

    /// Adds finished operations to `completed`, those of one hop in the order in which they were started. With `wait`,
    /// returns only when there is at least one.
    ///
    /// # Errors
    /// Of the library underneath; and when asked to wait while nothing is under way, which only an inconsistent plan
    /// does.
    fn poll(&mut self, wait: bool, completed: &mut Completed) -> Result<(), Self::Error>;
}
