//! Slurm's address of a node in its network: `SLURM_TOPOLOGY_ADDR` (`s0.s4.node7`) with
//! `SLURM_TOPOLOGY_ADDR_PATTERN` (`switch.switch.node`).

use crate::quoted;
use thiserror::Error;

/// The address, outermost component first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlurmAddress {
    /// (`switch`, `s0`), (`switch`, `s4`), (`node`, `node7`).
    pub components: Vec<(String, String)>,
}

/// An address that does not fit its pattern. The texts are the two variables' values.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SlurmError {
    /// Different numbers of components.
    #[error(
        "SLURM_TOPOLOGY_ADDR '{address}' has {got} parts, SLURM_TOPOLOGY_ADDR_PATTERN '{pattern}' has {expected}; \
         expected equally many"
    )]
    Length {
        /// `SLURM_TOPOLOGY_ADDR`.
        address: String,
        /// Parts of the address.
        got: usize,
        /// `SLURM_TOPOLOGY_ADDR_PATTERN`.
        pattern: String,
        /// Parts of the pattern.
        expected: usize,
    },
    /// Nothing between two dots.
    #[error("{variable} '{value}' has an empty part; expected names joined by single dots")]
    EmptyPart {
        /// Which of the two.
        variable: &'static str,
        /// Its value.
        value: String,
    },
    /// Not the address of a node.
    #[error("SLURM_TOPOLOGY_ADDR_PATTERN '{0}' does not end in 'node'; expected such as switch.node")]
    NoNode(String),
}

impl SlurmAddress {
    /// Pairs the components of an address with the kinds of its pattern. A node name may contain dots (a full domain
    /// name): what is left over belongs to the node, which is last.
    pub fn parse(address: &str, pattern: &str) -> Result<Self, SlurmError> {
        let kinds: Vec<&str> = pattern.split('.').collect();
        if kinds.contains(&"") {
            return Err(SlurmError::EmptyPart { variable: "SLURM_TOPOLOGY_ADDR_PATTERN", value: quoted(pattern) });
        }
        if kinds.last() != Some(&"node") {
            return Err(SlurmError::NoNode(quoted(pattern)));
        }
        let names: Vec<&str> = address.splitn(kinds.len(), '.').collect();
        if names.len() != kinds.len() {
            return Err(SlurmError::Length {
                address: quoted(address),
                got: names.len(),
                pattern: quoted(pattern),
                expected: kinds.len(),
            });
        }
        if address.split('.').any(str::is_empty) {
            return Err(SlurmError::EmptyPart { variable: "SLURM_TOPOLOGY_ADDR", value: quoted(address) });
        }
        let pairs = kinds.iter().zip(&names);
        let components = pairs.map(|(k, n)| (k.to_string(), n.to_string()));
        Ok(SlurmAddress { components: components.collect() })
    }

    /// The node's name.
    pub fn node(&self) -> &str {
        self.components.last().map_or("", |(_, name)| name)
    }

    /// Names of the components outside the node, outermost first.
    pub fn switches(&self) -> impl Iterator<Item = &str> {
        let outer = self.components.len().saturating_sub(1);
        self.components[..outer].iter().map(|(_, name)| name.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_are_paired_with_kinds() {
        let a = SlurmAddress::parse("s0.s4.node7", "switch.switch.node").unwrap();
        let expected = [("switch", "s0"), ("switch", "s4"), ("node", "node7")];
        let expected = expected.map(|(k, n)| (k.to_owned(), n.to_owned()));
        assert_eq!(a.components, expected);
        assert_eq!(a.node(), "node7");
        assert_eq!(a.switches().collect::<Vec<_>>(), ["s0", "s4"]);
    }

    #[test]
    fn a_node_name_may_have_dots_and_be_alone() {
        let a = SlurmAddress::parse("s0.n7.site.org", "switch.node").unwrap();
        assert_eq!(a.node(), "n7.site.org");
        let a = SlurmAddress::parse("n7", "node").unwrap();
        assert_eq!((a.node(), a.switches().count()), ("n7", 0));
    }

    #[test]
    fn faults_are_named() {
        let length = SlurmAddress::parse("s0.n7", "switch.switch.node").unwrap_err();
        assert_eq!(
            length.to_string(),
            "SLURM_TOPOLOGY_ADDR 's0.n7' has 2 parts, SLURM_TOPOLOGY_ADDR_PATTERN 'switch.switch.node' has 3; expected \
             equally many"
        );
        let empty = |a, p| matches!(SlurmAddress::parse(a, p), Err(SlurmError::EmptyPart { .. }));
        assert!(empty("s0..n7", "switch.switch.node"));
        assert!(empty("s0.n7", "switch..node"));
        assert!(empty("s0.n7", ""));
        let error = SlurmAddress::parse("s0.s1", "switch.switch").unwrap_err();
        assert_eq!(error, SlurmError::NoNode("switch.switch".into()));
    }
}
