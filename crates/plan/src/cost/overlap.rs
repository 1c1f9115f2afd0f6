//! What chunks that follow one another take together, by the bytes that they move.
//!
//! ```text
//!   chunk 0  ├──────────┤├─────┤├──┤├──┤ …
//!   chunk 1              ├──────────┤├────┤ …
//! ```
//!
//! A chunk begins a step when it is done with the step before, and the chunk before it is done with this step. Where
//! two chunks need the same link, their messages share it.

/// Equal steps after one another.
#[derive(Clone, Debug, Default)]
pub struct Work {
    /// How many.
    pub times: u32,
    /// Share of the vector in a message.
    pub share: f64,
    /// Nanoseconds per byte of the vector on every link that is used, in one step.
    pub links: Vec<(u32, f64)>,
}

impl Work {
    /// What one step takes alone, nanoseconds per byte of the vector.
    pub fn busiest(&self) -> f64 {
        self.links.iter().map(|&(_, time)| time).fold(0.0, f64::max)
    }
}

/// Nanoseconds per byte of the vector for all of `work` on `links` links, in `chunks`. All messages of a step go on
/// alike. O(steps · chunks² · links of a step).
pub fn overlapped<'w>(work: impl Iterator<Item = &'w Work>, links: usize, chunks: u32) -> f64 {
    let work = work.filter(|work| work.busiest() > 0.0);
    let steps: Vec<&Work> = work.flat_map(|work| std::iter::repeat_n(work, work.times as usize)).collect();
    let mut scratch = vec![Link::default(); links];
    // The step that every chunk is in, and what is left of it.
    let mut at = vec![(0, 1.0); chunks.max(1) as usize];
    let mut time = 0.0;
    loop {
        let ready = |chunk: &usize| at[*chunk].0 < steps.len() && (*chunk == 0 || at[chunk - 1].0 > at[*chunk].0);
        let under_way: Vec<usize> = (0..at.len()).filter(ready).collect();
        if under_way.is_empty() {
            // A chunk moves so much less.
            return time / at.len() as f64;
        }
        let rates = rates(&under_way.iter().map(|&chunk| steps[at[chunk].0]).collect::<Vec<_>>(), &mut scratch);
        let ends = under_way.iter().zip(&rates).map(|(&chunk, rate)| at[chunk].1 / rate);
        let passed = ends.fold(f64::INFINITY, f64::min);
        if !passed.is_finite() {
            // No link of this network moves a byte in any time that counts.
            return f64::INFINITY;
        }
        time += passed;
        for (&chunk, rate) in under_way.iter().zip(&rates) {
            let (step, left) = &mut at[chunk];
            *left -= passed * rate;
            // Rounding leaves something.
            if *left < 1e-9 {
                (*step, *left) = (*step + 1, 1.0);
            }
        }
    }
}

/// A link while rates are worked out.
#[derive(Clone, Copy, Debug, Default)]
struct Link {
    used: f64,
    /// What growing messages add to that.
    growth: f64,
}

/// Steps per nanosecond and byte of the vector, for steps under way at the same time: all messages grow alike until a
/// link is full; the steps that use it stay at that rate, the others grow on.
fn rates(steps: &[&Work], links: &mut [Link]) -> Vec<f64> {
    let all = || steps.iter().flat_map(|step| &step.links).map(|&(link, _)| link as usize);
    all().for_each(|link| links[link].used = 0.0);
    let mut rates: Vec<Option<f64>> = vec![None; steps.len()];
    let mut level = 0.0;
    while rates.contains(&None) {
        all().for_each(|link| links[link].growth = 0.0);
        let growing: Vec<usize> = (0..steps.len()).filter(|&step| rates[step].is_none()).collect();
        for (link, time, share) in
            growing.iter().flat_map(|&s| steps[s].links.iter().map(move |&(link, time)| (link, time, steps[s].share)))
        {
            links[link as usize].growth += time / share;
        }
        let until_full = |link: usize| (1.0 - links[link].used) / links[link].growth;
        let more = all().filter(|&link| links[link].growth > 0.0).map(until_full).fold(f64::INFINITY, f64::min);
        level += more;
        // Every link once, though several steps use it.
        for link in all() {
            let link = &mut links[link];
            link.used += std::mem::take(&mut link.growth) * more;
        }
        for &step in &growing {
            if steps[step].links.iter().any(|&(link, _)| links[link as usize].used > 1.0 - 1e-9) {
                rates[step] = Some(level / steps[step].share);
            }
        }
    }
    rates.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(times: u32, share: f64, links: &[(u32, f64)]) -> Work {
        Work { times, share, links: links.to_vec() }
    }

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-6, "{found} expected {expected}");
    }

    #[test]
    fn chunks_that_use_one_link_gain_nothing() {
        let all = [work(1, 0.5, &[(0, 5.0)]), work(3, 0.25, &[(0, 2.5)])];
        for chunks in 1..5 {
            close(overlapped(all.iter(), 1, chunks), 12.5);
        }
        close(overlapped([].iter(), 1, 2), 0.0);
    }

    #[test]
    fn chunks_on_different_links_are_a_pipeline() {
        let all = [(0, 4.0), (1, 6.0), (2, 2.0)].map(|link| work(1, 0.5, &[link]));
        // One chunk through all, then one after another through the slowest.
        for chunks in 1..5 {
            close(overlapped(all.iter(), 3, chunks), (12.0 + f64::from(chunks - 1) * 6.0) / f64::from(chunks));
        }
    }

    #[test]
    fn messages_that_meet_share_the_link() {
        // A host's link is half used by a step over a thin one, and full in the next.
        let all = [work(1, 0.5, &[(0, 4.0), (1, 2.0)]), work(1, 0.5, &[(1, 2.0)])];
        // Chunk 0 takes 2 over the thin link; then it shares the host's, each half of it, with chunk 1, which needs no
        // more than that: 2 for both, and chunk 1 has the rest, 1, to itself.
        close(overlapped(all.iter(), 2, 2), 5.0);
    }
}
