//! The fabric file as it is written, with the place of every value.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{Deserializer, SeqAccess, Unexpected, Visitor};
use toml::Spanned;

/// A table of `[routes.SWITCH]`: destination pattern to neighbour.
pub(super) type RawRoutes = BTreeMap<Spanned<String>, Spanned<String>>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawFile {
    pub name: Option<Spanned<String>>,
    pub queue: Option<Spanned<u32>>,
    pub message_latency: Option<Spanned<f64>>,
    pub message_gap: Option<Spanned<f64>>,
    pub torus: Option<Spanned<Vec<u32>>>,
    pub routing: Option<Spanned<String>>,
    pub levels: Option<Spanned<OneOrMore<LevelName>>>,
    #[serde(default)]
    pub hosts: Vec<Spanned<String>>,
    #[serde(default)]
    pub switches: Vec<Spanned<String>>,
    pub bandwidth: Option<Spanned<f64>>,
    pub latency: Option<Spanned<f64>>,
    #[serde(default)]
    pub link: Vec<Spanned<RawLink>>,
    pub generator: Option<Spanned<RawGenerator>>,
    #[serde(default)]
    pub routes: BTreeMap<Spanned<String>, RawRoutes>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawLink {
    pub from: Spanned<OneOrMore<String>>,
    pub to: Spanned<OneOrMore<String>>,
    pub bandwidth: Option<f64>,
    pub latency: Option<f64>,
    pub parallel: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawGenerator {
    pub kind: Spanned<String>,
    pub hosts: Option<Spanned<u32>>,
    pub children: Option<Spanned<Vec<u32>>>,
    pub ports: Option<Spanned<u32>>,
    pub levels: Option<Spanned<Tiers>>,
    pub hosts_per_leaf: Option<Spanned<u32>>,
    pub dims: Option<Spanned<Vec<u32>>>,
    pub hosts_per_switch: Option<Spanned<u32>>,
    pub bandwidth: Spanned<OneOrMore<f64>>,
    pub latency: Option<Spanned<OneOrMore<f64>>>,
}

/// A value, or a list of such values.
pub(super) struct OneOrMore<T>(pub Vec<T>);

/// What a single value of [`OneOrMore`] may be, for error lines, and how it is made of TOML's types.
pub(super) trait Single: Sized {
    const EXPECTED: &'static str;
    fn from_str(_: &str) -> Option<Self> {
        None
    }
    fn from_number(_: f64) -> Option<Self> {
        None
    }
}

impl Single for String {
    const EXPECTED: &'static str = "a name, a pattern such as \"n[0-7]\", or a list of them";
    fn from_str(text: &str) -> Option<Self> {
        Some(text.to_owned())
    }
}

/// A level that counts, or a word for several.
#[derive(Deserialize)]
pub(super) struct LevelName(pub String);

impl Single for LevelName {
    const EXPECTED: &'static str = "\"all\", \"none\", \"default\" or names of levels such as [\"pod\", \"leaf\"]";
    fn from_str(text: &str) -> Option<Self> {
        Some(Self(text.to_owned()))
    }
}

impl Single for f64 {
    const EXPECTED: &'static str = "a number, or a list of numbers";
    fn from_number(number: f64) -> Option<Self> {
        Some(number)
    }
}

impl<'de, T: Single + Deserialize<'de>> Deserialize<'de> for OneOrMore<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OneOrMoreVisitor(PhantomData))
    }
}

struct OneOrMoreVisitor<T>(PhantomData<T>);

impl<T: Single> OneOrMoreVisitor<T> {
    fn one<E: serde::de::Error>(&self, value: Option<T>, got: &str) -> Result<OneOrMore<T>, E> {
        let wrong = || E::custom(format!("{got} does not fit; expected {}", T::EXPECTED));
        value.map(|v| OneOrMore(vec![v])).ok_or_else(wrong)
    }
}

impl<'de, T: Single + Deserialize<'de>> Visitor<'de> for OneOrMoreVisitor<T> {
    type Value = OneOrMore<T>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(T::EXPECTED)
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Self::Value, E> {
        self.one(T::from_str(text), &format!("{text:?}"))
    }

    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<Self::Value, E> {
        self.one(T::from_number(number as f64), &number.to_string())
    }

    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<Self::Value, E> {
        self.one(T::from_number(number), &number.to_string())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element()? {
            values.push(value);
        }
        Ok(OneOrMore(values))
    }
}

/// Tiers of switches of a fat tree. What stands below `[generator]` belongs to it, also the `levels` that are meant for
/// the whole file: an error says where these go.
pub(super) struct Tiers(pub u32);

impl<'de> Deserialize<'de> for Tiers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_u32(TiersVisitor)
    }
}

struct TiersVisitor;

impl Visitor<'_> for TiersVisitor {
    type Value = Tiers;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("2 or 3, the tiers of a fat tree; the levels that count are said above [generator]")
    }

    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<Self::Value, E> {
        let fits = u32::try_from(number).map(Tiers);
        fits.map_err(|_| E::invalid_value(Unexpected::Signed(number), &self))
    }
}
