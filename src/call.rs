//! From an intercepted call to its outcome: guard, decide, run or pass on.

use crate::communicator::{Communicator, Place};
use crate::datatype::{self, Shape, Typed};
use crate::memory::Buffer;
use crate::real::handles::IN_PLACE;
use crate::shim::Shim;
use crate::transport::{Buffers, Failure, MpiTransport};
use mpi::ffi::{MPI_Comm, MPI_Op};
use nagare_plan::algorithm::Algorithm;
use nagare_plan::choice::{Call, Choice, Reason};
use nagare_plan::collective::Collective;
use nagare_plan::cost::Segments;
use nagare_plan::execute::{Executor, Layout, Pacing};
use nagare_plan::schedule::Rank;
use std::ffi::c_int;
use std::time::Instant;

/// Bytes per segment of an algorithm whose costs are not known, and the most of any, where the environment does not say.
const SEGMENT: u64 = 8 << 10;
const LARGEST_SEGMENT: u64 = 64 << 10;

/// Bytes under way unreceived on one stream, and the fewest and most segments, where the environment does not say. Measured: a ring
/// needs about 30 segments of 16 KiB before late acknowledgements stop its links from idling.
const WINDOW_BYTES: u64 = 512 << 10;
const SMALLEST_WINDOW: u64 = 16;
const LARGEST_WINDOW: u64 = 128;

/// The arguments of an intercepted call.
#[derive(Clone, Copy)]
pub struct Arguments {
    /// Which call.
    pub collective: Collective,
    /// What this rank contributes; the address may be `MPI_IN_PLACE`. For Bcast the same as `output`.
    pub input: Typed,
    /// Where the result goes.
    pub output: Typed,
    /// Operation, for reductions.
    pub op: Option<MPI_Op>,
    /// Root, for rooted collectives.
    pub root: c_int,
    /// Communicator.
    pub comm: MPI_Comm,
}

/// Everything decided about a call that we run.
struct Decision<'c> {
    record: &'c Communicator,
    place: &'c Place,
    private: MPI_Comm,
    algorithm: Algorithm,
    bytes: u64,
    shape: Shape,
}

/// Handles one call. `forward` is the library's own.
#[inline]
pub fn handle(shim: &Shim, arguments: &Arguments, forward: impl FnOnce() -> c_int) -> c_int {
    let collective = arguments.collective;
    let data = arguments.significant();
    if data.count <= 0 || data.datatype == shim.real.handles.datatype_null {
        let reason = if data.count == 0 { Reason::Empty } else { Reason::Argument };
        return passed_on(shim, collective, reason, 0, forward);
    }
    let mut size = 0;
    // SAFETY: the datatype is not null; the library checks the rest itself.
    if unsafe { (shim.real.mpi.type_size_x)(data.datatype, &raw mut size) } != 0 {
        return passed_on(shim, collective, Reason::Argument, 0, forward);
    }
    let bytes = (size as u64).saturating_mul(data.count as u64);
    if bytes == 0 {
        return passed_on(shim, collective, Reason::Empty, 0, forward);
    }
    if bytes < shim.floor(collective) {
        return passed_on(shim, collective, Reason::Small, bytes, forward);
    }
    match decide(shim, arguments, bytes) {
        Err(reason) => passed_on(shim, collective, reason, bytes, forward),
        Ok(decision) => {
            let start = Instant::now();
            let code = match run(shim, arguments, &decision) {
                Ok(()) => 0,
                Err(failure) => raise(shim, arguments.comm, failure),
            };
            let elapsed = start.elapsed().as_nanos() as u64;
            shim.statistics.count(collective, Choice::Run(decision.algorithm), bytes, elapsed);
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

impl Arguments {
    /// The buffer argument whose count and type are significant on every rank.
    fn significant(&self) -> Typed {
        let alltoall_in_place = self.collective == Collective::Alltoall && self.in_place();
        if alltoall_in_place { self.output } else { self.input }
    }

    fn in_place(&self) -> bool {
        self.input.address.cast_const() == IN_PLACE
    }

    /// Whether `rank` gets a result.
    fn has_output(&self, rank: Rank) -> bool {
        self.collective.has_output(self.root as Rank, rank)
    }

    /// Leaves everything to the library that it may have an error for.
    fn valid(&self, shim: &Shim, record: &Communicator, bytes: u64) -> Result<(), Reason> {
        let wrong = Err(Reason::Argument);
        if self.collective.is_rooted() && !(0..record.size as c_int).contains(&self.root) {
            return wrong;
        }
        let has_output = self.has_output(record.rank);
        if has_output && self.output.address.cast_const() == IN_PLACE {
            return wrong;
        }
        if self.collective != Collective::Bcast {
            let aliased = !self.in_place() && self.input.address == self.output.address;
            // Two buffers of absolute addresses are both "at" null.
            if has_output && aliased && !self.input.address.is_null() || !has_output && self.in_place() {
                return wrong;
            }
        }
        if self.collective == Collective::Alltoall && !self.in_place() {
            let Typed { count, datatype, .. } = self.output;
            if count <= 0 || datatype == shim.real.handles.datatype_null {
                return wrong;
            }
            let mut size = 0;
            // SAFETY: the datatype is not null.
            let code = unsafe { (shim.real.mpi.type_size_x)(datatype, &raw mut size) };
            if code != 0 || (size as u64).saturating_mul(count as u64) != bytes {
                return wrong;
            }
        }
        // A null address is right only with a type of absolute addresses, which is never plain.
        let null = |data: Typed| data.address.is_null() && Shape::of(shim.real, data.datatype).plain;
        let reads = self.collective != Collective::Bcast && !self.in_place();
        if reads && null(self.input) || has_output && null(self.output) { wrong } else { Ok(()) }
    }
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
    let record = unsafe { Communicator::of(shim, comm) }.ok_or(Reason::Argument)?;
    if record.inter {
        return Err(Reason::Intercommunicator);
    }
    if record.size < 2 {
        return Err(Reason::OneRank);
    }
    let place = record.place(shim, comm)?;
    if bytes < record.floor(arguments.collective) {
        return Err(if place.nodes < 2 { Reason::OneNode } else { Reason::Small });
    }
    let rules = record.rules();
    let rules = rules.as_deref().unwrap_or(&setup.config.rules);
    let call = Call {
        collective: arguments.collective,
        bytes,
        ranks: record.size,
        nodes: place.nodes,
        grouped: place.grouped,
    };
    let most = most_segment_bytes(shim, place);
    let cheapest =
        || place.planner.cheapest(arguments.collective, bytes, segments(shim, place)).map(|(algorithm, _)| algorithm);
    let algorithm = match rules.choose(&call, cheapest) {
        Choice::Run(algorithm) => algorithm,
        Choice::Library(reason) => return Err(reason),
    };
    arguments.valid(shim, record, bytes)?;
    let shape = Shape::of(real, arguments.significant().datatype);
    if let Some(op) = arguments.op {
        combinable(shim, op, arguments, &shape)?;
        if shape.span() as u64 > most {
            return Err(Reason::LargeElement);
        }
    }
    let private = record.private(shim, comm)?;
    let sides = if arguments.in_place() { [arguments.output; 2] } else { [arguments.input, arguments.output] };
    let uncommitted = |side: &Typed| !datatype::is_committed(real, private, side.datatype);
    if sides.iter().any(uncommitted) {
        return Err(Reason::Argument);
    }
    log::debug!("{} of {bytes} bytes on {} ranks: {algorithm}", arguments.collective, record.size);
    Ok(Decision { record, place, private, algorithm, bytes, shape })
}

/// Whether elements may be combined in any order by `MPI_Reduce_local`.
fn combinable(shim: &Shim, op: MPI_Op, arguments: &Arguments, shape: &Shape) -> Result<(), Reason> {
    let handles = &shim.real.handles;
    if op == handles.op_null || shape.extent <= 0 {
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
    if let Some(pacing) = place.planner.exchange_pacing(algorithm, bytes) {
        // Units are bytes here.
        let segment = config.segment.unwrap_or_else(|| pacing.segment.min(most));
        return Pacing { segment, window: config.window.unwrap_or(pacing.window), ..pacing };
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
    let Decision { record, place, private, .. } = *decision;
    record.failed()?;
    let root = if arguments.collective.is_rooted() { arguments.root as Rank } else { 0 };
    let program = record.program(place, arguments.collective, decision.algorithm, root).ok_or(Failure::Stalled)?;
    let mut staged = Staged::new(shim, private, arguments, decision)?;
    let pacing = pacing(shim, arguments, decision, staged.unit_bytes);
    let same = arguments.in_place() || arguments.collective == Collective::Bcast;
    let sides = (same && arguments.collective != Collective::Alltoall, arguments.has_output(record.rank));
    let buffers = staged.take_buffers();
    // SAFETY: the addresses are the program's buffers, which MPI requires to be valid until the call returns, or our own
    // copies, which `staged` keeps.
    let mut transport = unsafe { MpiTransport::new(shim.real, private, record.rank, buffers, shim.pause()) };
    let mut credits = record.credits();
    let executor = Executor::new(&program, pacing, sides, &mut credits, &mut transport)?;
    if let Err(failure) = executor.run(&mut transport) {
        // The library may still write to what it was given: none of it may be used again, nor the connection.
        transport.abandon();
        staged.abandon();
        record.fail(failure);
        return Err(failure);
    }
    drop(transport);
    staged.finish(shim, private)
}

/// The buffers of a call, with packed copies where they cannot be used as they are.
struct Staged {
    buffers: Buffers,
    unit_bytes: u64,
    /// Keeps the copy that is sent from.
    input_copy: Option<Buffer>,
    /// The copy that is received into, and where it belongs.
    output_copy: Option<(Buffer, Typed, u64)>,
    rank: c_int,
}

impl Staged {
    fn new(shim: &Shim, private: MPI_Comm, arguments: &Arguments, decision: &Decision) -> Result<Self, Failure> {
        let rank = decision.record.rank as c_int;
        match arguments.collective {
            Collective::Reduce | Collective::Allreduce => Ok(Self::reduction(arguments, decision, rank)),
            Collective::Bcast => Self::bcast(shim, private, arguments, decision, rank),
            Collective::Alltoall | Collective::Alltoallv | Collective::Gather => {
                Self::alltoall(shim, private, arguments, decision, rank)
            }
        }
    }

    /// Reductions work on elements where they are; all ranks have the same type.
    fn reduction(arguments: &Arguments, decision: &Decision, rank: c_int) -> Self {
        let has_output = arguments.has_output(rank as Rank);
        let output = if has_output { arguments.output.address.cast::<u8>() } else { std::ptr::null_mut() };
        let input = if arguments.in_place() { output } else { arguments.input.address.cast() };
        let buffers = Buffers {
            input,
            output,
            layout: Layout::Vector { units: arguments.input.count as u64 },
            datatype: arguments.input.datatype,
            shape: decision.shape,
            op: arguments.op,
        };
        Self { buffers, unit_bytes: (decision.shape.span() as u64).max(1), input_copy: None, output_copy: None, rank }
    }

    /// Bcast works on bytes, since ranks may give the same data with different types.
    fn bcast(
        shim: &Shim,
        private: MPI_Comm,
        arguments: &Arguments,
        decision: &Decision,
        rank: c_int,
    ) -> Result<Self, Failure> {
        let data = arguments.output;
        let mut staged = Self::of_bytes(shim, Layout::Vector { units: decision.bytes }, rank);
        if decision.shape.plain {
            staged.set(data.address.cast(), data.address.cast());
        } else {
            let mut copy = Buffer::new(decision.bytes as usize).ok_or(Failure::Memory)?;
            staged.set(copy.address(), copy.address());
            if rank == arguments.root {
                staged.pack(shim, private, data, copy.address(), decision.bytes)?;
                staged.input_copy = Some(copy);
            } else {
                staged.output_copy = Some((copy, data, decision.bytes));
            }
        }
        Ok(staged)
    }

    /// Alltoall works on bytes, since the two sides may have different types.
    fn alltoall(
        shim: &Shim,
        private: MPI_Comm,
        arguments: &Arguments,
        decision: &Decision,
        rank: c_int,
    ) -> Result<Self, Failure> {
        let ranks = i64::from(decision.record.size);
        let total = decision.bytes.checked_mul(ranks as u64).ok_or(Failure::Memory)?;
        let all = |block: Typed| Typed { count: block.count.saturating_mul(ranks), ..block };
        let in_place = arguments.in_place();
        let (from, into) = (if in_place { arguments.output } else { arguments.input }, arguments.output);
        let mut staged = Self::of_bytes(shim, Layout::Blocks { block: decision.bytes }, rank);
        let plain_output = Shape::of(shim.real, into.datatype).plain;
        let mut output: *mut u8 = into.address.cast();
        if !plain_output {
            let mut copy = Buffer::new(total as usize).ok_or(Failure::Memory)?;
            output = copy.address();
            staged.output_copy = Some((copy, all(into), total));
        }
        let mut input: *mut u8 = from.address.cast();
        if in_place || !decision.shape.plain {
            // In place the blocks that are sent would be overwritten by those that arrive.
            let mut copy = Buffer::new(total as usize).ok_or(Failure::Memory)?;
            input = copy.address();
            if decision.shape.plain {
                // SAFETY: the program's buffer holds `total` consecutive bytes, the copy as many.
                unsafe { from.address.cast::<u8>().copy_to_nonoverlapping(input, total as usize) };
            } else {
                staged.pack(shim, private, all(from), input, total)?;
            }
            staged.input_copy = Some(copy);
        }
        staged.set(input, output);
        Ok(staged)
    }

    fn of_bytes(shim: &Shim, layout: Layout, rank: c_int) -> Self {
        let shape = Shape { size: 1, extent: 1, true_lb: 0, true_extent: 1, plain: true };
        let datatype = shim.real.handles.byte;
        let buffers =
            Buffers { input: std::ptr::null(), output: std::ptr::null_mut(), layout, datatype, shape, op: None };
        Self { buffers, unit_bytes: 1, input_copy: None, output_copy: None, rank }
    }

    fn set(&mut self, input: *const u8, output: *mut u8) {
        self.buffers.input = input;
        self.buffers.output = output;
    }

    fn pack(&self, shim: &Shim, private: MPI_Comm, from: Typed, to: *mut u8, bytes: u64) -> Result<(), Failure> {
        // SAFETY: `from` is the program's own buffer and type, `to` has room for `bytes` bytes.
        unsafe { datatype::pack(shim.real, private, self.rank, from, to, bytes) }.map_err(Failure::Mpi)
    }

    fn take_buffers(&mut self) -> Buffers {
        let nothing = Layout::Vector { units: 0 };
        let empty = Buffers { input: std::ptr::null(), output: std::ptr::null_mut(), layout: nothing, ..self.buffers };
        std::mem::replace(&mut self.buffers, empty)
    }

    /// Gives up the copies without freeing them.
    fn abandon(mut self) {
        std::mem::forget(self.input_copy.take());
        std::mem::forget(self.output_copy.take());
    }

    /// Unpacks what was received into a copy.
    fn finish(mut self, shim: &Shim, private: MPI_Comm) -> Result<(), Failure> {
        let Some((copy, into, bytes)) = &mut self.output_copy else { return Ok(()) };
        // SAFETY: the copy holds `bytes` bytes, and the program's buffer has room for them in its type.
        unsafe { datatype::unpack(shim.real, private, self.rank, copy.address(), *bytes, *into) }.map_err(Failure::Mpi)
    }
}

/// Raises a failure on the program's communicator, as the library would, and gives the code to return.
fn raise(shim: &Shim, comm: MPI_Comm, failure: Failure) -> c_int {
    let code = match failure {
        Failure::Mpi(code) => code,
        Failure::Memory => ERR_NO_MEM,
        Failure::Stalled => ERR_INTERN,
    };
    // SAFETY: the communicator is valid: this call ran on it.
    unsafe { (shim.real.mpi.comm_call_errhandler)(comm, code) };
    code
}

#[cfg(mpi_family = "openmpi")]
const ERR_NO_MEM: c_int = 39;
#[cfg(mpi_family = "openmpi")]
const ERR_INTERN: c_int = 17;
#[cfg(mpi_family = "mpich")]
const ERR_NO_MEM: c_int = 34;
#[cfg(mpi_family = "mpich")]
const ERR_INTERN: c_int = 16;
