//! What algorithms, ours and the MPI library's, are predicted to take on the network of the communicator.

use super::Planner;
use crate::algorithm::{ALGORITHMS, Algorithm, Candidacy};
use crate::collective::Collective;
use crate::cost::{self, Ahead, Demand, Message, Prediction, SEGMENT, Segments};

/// What streams may go ahead of one another by in a Reduce and in a Bcast. Measured: docs/decisions/0010.
const SEGMENTS_AHEAD_IN_REDUCE: u64 = 8;
const BYTES_AHEAD_IN_BCAST: u64 = 64 << 10;
const SEGMENTS_AHEAD_IN_BCAST: u64 = 4;

impl Planner {
    /// What `algorithm` asks of this network, `None` where that cannot be said. Computed once: without a fabric in
    /// O(nodes · log nodes), for `two_tree` in O(ranks · log ranks), for exchanges in O(ranks²) for at most
    /// [`cost::MOST_RANKS`]; with one in O(links) more for every set of switches that nodes are on. The root is taken
    /// to be rank 0, whichever it is: it hardly matters, and programs change it from call to call.
    pub fn demand(&self, collective: Collective, algorithm: Algorithm) -> Option<&Demand> {
        let demand = &self.demands[collective as usize * ALGORITHMS.len() + algorithm as usize];
        let cost = || (algorithm.spec().cost)(self.context_of(algorithm), collective);
        let known = algorithm.implements(collective).then(|| demand.get_or_init(cost));
        known?.as_ref()
    }

    /// What each algorithm asks of this network for `collective`, where that can be said.
    pub fn demands(&self, collective: Collective) -> Vec<(Algorithm, &Demand)> {
        let all = ALGORITHMS.iter().map(|spec| spec.algorithm);
        all.filter_map(|a| self.demand(collective, a).map(|demand| (a, demand))).collect()
    }

    /// What a message costs here beyond its bytes, at least.
    pub fn message(&self) -> Message {
        Message::of(self.topology())
    }

    /// The predicted time and segment of one algorithm, `None` where it cannot be said. Segments are chosen
    /// by time of what is a default by time; others have those that fit the network's queues, or [`SEGMENT`].
    pub fn predicted(
        &self,
        collective: Collective,
        algorithm: Algorithm,
        bytes: u64,
        segments: Segments,
    ) -> Option<Prediction> {
        let question = (collective, algorithm, bytes, segments);
        self.predictions.answer(question, || self.predict(collective, algorithm, bytes, segments))
    }

    /// The same without a look at what was predicted before.
    pub(super) fn predict(
        &self,
        collective: Collective,
        algorithm: Algorithm,
        bytes: u64,
        segments: Segments,
    ) -> Option<Prediction> {
        let demand = self.demand(collective, algorithm)?;
        let message = (self.message(), self.topology().message_range());
        let is_default = algorithm.spec().candidacy == Candidacy::Default;
        let fixed = || self.exchange_pacing(algorithm, bytes).map_or(SEGMENT, |pacing| pacing.segment);
        let under_way = self.usual.bounding_queue().and_then(|queue| demand.incast.share_of(queue, self.message()));
        let segments = match (segments, under_way) {
            (Segments::AtMost(most), _) if !is_default => Segments::Exactly(fixed().min(most)),
            // Two of them are always under way.
            (Segments::AtMost(most), Some(bytes)) => Segments::AtMost(most.min(bytes / 2)),
            _ => segments,
        };
        let prediction = cost::predict(demand, message, self.vector(collective, bytes), segments);
        let ahead = under_way.filter(|_| algorithm.branches()).and_then(|_| self.ahead(collective, demand));
        Some(Prediction { under_way, ahead, ..prediction })
    }

    /// How far a stream of a tree or circulant graph may go ahead of others that it meets in a queue
    /// (docs/decisions/0010). An Allreduce sends the segments of both, which shorter windows delay.
    fn ahead(&self, collective: Collective, demand: &Demand) -> Option<Ahead> {
        let incast = &demand.incast;
        match collective {
            // A leaf has all of its vector at once.
            Collective::Reduce => {
                let bytes = incast.least_carried(self.message())?;
                Some(Ahead { bytes, segments: SEGMENTS_AHEAD_IN_REDUCE })
            }
            // Before fast links processors are the limit, and confirmations cost them time.
            Collective::Bcast if !self.usual.is_fast() => {
                let bytes = incast.share_of_fewest(BYTES_AHEAD_IN_BCAST, self.message())?;
                Some(Ahead { bytes, segments: SEGMENTS_AHEAD_IN_BCAST })
            }
            _ => None,
        }
    }

    /// Nanoseconds that an exchange of `bytes` takes at least, whatever carries it out (see [`cost::least_time`]).
    pub fn least_time(&self, collective: Collective, bytes: u64) -> Option<f64> {
        cost::least_time(self.topology(), self.usual.grouped(), collective, bytes)
    }

    /// Nanoseconds that the MPI library's own algorithms are predicted to take for a call of `bytes`; `None` where it
    /// is not known what the library does, or where that would take too long to predict.
    pub fn stock_time(&self, collective: Collective, bytes: u64) -> Option<f64> {
        let time = || self.stock.as_ref()?.time(&self.usual, self.message(), collective, bytes);
        self.stock_times.answer((collective, bytes), time)
    }

    /// Nanoseconds that the library's own Allreduce of three integers takes at least, by which ranks ask each other: by
    /// the latencies of links alone, as if messages cost nothing.
    pub fn least_asking(&self) -> Option<f64> {
        self.stock_time_where(Collective::Allreduce, 12, 0.0)
    }

    /// [`Self::stock_time`] where a message costs `times` as much.
    pub(super) fn stock_time_where(&self, collective: Collective, bytes: u64, times: f64) -> Option<f64> {
        self.stock.as_ref()?.time(&self.usual, self.message().times(times), collective, bytes)
    }
}
