//! Fabric files.
//!
//! ```toml
//! name = "two racks"                       # optional
//! queue = 128                              # packets per port of a switch; optional
//! message_latency = 90                     # microseconds a message costs beyond its bytes; optional (`nagare bench`)
//! message_gap = 20                         # microseconds between the messages of a host; optional
//! routing = "dmodk"                        # which of several equal links a switch takes, or "ecmp"; optional
//! levels = ["pod", "leaf"]                 # which levels count; optional
//! hosts = ["n[0-7]"]                       # numbered in this order
//! switches = ["l[0-1]", "s0"]
//! bandwidth = 100                          # Mbit/s of each direction, unless a link says otherwise
//! latency = 5                              # microseconds, likewise; 1 where nothing is said
//!
//! [[link]]                                 # every `from` is joined to every `to`
//! from = "n[0-3]"
//! to = "l0"
//!
//! [[link]]
//! from = "l[0-1]"
//! to = "s0"
//! parallel = 2                             # two cables
//!
//! [routes.l0]                              # optional: by which neighbour l0 sends to these hosts
//! "n[4-7]" = "s0"
//! ```
//! or, in place of hosts, switches and links, `[generator]` with a `kind` and its parameters
//! ([`Generator`](super::Generator)); `bandwidth` and `latency` are then given there, as one number or one per tier.
//!
//! `file/raw.rs`: the file as it is written; `file/listed.rs`, `file/generated.rs`: its two forms; `file/write.rs`: a
//! fabric as such a file.

mod generated;
mod listed;
mod raw;
mod write;

use std::ops::Range;

use toml::Spanned;

use super::error::{BuildError, FabricError};
use super::level_choice::LevelChoice;
use super::model::{Fabric, MessageCost, Routing};
use crate::quoted::{cut, quoted};
use raw::RawFile;

/// Longest text [`Fabric::from_toml`] accepts.
pub const MAX_FILE_BYTES: usize = 16 << 20;
/// Most characters of what an error says beside its place: it may quote the file.
const LONGEST_MESSAGE: usize = 600;
/// Longest name of a fabric, in characters.
const LONGEST_NAME: usize = 120;

impl Fabric {
    /// Reads a fabric from the text of its file; `source_name` is what errors call it, and the fabric's name where the
    /// file gives none.
    ///
    /// # Errors
    /// One line with the source, the line number where there is one, what is wrong and what was expected.
    pub fn from_toml(text: &str, source_name: &str) -> Result<Fabric, FabricError> {
        let reader = Reader { text, source_name };
        if text.len() > MAX_FILE_BYTES {
            let size = text.len();
            return Err(reader.error(None, format!("the file has {size} bytes; expected at most {MAX_FILE_BYTES}")));
        }
        let raw: RawFile = toml::from_str(text).map_err(|e| {
            // The first line of the message is the fault; the others would repeat the text.
            let message = e.message().lines().collect::<Vec<_>>().join("; ");
            reader.error(e.span(), message)
        })?;
        reader.fabric(raw)
    }
}

struct Reader<'t> {
    text: &'t str,
    source_name: &'t str,
}

impl Reader<'_> {
    fn error(&self, span: Option<Range<usize>>, message: impl ToString) -> FabricError {
        let newlines = |at: usize| {
            let before = &self.text.as_bytes()[..at.min(self.text.len())];
            before.iter().filter(|&&c| c == b'\n').count()
        };
        FabricError {
            source_name: quoted(self.source_name),
            line: span.map(|s| newlines(s.start) + 1),
            message: cut(&message.to_string(), LONGEST_MESSAGE),
        }
    }

    fn at<T, E: ToString>(&self, span: Range<usize>, result: Result<T, E>) -> Result<T, FabricError> {
        result.map_err(|e| self.error(Some(span), e))
    }

    fn fabric(&self, raw: RawFile) -> Result<Fabric, FabricError> {
        let name = self.name(&raw)?;
        let name = name.as_str();
        let mut declared = Vec::new();
        let mut builder = match &raw.generator {
            Some(generator) => {
                self.generator_alone(&raw)?;
                self.generated(generator, name)?
            }
            None => self.listed(&raw, name, &mut declared)?,
        };
        if let Some(queue) = &raw.queue {
            if *queue.as_ref() == 0 {
                let message = "queue = 0; expected at least 1 packet";
                return Err(self.error(Some(queue.span()), message));
            }
            builder.set_queue(*queue.as_ref());
        }
        let us = |value: &Option<Spanned<f64>>| value.as_ref().map(|v| *v.as_ref());
        let cost = MessageCost { latency_us: us(&raw.message_latency), gap_us: us(&raw.message_gap) };
        builder.set_message_cost(cost).map_err(|e| {
            let gap = matches!(e, BuildError::BadMessageCost("message_gap", _));
            let place = if gap { &raw.message_gap } else { &raw.message_latency };
            self.error(place.as_ref().map(Spanned::span), e)
        })?;
        if let Some(dims) = &raw.torus {
            self.at(dims.span(), builder.set_torus(dims.as_ref()))?;
        }
        if let Some(routing) = &raw.routing {
            let known = Routing::NAMES.into_iter().find(|(name, _)| name == routing.as_ref());
            let Some((_, known)) = known else {
                let message = format!(
                    "routing = \"{}\"; expected \"destination\", \"dmodk\" or \"ecmp\"",
                    quoted(routing.as_ref())
                );
                return Err(self.error(Some(routing.span()), message));
            };
            builder.set_routing(known);
        }
        for (switch, table) in &raw.routes {
            self.routes(&mut builder, switch, table)?;
        }
        let mut fabric = builder.build().map_err(|e| {
            let node = match &e {
                BuildError::NoLink(name) | BuildError::Unreachable(_, name) => Some(name),
                _ => None,
            };
            let is = |(declared, _): &&(String, Range<usize>)| Some(declared) == node;
            let place = match e {
                BuildError::TablesBesideEcmp => raw.routing.as_ref().map(Spanned::span),
                _ => declared.iter().find(is).map(|(_, span)| span.clone()),
            };
            self.error(place, e)
        })?;
        if let Some(levels) = &raw.levels {
            let words = levels.as_ref().0.iter().map(|name| name.0.clone()).collect();
            self.at(levels.span(), fabric.choose_levels(LevelChoice::from_words(words)))?;
        }
        Ok(fabric)
    }

    /// What the fabric is called, in messages and reports.
    fn name(&self, raw: &RawFile) -> Result<String, FabricError> {
        let Some(given) = &raw.name else { return Ok(quoted(self.source_name)) };
        let name = given.as_ref();
        if name.chars().count() > LONGEST_NAME || cut(name, LONGEST_NAME) != *name {
            let message =
                format!("name = \"{}\"; expected one line of at most {LONGEST_NAME} characters", quoted(name));
            return Err(self.error(Some(given.span()), message));
        }
        Ok(name.clone())
    }
}
