//! Which programs are valid: what MPI asks of them, and what keeps every result determined.

use super::case::{Action, Call, Case, Make, Message, Shape, Statement};
use super::tables::{Overlap, Type, common_values, is_user_defined};
use anyhow::{Context, Result, bail, ensure};
use std::collections::{BTreeMap, BTreeSet};

/// A communicator, as far as it is known before the program runs.
#[derive(Clone, Debug)]
pub struct Known {
    /// The thread that uses it.
    pub thread: u32,
    /// Sizes of its groups, ascending: a split gives one number to several.
    pub sizes: Vec<u32>,
    /// Its grid.
    pub grid: Option<Vec<u32>>,
}

impl Known {
    /// Ranks that every group has.
    pub fn least(&self) -> u32 {
        self.sizes.first().copied().unwrap_or(0)
    }

    /// Ranks of the largest group.
    pub fn most(&self) -> u32 {
        self.sizes.last().copied().unwrap_or(0)
    }
}

/// What was started and is not finished.
#[derive(Clone, Debug)]
struct Open {
    thread: u32,
    comm: u64,
    message: Option<Message>,
}

/// What holds after some statements.
#[derive(Clone, Debug)]
pub struct State {
    ranks: u32,
    threads: u32,
    comms: BTreeMap<u64, Known>,
    freed: BTreeSet<u64>,
    open: BTreeMap<u64, Open>,
    used: BTreeSet<u64>,
}

impl State {
    /// Before the first statement.
    pub fn new(ranks: u32, threads: u32) -> Self {
        let world = |thread| Known { thread, sizes: vec![ranks], grid: None };
        let comms = (0..threads).map(|thread| (u64::from(thread), world(thread))).collect();
        Self { ranks, threads, comms, freed: BTreeSet::new(), open: BTreeMap::new(), used: BTreeSet::new() }
    }

    /// Communicators that a thread has now, oldest first.
    pub fn comms_of(&self, thread: u32) -> Vec<u64> {
        self.comms.iter().filter(|(_, known)| known.thread == thread).map(|(&id, _)| id).collect()
    }

    /// What a thread has to finish.
    pub fn open_of(&self, thread: u32) -> Vec<u64> {
        self.open.iter().filter(|(_, open)| open.thread == thread).map(|(&id, _)| id).collect()
    }

    /// A communicator.
    pub fn comm(&self, id: u64) -> Option<&Known> {
        self.comms.get(&id)
    }

    /// Takes a statement.
    ///
    /// # Errors
    /// If it is not valid here; nothing has changed then.
    pub fn apply(&mut self, statement: &Statement) -> Result<()> {
        let thread = statement.thread;
        ensure!(thread < self.threads, "there is no thread {thread}");
        match &statement.action {
            Action::Comm { id, of, make } => {
                let made = made(self.owned(thread, *of)?, make)?;
                ensure!(
                    !self.comms.contains_key(id) && !self.freed.contains(id),
                    "communicator {id} was there already"
                );
                self.comms.insert(*id, made);
            }
            Action::Free { id, .. } => {
                self.owned(thread, *id)?;
                ensure!(*id >= u64::from(self.threads), "communicator {id} is not the program's to free");
                ensure!(self.open.values().all(|o| o.comm != *id), "communicator {id} is in use");
                self.comms.remove(id);
                self.freed.insert(*id);
            }
            Action::Call(call) => {
                check_call(call, self.owned(thread, call.comm)?)?;
                ensure!(
                    !call.last || (self.threads == 1 && call.comm > 0 && !call.start),
                    "a last call blocks, on a communicator that is freed, in a program of one thread"
                );
                let open = Open { thread, comm: call.comm, message: None };
                self.start(call.id, call.start.then_some(open))?;
            }
            Action::Message(message) => {
                let comm = self.owned(thread, message.comm)?;
                ensure!(message.from.max(message.to) < comm.least(), "the communicator has {} ranks", comm.least());
                ensure!(message.tag < 32768, "tags are below 32768");
                self.check_open(message)?;
                let open = Open { thread, comm: message.comm, message: Some(message.clone()) };
                self.start(message.id, Some(open))?;
            }
            Action::Finish(id) => {
                ensure!(self.open.get(id).is_some_and(|o| o.thread == thread), "{id} is not open in thread {thread}");
                self.open.remove(id);
            }
            Action::Stall { rank, .. } => {
                ensure!(*rank < self.ranks, "there are {} ranks", self.ranks);
            }
        }
        Ok(())
    }

    /// After the last statement.
    ///
    /// # Errors
    /// If something is not finished.
    pub fn end(&self) -> Result<()> {
        match self.open.first_key_value() {
            Some((id, _)) => bail!("{id} is not finished"),
            None => Ok(()),
        }
    }

    fn owned(&self, thread: u32, id: u64) -> Result<&Known> {
        let comm = self.comms.get(&id).with_context(|| format!("there is no communicator {id} here"))?;
        ensure!(comm.thread == thread, "communicator {id} is of thread {}", comm.thread);
        Ok(comm)
    }

    fn start(&mut self, id: u64, open: Option<Open>) -> Result<()> {
        ensure!(self.used.insert(id), "the number {id} was used already");
        if let Some(open) = open {
            self.open.insert(id, open);
        }
        Ok(())
    }

    /// A wildcard receive takes any message to its rank; others are told apart by sender and tag.
    fn check_open(&self, new: &Message) -> Result<()> {
        for old in self.open.values().filter_map(|o| o.message.as_ref()) {
            if old.comm != new.comm || old.to != new.to {
                continue;
            }
            ensure!(!old.wild && !new.wild, "message {} to rank {} is open as well", old.id, new.to);
            ensure!((old.from, old.tag) != (new.from, new.tag), "message {} has the same tag", old.id);
        }
        Ok(())
    }
}

/// Checks a whole program on `ranks` ranks.
///
/// # Errors
/// Names the statement and what is wrong with it.
pub fn check(case: &Case, ranks: u32) -> Result<()> {
    ensure!(case.threads >= 1, "case {}: no threads", case.id);
    let mut state = State::new(ranks, case.threads);
    for statement in &case.statements {
        state.apply(statement).with_context(|| format!("case {}: {statement}", case.id))?;
    }
    state.end().with_context(|| format!("case {}", case.id))
}

/// The communicator that `make` gives.
fn made(of: &Known, make: &Make) -> Result<Known> {
    let ranks = |list: &[u32]| -> Result<(Vec<u32>, Option<Vec<u32>>)> {
        let distinct: BTreeSet<u32> = list.iter().copied().collect();
        ensure!(distinct.len() == list.len() && !list.is_empty(), "a rank twice, or none");
        ensure!(list.iter().all(|&r| r < of.least()), "the communicator has {} ranks", of.least());
        Ok((vec![list.len() as u32], None))
    };
    let (sizes, grid) = match make {
        Make::Dup => (of.sizes.clone(), of.grid.clone()),
        Make::Idup => (of.sizes.clone(), None),
        Make::Split { colors, keys } => {
            let most = of.most() as usize;
            ensure!(fits(colors.len(), most) && fits(keys.len(), most), "lists need {most} entries, or one");
            let mut sizes = BTreeSet::new();
            for &size in &of.sizes {
                let mut count = BTreeMap::<u32, u32>::new();
                for color in (0..size as usize).filter_map(|r| super::case::entry(colors, r).flatten()) {
                    *count.entry(color).or_default() += 1;
                }
                sizes.extend(count.into_values());
            }
            (sizes.into_iter().collect(), None)
        }
        Make::Cart { dims, periods, .. } => {
            ensure!(dims.len() == periods.len() && !dims.is_empty(), "dims and periods differ in length");
            let ranks: u32 = dims.iter().product();
            ensure!((1..=of.least()).contains(&ranks), "{ranks} ranks of {}", of.least());
            (vec![ranks], Some(dims.clone()))
        }
        Make::Sub(keep) => {
            let dims = of.grid.as_ref().context("the communicator has no grid")?;
            ensure!(keep.len() == dims.len() && keep.contains(&true), "keep needs {} entries", dims.len());
            let kept: Vec<u32> = dims.iter().zip(keep).filter(|(_, k)| **k).map(|(&d, _)| d).collect();
            (vec![kept.iter().product()], Some(kept))
        }
        Make::Group(list) | Make::Create(list) => ranks(list)?,
        Make::Merge { low, .. } => {
            ensure!((1..of.least()).contains(low), "both groups need a rank");
            (of.sizes.clone(), None)
        }
    };
    ensure!(!sizes.is_empty(), "nobody is in the communicator");
    Ok(Known { thread: of.thread, sizes, grid })
}

fn check_call(call: &Call, comm: &Known) -> Result<()> {
    let most = comm.most() as usize;
    let lists = [&call.send, &call.receive];
    ensure!(lists.iter().all(|list| fits(list.len(), most)), "lists of types need {most} entries, or one");
    ensure!(call.what.has_two_types() || call.receive == call.send, "{} has no `receive`", call.what);
    let common = common_values(lists.into_iter().flatten());
    ensure!(call.items.is_multiple_of(common), "items are no multiple of {common}");
    ensure!(call.items * call.kind.bytes() <= 4 << 20, "blocks are of at most 4 MiB");
    check_overlap(call, comm)?;
    let is_series = call.what.name() == "alltoallv" && !call.in_place && !call.start && !call.last;
    ensure!(
        call.series.is_some() == (call.shape == Shape::Rare) && (call.series.is_none() || is_series),
        "a series is an alltoallv of shape rare"
    );
    ensure!(call.series.is_none_or(|s| s.times > 1 && s.every > 0), "a series takes place more than once");
    if call.what.reduces() {
        ensure!(call.send.len() == 1, "a reduction has one type");
        ensure!(call.kind.operations().any(|o| o == call.op), "{} is not defined for {}", call.op, call.kind.name());
        ensure!(is_user_defined(call.op) || call.send[0] == Type::plain(), "{} takes plain types", call.op);
        ensure!(
            !call.rounding || (call.kind.rounds() && call.op == "sum"),
            "only sums of floating-point numbers round"
        );
    }
    ensure!(!call.what.is_rooted() || call.root < comm.least(), "the communicator has {} ranks", comm.least());
    ensure!(!call.in_place || call.what.takes_in_place(), "{} has no MPI_IN_PLACE", call.what);
    Ok(())
}

/// What overlaps is sent only; where a rank has blocks for several ranks these must not share values.
fn check_overlap(call: &Call, comm: &Known) -> Result<()> {
    let receives = |rank: usize, many: bool| match call.what.name() {
        "bcast" => (rank != call.root as usize || !many) && comm.most() > 1,
        _ => call.what.reduces(),
    };
    for (rank, sent) in call.send.iter().enumerate() {
        let alone = sent.overlap == Overlap::None || !receives(rank, call.send.len() > 1);
        ensure!(alone, "{} overlaps: nothing can be received in it", sent.name);
        ensure!(sent.overlap != Overlap::Across || !call.what.sends_blocks(), "blocks of {} overlap", sent.name);
    }
    let two = call.what.has_two_types();
    let received = call.receive.iter().find(|t| two && t.overlap != Overlap::None);
    ensure!(received.is_none(), "nothing can be received in a type that overlaps");
    Ok(())
}

/// Whether a list has one entry for each of `ranks`, or one for all.
fn fits(length: usize, ranks: usize) -> bool {
    length == 1 || length >= ranks
}
