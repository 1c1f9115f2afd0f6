//! Cases as text; the language is described in `mod.rs`.

use super::case::{Action, Call, Case, Make, Message, Series, Statement};
use std::fmt::{Display, Formatter, Result};

impl Display for Case {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        writeln!(f, "case {} threads={}", self.id, self.threads)?;
        for statement in &self.statements {
            writeln!(f, "{statement}")?;
        }
        writeln!(f, "end")
    }
}

impl Display for Statement {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let thread = self.thread;
        match &self.action {
            Action::Comm { id, of, make } => write!(f, "comm {id} of={of} thread={thread} {make}"),
            Action::Free { id, disconnect } => {
                write!(f, "free {id} thread={thread} disconnect={}", u8::from(*disconnect))
            }
            Action::Stall { rank, milliseconds } => write!(f, "stall {rank} thread={thread} ms={milliseconds}"),
            Action::Finish(id) => write!(f, "finish {id} thread={thread}"),
            Action::Call(call) => write!(f, "call {} thread={thread} {call}", call.id),
            Action::Message(message) => write!(f, "message {} thread={thread} {message}", message.id),
        }
    }
}

impl Display for Make {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let bits = |bits: &[bool]| list(bits.iter().map(|&b| u8::from(b)));
        match self {
            Self::Dup => write!(f, "make=dup"),
            Self::Idup => write!(f, "make=idup"),
            Self::Split { colors, keys } => {
                let colors = list(colors.iter().map(|c| c.map_or("-".to_owned(), |c| c.to_string())));
                write!(f, "make=split colors={colors} keys={}", list(keys))
            }
            Self::Cart { dims, periods, reorder } => {
                let (dims, periods) = (list(dims), bits(periods));
                write!(f, "make=cart dims={dims} periods={periods} reorder={}", u8::from(*reorder))
            }
            Self::Sub(keep) => write!(f, "make=sub keep={}", bits(keep)),
            Self::Group(ranks) => write!(f, "make=group ranks={}", list(ranks)),
            Self::Create(ranks) => write!(f, "make=create ranks={}", list(ranks)),
            Self::Merge { low, high } => write!(f, "make=merge low={low} high={}", u8::from(*high)),
        }
    }
}

impl Display for Call {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let Self { comm, what, items, salt, .. } = self;
        write!(f, "comm={comm} what={what} start={} large={}", u8::from(self.start), u8::from(self.large))?;
        if self.last {
            write!(f, " last=1")?;
        }
        if !what.has_data() {
            return Ok(());
        }
        write!(f, " items={items} kind={}", self.kind.name())?;
        write!(f, " send={}", list(self.send.iter().map(|t| t.name)))?;
        if what.has_two_types() {
            write!(f, " receive={}", list(self.receive.iter().map(|t| t.name)))?;
        }
        if what.reduces() {
            write!(f, " op={} data={}", self.op, if self.rounding { "rounding" } else { "exact" })?;
        }
        if what.is_rooted() {
            write!(f, " root={}", self.root)?;
        }
        if what.has_shape() {
            write!(f, " shape={}", self.shape.name())?;
        }
        if let Some(Series { times, every, slow, milliseconds }) = &self.series {
            write!(f, " times={times} every={every} slow={slow} ms={milliseconds}")?;
        }
        if what.takes_in_place() {
            write!(f, " inplace={}", u8::from(self.in_place))?;
        }
        write!(f, " salt={salt}")
    }
}

impl Display for Message {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let Self { comm, from, to, items, tag, .. } = self;
        let (wild, early) = (u8::from(self.wild), u8::from(self.early));
        write!(f, "comm={comm} from={from} to={to} items={items} tag={tag} wild={wild} early={early}")
    }
}

fn list<T: ToString>(items: impl IntoIterator<Item = T>) -> String {
    items.into_iter().map(|i| i.to_string()).collect::<Vec<_>>().join(",")
}
