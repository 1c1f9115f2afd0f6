//! Nagare's C interface, where it is preloaded.

use libloading::os::unix::Library;
use mpi::ffi::MPI_Comm;
use nagare_bench::operation::Operation;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char, c_int};

/// The functions that are used (c_api/nagare.h).
pub struct Nagare {
    version: unsafe extern "C" fn() -> *const c_char,
    set_algorithm: unsafe extern "C" fn(MPI_Comm, *const c_char) -> c_int,
    report: unsafe extern "C" fn(*const c_char, *mut c_char, usize) -> usize,
    describe: unsafe extern "C" fn(MPI_Comm, *const c_char, *mut c_char, usize) -> usize,
}

/// Calls of one collective by what ran.
pub type Calls = BTreeMap<String, u64>;

#[derive(Deserialize)]
struct Report {
    rows: Vec<Row>,
}

/// What Nagare knows of a communicator.
#[derive(Deserialize)]
pub struct Description {
    /// What the network is called.
    pub network: String,
    /// What carries messages between nodes.
    pub transport: Option<String>,
    /// In which order ranks are on nodes.
    pub placement: String,
    /// Nodes of the communicator.
    pub nodes: u32,
    /// In which groups its ranks are.
    pub topology: Levels,
    /// What Nagare takes for the longest eager messages.
    pub eager: Option<Eager>,
}

/// Levels from the widest to the node, with the group of every rank.
#[derive(Deserialize)]
pub struct Levels {
    /// What they are called.
    pub names: Vec<String>,
    /// Of each level the groups.
    pub groups: Vec<Vec<u32>>,
}

/// Bytes of the longest messages that Nagare takes for eager, `None` where MPI cannot tell.
#[derive(Clone, Copy, Deserialize)]
pub struct Eager {
    /// Within a node.
    pub local: Option<u64>,
    /// Between nodes.
    pub remote: Option<u64>,
}

#[derive(Deserialize)]
struct Row {
    collective: String,
    algorithm: String,
    reason: Option<String>,
    calls: u64,
}

impl Nagare {
    /// The functions, if this process has them and they are active.
    pub fn find() -> Option<Self> {
        let process = Library::this();
        // SAFETY: the types are those of c_api/nagare.h.
        let (active, found) = unsafe {
            let active = *process.get::<unsafe extern "C" fn() -> c_int>(b"nagare_active\0").ok()?;
            let version = *process.get(b"nagare_version\0").ok()?;
            let set_algorithm = *process.get(b"nagare_set_algorithm\0").ok()?;
            let report = *process.get(b"nagare_report\0").ok()?;
            let describe = *process.get(b"nagare_describe\0").ok()?;
            (active, Self { version, set_algorithm, report, describe })
        };
        // SAFETY: takes no argument.
        (unsafe { active() } == 1).then_some(found)
    }

    /// Nagare's version.
    pub fn version(&self) -> String {
        // SAFETY: the text is never null and lives as long as the process.
        unsafe { CStr::from_ptr((self.version)()) }.to_string_lossy().into_owned()
    }

    /// Sets the algorithms of `comm`, `None` for Nagare's own choice; all ranks must call it alike.
    ///
    /// # Errors
    /// If Nagare does not take the rules.
    pub fn set_algorithm(&self, comm: MPI_Comm, rules: Option<&str>) -> Result<(), String> {
        let text = rules.map(CString::new).transpose().map_err(|error| error.to_string())?;
        let pointer = text.as_ref().map_or(std::ptr::null(), |text| text.as_ptr());
        // SAFETY: the communicator is valid, the text null or a C string that outlives the call.
        match unsafe { (self.set_algorithm)(comm, pointer) } {
            0 => Ok(()),
            _ => Err(format!("nagare_set_algorithm does not take '{}'", rules.unwrap_or("the default"))),
        }
    }

    /// What is known of `comm`; `None` if Nagare knows nothing about its ranks.
    pub fn description(&self, comm: MPI_Comm) -> Option<Description> {
        let format = c"json".as_ptr();
        // SAFETY: the communicator is valid, the buffer has the length that is told.
        let text = text(|buffer, length| unsafe { (self.describe)(comm, format, buffer, length) });
        serde_json::from_slice(&text).ok()
    }

    /// What ran in this process so far.
    ///
    /// # Errors
    /// If the report cannot be read.
    pub fn calls(&self, operation: Operation) -> Result<Calls, String> {
        let format = c"json".as_ptr();
        // SAFETY: the buffer has the length that is told.
        let text = text(|buffer, length| unsafe { (self.report)(format, buffer, length) });
        let report: Report = serde_json::from_slice(&text).map_err(|error| format!("nagare_report: {error}"))?;
        let rows = report.rows.into_iter().filter(|row| row.collective == operation.function());
        Ok(rows.map(|row| (what_ran(&row), row.calls)).collect())
    }
}

/// A text of any length: `put` puts at most so many bytes of it there, and tells how many there are.
fn text(put: impl Fn(*mut c_char, usize) -> usize) -> Vec<u8> {
    let length = put(std::ptr::null_mut(), 0);
    let mut text = vec![0u8; length + 1];
    let length = put(text.as_mut_ptr().cast(), text.len()).min(length);
    text.truncate(length);
    text
}

fn what_ran(row: &Row) -> String {
    match &row.reason {
        Some(reason) => format!("{} ({reason})", row.algorithm),
        None => row.algorithm.clone(),
    }
}
