//! In which order members stand in a two-tree, so that no two messages of a round meet on a link between switches.
//!
//! ```text
//!   1 2 on one leaf, 3 4 on the next,     places 1 → 3 and 2 → 4 in one round: both messages take the link
//!   one link from each to the other       in the order 1, 3, 2, 4 they are 1 → 2 and 3 → 4: no message takes it
//! ```
//! The members' own order comes first. Where it meets, places are exchanged at random, by numbers that are the same on
//! all ranks: mostly what lessens the meetings, now and then what adds one (Metropolis' rule at a constant
//! temperature).

use crate::scrambled;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;

/// Links between members: member 0 is the root, 1 to m are the others.
#[derive(Clone, Debug, Default)]
pub struct Ways {
    /// Which of the ways to others a member shares with others: those of its leaf.
    pub leaf_of: Vec<u32>,
    /// Links from leaf `l` to member `i`, by number: entry `l · (m + 1) + i`.
    pub links: Vec<Vec<u32>>,
    /// Messages that every link carries at the same time: its cables.
    pub cables: Vec<u32>,
    /// Exchanges that may be tried.
    pub exchanges: u64,
}

/// Who stands where. The root stays where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// Of every place, the root's first.
    member_at: Vec<u32>,
    /// Of every member.
    place_of: Vec<u32>,
}

impl Order {
    /// The member at a place of the tree; `None` is the root.
    pub fn member(&self, place: Option<u32>) -> Option<u32> {
        place.map(|place| self.member_at[place as usize])
    }

    /// The place of a member.
    pub fn place(&self, member: Option<u32>) -> Option<u32> {
        member.map(|member| self.place_of[member as usize])
    }

    /// Looks for an order of `members` besides the root in which nothing meets. `edges` are those of both trees: a
    /// place, the one above it and the colour. `None` where their own order is one, and where none is found in
    /// 16 · (m + 1)² exchanges, at most [`Ways::exchanges`].
    ///
    /// It is a function of its arguments alone.
    pub fn search(members: u32, edges: &[(u32, u32, u32)], ways: &Ways) -> Option<Self> {
        let mut standing = Standing::new(members, edges, ways);
        if standing.over == 0 {
            return None;
        }
        let places = u64::from(members);
        let mut draws = (0..).map(scrambled);
        for _ in 0..ways.exchanges.min(16 * (places + 1).pow(2)) {
            let mut draw = |below: u64| draws.next().unwrap_or_default() % below;
            let (a, b) = (1 + draw(places) as usize, 1 + draw(places) as usize);
            // Where neither sends or receives what meets another, there is nothing to gain.
            if a == b || !standing.meets(a) && !standing.meets(b) {
                continue;
            }
            let before = standing.over;
            standing.exchange(a, b);
            let worse = standing.over.saturating_sub(before);
            if standing.over == 0 {
                return Some(standing.into_order());
            }
            if worse > 0 && draw(RELUCTANCE.saturating_pow(worse)) > 0 {
                standing.exchange(a, b);
            }
        }
        None
    }
}

/// One exchange in so many that add a message too many to a link is kept.
const RELUCTANCE: u64 = 28;

/// A message of a round, from place to place.
#[derive(Clone, Copy)]
struct Message {
    from: usize,
    to: usize,
    /// Colour and direction.
    round: usize,
}

/// Members at places, and what meets.
struct Standing<'w> {
    ways: &'w Ways,
    member_at: Vec<u32>,
    messages: Vec<Message>,
    /// Messages that every place sends or receives.
    touching: Vec<Vec<usize>>,
    /// Messages on every link, round by round.
    load: Vec<u32>,
    /// Messages that links carry beyond their cables.
    over: u32,
}

impl<'w> Standing<'w> {
    fn new(members: u32, edges: &[(u32, u32, u32)], ways: &'w Ways) -> Self {
        let places = members as usize + 1;
        let mut messages = Vec::with_capacity(4 * places);
        for &(place, parent, colour) in edges {
            let [place, parent, colour] = [place, parent, colour].map(|number| number as usize);
            messages.push(Message { from: place, to: parent, round: 2 * colour });
            messages.push(Message { from: parent, to: place, round: 2 * colour + 1 });
        }
        let mut touching = vec![Vec::new(); places];
        for (i, message) in messages.iter().enumerate() {
            touching[message.from].push(i);
            touching[message.to].push(i);
        }
        let load = vec![0; 4 * ways.cables.len()];
        let mut standing = Self { ways, member_at: (0..places as u32).collect(), messages, touching, load, over: 0 };
        (0..standing.messages.len()).for_each(|i| standing.put(i));
        standing
    }

    /// The links of a message; its members may be on the same leaf.
    fn links(&self, message: Message) -> &'w [u32] {
        let [from, to] = [message.from, message.to].map(|place| self.member_at[place]);
        let leaf = self.ways.leaf_of[from as usize] as usize;
        &self.ways.links[leaf * self.member_at.len() + to as usize]
    }

    fn put(&mut self, i: usize) {
        let message = self.messages[i];
        for &link in self.links(message) {
            let load = &mut self.load[message.round * self.ways.cables.len() + link as usize];
            self.over += u32::from(*load >= self.ways.cables[link as usize]);
            *load += 1;
        }
    }

    fn take(&mut self, i: usize) {
        let message = self.messages[i];
        for &link in self.links(message) {
            let load = &mut self.load[message.round * self.ways.cables.len() + link as usize];
            *load -= 1;
            self.over -= u32::from(*load >= self.ways.cables[link as usize]);
        }
    }

    /// Whether a message of this place is on a link with too many.
    fn meets(&self, place: usize) -> bool {
        let crowded = |message: Message| {
            let load = &self.load[message.round * self.ways.cables.len()..];
            self.links(message).iter().any(|&link| load[link as usize] > self.ways.cables[link as usize])
        };
        self.touching[place].iter().any(|&i| crowded(self.messages[i]))
    }

    /// Lets the members at two places change them.
    fn exchange(&mut self, a: usize, b: usize) {
        let mut touched = [self.touching[a].as_slice(), &self.touching[b]].concat();
        touched.sort_unstable();
        touched.dedup(); // what the two send each other
        touched.iter().for_each(|&i| self.take(i));
        self.member_at.swap(a, b);
        touched.iter().for_each(|&i| self.put(i));
    }

    fn into_order(self) -> Order {
        let mut place_of = vec![0; self.member_at.len()];
        (0..).zip(&self.member_at).for_each(|(place, &member)| place_of[member as usize] = place);
        Order { member_at: self.member_at, place_of }
    }
}

/// What a search has found.
type Found = Option<Arc<Order>>;

/// The orders that families of one size have been given, each known by two numbers: its level and root.
#[derive(Debug, Default)]
pub struct Orders(Mutex<HashMap<(u32, u32), Found>>);

impl Orders {
    /// That of a family, found if it is not known.
    pub fn of(&self, family: (u32, u32), find: impl FnOnce() -> Option<Order>) -> Found {
        let known = || self.0.lock();
        if let Some(order) = known().get(&family) {
            return order.clone();
        }
        // Two threads may both find it: the same.
        let order = find().map(Arc::new);
        known().insert(family, order.clone());
        order
    }
}
