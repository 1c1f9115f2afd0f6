//! Carries out what was decided.

use super::arguments::Arguments;
use super::decide::Decision;
use super::ending::{Ending, explain};
use super::staged::Staged;
use crate::boundary::failure::Failure;
use crate::buffers::packed::Packer;
use crate::comm::record::ConnectionState;
use crate::transport::mpi_transport::{Channel, MpiTransport, Spare};
use crate::transport::private::Private;
use crate::world::shim::Shim;
use nagare_plan::choice::Call;
use nagare_plan::collective::Collective;
use nagare_plan::execute::{Executor, Pacing};
use nagare_plan::schedule::Rank;
use std::ffi::c_int;
use std::mem::ManuallyDrop;

/// Runs the call on our algorithm, to its end or to a failure that this rank and those that wait for it know of.
///
/// # Errors
/// Why it failed.
pub fn run(shim: &Shim, arguments: &Arguments, decision: &Decision, private: &Private) -> Result<(), Failure> {
    let Decision { record, call: Call { collective, bytes, .. }, algorithm, .. } = *decision;
    let Pacing { segment, window, .. } = decision.pacing;
    let (ranks, units) = (record.size, if collective.reduces() { "elements" } else { "bytes" });
    if log::log_enabled!(log::Level::Debug) {
        record.told.tell(format!(
            "{collective} of {bytes} bytes on {ranks} ranks: {algorithm}, segments of {segment} {units}, window \
             {window}"
        ));
    }
    let mut traffic = record.traffic();
    if let Err(failure) = record.failed() {
        explain(collective, failure);
        traffic.abandoned.tell_the_rest(shim.real, private, record.rank);
        return Err(failure);
    }
    // From here on every rank counts the call, also one that fails.
    let call = traffic.next_call();
    let packer = {
        let (rank, own) = (record.rank as c_int, private.rank(record.rank));
        Packer { real: shim.real, rank, private: private.comm, own }
    };
    // Until the call says how it ended, it was left.
    let mut ending = Ending::new(shim, record, private, &mut traffic, (collective, call));
    let staged = carry_out(
        shim,
        arguments,
        decision,
        &packer,
        Channel { private, rank: record.rank, tags: decision.place.tags, call },
        ending.traffic,
    );
    ending.failure = staged.as_ref().err().copied();
    drop(ending);
    staged?.finish(&packer)
}

/// Makes the plan if there is none, so that a measured call is not the one that makes it.
pub fn prepare(arguments: &Arguments, decision: &Decision) {
    let Decision { record, planning, call: Call { collective, bytes, .. }, algorithm, .. } = *decision;
    // What cannot be planned fails in the call.
    let _ = record.program(planning, collective, algorithm, root(arguments), bytes);
}

fn root(arguments: &Arguments) -> Rank {
    if arguments.collective.is_rooted() { arguments.root as Rank } else { 0 }
}

/// Carries out the call on that channel; what is left to do is to spread copies.
fn carry_out(
    shim: &Shim,
    arguments: &Arguments,
    decision: &Decision,
    packer: &Packer,
    channel: Channel,
    traffic: &mut ConnectionState,
) -> Result<Staged, Failure> {
    let Decision { record, planning, algorithm, pacing, call: Call { bytes, .. }, .. } = *decision;
    channel.private.notices.check(channel.private, channel.call)?;
    let program =
        record.program(planning, arguments.collective, algorithm, root(arguments), bytes).ok_or(Failure::Stalled)?;
    // Copies that are left behind are not freed: the library may still write to what it was given, or read it.
    let mut staged = ManuallyDrop::new(Staged::new(packer, arguments, decision, &program.plan)?);
    let has_output = arguments.has_output(record.rank);
    // Open MPI takes one buffer for both sides of a Reduce_scatter without being told, and MPICH for both of any
    // reduction where it is told not to look (`looks_for_aliases`).
    let is_one = arguments.op().is_some() && has_output && arguments.input.address == arguments.output.address;
    let in_place = is_one || arguments.in_place() || arguments.collective == Collective::Bcast;
    let buffers = staged.take_buffers();
    let ConnectionState { credits, spare, .. } = traffic;
    let spare = spare.get_or_insert_with(|| Spare::new(shim.real));
    // SAFETY: the addresses are the program's buffers, which MPI requires to be valid until the call returns, or our
    // own copies, which `staged` keeps.
    let mut transport = unsafe { MpiTransport::new(shim.real, channel, buffers, shim.waiting(), spare) };
    let executor = Executor::new(&program, pacing, (in_place, has_output), credits, &mut transport)?;
    executor.run(&mut transport)?;
    Ok(ManuallyDrop::into_inner(staged))
}
