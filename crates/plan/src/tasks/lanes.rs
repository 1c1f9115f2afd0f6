//! The idealised execution of an order: every task as early as the links allow, lasting its bytes over its bandwidth.
//!
//! A link has *lanes*: tasks of one lane run one after another, different lanes are independent. Lanes are the groups
//! of `groups.rs`, or as many as the link carries of the tasks on it; then a task takes whichever is free.

use super::groups::EQUAL;
use super::{Groups, Tasks};

/// What takes turns on every link.
#[derive(Clone, Debug)]
pub enum Lanes<'g> {
    /// The groups.
    Groups(&'g Groups),
    /// Lanes of link `l`: `first[l]..first[l + 1]`.
    Free {
        /// First lane of every link.
        first: Vec<u32>,
        /// Bytes per nanosecond a task may have in the lane; most first.
        rate: Vec<f64>,
    },
}

/// When every task runs, and in which lanes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// Tasks by start.
    pub sequence: Vec<u32>,
    /// Tick in which every task starts.
    pub start: Vec<u64>,
    /// Lane at every place of a route.
    pub lane: Vec<u32>,
    /// Number of lanes.
    pub lanes: u32,
    /// Tick in which the last task is done.
    pub makespan: u64,
}

impl Lanes<'_> {
    /// Lanes that any task may take: a link has one for every source host it carries at once at full rate, the fastest
    /// first.
    pub fn free(tasks: &Tasks<'_>) -> Self {
        let routes = tasks.routes();
        let (on_first, on) = tasks.by_link();
        let (mut first, mut rate) = (vec![0], Vec::new());
        let mut fastest: Vec<f64> = vec![0.0; routes.nodes() as usize];
        let mut rates: Vec<f64> = Vec::new();
        for link in 0..routes.link_count() {
            let here = &on[on_first[link] as usize..on_first[link + 1] as usize];
            here.iter().for_each(|&(task, _)| {
                let of_source = &mut fastest[tasks.task(task).from as usize];
                *of_source = of_source.max(tasks.rate(task));
            });
            rates.clear();
            rates.extend(here.iter().map(|&(t, _)| std::mem::take(&mut fastest[tasks.task(t).from as usize])));
            rates.retain(|&rate| rate > 0.0);
            rates.sort_by(|a, b| b.total_cmp(a));
            let mut capacity = (1.0 + EQUAL) / routes.per_byte(link as u32);
            for &wanted in &rates {
                if wanted <= capacity {
                    capacity -= wanted;
                    rate.push(wanted);
                }
            }
            first.push(rate.len() as u32);
        }
        Self::Free { first, rate }
    }

    fn count(&self) -> usize {
        match self {
            Self::Groups(groups) => groups.len(),
            Self::Free { rate, .. } => rate.len(),
        }
    }

    /// Runs the tasks in the order of `sequence`.
    pub fn run(&self, tasks: &Tasks<'_>, sequence: &[u32]) -> Order {
        let routes = tasks.routes();
        let mut free_at = vec![0u64; self.count()];
        let mut order = Order {
            sequence: sequence.to_vec(),
            start: vec![0; tasks.len()],
            lane: vec![0; routes.place_count()],
            lanes: self.count() as u32,
            makespan: 0,
        };
        for &task in sequence {
            let rate = tasks.rate(task);
            let places = tasks.places(task);
            let earliest = |place: usize| match self {
                Self::Groups(groups) => free_at[groups.at(place) as usize],
                Self::Free { .. } => {
                    self.of_link(routes.link(place), rate).map(|lane| free_at[lane as usize]).min().unwrap_or(0)
                }
            };
            let start = places.clone().map(earliest).max().unwrap_or(0);
            let done = start + tasks.transfer(task);
            order.start[task as usize] = start;
            order.makespan = order.makespan.max(done);
            for place in places {
                let lane = match self {
                    Self::Groups(groups) => groups.at(place),
                    // Of the lanes that are free the one that was used last, so that the others stay free for later
                    // tasks.
                    Self::Free { .. } => {
                        let free = self.of_link(routes.link(place), rate).filter(|&l| free_at[l as usize] <= start);
                        free.max_by_key(|&l| (free_at[l as usize], u32::MAX - l)).unwrap_or(0)
                    }
                };
                free_at[lane as usize] = done;
                order.lane[place] = lane;
            }
        }
        // Stable: of tasks that start together the one scheduled first stays first.
        order.sequence.sort_by_key(|&task| order.start[task as usize]);
        order
    }

    /// The lanes of a link that take a task of that rate.
    fn of_link(&self, link: u32, rate: f64) -> impl Iterator<Item = u32> + '_ {
        let (range, rates): (_, &[f64]) = match self {
            Self::Groups(_) => (0..0, &[]),
            Self::Free { first, rate } => (first[link as usize]..first[link as usize + 1], rate),
        };
        // The first lane takes every task: it has the rate of the fastest.
        range.take_while(move |&lane| rates[lane as usize] * (1.0 + EQUAL) >= rate)
    }
}
