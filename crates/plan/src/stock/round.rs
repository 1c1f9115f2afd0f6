//! Messages at the same time.

/// A message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transfer {
    /// Sender.
    pub from: u32,
    /// Receiver.
    pub to: u32,
    /// Of the vector.
    pub share: f64,
}

/// Transfers at the same time, `times` after one another; where several rounds have more than one, these take turns.
#[derive(Clone, Debug, PartialEq)]
pub struct Round {
    /// How often.
    pub times: u32,
    /// All of them.
    pub transfers: Vec<Transfer>,
}

impl Transfer {
    /// The same in the other direction.
    pub fn turn(&mut self) {
        (self.from, self.to) = (self.to, self.from);
    }
}

impl Round {
    /// Of equal transfers between `pairs`.
    pub fn of(times: u32, share: f64, pairs: Vec<(u32, u32)>) -> Self {
        Self { times, transfers: pairs.into_iter().map(|(from, to)| Transfer { from, to, share }).collect() }
    }
}
