//! What can be wrong with a fabric, each as one line.

use thiserror::Error;

/// A fabric file that cannot be used: where, what, and what was expected, in one line.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}: {message}", place(.source_name, *.line))]
pub struct FabricError {
    /// The file, or whatever else the caller called the text.
    pub source_name: String,
    /// Line in the text, counted from 1; `None` where the fault has no single line.
    pub line: Option<usize>,
    /// What is wrong and what was expected.
    pub message: String,
}

fn place(source_name: &str, line: Option<usize>) -> String {
    match line {
        Some(line) => format!("{source_name}:{line}"),
        None => source_name.to_owned(),
    }
}

/// What may be chosen beside all, none and default.
fn named(levels: &[String]) -> String {
    match levels {
        [] => ", for none divides its hosts".to_owned(),
        _ => format!(" alone, or some of {}", levels.join(", ")),
    }
}

/// A fault in the network itself, independent of how it was written down.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum BuildError {
    /// A name with characters that neither files nor network devices take.
    #[error("'{0}' is not a name; expected 1 to 64 letters, digits, '-', '_', '.' or ':', the first a letter or digit")]
    BadName(String),
    /// Hosts and switches share one name space.
    #[error("'{0}' is declared twice; expected every host and switch name once")]
    DuplicateName(String),
    /// A link or route names something that does not exist.
    #[error("'{0}' is neither a host nor a switch of this fabric; expected a declared name")]
    UnknownName(String),
    /// A link from a node to itself.
    #[error("a link joins '{0}' to itself; expected two different ends")]
    SelfLink(String),
    /// Two hosts joined without a switch.
    #[error("a link joins the hosts '{0}' and '{1}'; expected a switch at one end at least")]
    HostToHost(String, String),
    /// The same two nodes joined by two entries.
    #[error("a second link joins '{0}' and '{1}'; expected one link with parallel = the number of cables")]
    DuplicateLink(String, String),
    /// A bandwidth that no link has: the times of a plan must be numbers that can be counted with.
    #[error("the link {0} - {1} has a bandwidth of {2} Mbit/s; expected 0.001 to 1000000000")]
    BadBandwidth(String, String, f64),
    /// A latency that is negative, not a number, or longer than any.
    #[error("the link {0} - {1} has a latency of {2} microseconds; expected 0 to 1000000")]
    BadLatency(String, String, f64),
    /// `parallel = 0`, or far too many.
    #[error("the link {0} - {1} has parallel = {2}; expected 1 to 65536 cables")]
    BadCables(String, String, u32),
    /// A message cost out of range: the key and its value.
    #[error("{0} = {1}; expected 0 to 1000000 microseconds")]
    BadMessageCost(&'static str, f64),
    /// Dimensions that do not fit the number of hosts.
    #[error("torus = {0:?} with {1} hosts; expected 1 to 16 sizes whose product divides the number of hosts")]
    BadTorus(Vec<u32>, usize),
    /// A fabric without hosts.
    #[error("the fabric has no hosts; expected at least one")]
    NoHosts,
    /// A declared node that nothing is connected to.
    #[error("'{0}' has no link; expected at least one")]
    NoLink(String),
    /// Two hosts with no path of switches between them.
    #[error("host '{1}' cannot be reached from host '{0}'; expected a path of switches between all hosts")]
    Unreachable(String, String),
    /// A route table for something that is not a switch.
    #[error("routes are given for '{0}', which is a host; expected a switch")]
    RoutesOfHost(String),
    /// A route to something that is not a host.
    #[error("switch '{0}' has a route to '{1}', which is a switch; expected a host")]
    RouteToSwitch(String, String),
    /// A next hop without a link to it.
    #[error(
        "switch '{switch}' sends to '{destination}' by '{next}', which is not its neighbour; expected one of \
         {neighbours}"
    )]
    RouteToNonNeighbour {
        /// The switch whose table it is.
        switch: String,
        /// The destination host.
        destination: String,
        /// The next hop given.
        next: String,
        /// The next hops there are.
        neighbours: String,
    },
    /// A next hop that is a host, but not the destination.
    #[error("switch '{0}' sends to '{1}' by the host '{2}'; expected a switch or the destination itself")]
    RouteThroughHost(String, String, String),
    /// Two entries for one destination.
    #[error("switch '{0}' has two routes to '{1}'; expected one")]
    DuplicateRoute(String, String),
    /// Fixed routes where a hash picks them.
    #[error("routes are fixed beside routing = \"ecmp\", which leaves them to a hash; expected one of the two")]
    TablesBesideEcmp,
    /// Fixed routes that never arrive.
    #[error("the routes to '{destination}' run in a circle: {circle}; expected them to arrive")]
    RouteLoop {
        /// The destination host.
        destination: String,
        /// The switches of the circle, in order.
        circle: String,
    },
    /// A level that is not there: its name, and those that are.
    #[error("the fabric has no level '{0}'; expected all, none or default{expected}", expected = named(.1))]
    UnknownLevel(String, Vec<String>),
    /// More nodes or links than a plan can index.
    #[error("the fabric has more than {limit} {what}; expected a smaller one")]
    TooLarge {
        /// What there is too much of.
        what: &'static str,
        /// The limit.
        limit: usize,
    },
    /// A generator parameter out of its range.
    #[error("{parameter} = {value} does not fit the {kind} generator; expected {expected}")]
    BadParameter {
        /// Generator.
        kind: &'static str,
        /// Parameter.
        parameter: &'static str,
        /// What was given.
        value: String,
        /// What is accepted.
        expected: &'static str,
    },
}
