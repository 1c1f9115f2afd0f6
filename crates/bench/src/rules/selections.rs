//! What MPICH 4 and 5 select: trees of conditions, which a library holds as JSON texts and reads at its start, unless a
//! control variable names a file.
//!
//! ```text
//!   {"collective=bcast": {"comm_type=intra": {"comm_size<8": {"algorithm=MPIR_Bcast_intra_binomial": {}},
//!                                             "comm_size=any": …}}}
//! ```
//!
//! Of the conditions of one object the first that holds counts, and there is no way back: a file must hold all that its
//! library selects, or a call finds nothing and ends the job. So what a library holds is the only safe beginning.
//! There is one text of the algorithms (`algorithm=MPIR_…`) and, with the device ch4, one of what the device puts
//! around them (`composition=MPIDI_…`).

use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeSet;
use std::fmt;

/// How the texts in a library begin.
const START: &[u8] = b"{\"collective=";
/// How what a library can read begins: names of algorithms, and of compositions.
const NAMES: [&[u8]; 2] = [b"algorithm=MPIR_", b"composition=MPIDI_"];

/// Conditions in their order, each with what holds under it; a name of an algorithm or composition with its parameters.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tree(pub Vec<(String, Tree)>);

/// What a library selects by itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Selections {
    /// Algorithms.
    pub algorithms: Tree,
    /// Compositions of the device, where it has some.
    pub device: Option<Tree>,
    /// What can be selected.
    names: BTreeSet<String>,
}

impl Tree {
    /// One condition or name.
    pub fn one(key: impl Into<String>, under: Tree) -> Self {
        Self(vec![(key.into(), under)])
    }

    /// What is under a key.
    pub fn under(&self, key: &str) -> Option<&Tree> {
        self.0.iter().find(|(own, _)| own == key).map(|(_, tree)| tree)
    }

    /// What is under a key, to be changed.
    pub fn under_mut(&mut self, key: &str) -> Option<&mut Tree> {
        self.0.iter_mut().find(|(own, _)| own == key).map(|(_, tree)| tree)
    }

    /// The name, if this is one and no conditions.
    pub fn name(&self) -> Option<&str> {
        let (key, _) = self.0.first()?;
        (key.starts_with("algorithm=") || key.starts_with("composition=")).then_some(key)
    }
}

impl Selections {
    /// Those that a library holds, by the bytes of its file; `None` if it holds none in this form.
    pub fn of_library(bytes: &[u8]) -> Option<Self> {
        let (mut algorithms, mut device, mut names) = (None, None, BTreeSet::new());
        let text = |at: usize| {
            let text = bytes[at..].split(|&byte| byte == 0).next()?;
            std::str::from_utf8(text).ok()
        };
        for (at, &byte) in bytes.iter().enumerate() {
            let here = &bytes[at..];
            if byte == b'{' && here.starts_with(START) {
                let Some(text) = text(at) else { continue };
                let Ok(tree) = serde_json::from_str::<Tree>(text) else { continue };
                if text.contains("composition=") {
                    device = Some(tree);
                } else if text.contains("algorithm=MPIR_Bcast_intra_") {
                    algorithms = Some(tree);
                }
            } else if matches!(byte, b'a' | b'c') && NAMES.iter().any(|name| here.starts_with(name)) {
                names.extend(text(at).filter(|name| !name.contains('"')).map(str::to_owned));
            }
        }
        Some(Self { algorithms: algorithms?, device, names })
    }

    /// Whether the library can be told this algorithm or composition, such as `algorithm=MPIR_Bcast_intra_binomial`.
    pub fn knows(&self, name: &str) -> bool {
        self.names.contains(name)
    }
}

impl Serialize for Tree {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, tree) in &self.0 {
            map.serialize_entry(key, tree)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        /// Keeps the order, which matters.
        struct InOrder;

        impl<'de> Visitor<'de> for InOrder {
            type Value = Tree;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of objects")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Tree, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Tree(entries))
            }
        }

        deserializer.deserialize_map(InOrder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALGORITHMS: &str =
        r#"{"collective=bcast":{"comm_type=intra":{"b":{"algorithm=MPIR_Bcast_intra_smp":{}},"a":{}}}}"#;
    const DEVICE: &str = r#"{"collective=bcast":{"composition=MPIDI_Bcast_intra_composition_gamma":{}}}"#;

    #[test]
    fn a_library_holds_its_selections_between_other_bytes() {
        let parts: [&[u8]; 7] = [
            b"\x7fELF{\"collective=\xff{",
            ALGORITHMS.as_bytes(),
            b"\0\0algorithm=MPIR_Bcast_intra_tree\0",
            br#"{"collective=bcast":{"algorithm=MPIDI_POSIX_mpi_bcast":{}}}"#,
            b"\0",
            DEVICE.as_bytes(),
            b"\0{\"collective=broken",
        ];
        let found = Selections::of_library(&parts.concat()).expect("both texts");
        assert_eq!(serde_json::to_string(&found.algorithms).ok().as_deref(), Some(ALGORITHMS), "in its order");
        assert_eq!(found.device.and_then(|tree| serde_json::to_string(&tree).ok()).as_deref(), Some(DEVICE));
        assert_eq!(found.names.iter().collect::<Vec<_>>(), ["algorithm=MPIR_Bcast_intra_tree"]);
        assert_eq!(Selections::of_library(&parts[3..].concat()), None, "no algorithms");
    }
}
