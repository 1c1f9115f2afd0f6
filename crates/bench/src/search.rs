//! Which of an operation's settings to try next, and which not at all: size after size, by what earlier sizes showed.
//!
//! ```text
//!   at a near size within reach of the fastest   by that time, the fastest first
//!   nothing known                                in the order of [`crate::oracle`], the most promising first
//!   far slower than the fastest                  last, and left out where trying it would cost much of the time
//! ```

use crate::oracle::Setting;
use std::collections::BTreeMap;

/// A setting this many times slower than the fastest is left out …
const HOPELESS: f64 = 4.0;
/// … if trying it would take more than this part of the time.
const WORTHWHILE: f64 = 0.02;
/// Sizes up to this factor apart are like enough for both: the order of algorithms changes with the size.
const NEAR: u64 = 8;
/// Where calls are long, the time is at least that of so many of the fastest.
const TRIALS: f64 = 8.0;
/// Settings that go on to be measured with everything else.
const FINALISTS: usize = 3;
/// One trial may mislead: this many times the fastest still goes on.
const CLOSE: f64 = 1.5;

/// What is known of the settings of one operation.
#[derive(Debug, Default)]
pub struct Search {
    /// Bytes and seconds of the last trial, by name.
    known: BTreeMap<String, (u64, f64)>,
}

impl Search {
    /// A trial of the setting `name` with `bytes` took `seconds`.
    pub fn learn(&mut self, name: &str, bytes: u64, seconds: f64) {
        self.known.insert(name.to_owned(), (bytes, seconds));
    }

    /// Takes the next one to be tried out of `untried`, which is in the order of promise.
    pub fn take(&self, untried: &mut Vec<Setting>, bytes: u64) -> Option<Setting> {
        let hopeless = HOPELESS * self.fastest(bytes);
        let turn = |setting: &Setting| match (self.own(&setting.name, bytes), self.expected(&setting.name, bytes)) {
            (_, Some(expected)) if expected > hopeless => (2, expected),
            (Some(own), _) => (0, own),
            _ => (1, 0.0),
        };
        let turns = untried.iter().map(turn).enumerate();
        let (at, _) = turns.min_by(|(_, a), (_, b)| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)))?;
        Some(untried.remove(at))
    }

    /// Why a setting is not tried where `elapsed` seconds of `budget` have passed; `None` if it is. One of which
    /// nothing is known is taken for as fast as the fastest.
    pub fn objection(&self, name: &str, bytes: u64, elapsed: f64, budget: f64) -> Option<String> {
        let fastest = self.fastest(bytes);
        let least = if fastest.is_finite() { fastest } else { 0.0 };
        let (time, expected) = (budget.max(TRIALS * least), self.expected(name, bytes).unwrap_or(least));
        if elapsed + expected > time {
            return Some("no time left".to_owned());
        }
        let slower = expected / fastest;
        let why = || format!("about {slower:.0} times the fastest, by a near size or other segments");
        (slower > HOPELESS && expected > WORTHWHILE * time).then(why)
    }

    /// Seconds by the setting's own last trial at a near size; otherwise by the fastest trial of the same algorithm,
    /// with other segments, at this size.
    fn expected(&self, name: &str, bytes: u64) -> Option<f64> {
        let alike = self.known.iter().filter(|(other, known)| algorithm(other) == algorithm(name) && known.0 == bytes);
        self.own(name, bytes).or_else(|| alike.map(|(_, known)| known.1).reduce(f64::min))
    }

    fn own(&self, name: &str, bytes: u64) -> Option<f64> {
        self.known.get(name).and_then(|&known| scaled(known, bytes))
    }

    /// The least time known for about `bytes`; infinite if there is none.
    fn fastest(&self, bytes: u64) -> f64 {
        self.known.values().filter_map(|&known| scaled(known, bytes)).fold(f64::INFINITY, f64::min)
    }
}

/// The time of a trial for `bytes`, if it was made with a near size.
fn scaled((size, seconds): (u64, f64), bytes: u64) -> Option<f64> {
    let near = size.max(bytes) <= size.min(bytes).saturating_mul(NEAR);
    near.then(|| seconds * bytes as f64 / size as f64)
}

/// The first word of a setting's name.
fn algorithm(name: &str) -> &str {
    name.split(' ').next().unwrap_or_default()
}

/// Those of `tried` (seconds, setting) that go on, the fastest first.
pub fn finalists<T>(mut tried: Vec<(f64, T)>) -> Vec<T> {
    tried.sort_by(|a, b| a.0.total_cmp(&b.0));
    let close = CLOSE * tried.first().map_or(0.0, |first| first.0);
    tried.into_iter().take_while(|one| one.0 <= close).take(FINALISTS).map(|(_, setting)| setting).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::Operation;
    use crate::oracle::Family;

    const M: u64 = 1 << 20;

    fn setting(name: &str) -> Setting {
        Setting { name: name.to_owned(), variables: Vec::new(), component: None }
    }

    /// Everything of Open MPI's Bcast, on links where a call takes what `time` says: what was tried within `budget`.
    fn play(search: &mut Search, bytes: u64, budget: f64, time: impl Fn(&str) -> f64) -> Vec<String> {
        let mut untried = Family::OpenMpi.settings(Operation::Bcast, bytes);
        let (mut elapsed, mut tried) = (0.0, Vec::new());
        while let Some(setting) = search.take(&mut untried, bytes) {
            if search.objection(&setting.name, bytes, elapsed, budget).is_none() {
                let seconds = time(&setting.name);
                elapsed += seconds;
                search.learn(&setting.name, bytes, seconds);
                tried.push(setting.name);
            }
        }
        tried
    }

    #[test]
    fn slow_links_meet_the_pipelines_first() {
        // Seconds on links of 20 Mbit/s.
        let time = |name: &str| match name {
            "pipeline 32K" => 0.4,
            name if name.starts_with("pipeline") => 0.5,
            name if name.starts_with("chain") => 0.9,
            _ => 3.0,
        };
        let mut search = Search::default();
        let tried = play(&mut search, M, 3.0, time);
        assert_eq!(tried[..3], ["pipeline 8K", "pipeline 32K", "chain 8K chain_fanout=2"]);
        // At the next size the fast ones come first, and what the time was too short for comes after them.
        let again = play(&mut search, 2 * M, 60.0, |name| 2.0 * time(name));
        assert_eq!(again[..4], ["pipeline 32K", "pipeline 8K", "chain 8K chain_fanout=2", "chain 8K chain_fanout=4"]);
        assert!(again.iter().any(|name| name == "pipeline 128K"));
        // Of an algorithm that was six times slower with some segments, no others are tried.
        let knomial = again.iter().filter(|name| name.starts_with("knomial")).count();
        assert_eq!(knomial, 1, "{again:?}");
    }

    #[test]
    fn far_sizes_and_cheap_trials_are_no_objection() {
        let mut search = Search::default();
        search.learn("fast", M, 0.01);
        search.learn("slow", M, 1.0);
        let objection = |bytes, budget| search.objection("slow", bytes, 0.0, budget);
        assert!(objection(M, 10.0).is_some_and(|why| why.contains("100 times")));
        assert_eq!(objection(M, 100.0), None);
        assert_eq!(objection(16 * M, 20.0), None);
        assert_eq!(objection(M, 0.5).as_deref(), Some("no time left"));
        // What is unknown is no faster than the fastest.
        assert_eq!(search.objection("new", M, 9.98, 10.0), None);
        assert!(search.objection("new", M, 9.995, 10.0).is_some());
        // Long calls get the time of eight.
        assert_eq!(search.objection("new", M, 0.069, 0.001), None);
        assert!(search.objection("new", M, 0.071, 0.001).is_some());
        let mut untried = ["slow", "new", "fast"].map(setting).to_vec();
        let order: Vec<String> =
            std::iter::from_fn(|| search.take(&mut untried, 2 * M)).map(|setting| setting.name).collect();
        assert_eq!(order, ["fast", "new", "slow"]);
    }

    #[test]
    fn finalists_are_close_to_the_fastest() {
        assert_eq!(finalists(vec![(3.0, 'c'), (1.0, 'a'), (1.4, 'b')]), ['a', 'b']);
        assert_eq!(finalists(vec![(1.0, 'a'); 5]).len(), 3);
        assert!(finalists::<char>(Vec::new()).is_empty());
    }
}
