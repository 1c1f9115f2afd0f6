//! Which tasks must take turns on a link: the groups of an order.
//!
//! ```text
//!   link e, capacity C = B:   tasks by input bandwidth, largest first
//!     the first                             opens group 0, C −= its input bandwidth
//!     same source host as one before it     that one's group
//!     input bandwidth ≤ C                   opens a group, C −= its input bandwidth
//!     else                                  group 0
//!   all bytes over e together less than B·L: a group for every source host
//! ```
//! Tasks of one group run one after another, different groups are independent. So a fat link carries several thin flows
//! at once, a thin link one.

use super::Tasks;

/// Rates that differ by rounding alone are equal.
pub(super) const EQUAL: f64 = 1e-9;

/// The groups of all links, numbered from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Groups {
    /// Group at every place of a route.
    of: Vec<u32>,
    /// Link of every group.
    link: Vec<u32>,
}

impl Groups {
    /// The groups of `tasks`; O(places · log) time.
    pub fn new(tasks: &Tasks<'_>) -> Self {
        let routes = tasks.routes();
        let (first, on) = tasks.by_link();
        let (mut of, mut link_of) = (vec![u32::MAX; routes.place_count()], Vec::new());
        let mut group_of_source = vec![u32::MAX; routes.nodes() as usize];
        let loads = tasks.loads();
        let mut sorted: Vec<(f64, u32, u32)> = Vec::new();
        for link in 0..routes.link_count() as u32 {
            let here = &on[first[link as usize] as usize..first[link as usize + 1] as usize];
            // Nanoseconds per byte of the link before this one, or of this one where it is the first.
            sorted.clear();
            sorted.extend(here.iter().map(|&(task, place)| {
                let is_first = tasks.places(task).start == place as usize;
                let before = if is_first { link } else { routes.link(place as usize - 1) };
                (routes.per_byte(before), task, place)
            }));
            sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
            let bandwidth = 1.0 / routes.per_byte(link);
            let in_flight = loads[link as usize] < bandwidth * routes.link_latency(link);
            let group_0 = link_of.len() as u32;
            let mut capacity = bandwidth * (1.0 + EQUAL);
            for &(per_byte, task, place) in &sorted {
                let own = &mut group_of_source[tasks.task(task).from as usize];
                let known = *own != u32::MAX && *own >= group_0;
                if !known {
                    let input = 1.0 / per_byte;
                    let opens = in_flight || link_of.len() as u32 == group_0 || input <= capacity;
                    *own = if opens { link_of.len() as u32 } else { group_0 };
                    if opens {
                        link_of.push(link);
                        capacity -= input;
                    }
                }
                of[place as usize] = *own;
            }
        }
        Self { of, link: link_of }
    }

    /// Number of groups.
    pub fn len(&self) -> usize {
        self.link.len()
    }

    /// Whether there is no group.
    pub fn is_empty(&self) -> bool {
        self.link.is_empty()
    }

    /// The group at a place of a route.
    pub fn at(&self, place: usize) -> u32 {
        self.of[place]
    }

    /// The groups at the places of a route, in order.
    pub fn of(&self, places: std::ops::Range<usize>) -> &[u32] {
        &self.of[places]
    }

    /// The link a group is on.
    pub fn link(&self, group: u32) -> u32 {
        self.link[group as usize]
    }
}
