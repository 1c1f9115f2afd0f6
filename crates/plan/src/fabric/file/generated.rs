//! Files that name a generator and its parameters.

use toml::Spanned;

use super::Reader;
use super::raw::{OneOrMore, RawFile, RawGenerator};
use crate::fabric::build::FabricBuilder;
use crate::fabric::error::FabricError;
use crate::fabric::generator::{Generator, TierRates};

impl Reader<'_> {
    /// With a generator the explicit lists have no meaning.
    pub(super) fn generator_alone(&self, raw: &RawFile) -> Result<(), FabricError> {
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

    pub(super) fn generated(&self, raw: &Spanned<RawGenerator>, name: &str) -> Result<FabricBuilder, FabricError> {
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
