//! The sizes below which calls are the library's whatever happens: what most calls of a program are compared with.

use nagare_plan::choice::Rules;
use nagare_plan::collective::Collective;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes, by collective.
type Sizes = [u64; Collective::ALL.len()];

/// The floors of this process.
#[derive(Default)]
pub struct Floors {
    /// Below this many bytes no call of the collective can run on our algorithms.
    lowest: [AtomicU64; Collective::ALL.len()],
    /// The same for the rules of single communicators, by address of their records.
    at_run_time: Mutex<HashMap<usize, Sizes>>,
}

impl Floors {
    /// Bytes below which a call of `collective` is always left to the library.
    pub fn of(&self, collective: Collective) -> u64 {
        self.lowest[collective as usize].load(Ordering::Relaxed)
    }

    /// Notes the rules of a communicator at run time; whether [`Self::set`] is to follow.
    pub fn note(&self, record: usize, rules: Option<&Rules>) -> bool {
        let mut at_run_time = self.at_run_time.lock();
        match rules {
            Some(rules) => {
                at_run_time.insert(record, Collective::ALL.map(|collective| rules.floor(collective)));
                true
            }
            None => at_run_time.remove(&record).is_some(),
        }
    }

    /// Sets them by the rules of all communicators and what was noted.
    pub fn set(&self, rules: &Rules) {
        let at_run_time = self.at_run_time.lock();
        for collective in Collective::ALL {
            let lowest = at_run_time.values().map(|floors| floors[collective as usize]).min().unwrap_or(u64::MAX);
            let floor = rules.floor(collective).min(lowest).max(1);
            self.lowest[collective as usize].store(floor, Ordering::Relaxed);
        }
    }
}
