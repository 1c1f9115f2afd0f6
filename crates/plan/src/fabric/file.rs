//! Fabric files.
//!
//! ```toml
//! name = "two racks"                       # optional
//! queue = 128                              # packets per port, for an emulation; optional
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
//! ([`Generator`]); `bandwidth` and `latency` are then given there, as one number or one per tier.

use std::collections::HashSet;
use std::ops::Range;

use toml::Spanned;

use super::build::{FabricBuilder, LinkRate, MAX_NODES};
use super::error::{BuildError, FabricError};
use super::file_raw::{OneOrMore, RawFile, RawGenerator, RawLink, RawRoutes};
use super::generator::{Generator, TierRates};
use super::level_choice::LevelChoice;
use super::model::{Fabric, MessageCost, Routing};
use super::names::{PatternError, expand};
use crate::quoted::{cut, quoted};

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

    /// With a generator the explicit lists have no meaning.
    fn generator_alone(&self, raw: &RawFile) -> Result<(), FabricError> {
        let first = |list: &[Spanned<String>]| list.first().map(Spanned::span);
        let given = [
            ("hosts", first(&raw.hosts)),
            ("switches", first(&raw.switches)),
            ("link", raw.link.first().map(Spanned::span)),
            ("bandwidth", raw.bandwidth.as_ref().map(Spanned::span)),
            ("latency", raw.latency.as_ref().map(Spanned::span)),
            ("torus", raw.torus.as_ref().map(Spanned::span)),
        ];
        for (key, span) in given {
            if span.is_some() {
                let message = format!(
                    "'{key}' beside [generator]; expected only name, queue, message_latency, message_gap, routing, \
                     levels and routes beside it"
                );
                return Err(self.error(span, message));
            }
        }
        Ok(())
    }

    fn listed(
        &self,
        raw: &RawFile,
        name: &str,
        declared: &mut Vec<(String, Range<usize>)>,
    ) -> Result<FabricBuilder, FabricError> {
        if raw.hosts.is_empty() {
            let message = "no hosts; expected hosts = [\"n[0-7]\", ...] or a [generator] table";
            return Err(self.error(None, message));
        }
        let mut b = FabricBuilder::new(name);
        for (list, host) in [(&raw.hosts, true), (&raw.switches, false)] {
            for pattern in list {
                for name in self.at(pattern.span(), expand(pattern.as_ref()))? {
                    let add = if host { b.host(&name) } else { b.switch(&name) };
                    self.at(pattern.span(), add)?;
                    declared.push((name, pattern.span()));
                }
            }
        }
        for link in &raw.link {
            self.link(&mut b, raw, link)?;
        }
        Ok(b)
    }

    fn link(&self, b: &mut FabricBuilder, raw: &RawFile, link: &Spanned<RawLink>) -> Result<(), FabricError> {
        let l = link.as_ref();
        let default = |value: &Option<Spanned<f64>>| value.as_ref().map(|v| *v.as_ref());
        let Some(mbit) = l.bandwidth.or(default(&raw.bandwidth)) else {
            let message = "the link has no bandwidth; expected bandwidth = Mbit/s here or at the top of the file";
            return Err(self.error(Some(link.span()), message));
        };
        let latency_us = l.latency.or(default(&raw.latency));
        let rate = LinkRate {
            mbit,
            latency_us: latency_us.unwrap_or(super::DEFAULT_LATENCY_US),
            parallel: l.parallel.unwrap_or(1),
        };
        let ends = [self.expand_all(&l.from)?, self.expand_all(&l.to)?];
        for (names, place) in ends.iter().zip([&l.from, &l.to]) {
            let mut seen = HashSet::new();
            if let Some(again) = names.iter().find(|name| !seen.insert(*name)) {
                // Two links of a host are two adapters, and nobody says that in such a way.
                return Err(self.error(Some(place.span()), format!("'{again}' is in the list twice; expected it once")));
            }
        }
        for from in &ends[0] {
            for to in &ends[1] {
                b.link(from, to, rate).map_err(|e| {
                    let at_to = matches!(&e, BuildError::UnknownName(name) if name == to);
                    let end = if at_to { &l.to } else { &l.from };
                    self.error(Some(end.span()), e)
                })?;
            }
        }
        Ok(())
    }

    fn expand_all(&self, names: &Spanned<OneOrMore<String>>) -> Result<Vec<String>, FabricError> {
        let mut all = Vec::new();
        for pattern in &names.as_ref().0 {
            all.extend(self.at(names.span(), expand(pattern))?);
            // A list of a few bytes for each pattern could ask for more than all memory.
            if all.len() > MAX_NODES {
                return Err(self.error(Some(names.span()), PatternError::TooMany(quoted(pattern))));
            }
        }
        if all.is_empty() {
            return Err(self.error(Some(names.span()), "no names; expected at least one"));
        }
        Ok(all)
    }

    fn routes(&self, b: &mut FabricBuilder, switch: &Spanned<String>, table: &RawRoutes) -> Result<(), FabricError> {
        for (hosts, next) in table {
            for host in self.at(hosts.span(), expand(hosts.as_ref()))? {
                b.route(switch.as_ref(), &host, next.as_ref()).map_err(|e| {
                    let at_switch = match &e {
                        BuildError::RoutesOfHost(_) => true,
                        BuildError::UnknownName(name) => name == switch.as_ref(),
                        _ => false,
                    };
                    let key = if at_switch { switch } else { hosts };
                    self.error(Some(key.span()), e)
                })?;
            }
        }
        Ok(())
    }

    fn generated(&self, raw: &Spanned<RawGenerator>, name: &str) -> Result<FabricBuilder, FabricError> {
        let g = raw.as_ref();
        let kind = g.kind.as_ref().as_str();
        let takes: &[&str] = match kind {
            "star" => &["hosts"],
            "tree" => &["children"],
            "fat-tree" => &["ports", "levels", "hosts_per_leaf"],
            "mlfm" => &["ports"],
            "torus" => &["dims", "hosts_per_switch"],
            _ => {
                let message = format!("unknown generator '{kind}'; expected star, tree, fat-tree, mlfm or torus");
                return Err(self.error(Some(g.kind.span()), message));
            }
        };
        let given = [
            ("hosts", g.hosts.as_ref().map(Spanned::span)),
            ("children", g.children.as_ref().map(Spanned::span)),
            ("ports", g.ports.as_ref().map(Spanned::span)),
            ("levels", g.levels.as_ref().map(Spanned::span)),
            ("hosts_per_leaf", g.hosts_per_leaf.as_ref().map(Spanned::span)),
            ("dims", g.dims.as_ref().map(Spanned::span)),
            ("hosts_per_switch", g.hosts_per_switch.as_ref().map(Spanned::span)),
        ];
        for (key, span) in given {
            if span.is_some() && !takes.contains(&key) {
                let takes = takes.join(", ");
                let message = format!(
                    "'{key}' is not a parameter of the {kind} generator; expected {takes}, bandwidth or latency"
                );
                return Err(self.error(span, message));
            }
        }
        let missing = || {
            let message = format!("the {kind} generator has no {0}; expected {0} = ...", takes[0]);
            self.error(Some(g.kind.span()), message)
        };
        let number = |value: &Option<Spanned<u32>>| value.as_ref().map(|v| *v.as_ref());
        let list = |value: &Option<Spanned<Vec<u32>>>| value.as_ref().map(|v| v.as_ref().clone());
        let generator = match kind {
            "star" => Generator::Star { hosts: number(&g.hosts).ok_or_else(missing)? },
            "tree" => Generator::Tree { children: list(&g.children).ok_or_else(missing)? },
            "fat-tree" => Generator::FatTree {
                ports: number(&g.ports).ok_or_else(missing)?,
                levels: g.levels.as_ref().map_or(3, |tiers| tiers.as_ref().0),
                hosts_per_leaf: number(&g.hosts_per_leaf),
            },
            "mlfm" => Generator::Mlfm { ports: number(&g.ports).ok_or_else(missing)? },
            _ => Generator::Torus {
                dims: list(&g.dims).ok_or_else(missing)?,
                hosts_per_switch: number(&g.hosts_per_switch).unwrap_or(1),
            },
        };
        let values = |v: &Spanned<OneOrMore<f64>>| v.as_ref().0.clone();
        let rates =
            TierRates { mbit: values(&g.bandwidth), latency_us: g.latency.as_ref().map_or_else(Vec::new, values) };
        self.at(g.kind.span(), generator.builder(name, &rates))
    }
}
