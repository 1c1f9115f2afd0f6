//! What algorithms, ours and the MPI library's, are predicted to take on the network of the communicator.

use super::Planner;
use crate::algorithm::{ALGORITHMS, Algorithm};
use crate::collective::Collective;
use crate::cost::{self, Demand, Message, Prediction, Segments};

impl Planner {
    /// What `algorithm` asks of this network, `None` if it is no candidate for `collective`. Computed once: without a
    /// fabric in O(nodes · log nodes), for `two_tree` in O(ranks · log ranks); with one in O(links) more for every set
    /// of switches that nodes are on. The root is taken to be rank 0, whichever it is: it hardly matters, and programs
    /// change it from call to call.
    pub fn demand(&self, collective: Collective, algorithm: Algorithm) -> Option<&Demand> {
        let cost = algorithm.spec().cost.filter(|_| algorithm.implements(collective))?;
        let demand = &self.demands[collective as usize * ALGORITHMS.len() + algorithm as usize];
        demand.get_or_init(|| cost(self.context(), collective)).as_ref()
    }

    /// What each candidate for `collective` asks of this network.
    pub fn demands(&self, collective: Collective) -> Vec<(Algorithm, &Demand)> {
        let candidates = ALGORITHMS.iter().map(|spec| spec.algorithm);
        candidates.filter_map(|a| self.demand(collective, a).map(|demand| (a, demand))).collect()
    }

    /// What a message costs here beyond its bytes, at least.
    pub fn message(&self) -> Message {
        Message::of(self.topology())
    }

    /// The predicted time and segment of one algorithm, `None` if it is no candidate.
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
        Some(cost::predict(demand, message, self.vector(collective, bytes), segments))
    }

    /// Nanoseconds that an exchange of `bytes` takes at least, whatever carries it out (see [`cost::least_time`]).
    pub fn least_time(&self, collective: Collective, bytes: u64) -> f64 {
        cost::least_time(self.topology(), self.usual.grouped(), collective, bytes)
    }

    /// Nanoseconds that the MPI library's own algorithms are predicted to take for a call of `bytes`; `None` where it
    /// is not known what the library does, or where that would take too long to predict.
    pub fn stock_time(&self, collective: Collective, bytes: u64) -> Option<f64> {
        let time = || self.stock.as_ref()?.time(&self.usual, self.message(), collective, bytes);
        self.stock_times.answer((collective, bytes), time)
    }

    /// [`Self::stock_time`] where a message costs `times` as much.
    pub(super) fn stock_time_where(&self, collective: Collective, bytes: u64, times: f64) -> Option<f64> {
        self.stock.as_ref()?.time(&self.usual, self.message().times(times), collective, bytes)
    }
}
