//! Cases from their text; the language is described in `mod.rs`.

use super::case::{Action, Call, Case, Make, Message, Series, Shape, Statement};
use super::tables::{Kind, Type, operation};
use super::what::What;
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::str::FromStr;

/// All cases of a text.
///
/// # Errors
/// Names the line, what is wrong with it, and what was expected.
pub fn read_cases(text: &str) -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    let mut open: Option<Case> = None;
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default();
        let mut words = line.split_whitespace();
        let Some(first) = words.next() else { continue };
        let read = || -> Result<()> {
            match (first, &mut open) {
                ("case", None) => open = Some(Words::read("case", words)?.case()?),
                ("case", Some(case)) => bail!("case {} has no `end`", case.id),
                ("end", Some(_)) => cases.extend(open.take()),
                (_, Some(case)) => case.statements.push(Words::read(first, words)?.statement(first)?),
                (_, None) => bail!("`{first}` outside a case; expected `case ID threads=N`"),
            }
            Ok(())
        };
        read().with_context(|| format!("line {}", number + 1))?;
    }
    match open {
        Some(case) => bail!("case {} has no `end`", case.id),
        None => Ok(cases),
    }
}

impl FromStr for Case {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let mut cases = read_cases(text)?;
        match (cases.pop(), cases.is_empty()) {
            (Some(case), true) => Ok(case),
            _ => bail!("expected one case"),
        }
    }
}

/// The words of a line: a number, then names with values.
struct Words<'a> {
    id: u64,
    values: BTreeMap<&'a str, &'a str>,
}

impl<'a> Words<'a> {
    fn read(first: &str, mut words: impl Iterator<Item = &'a str>) -> Result<Self> {
        let id = words.next().with_context(|| format!("`{first}` has no number"))?;
        let id = id.parse().with_context(|| format!("`{first} {id}`: expected a number"))?;
        let mut values = BTreeMap::new();
        for word in words {
            let (name, value) = word.split_once('=').with_context(|| format!("`{word}`: expected name=value"))?;
            if values.insert(name, value).is_some() {
                bail!("`{name}` twice");
            }
        }
        Ok(Self { id, values })
    }

    fn case(mut self) -> Result<Case> {
        let threads = self.number("threads", Some(1))?;
        self.all_used()?;
        Ok(Case { id: self.id, threads, statements: Vec::new() })
    }

    fn statement(mut self, first: &str) -> Result<Statement> {
        let thread = self.number("thread", Some(0))?;
        let action = match first {
            "comm" => Action::Comm { id: self.id, of: self.number("of", None)?, make: self.make()? },
            "free" => Action::Free { id: self.id, disconnect: self.bit("disconnect")? },
            "stall" => {
                let rank = u32::try_from(self.id).with_context(|| format!("stall {}: no rank", self.id))?;
                Action::Stall { rank, milliseconds: self.number("ms", None)? }
            }
            "call" => Action::Call(self.call()?),
            "message" => Action::Message(self.message()?),
            "finish" => Action::Finish(self.id),
            other => bail!("`{other}`: expected comm, free, call, message, finish, stall or end"),
        };
        self.all_used()?;
        Ok(Statement { thread, action })
    }

    fn make(&mut self) -> Result<Make> {
        Ok(match self.text("make", None)? {
            "dup" => Make::Dup,
            "idup" => Make::Idup,
            "split" => {
                let color = |c: &str| if c == "-" { Some(None) } else { c.parse().ok().map(Some) };
                Make::Split {
                    colors: self.list("colors", "numbers or -", color)?,
                    keys: self.list("keys", "numbers", number)?,
                }
            }
            "cart" => Make::Cart {
                dims: self.list("dims", "numbers", number)?,
                periods: self.list("periods", "0 or 1", bit)?,
                reorder: self.bit("reorder")?,
            },
            "sub" => Make::Sub(self.list("keep", "0 or 1", bit)?),
            "group" => Make::Group(self.list("ranks", "numbers", number)?),
            "create" => Make::Create(self.list("ranks", "numbers", number)?),
            "merge" => Make::Merge { low: self.number("low", None)?, high: self.bit("high")? },
            other => bail!("make={other}: expected dup, idup, split, cart, sub, group, create or merge"),
        })
    }

    fn call(&mut self) -> Result<Call> {
        let what = self.known("what", None, What::from_name)?;
        let kind = self.known("kind", Some("int"), Kind::from_name)?;
        let send = match self.values.contains_key("send") {
            true => self.list("send", "types", Type::from_name)?,
            false => vec![Type::plain()],
        };
        let receive = match self.values.contains_key("receive") {
            true => self.list("receive", "types", Type::from_name)?,
            false => send.clone(),
        };
        Ok(Call {
            id: self.id,
            comm: self.number("comm", None)?,
            what,
            items: self.number("items", Some(0))?,
            kind,
            send,
            receive,
            op: self.known("op", Some("sum"), operation)?,
            root: self.number("root", Some(0))?,
            in_place: self.bit("inplace")?,
            shape: self.known("shape", Some("even"), |name| Shape::ALL.into_iter().find(|s| s.name() == name))?,
            salt: self.number("salt", Some(0))?,
            rounding: self.known("data", Some("exact"), |name| match name {
                "exact" => Some(false),
                "rounding" => Some(true),
                _ => None,
            })?,
            start: self.bit("start")?,
            large: self.bit("large")?,
            last: self.bit("last")?,
            series: self.series()?,
        })
    }

    fn series(&mut self) -> Result<Option<Series>> {
        if !self.values.contains_key("times") {
            return Ok(None);
        }
        let (times, every) = (self.number("times", None)?, self.number("every", Some(1))?);
        let (slow, milliseconds) = (self.number("slow", Some(0))?, self.number("ms", Some(0))?);
        Ok(Some(Series { times, every, slow, milliseconds }))
    }

    fn message(&mut self) -> Result<Message> {
        Ok(Message {
            id: self.id,
            comm: self.number("comm", None)?,
            from: self.number("from", None)?,
            to: self.number("to", None)?,
            items: self.number("items", None)?,
            tag: self.number("tag", None)?,
            wild: self.bit("wild")?,
            early: self.bit("early")?,
        })
    }

    fn text(&mut self, name: &str, otherwise: Option<&'static str>) -> Result<&'a str> {
        self.values.remove(name).or(otherwise).with_context(|| format!("`{name}=` is missing"))
    }

    fn known<T>(&mut self, name: &str, otherwise: Option<&'static str>, find: impl Fn(&str) -> Option<T>) -> Result<T> {
        let text = self.text(name, otherwise)?;
        find(text).with_context(|| format!("{name}={text} is not known"))
    }

    fn number<T: FromStr>(&mut self, name: &str, otherwise: Option<T>) -> Result<T> {
        match (self.values.remove(name), otherwise) {
            (Some(text), _) => text.parse().ok().with_context(|| format!("{name}={text}: expected a number")),
            (None, Some(otherwise)) => Ok(otherwise),
            (None, None) => bail!("`{name}=` is missing"),
        }
    }

    fn bit(&mut self, name: &str) -> Result<bool> {
        let text = self.text(name, Some("0"))?;
        bit(text).with_context(|| format!("{name}={text}: expected 0 or 1"))
    }

    fn list<T>(&mut self, name: &str, expected: &str, read: impl Fn(&str) -> Option<T>) -> Result<Vec<T>> {
        let text = self.text(name, None)?;
        let items: Option<Vec<T>> = text.split(',').map(read).collect();
        items.with_context(|| format!("{name}={text}: expected {expected}, separated by commas"))
    }

    fn all_used(&self) -> Result<()> {
        match self.values.first_key_value() {
            Some((name, value)) => bail!("`{name}={value}` has no meaning here"),
            None => Ok(()),
        }
    }
}

fn number(text: &str) -> Option<u32> {
    text.parse().ok()
}

fn bit(text: &str) -> Option<bool> {
    match text {
        "0" => Some(false),
        "1" => Some(true),
        _ => None,
    }
}
