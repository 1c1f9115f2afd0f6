//! What is proposed of one collective call: data, types, operation, and how blocks differ.

use super::case::{Call, Series, Shape};
use super::generate::Generator;
use super::sizes;
use super::tables::{Kind, Overlap, Type, common_values, is_user_defined};
use super::valid::Known;
use super::what::What;

/// Ways in which ranks of a series have data for each other: every so many calls. Calls are told apart by a number of 8
/// bits.
const PERIODS: [u32; 6] = [64, 255, 256, 256, 256, 256];

impl Generator<'_> {
    /// Nine in ten are those that Nagare carries out.
    pub(super) fn what(&mut self) -> Option<What> {
        let all: Vec<What> = if self.chance(90) { What::ours().collect() } else { What::all().collect() };
        self.pick(&all)
    }

    pub(super) fn proposal(&mut self, what: What, comm: u64, known: &Known, start: bool) -> Call {
        let call = self.call_with_data(what, comm, known, start);
        if what.has_data() {
            return call;
        }
        let (send, receive) = (vec![Type::plain()], vec![Type::plain()]);
        Call { items: 0, salt: 0, kind: Kind::default(), send, receive, ..call }
    }

    fn call_with_data(&mut self, what: What, comm: u64, known: &Known, start: bool) -> Call {
        let kind = self.kind(what);
        let op = if what.reduces() { self.operation(kind) } else { "sum" };
        let root = if what.is_rooted() { self.below(known.least()) } else { 0 };
        let (send, receive) = self.types(what, op, root, known);
        let common = common_values(send.iter().chain(&receive));
        let width = (kind.bytes(), common);
        let items = sizes::items(&mut self.random, what, width, known, self.settings.segment(), self.budget);
        Call {
            id: self.next,
            comm,
            what,
            items,
            kind,
            send,
            receive,
            op,
            root,
            in_place: what.takes_in_place() && self.chance(25),
            shape: self.shape(what),
            salt: self.below(1000),
            rounding: what.reduces() && kind.rounds() && op == "sum" && self.chance(50),
            start,
            large: self.chance(25),
            last: false,
            series: None,
        }
    }

    fn kind(&mut self, what: What) -> Kind {
        let all: Vec<Kind> = Kind::all().filter(|k| !what.reduces() || k.operations().next().is_some()).collect();
        // The first ones are what programs use most, and what derived types are made of.
        let few = if self.chance(50) { 4 } else { all.len() };
        self.pick(&all[..few]).unwrap_or(all[0])
    }

    fn operation(&mut self, kind: Kind) -> &'static str {
        let all: Vec<&str> = kind.operations().collect();
        self.pick(&all).unwrap_or("user")
    }

    fn types(&mut self, what: What, op: &str, root: u32, known: &Known) -> (Vec<Type>, Vec<Type>) {
        let able = |most: Overlap| Type::all().iter().copied().filter(move |t| t.overlap <= most).collect::<Vec<_>>();
        let receivable = able(Overlap::None);
        if what.reduces() {
            let all = if is_user_defined(op) { &receivable[..] } else { &receivable[..1] };
            let one: Vec<Type> = self.pick(all).into_iter().collect();
            return (one.clone(), one);
        }
        let sendable = able(if what.sends_blocks() { Overlap::Within } else { Overlap::Across });
        if what.has_two_types() {
            return (self.list_of_types(&sendable, known), self.list_of_types(&receivable, known));
        }
        let mut both = self.list_of_types(&receivable, known);
        if both.len() > 1 && self.chance(50) {
            both[root as usize] = self.pick(&sendable).unwrap_or(Type::plain());
        }
        (both.clone(), both)
    }

    fn list_of_types(&mut self, all: &[Type], known: &Known) -> Vec<Type> {
        let count = match self.below(100) {
            0..50 => return all[..1].to_vec(),
            50..77 => 1,
            _ => known.most(),
        };
        (0..count).filter_map(|_| self.pick(all)).collect()
    }

    fn shape(&mut self, what: What) -> Shape {
        if !what.has_shape() {
            return Shape::Even;
        }
        match self.below(100) {
            0..25 => Shape::Even,
            25..65 => Shape::Ragged,
            65..83 => Shape::Sparse,
            83..95 => Shape::One,
            _ => Shape::Zero,
        }
    }

    /// An Alltoallv with the data of `call`, less of it, many times.
    pub(super) fn series(&mut self, call: Call, known: &Known) -> Call {
        let every = self.pick(&PERIODS).unwrap_or(1);
        let times = 2 * every.max(128) + self.below(50);
        let slow = 1 + self.below(known.most().saturating_sub(1));
        let series = Series { times, every, slow, milliseconds: 10 + self.below(20) };
        let (send, receive) = (vec![Type::plain()], vec![Type::plain()]);
        let items = 1 + u64::from(self.below(200));
        let what = What::from_name("alltoallv").unwrap_or(call.what);
        let call = Call { what, items, send, receive, op: "sum", root: 0, in_place: false, ..call };
        Call { shape: Shape::Rare, rounding: false, series: Some(series), ..call }
    }
}
