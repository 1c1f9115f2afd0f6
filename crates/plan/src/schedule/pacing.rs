//! How much of a plan may be under way at a time: plans are made for it, and the executor keeps to it.

/// Unfinished hops a rank works on at the same time; more than a tree ever has.
pub const ACTIVE_HOPS: usize = 64;

/// How a call is cut up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pacing {
    /// Units per segment, at least 1.
    pub segment: u64,
    /// Segments of one stream that may be on their way unreceived, at least 2.
    pub window: u64,
    /// What an exchange may have under way; `None` for anything that the windows of its streams allow.
    pub flow: Option<Flow>,
}

/// Bounds on all streams of a rank together, in units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Sent and not confirmed by the receivers. Segments of at least `confirmed` units are, the others as the windows
    /// ask for.
    pub unconfirmed: u64,
    /// The shortest segment that is worth a confirmation.
    pub confirmed: u64,
    /// Not yet received by hops before a send in the list when the send starts. This keeps the ranks of an exchange
    /// about in step, so that few of them send to one at a time, without a message for it.
    pub behind: u64,
}
