//! The C interface, `c_api/nagare.h`: found with `dlsym`, so that programs also run without Nagare.

use crate::boundary::panics::guard;
use crate::comm::registry;
use crate::world::shim::{Shim, World, shim};
use crate::world::{collect, locality, setup};
use mpi::ffi::MPI_Comm;
use nagare_plan::by_size::by_size;
use nagare_plan::choice::Rules;
use nagare_plan::collective::Collective;
use nagare_plan::{counted, quoted};
use serde_json::json;
use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_int};
use std::fmt::Write;
use std::sync::Arc;

/// Sizes for which a description says what runs, bytes.
const SIZES: [u64; 8] = [1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20];

/// Version of Nagare, such as "0.1.0"; never null.
#[unsafe(no_mangle)]
pub extern "C" fn nagare_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// 1 if Nagare handles the collectives of this process, 0 if it forwards all of them: before `MPI_Init` and after
/// `MPI_Finalize`, switched off, built for another MPI family, or with a configuration that differs between ranks.
#[unsafe(no_mangle)]
pub extern "C" fn nagare_active() -> c_int {
    guard("nagare_active", || c_int::from(shim().is_some_and(active)))
}

fn active(shim: &Shim) -> bool {
    let setup = shim.setup();
    setup.config.enable && setup.usable && shim.is_open() && shim.world().is_some_and(|w| w.facts.is_ok())
}

/// Describes what Nagare found in this process: MPI library, functions, configuration, problems.
///
/// Writes at most `length` bytes with the final zero to `buffer` and returns the length of the whole text without the
/// zero, as `snprintf` does; `buffer` may be null if `length` is 0.
///
/// # Safety
/// `buffer` must have room for `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nagare_diagnose(buffer: *mut c_char, length: usize) -> usize {
    let text = guard("nagare_diagnose", || shim().map_or_else(no_shim, diagnose));
    // SAFETY: the caller vouches for the buffer.
    unsafe { put(&text, buffer, length) }
}

/// Describes a communicator as Nagare sees it: its ranks, nodes and levels, the plans made so far, and in JSON what
/// runs by size where calls are not measured. Local. `format` is "text" or "json". Writes and returns like
/// `nagare_diagnose`.
///
/// # Safety
/// `comm` must be a valid communicator, `format` a C string, and `buffer` have room for `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nagare_describe(
    comm: MPI_Comm,
    format: *const c_char,
    buffer: *mut c_char,
    length: usize,
) -> usize {
    let text = guard("nagare_describe", || match shim() {
        None => no_shim(),
        // SAFETY: the caller vouches for both.
        Some(shim) => unsafe { describe(shim, comm, is_json(format)) },
    });
    // SAFETY: the caller vouches for the buffer.
    unsafe { put(&text, buffer, length) }
}

/// Sets the algorithms of one communicator from now on, in the syntax of `NAGARE_ALGORITHM`; null returns to the
/// settings of the environment. Collective over the communicator: all ranks must pass the same text. Returns 0, or -1
/// if the text is not understood, Nagare is not active, or Nagare can carry out no call of the process (with
/// `MPI_THREAD_MULTIPLE`, if all ranks are on one node and `NAGARE_ALGORITHM` named no algorithm in `MPI_Init_thread`);
/// then nothing has changed.
///
/// # Safety
/// `comm` must be a valid communicator and `rules` a C string or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nagare_set_algorithm(comm: MPI_Comm, rules: *const c_char) -> c_int {
    guard("nagare_set_algorithm", || {
        let Some(shim) = shim().filter(|shim| active(shim)) else { return -1 };
        let rules = if rules.is_null() {
            None
        } else {
            // SAFETY: not null, and the caller vouches for the string.
            match Rules::parse(&unsafe { CStr::from_ptr(rules) }.to_string_lossy()) {
                Ok(rules) => Some(rules),
                Err(error) => {
                    log::warn!("nagare_set_algorithm: {error}");
                    return -1;
                }
            }
        };
        if rules.is_some() && !shim.pool().is_some_and(|pool| pool.serves()) {
            log::warn!(
                "nagare_set_algorithm: with MPI_THREAD_MULTIPLE and all ranks on one node, algorithms can be set only \
                 where NAGARE_ALGORITHM names one when the program starts, such as bcast=chain"
            );
            return -1;
        }
        // SAFETY: the caller vouches for the communicator.
        let Ok(record) = (unsafe { registry::of(shim, comm) }) else { return -1 };
        record.set_rules(shim, comm, rules);
        0
    })
}

/// The calls of this process counted so far. `format` is "text" or "json"; writes and returns like `nagare_diagnose`.
///
/// # Safety
/// `format` must be a C string, and `buffer` have room for `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nagare_report(format: *const c_char, buffer: *mut c_char, length: usize) -> usize {
    let text = guard("nagare_report", || {
        shim().map_or_else(no_shim, |shim| {
            let report = collect::report(shim, &registry::kinds(shim, false), registry::learned(shim));
            // SAFETY: the caller vouches for the string.
            if unsafe { is_json(format) } { report.json() } else { report.text() }
        })
    });
    // SAFETY: the caller vouches for the buffer.
    unsafe { put(&text, buffer, length) }
}

fn no_shim() -> String {
    "Nagare is not active in this process: there is no MPI library of the family it was built for\n".to_owned()
}

/// # Safety
/// `format` must be a C string or null.
unsafe fn is_json(format: *const c_char) -> bool {
    // SAFETY: as demanded.
    !format.is_null() && unsafe { CStr::from_ptr(format) } == c"json"
}

/// # Safety
/// `buffer` must have room for `length` bytes.
unsafe fn put(text: &str, buffer: *mut c_char, length: usize) -> usize {
    if length > 0 && !buffer.is_null() {
        let count = text.len().min(length - 1);
        // SAFETY: `count + 1` bytes fit; the two do not overlap, the text being our own.
        unsafe {
            text.as_ptr().copy_to_nonoverlapping(buffer.cast(), count);
            *buffer.add(count) = 0;
        }
    }
    text.len()
}

fn diagnose(shim: &Shim) -> String {
    let setup = shim.setup();
    let functions = &shim.real.mpi;
    let mut text = String::new();
    let _ = writeln!(text, "nagare {}", env!("CARGO_PKG_VERSION"));
    let _ = writeln!(text, "MPI library: {} ({})", shim.real.version(), shim.real.path);
    #[cfg(mpi_large_count)]
    let (bound, missing) = (
        [&functions.bound[..], &shim.real.large.bound].concat(),
        [&functions.missing[..], &shim.real.large.missing].concat(),
    );
    #[cfg(not(mpi_large_count))]
    let (bound, missing) = (&functions.bound, &functions.missing);
    let _ = writeln!(text, "functions bound in it: {}", bound.join(" "));
    if !missing.is_empty() {
        let _ = writeln!(text, "functions it lacks: {}", missing.join(" "));
    }
    let _ = writeln!(text, "host: {}", setup::host_name());
    let _ = writeln!(text, "topology from: {}", setup.topology_origin);
    if let Some(eager) = shim.world().and_then(|w| w.facts.as_ref().ok().map(|facts| facts.eager)) {
        let _ = writeln!(text, "eager messages: {eager}");
    }
    let world = shim.world();
    let profiles = world.as_ref().and_then(|world| Some(&world.facts.as_ref().ok()?.profiles));
    for name in profiles.iter().flat_map(|profiles| profiles.names()) {
        let _ = writeln!(text, "profile: {}", quoted(name));
    }
    let core = locality::bound()
        .map_or_else(|| "none".to_owned(), |bound| format!("{} (NUMA node {})", bound.core, bound.numa));
    let _ = writeln!(text, "bound to core: {core}");
    for problem in &setup.problems {
        let _ = writeln!(text, "problem: {problem}");
    }
    if let Some(error) = shim.world().and_then(|w| w.facts.as_ref().err().cloned()) {
        let _ = writeln!(text, "problem: {error}");
    }
    text
}

/// # Safety
/// `comm` must be a valid communicator.
unsafe fn describe(shim: &Shim, comm: MPI_Comm, json: bool) -> String {
    // SAFETY: the caller vouches for the communicator; the record is used here only.
    let Ok(record) = (unsafe { registry::of(shim, comm) }) else {
        return "no facts about this communicator\n".to_owned();
    };
    if record.inter {
        return "an intercommunicator: left to the MPI library\n".to_owned();
    }
    let place = match record.place(shim, comm) {
        Ok(place) => place,
        Err(reason) => return format!("left to the MPI library: {}\n", reason.name()),
    };
    let topology = place.planner.topology();
    let plans: Vec<_> = record.plans().iter().map(|p| p.plan.clone()).collect();
    if json {
        let of_world = |world: Arc<World>| {
            let facts = world.facts.as_ref().ok()?;
            Some((facts.network.clone(), facts.transport.clone(), facts.eager))
        };
        let known = shim.world().and_then(of_world);
        let rules = record.rules();
        let rules = rules.as_deref().unwrap_or(&place.rules);
        let limits = shim.setup().config.limits(place.message);
        let by_size = |collective| by_size(&place.planner, rules, &limits, collective, &SIZES);
        let by_size: BTreeMap<_, _> = Collective::ALL.map(|c| (c.name(), by_size(c))).into_iter().collect();
        let value = json!({
            "ranks": record.size,
            "rank": record.rank,
            "nodes": place.nodes,
            "message_bytes": place.message,
            "network": known.as_ref().map(|(network, ..)| network),
            "transport": known.as_ref().map(|(_, transport, _)| transport),
            "eager": known.as_ref().map(|(.., eager)| eager.told()).map(|[local, remote]| json!({
                "local": local,
                "remote": remote,
            })),
            "placement": topology.arrangement(),
            "topology": topology,
            "plans": plans,
            "by_size": by_size,
        });
        return value.to_string() + "\n";
    }
    let mut text = format!(
        "rank {} of {}, {}, messages up to {} bytes\n",
        record.rank,
        record.size,
        counted(place.nodes, "node"),
        place.message
    );
    for (level, name) in topology.level_names().iter().enumerate() {
        let groups = topology.groups(level);
        let count = groups.iter().max().map_or(0, |&g| g + 1);
        let own = groups.get(record.rank as usize).copied().unwrap_or(0);
        let _ = writeln!(text, "level {name}: {count} of them, this rank is in number {own}");
    }
    for plan in plans {
        let _ = writeln!(text, "plan with {} hops:", plan.hops.len());
        for hop in plan.hops {
            let _ = writeln!(
                text,
                "  stage {} round {}: {:?} {} parts {}..{}",
                hop.round.stage,
                hop.round.step,
                hop.action,
                hop.peer,
                hop.parts.first,
                hop.parts.end()
            );
        }
    }
    text
}
