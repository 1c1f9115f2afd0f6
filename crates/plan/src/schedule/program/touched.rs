//! Which hops have touched every part so far: from that follows what the next hop waits for.

use super::ProgramError;
use crate::schedule::{Action, Hop, Parts, RankPlan, Run, Space};

/// Hops that touched one part so far.
#[derive(Clone, Default)]
struct Touched {
    writer: Option<u32>,
    readers: Vec<u32>,
}

/// What a hop waits for, while its parts are looked through.
#[derive(Default)]
pub(super) struct Waits {
    pub data: Vec<u32>,
    pub whole: Vec<u32>,
    pub last_writer: Option<u32>,
    /// It touches a part that no hop has written before.
    pub unwritten: bool,
    /// It writes a part that it also reads, or one part twice.
    pub itself: bool,
}

/// Every part of every space, with the hops that have touched it.
pub(super) struct Parted<'p> {
    plan: &'p RankPlan,
    touched: [Vec<Touched>; Space::ALL.len()],
}

impl<'p> Parted<'p> {
    /// All parts that hops of `plan` name, before the first hop.
    pub fn new(plan: &'p RankPlan) -> Self {
        let named = |hop: &Hop, space| {
            [Some(hop.parts), hop.action.copied()]
                .into_iter()
                .flatten()
                .any(|parts| parts.count > 0 && parts.space == space)
        };
        let of_space = |space| {
            let parts = if plan.hops.iter().any(|hop| named(hop, space)) { plan.parts_of(space) } else { 0 };
            vec![Touched::default(); parts as usize]
        };
        Self { plan, touched: Space::ALL.map(of_space) }
    }

    /// The copy or shuffle from the input that has written all staged parts of `hop` and nothing else, if no hop has
    /// touched them since.
    pub fn staged_by(&self, hop: &Hop) -> Option<u32> {
        if hop.parts.space != Space::Stage || !matches!(hop.action, Action::Send | Action::Reduce) {
            return None;
        }
        let touched = self.touched_at(hop.parts)?;
        let by = touched.first()?.writer?;
        let copy = &self.plan.hops[by as usize];
        let is_input = copy.action.copied().is_some_and(|from| from.space == Space::Input);
        let alone = touched.iter().all(|part| part.writer == Some(by) && part.readers.is_empty());
        (alone && is_input && copy.parts == hop.parts).then_some(by)
    }

    /// The combination that has written the staged parts that `hop` copies to the output, and nothing else, if no hop
    /// has read them, none has touched the output there, and the copy waits for nothing but contributions to be copied.
    pub fn combined_by(&self, hop: &Hop) -> Option<u32> {
        let Action::Copy { from } = hop.action else { return None };
        if from.space != Space::Stage || hop.parts.space != Space::Output {
            return None;
        }
        let touched = self.touched_at(from)?;
        let by = touched.first()?.writer?;
        let combination = &self.plan.hops[by as usize];
        let alone = touched.iter().all(|part| part.writer == Some(by) && part.readers.is_empty());
        let untouched = |part: &Touched| part.writer.is_none() && part.readers.is_empty();
        let is_contribution = |&after: &u32| {
            let copied = self.plan.hops[after as usize].action.copied();
            copied.is_some_and(|from| from.space == Space::Input)
        };
        if !self.touched_at(hop.parts)?.iter().all(untouched) || !hop.after.iter().all(is_contribution) {
            return None;
        }
        (alone && combination.action == Action::Reduce && combination.parts == from).then_some(by)
    }

    fn touched_at(&self, Parts { space, first, count }: Parts) -> Option<&[Touched]> {
        self.touched[space as usize].get(first as usize..(first + count) as usize)
    }

    /// Whether `hop` is the last one that touches these parts, and reads them.
    pub fn is_last(&self, hop: u32, parts: Parts) -> bool {
        let is_last = |part: &Touched| part.writer != Some(hop) && part.readers == [hop];
        self.touched_at(parts).is_some_and(|touched| touched.iter().all(is_last))
    }

    /// Whether `hop` is the only one that touches these parts, and writes them.
    pub fn is_alone(&self, hop: u32, parts: Parts) -> bool {
        let is_alone = |part: &Touched| part.writer == Some(hop) && part.readers.is_empty();
        self.touched_at(parts).is_some_and(|touched| touched.iter().all(is_alone))
    }

    /// That the plan has these parts.
    pub fn check(&self, hop: u32, parts: Parts) -> Result<(), ProgramError> {
        let known = self.plan.parts_of(parts.space);
        if parts.end() > known {
            return Err(ProgramError::NoSuchPart { hop, first: parts.first, end: parts.end(), parts: known });
        }
        Ok(())
    }

    /// What a hop copies inside the rank, and what it writes (or sends).
    pub fn places(&self, hop: &Hop) -> (Vec<Parts>, Vec<Parts>) {
        let Action::Shuffle { from, .. } = hop.action else {
            return (hop.action.copied().into_iter().collect(), vec![hop.parts]);
        };
        let runs = self.plan.runs(hop);
        let places = |space, first: fn(&Run) -> u32| {
            runs.iter().map(|run| Parts { space, first: first(run), count: run.count }).collect()
        };
        (places(from.space, |run| run.from), places(hop.parts.space, |run| run.to))
    }

    /// Takes note that `hop` reads or writes `parts`.
    pub fn touch(&mut self, hop: u32, parts: Parts, writes: bool, waits: &mut Waits) {
        let Parts { space, first, count } = parts;
        // A copy or shuffle works on all its parts at once, and on parts of two places: what comes before and after it
        // is ordered as a whole.
        let is_copy = |h: u32| self.plan.hops[h as usize].action.copied().is_some();
        let mut wait = |earlier: u32| {
            waits.itself |= earlier == hop;
            let list = if is_copy(hop) || is_copy(earlier) { &mut waits.whole } else { &mut waits.data };
            list.push(earlier);
        };
        for part in &mut self.touched[space as usize][first as usize..(first + count) as usize] {
            part.writer.into_iter().for_each(&mut wait);
            waits.last_writer = part.writer.max(waits.last_writer);
            waits.unwritten |= part.writer.is_none();
            if writes {
                part.readers.drain(..).for_each(&mut wait);
                part.writer = Some(hop);
            } else {
                part.readers.push(hop);
            }
        }
    }
}
