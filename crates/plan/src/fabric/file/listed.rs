//! Files that list hosts, switches, links and routes.

use std::collections::HashSet;
use std::ops::Range;

use toml::Spanned;

use super::Reader;
use super::raw::{OneOrMore, RawFile, RawLink, RawRoutes};
use crate::fabric::DEFAULT_LATENCY_US;
use crate::fabric::build::{FabricBuilder, LinkRate, MAX_NODES};
use crate::fabric::error::{BuildError, FabricError};
use crate::fabric::names::{PatternError, expand};
use crate::quoted::quoted;

impl Reader<'_> {
    pub(super) fn listed(
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
        let rate =
            LinkRate { mbit, latency_us: latency_us.unwrap_or(DEFAULT_LATENCY_US), parallel: l.parallel.unwrap_or(1) };
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

    pub(super) fn routes(
        &self,
        b: &mut FabricBuilder,
        switch: &Spanned<String>,
        table: &RawRoutes,
    ) -> Result<(), FabricError> {
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
}
