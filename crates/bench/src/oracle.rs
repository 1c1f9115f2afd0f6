//! What an MPI library can be told to run: its algorithms and segment sizes, named as the library names them.
//!
//! * Open MPI: `coll_tuned_COLLECTIVE_algorithm…`, read when a communicator is made, if `coll_tuned_use_dynamic_rules` was
//!   set at the start; and the components HAN and ADAPT, which the key `ompi_comm_coll_preference` of a communicator's info
//!   brings to the front.
//! * MPICH: `MPIR_CVAR_COLLECTIVE_INTRA_ALGORITHM`, and with `MPIR_CVAR_DEVICE_COLLECTIVES` whether the device may put a
//!   composition of its own around it; both read at every call.
//!
//! Left out are algorithms for two ranks only, and of `MPI_Alltoall` those that work in place only.

use crate::operation::Operation;

/// Libraries that are told in the same way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// Open MPI 4 and 5.
    OpenMpi,
    /// MPICH 4 and 5.
    Mpich,
}

/// The variable without which Open MPI's others say nothing.
pub const DYNAMIC_RULES: &str = "coll_tuned_use_dynamic_rules";
/// Segment sizes where the algorithm has segments, bytes; 0: none.
pub const SEGMENTS: [u64; 6] = [0, 4 << 10, 8 << 10, 16 << 10, 32 << 10, 128 << 10];

/// A value of a control variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// A number.
    Number(i32),
    /// An item of the variable's enumeration.
    Item(&'static str),
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Value::Number(number) => number.fmt(f),
            Value::Item(item) => item.fmt(f),
        }
    }
}

/// One way to run an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// Short, such as `pipeline 16K`; its first word is the algorithm.
    pub name: String,
    /// Control variables and what they are set to.
    pub variables: Vec<(String, Value)>,
    /// Open MPI's component for the communicator.
    pub component: Option<&'static str>,
}

/// An algorithm of Open MPI's component `tuned`.
struct Tuned {
    name: &'static str,
    segmented: bool,
    /// A further variable, the end of its name, with the values to be tried.
    further: Option<(&'static str, &'static [i32])>,
}

const fn plain(name: &'static str) -> Tuned {
    Tuned { name, segmented: false, further: None }
}

const fn segmented(name: &'static str) -> Tuned {
    Tuned { name, segmented: true, further: None }
}

const fn chain() -> Tuned {
    Tuned { name: "chain", segmented: true, further: Some(("chain_fanout", &[2, 4])) }
}

impl Family {
    /// The family of a library, by what it says of itself.
    pub fn of(version: &str) -> Option<Self> {
        match version {
            v if v.starts_with("Open MPI") => Some(Self::OpenMpi),
            v if v.starts_with("MPICH") => Some(Self::Mpich),
            _ => None,
        }
    }

    /// How the settings reach the library, in words.
    pub const fn how(self) -> &'static str {
        match self {
            Self::OpenMpi => {
                "in the same job: MPI_T control variables or the communicator's info, one communicator per setting"
            }
            Self::Mpich => "in the same job: MPI_T control variables, written before and restored after every call",
        }
    }

    /// Everything to be tried with messages of `bytes` (of a block, where there are blocks), the most promising first.
    pub fn settings(self, operation: Operation, bytes: u64) -> Vec<Setting> {
        match self {
            Self::OpenMpi => open_mpi(operation, bytes),
            Self::Mpich => mpich(operation),
        }
    }
}

fn tuned(operation: Operation) -> Vec<Tuned> {
    match operation {
        Operation::Bcast => vec![
            segmented("pipeline"),
            chain(),
            segmented("knomial"),
            plain("scatter_allgather_ring"),
            segmented("split_binary_tree"),
            segmented("binary_tree"),
            segmented("binomial"),
            plain("scatter_allgather"),
            plain("basic_linear"),
        ],
        Operation::Reduce => vec![
            segmented("pipeline"),
            chain(),
            segmented("binary"),
            segmented("in-order_binary"),
            plain("rabenseifner"),
            segmented("binomial"),
            plain("linear"),
        ],
        Operation::Allreduce => vec![
            plain("ring"),
            segmented("segmented_ring"),
            plain("rabenseifner"),
            plain("recursive_doubling"),
            plain("nonoverlapping"),
            plain("basic_linear"),
        ],
        Operation::Alltoall => vec![
            plain("pairwise"),
            Tuned { name: "linear_sync", segmented: false, further: Some(("max_requests", &[0, 2, 8])) },
            plain("linear"),
            plain("modified_bruck"),
        ],
        Operation::Gather => vec![plain("basic_linear"), segmented("linear_sync"), plain("binomial")],
    }
}

fn open_mpi(operation: Operation, bytes: u64) -> Vec<Setting> {
    let mut settings = Vec::new();
    for Tuned { name, segmented, further } in tuned(operation) {
        let segments = if segmented { &SEGMENTS[..] } else { &[0] };
        // A segment as long as the message is none.
        let segments = segments.iter().filter(|&&segment| segment < bytes || segment == 0);
        for &segment in segments {
            let values = further.map_or(&[][..], |(_, values)| values);
            let values = values.iter().map(|&value| Some(value)).chain(values.is_empty().then_some(None));
            for value in values {
                let variable = |end: &str| format!("coll_tuned_{operation}_algorithm{end}");
                let mut variables = vec![(variable(""), Value::Item(name))];
                if segmented {
                    variables.push((variable("_segmentsize"), Value::Number(segment as i32)));
                }
                let mut text = name.to_owned();
                if segment > 0 {
                    text += &format!(" {}K", segment >> 10);
                }
                if let Some(((end, _), value)) = further.zip(value) {
                    variables.push((variable(&format!("_{end}")), Value::Number(value)));
                    text += &format!(" {end}={value}");
                }
                settings.push(Setting { name: text, variables, component: None });
            }
        }
    }
    let components: &[&str] = match operation {
        Operation::Bcast | Operation::Reduce => &["han", "adapt"],
        Operation::Allreduce | Operation::Gather => &["han"],
        Operation::Alltoall => &[],
    };
    settings.extend(components.iter().map(|&component| Setting {
        name: component.to_owned(),
        variables: Vec::new(),
        component: Some(component),
    }));
    settings
}

fn mpich(operation: Operation) -> Vec<Setting> {
    let algorithms: &[&str] = match operation {
        Operation::Bcast => &[
            "scatter_ring_allgather",
            "scatter_recursive_doubling_allgather",
            "binomial",
            "smp",
            "pipelined_tree",
            "nb",
        ],
        Operation::Reduce => &["reduce_scatter_gather", "binomial", "smp", "nb"],
        Operation::Allreduce => &["reduce_scatter_allgather", "recursive_doubling", "smp", "ring", "nb"],
        Operation::Alltoall => &["pairwise", "scattered", "brucks", "nb"],
        Operation::Gather => &["binomial", "nb"],
    };
    let variable = format!("MPIR_CVAR_{}_INTRA_ALGORITHM", operation.name().to_uppercase());
    let setting = |algorithm: &'static str, device: bool| {
        let mut variables = vec![(variable.clone(), Value::Item(algorithm))];
        let mut name = algorithm.to_owned();
        if !device {
            variables.push(("MPIR_CVAR_DEVICE_COLLECTIVES".to_owned(), Value::Item("none")));
            name += " no-device";
        }
        Setting { name, variables, component: None }
    };
    // Its own choice with its device is what stock is.
    let pairs = algorithms.iter().flat_map(|&algorithm| [(algorithm, true), (algorithm, false)]);
    pairs.chain([("auto", false)]).map(|(algorithm, device)| setting(algorithm, device)).collect()
}

/// Items by which MPICH's descriptions are read.
const ITEMS: &[&str] = &[
    "all",
    "auto",
    "binomial",
    "brucks",
    "nb",
    "none",
    "pairwise",
    "pairwise_sendrecv_replace",
    "percoll",
    "pipelined_tree",
    "recursive_doubling",
    "reduce_scatter_allgather",
    "reduce_scatter_gather",
    "ring",
    "scatter_recursive_doubling_allgather",
    "scatter_ring_allgather",
    "scattered",
    "smp",
    "tree",
];

/// The items of a variable of MPICH with their numbers, from its description: `auto - Internal …` and then one `NAME - …` per
/// item in the order of the numbers, in some versions without line breaks between them. Other items than those of our settings get no name.
pub fn items_in_description(description: &str) -> Vec<(String, i32)> {
    let mut items = Vec::new();
    for (number, (at, _)) in (0..).zip(description.match_indices(" - ")) {
        let before = description[..at].trim_end();
        let fitting = ITEMS.iter().filter(|name| before.ends_with(**name));
        // `tree` also ends `pipelined_tree`.
        if let Some(name) = fitting.max_by_key(|name| name.len()) {
            items.push(((*name).to_owned(), number));
        }
    }
    items
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique_and_segments_are_shorter_than_the_message() {
        for family in [Family::OpenMpi, Family::Mpich] {
            for operation in Operation::ALL {
                let settings = family.settings(operation, 16 << 10);
                let names: BTreeSet<&str> = settings.iter().map(|setting| setting.name.as_str()).collect();
                assert_eq!(names.len(), settings.len(), "{operation}");
                assert!(!names.iter().any(|name| name.contains("16K") || name.contains("32K")), "{names:?}");
            }
        }
    }

    #[test]
    fn variables_are_those_of_open_mpi() {
        let settings = Family::OpenMpi.settings(Operation::Bcast, 1 << 20);
        let chain = settings.iter().find(|setting| setting.name == "chain 32K chain_fanout=2");
        let variables = chain.map(|setting| setting.variables.clone()).unwrap_or_default();
        let expected = [
            ("coll_tuned_bcast_algorithm", "chain"),
            ("coll_tuned_bcast_algorithm_segmentsize", "32768"),
            ("coll_tuned_bcast_algorithm_chain_fanout", "2"),
        ];
        let variables: Vec<(&str, String)> = variables.iter().map(|(n, v)| (n.as_str(), v.to_string())).collect();
        assert_eq!(variables, expected.map(|(name, value)| (name, value.to_owned())));
        assert!(settings.iter().any(|setting| setting.component == Some("han")));
    }

    #[test]
    fn numbers_of_mpich_are_the_places_in_its_description() {
        // As MPICH 4.0.2 tells it, without line breaks.
        let text = "Variable to select bcast algorithmauto - Internal algorithm selection (can be overridden with \
                    MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE)binomial        - Force Binomial Treenb     - Force \
                    nonblocking algorithmsmp         - Force smp algorithmscatter_ring_allgather     - Force Scatter Ring";
        let items = items_in_description(text);
        let expected = [("auto", 0), ("binomial", 1), ("nb", 2), ("smp", 3), ("scatter_ring_allgather", 4)];
        assert_eq!(items, expected.map(|(name, number)| (name.to_owned(), number)));
        let lines = "Selects\nnovel - Internal\npipelined_tree - Force a tree\ntree - Force a tree";
        let items = items_in_description(lines);
        assert_eq!(items, [("pipelined_tree".to_owned(), 1), ("tree".to_owned(), 2)]);
    }
}
