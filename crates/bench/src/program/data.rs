//! What data of a collective are: numbers, and a call whose result can be verified.

use mpi::datatype::Equivalence;
use mpi::topology::SimpleCommunicator;
use std::fmt;

/// What elements are: of [`nagare_bench::counts::ELEMENT`] bytes, and sums of small integers are exact.
pub trait Number: Equivalence + Copy + PartialEq + fmt::Display {
    /// That number.
    fn of(integer: i32) -> Self;
}

impl Number for i32 {
    fn of(integer: i32) -> Self {
        integer
    }
}

impl Number for f32 {
    fn of(integer: i32) -> Self {
        integer as Self
    }
}

/// Element `i` of what `from` has for `to`: different for every pair, and small enough for exact sums over all ranks.
pub fn value(from: i32, to: i32, i: usize) -> i32 {
    from * 31 + to * 7 + (i % 1000) as i32
}

/// The data of one rank for one collective and size.
pub trait Data {
    /// Fills the buffers for a call, so that a result from before cannot pass for this one's. Of calls back to back the
    /// last is verified, and the first one's result would do.
    fn prepare(&mut self);

    /// The call, on all ranks of `comm`, numbered as in the world.
    fn call(&mut self, comm: &SimpleCommunicator);

    /// Compares every element.
    ///
    /// # Errors
    /// The first that is wrong.
    fn verify(&self) -> Result<(), String>;
}
