//! What other programs use of the processors on the machine of rank 0 ([`nagare_bench::load`]).

use crate::together::Together;
use nagare_bench::load::{Ticks, own_ticks};
use std::fs::read_to_string;

/// All ranks, and which of them share the machine with rank 0.
pub struct Watch<'a> {
    together: &'a Together<'a>,
    here: Vec<bool>,
}

/// The counters at one moment; only rank 0 has them.
pub struct Since(Option<(Ticks, u64)>);

impl<'a> Watch<'a> {
    /// For all ranks; they make it together.
    ///
    /// # Errors
    /// If a rank's machine calls itself something that is no text.
    pub fn new(together: &'a Together<'a>) -> Result<Self, String> {
        // The same for everything that shares a kernel, in namespaces too.
        let machine = read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let machines = together.texts(&machine)?;
        let here = machines.iter().map(|other| !other.is_empty() && Some(other) == machines.first()).collect();
        Ok(Self { together, here })
    }

    /// The counters now; all ranks ask together.
    pub fn now(&self) -> Since {
        let own = read_to_string("/proc/self/stat").ok().and_then(|stat| own_ticks(&stat));
        let all = self.together.numbers(own.unwrap_or(u64::MAX));
        let machine = read_to_string("/proc/stat").ok().and_then(|stat| Ticks::of_machine(&stat));
        let ours: Vec<u64> = all.into_iter().zip(&self.here).filter(|one| *one.1).map(|one| one.0).collect();
        let known = !ours.is_empty() && !ours.contains(&u64::MAX);
        Since(machine.filter(|_| known).map(|machine| (machine, ours.iter().sum())))
    }

    /// Processors that other programs have kept busy since; all ranks ask together, rank 0 gets the answer.
    pub fn others(&self, since: &Since) -> Option<f64> {
        let (now, own) = self.now().0?;
        let (before, own_before) = since.0?;
        now.others(before, own.checked_sub(own_before)?)
    }
}
