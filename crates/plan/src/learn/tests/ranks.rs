//! Ranks that measure different times for the same calls decide alike, since they decide by what they agree on.

use super::*;

const RANKS: usize = 4;
const CALLS: u64 = 200;
const SERIES: u64 = 3000;

/// What ranks hand in when they agree, and the longest of these.
type Times = [u64; 3];

/// Which of their agreements tell ranks the longest time of all; the others tell each rank its own.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Agreed {
    All,
    OnEarly,
    OnMeasured,
}

/// What one rank knows of a class of calls, as the library keeps it.
#[derive(Clone)]
struct Rank {
    earning: Earning,
    trials: Option<Trials>,
    /// What the measured call before took here, and was about.
    own: Call,
    /// How many calls have run on what is believed to be far faster.
    believed: u32,
}

impl Rank {
    /// What one of the first calls runs on.
    fn early(&mut self) -> Step {
        let is_believed = self.earning.is_believed();
        self.believed += u32::from(is_believed && self.trials.is_none());
        Step { way: usize::from(is_believed), measured: false }
    }

    /// The next call, if no rank is asked before it.
    fn unasked(&mut self) -> Option<Step> {
        match &mut self.trials {
            None => self.earning.next_unasked().then(|| self.early()),
            Some(trials) => trials.next_unmeasured().map(|way| Step { way, measured: false }),
        }
    }

    /// The next call, before which ranks may `ask` for the longest times of all, and learn how long that took here.
    fn asked<E>(&mut self, ways: usize, mut ask: impl FnMut(Times) -> Result<(Times, Duration), E>) -> Result<Step, E> {
        // Before ranks ask: the library runs the call before which they do on what was believed until then.
        let early = self.early();
        if self.trials.is_none() && !(self.earning.next_call() && self.earning.is_earned(&mut ask)?) {
            return Ok(early);
        }
        let trials = self.trials.get_or_insert_with(|| Trials::new(ways));
        let most = |own: Call| {
            ask([own.nanoseconds, own.bytes, 0]).map(|([nanoseconds, bytes, _], _)| Call { nanoseconds, bytes })
        };
        trials.agreed_step(std::mem::take(&mut self.own), most).map(|(step, _)| step)
    }

    /// What the call took here.
    fn took(&mut self, step: Step, own: Call) {
        if step.measured {
            self.own = own;
        } else if self.trials.is_none() && self.earning.is_timed() {
            self.earning.add(own.nanoseconds);
        }
    }
}

/// Calls, on a machine where nothing is alike: each rank takes its own part of a call's time, with its own noise, one
/// of them comes late now and then, and one of the ways changes.
struct Program {
    seed: u64,
    /// Microseconds that each way takes on the slowest rank; which way takes how much longer from which call on.
    ways: Vec<f64>,
    drift: (usize, f64, u64),
    predicted: Option<f64>,
    /// Microseconds that asking takes.
    asking: f64,
    noise: f64,
    /// Of the time of the slowest rank.
    parts: [f64; RANKS],
    /// The rank that comes late, and by how many microseconds at most.
    late: (usize, f64),
}

impl Program {
    fn new(seed: u64) -> Self {
        let mut random = Noise(seed ^ 0x5eed);
        let mut between = |least: f64, most: f64| least + (most - least) * random.unit();
        let call = 10f64.powf(between(2.0, 4.5));
        let ways = (0..between(2.0, 5.0) as usize).map(|_| call * between(0.5, 2.0)).collect::<Vec<_>>();
        Self {
            seed,
            drift: (between(0.0, ways.len() as f64) as usize, between(0.3, 4.0), between(0.0, CALLS as f64) as u64),
            ways,
            predicted: (between(0.0, 1.0) < 0.8).then(|| call * 1e3 * between(0.3, 3.0)),
            asking: call * 10f64.powf(between(-3.0, -1.0)),
            noise: between(0.01, 0.2),
            parts: [(); RANKS].map(|()| between(0.1, 1.0)),
            late: (between(0.0, RANKS as f64) as usize, call * between(0.0, 3.0)),
        }
    }

    /// What others wait for the late rank before a call, microseconds, each rank by its own noise.
    fn draw(&self, call: u64, rank: usize, what: u64) -> (Noise, f64) {
        let mut shared = Noise(self.seed.wrapping_mul(0x1_0001) ^ (call << 20));
        let lateness = if shared.unit() < 0.2 { self.late.1 * shared.unit() } else { 0.0 };
        let own = Noise(shared.0 ^ ((rank as u64 + 1) << 40) ^ (what << 50));
        (own, if rank == self.late.0 { 0.0 } else { lateness })
    }

    /// What the call takes on the rank, nanoseconds: of a measured call, which all begin together, nothing while the
    /// rank waits for others, and nothing at all where an exception has left it.
    fn time(&self, call: u64, rank: usize, step: Step) -> u64 {
        let (mut random, waiting) = self.draw(call, rank, 0);
        let (way, longer, from) = self.drift;
        let drift = if step.way == way && call >= from { longer } else { 1.0 };
        let time = random.call(self.ways[step.way] * drift * self.parts[rank], self.noise);
        match step.measured {
            true if random.unit() < 0.01 => 0,
            true => time,
            false => time + (waiting * 1e3) as u64,
        }
    }

    /// What the call is about on the rank: in every other program it differs from call to call and from rank to rank.
    fn bytes(&self, call: u64, rank: usize) -> u64 {
        let [mut shared, mut own] = [0, rank as u64 + 1].map(|what| Noise(self.seed ^ (call << 24) ^ (what << 56)));
        if self.seed % 2 == 0 { 0 } else { (10f64.powf(3.0 + 2.0 * shared.unit()) * (0.5 + own.unit())) as u64 }
    }

    /// What it takes the rank to ask for the `nth` time before a call: the first time it waits for who is late.
    fn asking(&self, call: u64, rank: usize, nth: u64) -> Duration {
        let (mut random, waiting) = self.draw(call, rank, nth + 1);
        let waiting = if nth == 0 { waiting * 1e3 } else { 0.0 };
        Duration::from_nanos(random.call(self.asking, self.noise) + waiting as u64)
    }

    /// One rank, before the first call. Of long calls trials begin at once.
    fn rank(&self) -> Rank {
        let is_long = Earning::is_earned_by(self.predicted);
        let trials = is_long.then(|| Trials::new(self.ways.len()));
        let believed = self.predicted.map(|predicted| [predicted, 4.0 * predicted]);
        let asking = (self.seed % 3 == 0).then_some(self.asking * 1e3);
        let earning = Earning::new(self.predicted, self.seed % 2 == 0).asked_in(asking).believed_between(believed);
        Rank { earning, trials, own: Call::default(), believed: 0 }
    }

    /// The next call on all ranks.
    fn step(&self, ranks: &mut Vec<Rank>, call: u64, agreed: Agreed) -> Result<Step, String> {
        if let Some(step) = alike(ranks.iter_mut().map(Rank::unasked))? {
            return Ok(step);
        }
        let is_told = agreed == Agreed::All || (agreed == Agreed::OnEarly) == ranks[0].trials.is_none();
        let mut answers = vec![Vec::<Times>::new(); RANKS];
        loop {
            // Each rank goes as far as it gets with these answers, and tells what it hands in for the next.
            let mut tried = ranks.clone();
            let outcomes = tried.iter_mut().enumerate().map(|(at, rank)| {
                let mut answers = answers[at].iter().zip(0..);
                let next = |own| answers.next().map(|(&times, nth)| (times, self.asking(call, at, nth))).ok_or(own);
                rank.asked(self.ways.len(), next)
            });
            let outcomes: Vec<Result<Step, Times>> = outcomes.collect();
            alike(outcomes.iter().map(Result::is_ok))?;
            let handed_in: Vec<Times> = outcomes.iter().filter_map(|outcome| outcome.err()).collect();
            if handed_in.is_empty() {
                *ranks = tried;
                return alike(outcomes.into_iter().flatten());
            }
            let longest = |which: usize| handed_in.iter().map(|times| times[which]).max().unwrap();
            let longest = [0, 1, 2].map(longest);
            answers.iter_mut().zip(&handed_in).for_each(|(of, own)| of.push(if is_told { longest } else { *own }));
        }
    }

    /// All calls: the ways that were settled on, and how many ran on what was believed before; or the first in which
    /// ranks decide differently.
    fn play(&self, agreed: Agreed) -> Result<(Vec<usize>, u32), String> {
        let mut ranks = vec![self.rank(); RANKS];
        let mut settled = Vec::new();
        for call in 0..CALLS {
            let step = self.step(&mut ranks, call, agreed).map_err(|what| format!("call {call}: {what}"))?;
            for (at, rank) in ranks.iter_mut().enumerate() {
                rank.took(step, Call { nanoseconds: self.time(call, at, step), bytes: self.bytes(call, at) });
            }
            settled.extend(ranks[0].trials.as_ref().and_then(Trials::settled));
            settled.dedup();
        }
        Ok((settled, ranks[0].believed))
    }
}

/// What all ranks say, if they say the same.
fn alike<T: PartialEq + std::fmt::Debug>(of_ranks: impl Iterator<Item = T>) -> Result<T, String> {
    let mut of_ranks: Vec<T> = of_ranks.collect();
    let are_alike = of_ranks.windows(2).all(|pair| pair[0] == pair[1]);
    of_ranks.pop().filter(|_| are_alike).ok_or_else(|| format!("ranks differ: {of_ranks:?} …"))
}

/// In all series, in every call, from the first on.
#[test]
fn all_ranks_decide_alike() {
    let (mut settled, mut changed, mut believed) = (0, 0, 0);
    for seed in 0..SERIES {
        let (ways, early) = Program::new(seed).play(Agreed::All).unwrap_or_else(|what| panic!("series {seed}, {what}"));
        settled += u32::from(!ways.is_empty());
        changed += u32::from(ways.len() > 1);
        believed += u32::from(early > 0);
    }
    assert!(settled > 2000 && changed > 500, "{settled} of {SERIES} have settled, {changed} on another way later");
    assert!(believed > 300, "in {believed} of {SERIES} calls began with what was believed");
}

/// The series tell: where either kind of time is not agreed on, ranks soon differ.
#[test]
fn ranks_differ_where_they_do_not_agree() {
    for agreed in [Agreed::OnEarly, Agreed::OnMeasured] {
        let differ = (0..SERIES / 10).filter(|&seed| Program::new(seed).play(agreed).is_err()).count();
        assert!(differ > 200, "{differ}");
    }
}
