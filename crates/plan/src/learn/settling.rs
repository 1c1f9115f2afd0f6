//! When a way is tried no further, and which one is settled on.

use super::{Trials, Way};

/// Measured calls at most before a way is settled on.
pub(super) const TRIALS: u32 = 12;

/// Rounds at most before a way is settled on.
const ROUNDS: u32 = 3;

/// Slower by this ratio than the fastest after so many rounds, a way is tried no further. The first sample of a way is
/// the least sure; of the library and the first of ours the first round takes two.
const DROPPED: [f64; ROUNDS as usize] = [1.4, 1.15, 1.1];

/// Where all ways left are slower than the fastest by at most this ratio after so many rounds, the trials end: more
/// samples at once would gain less than they cost, since ranks begin a measured call together, and lose what they did
/// while others were late. Not after the first round where a way's last sample was a bad one (`Samples::is_doubtful`).
const ALIKE: [f64; ROUNDS as usize] = [1.2, 1.05, 1.05];

/// The call at which all ways are looked at where trials have ended in the first round with more than one way left.
const NEXT_ROUND: u64 = 12;

/// A dropped way is looked at again only if it is slower than the settled one by at most this ratio.
pub(super) const STILL_CLOSE: f64 = DROPPED[ROUNDS as usize - 1];

/// Where a way of ours is slower than the library by this ratio in the first round, the others of ours are not tried
/// either until calls have earned the time for it: they were predicted to be much like it or slower.
const HOPELESS: f64 = 1.4;

/// The first measured call of a class may open connections, for all that come after it, and take twice its usual time:
/// where it was slower than the library by at most this ratio, its way has another sample.
const COLD: f64 = 2.0;

/// Where the library is slower by this ratio than one of ours in the first round, the trials end, after a sample of
/// each way that is predicted to take about as long: what else there is to find out waits for [`NEXT_ROUND`]. Programs
/// with fewer long calls are spared it, and an unlucky sample does little harm.
const CLEAR: f64 = 1.5;

/// In the trials of one class, calls of other ways after the first may together have taken longer than the library's by
/// so many of its calls; then those that are not known to be faster are tried no further.
pub(super) const EXCESS: f64 = 2.0;

/// Of what the first way, the MPI library, takes, another may take at most this to be preferred.
const PREFERRED: f64 = 0.97;

impl Trials {
    /// After the last measured call of a round, or of a look.
    pub(super) fn conclude(&mut self) {
        if self.settled.is_some() {
            match self.drifts {
                0 => self.settle(),
                // Once may be chance.
                1 => self.watch.at_once(self.calls),
                _ => self.try_anew(),
            }
            return;
        }
        let round = self.rounds.min(ROUNDS - 1) as usize;
        let least = self.tried().map(|way| self.time(way)).fold(f64::INFINITY, f64::min);
        for way in 0..self.ways.len() {
            self.ways[way].dropped |= self.time(way) > least * DROPPED[round];
        }
        self.rounds += 1;
        let left = self.tried().count() as u32;
        let is_doubtful = round == 0 && self.tried().any(|way| self.ways[way].samples.is_doubtful());
        let are_alike = !is_doubtful && self.tried().all(|way| self.time(way) <= least * ALIKE[round]);
        if left < 2 || are_alike || self.rounds == ROUNDS || self.measured + left > TRIALS {
            self.end_trials();
        }
    }

    /// Forgets what the ways took.
    pub(super) fn try_anew(&mut self) {
        let (calls, banked, sizes) = (self.calls, self.saved(), self.sizes.begun_anew());
        let anew = |way: &Way| Way { earlier: way.earlier + way.calls, ..Way::default() };
        let ways = self.ways.iter().map(anew).collect();
        let new = Self::new(self.ways.len()).with_alike(self.alike);
        let look = calls.saturating_add(new.look);
        *self = Self { ways, calls, began: calls, look, banked, sizes, ..new };
    }

    /// Settles on a way for the first time since all were tried anew.
    pub(super) fn end_trials(&mut self) {
        self.queue.clear();
        if self.rounds < 2 && self.tried().count() > 1 {
            self.look = self.began.saturating_add(NEXT_ROUND);
        }
        self.settle();
    }

    /// After a measured call before a way is settled on: what has cost too much, or is much like what has, is tried no
    /// further.
    pub(super) fn give_up_dear_ones(&mut self, way: usize, time: f64) {
        let library = self.time(0);
        if way != 0 && library.is_finite() {
            self.excess += (time / library - 1.0).max(0.0);
        }
        let is_hopeless = |way: usize| {
            let ratio = if self.is_cold(way) { COLD } else { HOPELESS };
            self.ways[way].samples.typical().is_some_and(|time| time > library * ratio)
        };
        if self.excess <= EXCESS && !(self.rounds == 0 && (1..self.ways.len()).any(is_hopeless)) {
            return;
        }
        let slow: Vec<usize> = self.queue.iter().copied().filter(|&way| way != 0 && self.time(way) > library).collect();
        slow.into_iter().for_each(|way| self.ways[way].dropped = true);
        let ways = &self.ways;
        self.queue.retain(|&way| !ways[way].dropped);
    }

    /// Whether all that is known of a way is how long the first measured call took.
    fn is_cold(&self, way: usize) -> bool {
        way == 1 && self.rounds == 0 && self.ways[way].samples.count() == 1
    }

    /// Whether the first round has shown that the library is far slower.
    pub(super) fn is_clear(&self) -> bool {
        let ours = (1..self.ways.len()).map(|way| self.time(way)).fold(f64::INFINITY, f64::min);
        self.rounds == 0 && self.ways[0].samples.count() > 0 && self.time(0) >= ours * CLEAR
    }

    /// The ways that are predicted to take about as long as the first of ours, and have no sample.
    pub(super) fn alike_unknown(&self) -> Vec<usize> {
        let alike = (2..self.ways.len()).take(self.alike);
        alike.filter(|&way| !self.ways[way].dropped && self.ways[way].samples.count() == 0).collect()
    }

    /// Settles on the fastest way, on the library's where none of ours is clearly faster.
    fn settle(&mut self) {
        let others = (1..self.ways.len()).filter(|&way| self.ways[way].samples.count() > 0);
        let best = others.min_by(|&a, &b| self.time(a).total_cmp(&self.time(b)));
        let preferred = best.filter(|&way| self.time(way) <= self.time(0) * PREFERRED);
        let settled = preferred.unwrap_or(0);
        self.reference = self.time(settled);
        let is_doubtful = self.ways[settled].samples.is_doubtful();
        self.watch.settled(self.calls, self.reference, is_doubtful);
        self.settled = Some(settled);
    }
}
