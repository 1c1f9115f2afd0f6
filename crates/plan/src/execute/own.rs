//! Copies that are left out. A rank's contribution that the plan has copied to the staging space only to be sent or
//! combined once is taken from the input instead. A result that it has combined in the staging space only to be copied
//! to the output is combined there.
//!
//! ```text
//!   plan         shuffle  input ─► stage      reduce  peer's + stage ─► stage      send  stage
//!   execution                                 receive ─► stage, + input            send  stage
//!
//!   plan         reduce  peer's + stage ─► stage      copy  stage ─► output
//!   execution    receive ─► output, + stage
//! ```

use super::stream::{Kind, Stream};
use super::transport::{Place, Region, Transport};
use crate::schedule::{Action, Parts, Program, Run, Space};

/// Runs of a shuffle up to which each segment looks through them.
const MOST_RUNS: usize = 16;

/// Units of the staging space, and where in the input the first of them is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Own {
    begin: u64,
    end: u64,
    input: u64,
}

impl Own {
    /// The part of it that is among `units` units from `start` on: in the input, and in the staging space.
    pub fn within(&self, start: u64, units: u64) -> Option<(Place, Place)> {
        let (first, end) = (self.begin.max(start), self.end.min(start + units));
        let input = Place { region: Region::Input, start: self.input + first.saturating_sub(self.begin), units: 0 };
        let units = end.checked_sub(first).filter(|&units| units > 0)?;
        Some((Place { units, ..input }, Place { region: Region::Stage, start: first, units }))
    }
}

/// Leaves out the copies that need not be made, in the order of the plan; `owns` gets what is taken instead. Input and
/// result must be two buffers.
pub(super) fn leave_out_copies<T: Transport>(
    program: &Program,
    streams: &mut [Stream],
    owns: &mut Vec<Own>,
    transport: &T,
) {
    let plan = &program.plan;
    for hop in 0..streams.len() {
        let Some(copy) = program.dependencies[hop].staged_by else { continue };
        let (action, parts) = (plan.hops[copy as usize].action, plan.hops[copy as usize].parts);
        let Some(from) = action.copied() else { continue };
        let whole = [Run { from: from.first, to: parts.first, count: parts.count }];
        let runs = match action {
            Action::Shuffle { .. } => plan.runs(&plan.hops[copy as usize]),
            _ => &whole,
        };
        // A message is one piece.
        let most = if streams[hop].kind == Kind::Send { 1 } else { MOST_RUNS };
        if runs.len() > most {
            continue;
        }
        let first = owns.len() as u32;
        owns.extend(runs.iter().map(|run| {
            let units = |space, first| transport.units(Parts { space, first, count: run.count }, plan.parts);
            let ((begin, end), (input, _)) = (units(Space::Stage, run.to), units(Space::Input, run.from));
            Own { begin, end, input }
        }));
        let stream = &mut streams[hop];
        stream.own = (first, owns.len() as u32);
        stream.is_direct = stream.kind == Kind::Reduce;
        streams[copy as usize].leave_out();
    }
    for copy in 0..streams.len() {
        let Some(combination) = program.dependencies[copy].combined_by else { continue };
        let (from, to) = (plan.hops[combination as usize].parts, plan.hops[copy].parts);
        let [from, to] = [from, to].map(|parts| transport.units(parts, plan.parts).0);
        let stream = &mut streams[combination as usize];
        (stream.region, stream.moved, stream.is_direct) = (Region::Output, to.wrapping_sub(from), true);
        streams[copy].leave_out();
    }
}
