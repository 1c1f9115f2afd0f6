//! Whether a call runs on our algorithms, on which, and in which pieces: decided first, without any message, and then
//! what it needs is taken. The first decision about a communicator finds its placement, which is kept; one about a call
//! that runs on what the calls of its class begin with, or that is settled, or short, counts it. What algorithm fits is
//! [`nagare_plan::decision`]'s, which is pure.

use super::arguments::Arguments;
use super::sides::Sides;
use crate::buffers::datatype::{self, Shape};
use crate::buffers::side::Side;
use crate::comm::learning::{Beginning, Class, Unasked};
use crate::comm::lesson::Candidates;
use crate::comm::placement::{Placement, Planning};
use crate::comm::record::Communicator;
use crate::comm::registry;
use crate::real::handles::{TypeClass, is_op};
use crate::transport::private::Private;
use crate::world::shim::Shim;
use mpi::ffi::MPI_Op;
use nagare_plan::Planner;
use nagare_plan::algorithm::Algorithm;
use nagare_plan::choice::{Call, Prescription, Reason, is_short_block};
use nagare_plan::collective::Collective;
use nagare_plan::decision::{self, Limits};
use nagare_plan::execute::Pacing;
use nagare_plan::learn::Earning;
use std::sync::Arc;

/// Short Bcasts and Allgathers are left to the library once for so many nodes before anything is predicted of them.
const NODES_A_CALL: u32 = 4;

/// Everything decided about a call that we run.
pub struct Decision<'c> {
    /// The communicator.
    pub record: &'c Communicator,
    /// Where its ranks are.
    pub place: &'c Placement,
    /// What it is planned with.
    pub planning: Planning<'c>,
    /// What it is, as far as all ranks know: of its bytes there are none where a rank may know its own only.
    pub call: Call,
    /// What runs.
    pub algorithm: Algorithm,
    /// In which pieces.
    pub pacing: Pacing,
    /// Where calls like it tell what is fastest.
    pub class: Option<Class>,
    /// Where its time is kept although it is not measured, because calls like it have not yet earned that.
    pub early: Option<Class>,
    /// Nanoseconds that it is predicted to take, where calls like it tell what is fastest and their bytes are known.
    predicted: Option<f64>,
    /// Nanoseconds that calls of the library must take for trials to be worth it, if not every time.
    worth_from: Option<f64>,
    limits: Limits,
    /// Bytes of the mean and of the longest block of an exchange, and of what is never split.
    sizes: ([u64; 2], u64),
    /// The blocks, where a rank may know its own only.
    pub sides: Option<Sides>,
    /// The blocks of Allgatherv.
    pub gathered: Option<Side>,
}

/// A call that the library runs.
pub enum PassedOn<'c> {
    /// For this reason.
    Because(Reason),
    /// Because nothing is tried yet in calls of the class; whether its time is to be kept.
    Early(&'c Communicator, Class, bool),
}

impl From<Reason> for PassedOn<'_> {
    fn from(reason: Reason) -> Self {
        Self::Because(reason)
    }
}

/// Decides from what all ranks share: the communicator, the operation, the root, the number of bytes. Arguments that
/// are wrong on this rank are the library's to judge; a program that gives them on some ranks only is wrong anyway.
#[inline]
pub fn decide<'c>(shim: &Shim, arguments: &Arguments, bytes: u64) -> Result<Decision<'c>, PassedOn<'c>> {
    let setup = shim.setup();
    if !setup.config.enable {
        return Err(Reason::Disabled.into());
    }
    let real = shim.real;
    let comm = arguments.comm;
    if comm == real.handles.comm_null {
        return Err(Reason::Argument.into());
    }
    // SAFETY: not null; a handle that is freed or invented is an error in the program that the library itself detects
    // or not. The record is used during this call only.
    let record = unsafe { registry::of(shim, comm) }?;
    if record.inter {
        return Err(Reason::Intercommunicator.into());
    }
    if record.size < 2 {
        return Err(Reason::OneRank.into());
    }
    let place = record.place(shim, comm)?;
    let floor = record.floor(arguments.collective);
    let is_below = arguments.is_below(bytes, floor);
    if is_below && (place.nodes < 2 || floor < u64::MAX) {
        return Err(if place.nodes < 2 { Reason::OneNode } else { Reason::Small }.into());
    }
    let rules = record.rules();
    let rules = rules.as_deref().unwrap_or(&place.rules);
    let shared = arguments.shared(bytes);
    let call = Call { collective: arguments.collective, bytes: shared, ranks: record.size, nodes: place.nodes };
    if is_below {
        // Nothing is ever ours, whatever fits.
        return Err(rules.reason(&call).into());
    }
    let limits = setup.config.limits(place.message);
    // Before a call is counted: one that is wrong on this rank alone, and made again, is one call on the others.
    arguments.valid(shim, record, bytes)?;
    let is_exact = is_exact(shim, arguments);
    let is_free = rules.prescription(&call) == Some(Prescription::Fitting);
    // No call of such a sum may be measured, and predictions are about networks.
    if is_free && !is_exact && place.shares_memory {
        return Err(if place.nodes < 2 { Reason::OneNode } else { Reason::Faster }.into());
    }
    let class = if is_free && is_exact { class(shim, &call) } else { None };
    // What was begun without a test goes on without it: what is tried, and in which pieces.
    let is_tested = |class| shim.is_tested() && record.learning().may_be_tested(class);
    let planning = place.planning(shim, class.is_some_and(is_tested));
    let planner: &Planner = planning.planner;
    let (mut settled, mut early) = (None, None);
    if let Some(class) = class {
        match record.learning().unasked(class) {
            Some(Unasked::Early { way: None, is_timed }) => return Err(PassedOn::Early(record, class, is_timed)),
            Some(Unasked::Early { way, is_timed }) => (settled, early) = (Some(way), is_timed.then_some(class)),
            Some(Unasked::Settled(way)) => settled = Some(way),
            None => {}
        }
    }
    let is_told = |_: &Class| settled.is_none() && planner.is_told_by_trials(call.collective, call.bytes);
    let told = class.filter(is_told);
    let is_short_block = is_short_block(call.collective, shared);
    // That ranks agree about devices takes as long as a short call.
    if place.asks_for_devices && (told.is_some() || is_free && is_short_block) {
        return Err(Reason::Small.into());
    }
    // What is predicted of a communicator of many nodes takes as long as tens of short calls.
    if let Some(class) = told {
        let is_early = is_short_block || call.collective == Collective::Bcast;
        let first = if is_early { place.nodes / NODES_A_CALL } else { 0 };
        if record.learning().is_left(class, first) {
            return Err(Reason::Small.into());
        }
    }
    let decision = match settled {
        Some(None) => return Err(Reason::Faster.into()),
        Some(Some(algorithm)) => decision::Decision::of(planner, algorithm, &call, &limits),
        None => decision::Decision::new(planner, rules, &call, &limits, class.is_some())
            .inspect_err(|_| told.into_iter().for_each(|class| record.learning().leave(class)))?,
    };
    let sides = arguments.sides(real, record)?;
    let gathered = arguments.gathered(real, record.size)?;
    let mut unit_bytes = 1;
    if let Some(op) = arguments.op() {
        let shape = Shape::of(real, arguments.input.datatype);
        combinable(shim, op, arguments, &shape)?;
        unit_bytes = (shape.span() as u64).max(1);
        if unit_bytes > limits.most(call.collective) {
            return Err(Reason::LargeElement.into());
        }
    }
    let blocks = sides.as_ref().map_or([shared; 2], |sides| [sides.mean(), sides.longest_sent()]);
    let sizes = (blocks, unit_bytes);
    let pacing = decision.pacing(planner, &limits, blocks, unit_bytes);
    let class = class.filter(|_| settled.is_none());
    let is_known = class.is_some() && !call.collective.has_own_sizes();
    let predicted = is_known.then(|| decision.time(planner, &call, &limits)).flatten();
    let is_long = Earning::is_earned_by(predicted);
    // Of exchanges in memory no prediction says what the links allow.
    let worth_from = || decision.worth_from(planner, &call, &limits, is_long);
    let worth_from = if is_known && !place.shares_memory { worth_from() } else { None };
    let algorithm = decision.algorithm;
    Ok(Decision {
        record,
        place,
        planning,
        call,
        algorithm,
        pacing,
        class,
        early,
        predicted,
        worth_from,
        limits,
        sizes,
        sides,
        gathered,
    })
}

impl<'c> Decision<'c> {
    /// The algorithms worth trying.
    pub fn candidates(&self) -> Candidates {
        let (planner, call, limits) = (self.planning.planner, &self.call, &self.limits);
        let algorithms = decision::Decision::candidates(planner, call, limits);
        let alike = decision::Decision::alike(planner, call, limits, &algorithms);
        Candidates { algorithms, alike, is_tested: self.planning.is_tested }
    }

    /// Whether it is predicted to take so long that trials need not wait for calls to earn them.
    pub fn is_long(&self) -> bool {
        let Call { collective, bytes, .. } = self.call;
        let is_told_by_trials = self.planning.planner.is_told_by_trials(collective, bytes);
        !is_told_by_trials && self.worth_from.is_none() && Earning::is_earned_by(self.predicted)
    }

    /// Whether the same runs where its calls cannot be measured after all.
    ///
    /// # Errors
    /// Why it is the library's then.
    pub fn unmeasured(&self) -> Result<(), Reason> {
        let rules = self.record.rules();
        let rules = rules.as_deref().unwrap_or(&self.place.rules);
        let decision = decision::Decision::new(self.planning.planner, rules, &self.call, &self.limits, false)?;
        if decision.algorithm == self.algorithm { Ok(()) } else { Err(Reason::Faster) }
    }

    /// How calls like it begin. Predictions are about networks, not about memory.
    pub fn beginning(&self) -> Beginning {
        let shares_memory = self.place.shares_memory;
        let decision = decision::Decision::of(self.planning.planner, self.algorithm, &self.call, &self.limits);
        let believed = decision.believed_between(self.planning.planner, &self.call).filter(|_| !shares_memory);
        let asking = self.planning.planner.least_asking().filter(|_| !shares_memory);
        let earning = Earning::new(self.predicted, shares_memory).asked_in(asking).worth_from(self.worth_from);
        Beginning { earning: earning.believed_between(believed), ours: believed.map(|_| self.algorithm) }
    }

    /// Nanoseconds that it is predicted to take.
    pub fn predicted(&self) -> Option<f64> {
        self.predicted
    }

    /// Decides anew, once a self-test of the network has found something: what is tried first, and in which pieces.
    pub fn replan(&mut self, planning: Planning<'c>) {
        self.planning = planning;
        let rules = self.record.rules();
        let rules = rules.as_deref().unwrap_or(&self.place.rules);
        let decision = decision::Decision::new(planning.planner, rules, &self.call, &self.limits, true);
        // Where nothing fits any more, nothing is tried.
        if let Ok(decision) = decision {
            self.algorithm = decision.algorithm;
            self.pacing = decision.pacing(planning.planner, &self.limits, self.sizes.0, self.sizes.1);
        }
    }

    /// Runs `algorithm` instead.
    pub fn switch_to(&mut self, algorithm: Algorithm) {
        if algorithm != self.algorithm {
            let decision = decision::Decision::of(self.planning.planner, algorithm, &self.call, &self.limits);
            self.algorithm = algorithm;
            self.pacing = decision.pacing(self.planning.planner, &self.limits, self.sizes.0, self.sizes.1);
        }
    }
}

/// Whether the result has the same bits whatever runs: data is moved, or combined without rounding.
fn is_exact(shim: &Shim, arguments: &Arguments) -> bool {
    let handles = &shim.real.handles;
    arguments.op().is_none_or(|op| {
        let type_class = handles.type_class(arguments.significant().datatype);
        let accepted = |t: TypeClass| handles.op_class(op).is_some_and(|class| class.accepts(t));
        type_class.is_some_and(|t| t.is_exact() && accepted(t))
    })
}

/// The class of calls to learn from, where a communicator of ours has the ranks of the program's.
fn class(shim: &Shim, call: &Call) -> Option<Class> {
    (shim.measures() && call.nodes > 1).then(|| Class::of(call.collective, call.bytes))
}

/// Takes what the call needs: our communicator, which all its ranks have or none; collective where it is not there yet.
///
/// # Errors
/// Why the call is the library's after all: there is no communicator to be had, or a type is not committed, which only
/// messages can tell.
pub fn take(shim: &Shim, arguments: &Arguments, decision: &Decision) -> Result<Arc<Private>, Reason> {
    let Decision { record, place, ref sides, .. } = *decision;
    let private = record.private(shim, arguments.comm, place)?;
    let committed = |datatype| datatype::is_committed(shim.real, private.comm, datatype);
    let all_committed = match sides {
        None => {
            let [first, second] = arguments.typed(record.rank);
            committed(first.datatype) && (second.datatype == first.datatype || committed(second.datatype))
        }
        Some(sides) => sides.all_types(committed),
    };
    if all_committed { Ok(private) } else { Err(Reason::Argument) }
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
