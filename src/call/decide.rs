//! Whether a call runs on our algorithms, on which, and in which pieces.

use super::arguments::{Arguments, Sides};
use crate::buffers::blocks::Side;
use crate::buffers::datatype::{self, Shape, Typed};
use crate::comm::place::Place;
use crate::comm::record::Communicator;
use crate::comm::registry;
use crate::real::handles::is_op;
use crate::transport::private::Private;
use crate::world::shim::Shim;
use mpi::ffi::MPI_Op;
use nagare_plan::algorithm::Algorithm;
use nagare_plan::choice::{Call, Choice, Reason};
use nagare_plan::cost::Segments;
use nagare_plan::execute::{Flow, Pacing};
use std::sync::Arc;

/// Bytes per segment of an algorithm whose costs are not known, and the most of any, where the environment does not say.
const SEGMENT: u64 = 8 << 10;
const LARGEST_SEGMENT: u64 = 64 << 10;

/// Bytes under way unreceived on one stream, and the fewest and most segments, where the environment does not say. Measured: a ring
/// needs about 30 segments of 16 KiB before late acknowledgements stop its links from idling.
const WINDOW_BYTES: u64 = 512 << 10;
const SMALLEST_WINDOW: u64 = 16;
const LARGEST_WINDOW: u64 = 128;

/// Everything decided about a call that we run.
pub struct Decision<'c> {
    /// The communicator.
    pub record: &'c Communicator,
    /// Where its ranks are.
    pub place: &'c Place,
    /// Our communicator for it.
    pub private: Arc<Private>,
    /// What runs.
    pub algorithm: Algorithm,
    /// Bytes, where all ranks know them.
    pub bytes: u64,
    /// The blocks of Alltoallv.
    pub sides: Option<Sides>,
}

/// Decides from what all ranks share: the communicator, the operation, the root, the number of bytes. Arguments that are
/// wrong on this rank are the library's to judge; a program that gives them on some ranks only is wrong anyway.
#[inline]
pub fn decide<'c>(shim: &Shim, arguments: &Arguments, bytes: u64) -> Result<Decision<'c>, Reason> {
    let setup = shim.setup();
    if !setup.config.enable {
        return Err(Reason::Disabled);
    }
    let real = shim.real;
    let comm = arguments.comm;
    if comm == real.handles.comm_null {
        return Err(Reason::Argument);
    }
    // SAFETY: not null; a handle that is freed or invented is an error in the program that the library itself detects or
    // not. The record is used during this call only.
    let record = unsafe { registry::of(shim, comm) }?;
    if record.inter {
        return Err(Reason::Intercommunicator);
    }
    if record.size < 2 {
        return Err(Reason::OneRank);
    }
    let place = record.place(shim, comm)?;
    if arguments.is_below(bytes, record.floor(arguments.collective)) {
        return Err(if place.nodes < 2 { Reason::OneNode } else { Reason::Small });
    }
    let rules = record.rules();
    let rules = rules.as_deref().unwrap_or(&setup.config.rules);
    let shared = arguments.shared(bytes);
    let call = Call { collective: arguments.collective, bytes: shared, ranks: record.size, nodes: place.nodes };
    let most = most_segment_bytes(shim, place);
    let fitting = || place.planner.fitting(arguments.collective, shared, segments(shim, place));
    let algorithm = match rules.choose(&call, fitting) {
        Choice::Run(algorithm) => algorithm,
        Choice::Library(reason) => return Err(reason),
    };
    arguments.valid(shim, record, bytes)?;
    let sides = arguments.sides(real, record.size)?;
    if let Some(op) = arguments.op {
        let shape = Shape::of(real, arguments.input.datatype);
        combinable(shim, op, arguments, &shape)?;
        if shape.span() as u64 > most {
            return Err(Reason::LargeElement);
        }
    }
    let private = record.private(shim, comm, place)?;
    let committed = |side: &Typed| datatype::is_committed(real, private.comm, side.datatype);
    let all_committed = match &sides {
        None => arguments.typed(record.rank).iter().all(committed),
        Some(Sides { sent, received }) => {
            sent.iter().chain([received]).filter_map(Side::significant).all(|side| committed(&side))
        }
    };
    if !all_committed {
        return Err(Reason::Argument);
    }
    log::debug!("{} of {bytes} bytes on {} ranks: {algorithm}", arguments.collective, record.size);
    Ok(Decision { record, place, private, algorithm, bytes: shared, sides })
}

/// Whether elements may be combined in any order by `MPI_Reduce_local`.
fn combinable(shim: &Shim, op: MPI_Op, arguments: &Arguments, shape: &Shape) -> Result<(), Reason> {
    let handles = &shim.real.handles;
    if op == handles.op_null || !is_op(op) || shape.extent <= 0 {
        return Err(Reason::Argument);
    }
    if let Some(class) = handles.op_class(op) {
        // On any other type the library has an error to report, or an extension of its own.
        let accepted = handles.type_class(arguments.significant().datatype).is_some_and(|t| class.accepts(t));
        return if accepted { Ok(()) } else { Err(Reason::TypeOfOperation) };
    }
    let mut commutes = 0;
    // SAFETY: the operation is not null.
    let code = unsafe { (shim.real.mpi.op_commutative)(op, &raw mut commutes) };
    match (code, commutes) {
        (0, 1..) => Ok(()),
        (0, _) => Err(Reason::NonCommutative),
        _ => Err(Reason::Argument),
    }
}

/// The largest segment: a message beyond the eager limit waits for its receiver before any data moves.
fn most_segment_bytes(shim: &Shim, place: &Place) -> u64 {
    shim.setup().config.segment.unwrap_or_else(|| LARGEST_SEGMENT.min(place.eager)).max(1)
}

/// The segments that may be chosen from.
fn segments(shim: &Shim, place: &Place) -> Segments {
    let most = Segments::AtMost(most_segment_bytes(shim, place));
    shim.setup().config.segment.map_or(most, Segments::Exactly)
}

/// How a call is cut up: as the environment says, else so that it fits the network.
pub fn pacing(shim: &Shim, arguments: &Arguments, decision: &Decision, unit_bytes: u64) -> Pacing {
    let config = &shim.setup().config;
    let Decision { place, algorithm, bytes, .. } = *decision;
    let most = most_segment_bytes(shim, place);
    // Segments do not depend on the block, of which a rank may know only its own: both ends of a message must cut alike.
    let block = decision.sides.as_ref().map_or(bytes, |sides| sides.received.mean());
    if let Some(pacing) = place.planner.exchange_pacing(algorithm, block) {
        // Units are bytes here.
        let segment = config.segment.unwrap_or_else(|| pacing.segment.min(most));
        let flow = pacing.flow.map(|flow| Flow { confirmed: flow.confirmed.min(segment), ..flow });
        return Pacing { segment, window: config.window.unwrap_or(pacing.window), flow };
    }
    let predicted = place.planner.predicted(arguments.collective, algorithm, bytes, segments(shim, place));
    let segment = predicted.map_or(SEGMENT.min(most), |p| p.segment);
    // An element is never split.
    let segment = config.segment.unwrap_or(segment).max(unit_bytes);
    let by_bytes = || (WINDOW_BYTES / segment).clamp(SMALLEST_WINDOW, LARGEST_WINDOW);
    let window = config.window.unwrap_or_else(|| predicted.map_or(SMALLEST_WINDOW, |_| by_bytes()));
    Pacing { segment: segment / unit_bytes, window, flow: None }
}
