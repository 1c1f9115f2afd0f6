//! How long the steps of halving and doubling take: what each does to the network is in `halving.rs`.

use super::Message;
use crate::pattern;
use crate::topology::Way;

/// Part of what the overlap of chunks could gain that is had; measured on trees, where it could be much.
const OVERLAP_HAD: f64 = 0.8;

/// Time of the bytes where chunks or lanes share links, against what the links need: partners change from step to step,
/// so two of them meet at a receiver that one has just begun to send to, and some packets are lost. Measured on all
/// emulated clusters with 1 MiB.
const MEETING: f64 = 1.2;

/// All steps of halving and doubling, or of one of the two.
#[derive(Clone, Debug, PartialEq)]
pub struct Steps {
    /// In order.
    pub steps: Vec<Step>,
    /// Lanes of all aggregators, which send at the same time.
    pub lanes: f64,
    /// Into how many pieces the first step cuts the vector ([`crate::pattern::Rails::cut`]).
    pub cut: u64,
    /// For 1, 2, 4 … chunks of a lane, as many as there can be: what the bytes take with one chunk working on links
    /// that another leaves idle, relative to step after step; at most 1.
    pub overlap: Vec<f64>,
}

/// Equal steps after one another.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// How many.
    pub times: f64,
    /// Nanoseconds that the busiest link needs per byte of the vector.
    pub per_byte: f64,
    /// Share of the vector that a node sends in every lane, at most.
    pub share: f64,
    /// Messages in which it sends that at least, on average: one for each run of positions.
    pub runs: f64,
    /// The longest way of a transfer; of several steps, in which data go around, the mean. Its links are left out.
    pub way: Way,
}

impl Steps {
    /// Predicted time for a vector of `bytes` in segments of `segment` bytes, nanoseconds.
    pub fn time(&self, message: Message, bytes: f64, segment: f64) -> f64 {
        // Of the last step: how much longer than its bytes a segment takes to be passed on, and the way of one.
        let (mut all, mut longer, mut arriving) = (0.0, 0.0, 0.0);
        let (chunks, overlap) = self.chunks(bytes);
        let shared = if self.lanes * chunks > 1.0 { MEETING } else { 1.0 };
        let bytes_take = shared * (1.0 - OVERLAP_HAD * (1.0 - overlap));
        for step in &self.steps {
            let chunk = bytes * step.share / chunks;
            let segment = segment.min(chunk.max(1.0));
            let messages = self.lanes * chunks * (chunk / segment).max(step.runs);
            let sending = together(bytes * step.per_byte * bytes_take, messages * message.gap);
            // The rate of one lane, when all are under way.
            let per_byte = if step.share > 0.0 { step.per_byte / step.share } else { 0.0 };
            arriving = step.way.transit(segment) + message.latency;
            let passing = segment * per_byte + arriving + message.gap;
            longer = (passing - sending).max(0.0);
            all += step.times * (sending + longer);
        }
        // Nothing waits for its segments.
        all - longer + arriving
    }

    /// Chunks of a call, and what they gain.
    fn chunks(&self, bytes: f64) -> (f64, f64) {
        let power = pattern::chunks(self.cut, bytes as u64).ilog2().min(self.overlap.len() as u32 - 1);
        (f64::from(1u32 << power), self.overlap[power as usize])
    }
}

/// Time of bytes and messages that overlap: neither their sum nor the longer of the two. The root of the sum of squares
/// comes within 20 % of what chains with segments from 512 bytes to 8 KiB take on the emulated clusters.
pub(crate) fn together(bytes: f64, messages: f64) -> f64 {
    (bytes * bytes + messages * messages).sqrt()
}
