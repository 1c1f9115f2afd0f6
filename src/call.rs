//! From an intercepted call to its outcome: guard, decide, run or pass on.

use crate::arguments::{Arguments, Sides};
use crate::blocks::Side;
use crate::communicator::{Communicator, Place, Traffic};
use crate::datatype::{self, Shape, Typed};
use crate::failure::Failure;
use crate::packed::Packer;
use crate::private::Private;
use crate::real::handles::is_op;
use crate::shim::Shim;
use crate::staged::Staged;
use crate::transport::{Channel, MpiTransport};
use mpi::ffi::MPI_Op;
use nagare_plan::algorithm::Algorithm;
use nagare_plan::choice::{Call, Choice, Reason};
use nagare_plan::collective::Collective;
use nagare_plan::cost::Segments;
use nagare_plan::execute::{Executor, Flow, Pacing};
use nagare_plan::schedule::{Program, Rank};
use std::ffi::c_int;
use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::time::Instant;

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
    place: &'c Place,
    private: Arc<Private>,
    algorithm: Algorithm,
    /// Bytes, where all ranks know them.
    pub bytes: u64,
    /// The blocks of Alltoallv.
    pub sides: Option<Sides>,
}

/// Handles one call. `forward` is the library's own.
#[inline]
pub fn handle(shim: &Shim, arguments: &Arguments, forward: impl FnOnce() -> c_int) -> c_int {
    let collective = arguments.collective;
    if !shim.is_open() {
        return passed_on(shim, collective, Reason::Outside, 0, forward);
    }
    let bytes = match arguments.bytes(shim) {
        Ok(bytes) => bytes,
        Err(reason) => return passed_on(shim, collective, reason, 0, forward),
    };
    if arguments.is_below(bytes, shim.floor(collective)) {
        return passed_on(shim, collective, Reason::Small, bytes, forward);
    }
    match decide(shim, arguments, bytes) {
        Err(reason) => passed_on(shim, collective, reason, bytes, forward),
        Ok(decision) => {
            let start = Instant::now();
            let outcome = run(shim, arguments, &decision);
            let algorithm = decision.algorithm;
            // The program's error handler may call and use it again, or never come back.
            drop(decision);
            let code = match outcome {
                Ok(()) => 0,
                Err(failure) => raise(shim, arguments, failure),
            };
            let elapsed = start.elapsed().as_nanos() as u64;
            shim.statistics.count(collective, Choice::Run(algorithm), bytes, elapsed);
            code
        }
    }
}

#[inline]
fn passed_on(
    shim: &Shim,
    collective: Collective,
    reason: Reason,
    bytes: u64,
    forward: impl FnOnce() -> c_int,
) -> c_int {
    let choice = Choice::Library(reason);
    if !shim.timed.load(std::sync::atomic::Ordering::Relaxed) {
        shim.statistics.count(collective, choice, bytes, 0);
        return forward();
    }
    let start = Instant::now();
    let code = forward();
    shim.statistics.count(collective, choice, bytes, start.elapsed().as_nanos() as u64);
    code
}

/// Decides from what all ranks share: the communicator, the operation, the root, the number of bytes. Arguments that are
/// wrong on this rank are the library's to judge; a program that gives them on some ranks only is wrong anyway.
#[inline]
fn decide<'c>(shim: &Shim, arguments: &Arguments, bytes: u64) -> Result<Decision<'c>, Reason> {
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
    let record = unsafe { Communicator::of(shim, comm) }?;
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
fn pacing(shim: &Shim, arguments: &Arguments, decision: &Decision, unit_bytes: u64) -> Pacing {
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

fn run(shim: &Shim, arguments: &Arguments, decision: &Decision) -> Result<(), Failure> {
    let Decision { record, ref private, .. } = *decision;
    let mut traffic = record.traffic();
    if let Err(failure) = record.failed() {
        traffic.resignation.go_on(shim.real, private, record.rank);
        return Err(failure);
    }
    // From here on every rank counts the call, also one that fails.
    let call = traffic.next_call();
    let packer = {
        let (rank, own) = (record.rank as c_int, private.rank(record.rank));
        Packer { real: shim.real, rank, private: private.comm, own }
    };
    // Until the call says how it ended, it was left.
    let mut ending = Ending { shim, record, private, traffic: &mut traffic, call, failure: Some(Failure::Left) };
    let staged = carry_out(shim, arguments, decision, &packer, (call, ending.traffic));
    ending.failure = staged.as_ref().err().copied();
    drop(ending);
    staged?.finish(&packer)
}

/// The end of a call: dropped where it returns, and where an exception of the program's passes through it.
struct Ending<'c> {
    shim: &'c Shim,
    record: &'c Communicator,
    private: &'c Private,
    traffic: &'c mut Traffic,
    call: u32,
    failure: Option<Failure>,
}

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        let Some(failure) = self.failure else { return };
        // What peers have sent to a rank that gives up would match its later calls.
        self.record.fail(failure);
        if failure.is_news() {
            self.traffic.resignation.tell(self.shim.real, self.private, self.record.rank, self.call, failure);
        }
    }
}

/// Carries out the call of that number; what is left to do is to spread copies.
fn carry_out(
    shim: &Shim,
    arguments: &Arguments,
    decision: &Decision,
    packer: &Packer,
    (call, traffic): (u32, &mut Traffic),
) -> Result<Staged, Failure> {
    let Decision { record, place, ref private, .. } = *decision;
    private.notices.check(private, call)?;
    let root = if arguments.collective.is_rooted() { arguments.root as Rank } else { 0 };
    let program = program(decision, arguments.collective, root)?;
    // Copies that are left behind are not freed: the library may still write to what it was given, or read it.
    let mut staged = ManuallyDrop::new(Staged::new(packer, arguments, decision, &program.plan)?);
    let pacing = pacing(shim, arguments, decision, staged.unit_bytes);
    // Where blocks are cut out, what is in place is staged like any other contribution.
    let one_vector = arguments.collective.reduces() && !arguments.collective.scatters();
    let in_place = one_vector && arguments.in_place() || arguments.collective == Collective::Bcast;
    let has_output = arguments.has_output(record.rank);
    let buffers = staged.take_buffers();
    let channel = Channel { private, rank: record.rank, tags: place.tags, call };
    // SAFETY: the addresses are the program's buffers, which MPI requires to be valid until the call returns, or our own
    // copies, which `staged` keeps.
    let mut transport = unsafe { MpiTransport::new(shim.real, channel, buffers, shim.pause()) };
    let executor = Executor::new(&program, pacing, (in_place, has_output), &mut traffic.credits, &mut transport)?;
    executor.run(&mut transport)?;
    Ok(ManuallyDrop::into_inner(staged))
}

/// What this rank does, from an earlier call or planned now.
fn program(decision: &Decision, collective: Collective, root: Rank) -> Result<Arc<Program>, Failure> {
    let Decision { record, place, algorithm, bytes, .. } = *decision;
    let which = record.which(place, collective, algorithm, root, bytes);
    if let Some(program) = record.known(&which) {
        return Ok(program);
    }
    record.plan(place, which).ok_or(Failure::Stalled)
}

/// Raises a failure on the program's communicator, as the library would, and gives the code to return.
fn raise(shim: &Shim, arguments: &Arguments, failure: Failure) -> c_int {
    let collective = arguments.collective;
    match failure {
        Failure::Length { peer, expected, got } => log::error!(
            "{collective}: rank {peer} sends a message of {got} bytes, or another number of messages, expected {expected} bytes; \
             ranks disagree on counts or types"
        ),
        Failure::GivenUp { peer, class } => {
            log::info!("{collective}: rank {peer} has given up, with error class {class}")
        }
        Failure::Memory => log::info!("{collective}: no memory"),
        Failure::Mpi(_) | Failure::Stalled | Failure::Left => {}
    }
    let code = failure.code();
    // SAFETY: the communicator is valid: this call ran on it.
    unsafe { (shim.real.mpi.comm_call_errhandler)(arguments.comm, code) };
    code
}
