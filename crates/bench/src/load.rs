//! How many processors other programs keep busy: what the processors spent on programs, less what the job's own had.
//!
//! Interrupts carry the emulated links on behalf of the job, so they are left out; most kernels count an interrupt as
//! time of the program that it interrupts, here the job. The figure is therefore too low rather than too high. User
//! time alone would not do: how a kernel divides a process's time between user and system is an estimate over its whole
//! life.

use serde::{Deserialize, Serialize};

/// Counters at one moment, in the kernel's ticks (proc(5): `/proc/stat`, `/proc/PID/stat`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ticks {
    /// All processors, whatever they did.
    pub all: u64,
    /// Spent by programs, or by another machine on the same processors.
    pub programs: u64,
    /// Number of processors.
    pub processors: u64,
}

impl Ticks {
    /// From the text of `/proc/stat`.
    pub fn of_machine(stat: &str) -> Option<Self> {
        let all = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
        let spent: Vec<u64> = all.split_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
        // user, nice, system, idle, iowait, irq, softirq, steal; what guests have is in the first two as well.
        let [user, nice, system, .., steal] = *spent.get(..8)? else { return None };
        let numbered = |line: &&str| line.strip_prefix("cpu").is_some_and(|rest| !rest.starts_with(' '));
        let processors = stat.lines().filter(numbered).count() as u64;
        let sum = |ticks: &[u64]| ticks.iter().try_fold(0u64, |sum, &more| sum.checked_add(more));
        Some(Self { all: sum(&spent[..8])?, programs: sum(&[user, nice, system, steal])?, processors })
    }

    /// Processors that other programs have kept busy since `before`, where the job's own had `own` ticks.
    /// `None` if less than half a second has passed for every processor: the ticks are too coarse for that.
    pub fn others(self, before: Self, own: u64) -> Option<f64> {
        let all = self.all.checked_sub(before.all)?;
        let programs = self.programs.saturating_sub(before.programs);
        let long_enough = all >= 50u64.saturating_mul(self.processors.max(1));
        long_enough.then(|| self.processors as f64 * programs.saturating_sub(own) as f64 / all as f64)
    }
}

/// Ticks that a process has had, from the text of its `/proc/PID/stat`.
pub fn own_ticks(stat: &str) -> Option<u64> {
    // The program's name, in parentheses, may contain anything. The state comes next; utime and stime are the 12th and
    // 13th after that name.
    let mut times = stat.rsplit_once(") ")?.1.split(' ').skip(11).map(|field| field.parse::<u64>().ok());
    times.next()??.checked_add(times.next()??)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_read_from_the_kernels_texts() {
        let stat = "cpu  1728407 200 1231012 1371712 2700 0 275768 1638 7 0\ncpu0 845660 83 617043 697693 655 0 140743 \
            826 0 0\n\
                    cpu1 882747 117 613969 674019 2045 0 135025 812 0 0\nintr 12 cpu\nctxt 9\n";
        let all = 1_728_407 + 200 + 1_231_012 + 1_371_712 + 2700 + 275_768 + 1638;
        let expected = Ticks { all, programs: 1_728_407 + 200 + 1_231_012 + 1638, processors: 2 };
        assert_eq!(Ticks::of_machine(stat), Some(expected));
        let own = "27950 (a ) R b) R 27900 27900 17157 0 -1 4194304 101 0 0 0 4711 12 0 0 20 0 1 0 2320316";
        assert_eq!(own_ticks(own), Some(4723));
        assert_eq!((Ticks::of_machine("intr 1\n"), own_ticks("1 (x)")), (None, None));
    }

    #[test]
    fn what_is_not_the_jobs_own_is_others() {
        let before = Ticks { all: 1000, programs: 100, processors: 2 };
        // Five seconds of two processors: the job spent three of them, something else two.
        let after = Ticks { all: 2000, programs: 600, processors: 2 };
        assert_eq!(after.others(before, 300), Some(0.4));
        // Rounding may give the job more than there was.
        assert_eq!(after.others(before, 501), Some(0.0));
        assert_eq!(Ticks { all: 1090, ..after }.others(before, 0), None);
    }
}
