//! One rank of doctor's probe: a program that opens the real MPI library itself and asks the preloaded Nagare about it.
//!
//! The command is linked to no MPI. The real library is opened globally, as if the program were linked to it; MPI
//! functions are then looked up process-wide, where a preloaded Nagare comes first.

use crate::mpi::Family;
use crate::output::print;
use anyhow::{Context, anyhow, ensure};
use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW, Symbol};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// MPI_SUCCESS of every family.
const SUCCESS: c_int = 0;
/// First size of the buffer a text is asked into, bytes.
const TEXT: usize = 16 << 10;
/// MPI_COMM_WORLD of MPICH and what shares its interface.
const MPICH_COMM_WORLD: c_int = 0x4400_0000;

/// A communicator handle as the family passes it.
#[derive(Clone, Copy)]
enum Comm {
    /// Open MPI.
    Pointer(*mut c_void),
    /// MPICH.
    Integer(c_int),
}

/// What is visible in the whole process, preloaded libraries first.
struct Process(Library);

/// Initialises MPI, prints what Nagare says about this process, finalises MPI.
pub fn run(family: Family, mpi_libraries: &[PathBuf]) -> anyhow::Result<ExitCode> {
    let opened = open_first(mpi_libraries)?;
    let process = Process(Library::this());
    process.init()?;
    let text = process.tell(family, opened);
    // Finalised whatever was found, so that the launcher does not take this rank for crashed.
    let finalised = process.finalize();
    print(&text?)?;
    finalised?;
    Ok(ExitCode::SUCCESS)
}

/// Opens the first library that can be opened, for the rest of the process.
fn open_first(candidates: &[PathBuf]) -> anyhow::Result<&Path> {
    let mut failures = Vec::new();
    for candidate in candidates {
        // SAFETY: the file is the MPI library of the launcher that started this process; its initialisers are meant to
        // run in any program linked to it, and it is never unloaded.
        match unsafe { Library::open(Some(candidate), RTLD_NOW | RTLD_GLOBAL) } {
            Ok(library) => {
                std::mem::forget(library);
                return Ok(candidate);
            }
            Err(error) => failures.push(error.to_string()),
        }
    }
    Err(anyhow!("no MPI library could be opened: {}", failures.join("; ")))
}

impl Process {
    /// The function or object of that name.
    ///
    /// # Safety
    /// `T` must be the symbol's type, as for [`Library::get`].
    unsafe fn symbol<T>(&self, name: &CStr) -> anyhow::Result<Symbol<T>> {
        // SAFETY: the caller vouches for the type.
        let found = unsafe { self.0.get(name.to_bytes_with_nul()) };
        found.map_err(|error| anyhow!("{}: {error}", name.to_string_lossy()))
    }

    fn init(&self) -> anyhow::Result<()> {
        // SAFETY: the signature of MPI_Init (MPI 4.0 section 11.2.1).
        let init =
            unsafe { self.symbol::<unsafe extern "C" fn(*mut c_int, *mut *mut *mut c_char) -> c_int>(c"MPI_Init") }?;
        // SAFETY: both arguments may be null; MPI has not been initialised in this process, which has one thread.
        let code = unsafe { init(std::ptr::null_mut(), std::ptr::null_mut()) };
        ensure!(code == SUCCESS, "MPI_Init: error {code}");
        Ok(())
    }

    fn finalize(&self) -> anyhow::Result<()> {
        // SAFETY: the signature of MPI_Finalize (MPI 4.0 section 11.2.2).
        let finalize = unsafe { self.symbol::<unsafe extern "C" fn() -> c_int>(c"MPI_Finalize") }?;
        // SAFETY: MPI is initialised and no request is pending.
        let code = unsafe { finalize() };
        ensure!(code == SUCCESS, "MPI_Finalize: error {code}");
        Ok(())
    }

    /// What this rank says: rank 0 everything, the others one line.
    fn tell(&self, family: Family, opened: &Path) -> anyhow::Result<String> {
        let world = self.world(family)?;
        let (rank, size) = (self.of_world(c"MPI_Comm_rank", world)?, self.of_world(c"MPI_Comm_size", world)?);
        let who = format!("rank {rank} of {size}");
        if !self.has(c"nagare_active") {
            let preload = std::env::var("LD_PRELOAD").unwrap_or_else(|_| "not set".to_owned());
            return Err(anyhow!("{who}: Nagare is not in the process (LD_PRELOAD: {preload})"));
        }
        // SAFETY: the signature in c_api/nagare.h: no arguments, an int.
        let active = unsafe { self.symbol::<unsafe extern "C" fn() -> c_int>(c"nagare_active") }?;
        // SAFETY: nagare_active may be called at any time.
        let active = unsafe { active() } != 0;
        let state = if active { "Nagare is active" } else { "Nagare is loaded but not active" };
        let mut text = format!("{who}: {state}, over {}\n", opened.display());
        // Every rank asks, in case describing the world needs them all.
        let (diagnosis, description) = (self.diagnose()?, self.describe(world)?);
        if rank == 0 {
            let _ = write!(text, "{}\n{}\n", diagnosis.trim_end(), description.trim_end());
        }
        Ok(text)
    }

    /// MPI_COMM_WORLD: the address of an object (Open MPI) or a number (MPICH).
    fn world(&self, family: Family) -> anyhow::Result<Comm> {
        match family {
            Family::Mpich => Ok(Comm::Integer(MPICH_COMM_WORLD)),
            Family::Openmpi => {
                // SAFETY: the symbol is only used as an address; what is behind it is never read.
                let object = unsafe { self.symbol::<*mut c_void>(c"ompi_mpi_comm_world") };
                let address = object.context("MPI_COMM_WORLD")?.into_raw();
                Ok(Comm::Pointer(address))
            }
        }
    }

    /// Whether the process has a symbol of that name.
    fn has(&self, name: &CStr) -> bool {
        // SAFETY: the symbol is not used.
        unsafe { self.symbol::<*const c_void>(name) }.is_ok()
    }

    /// `MPI_Comm_rank` or `MPI_Comm_size` (MPI 4.0 section 7.4.1).
    fn of_world(&self, function: &CStr, comm: Comm) -> anyhow::Result<c_int> {
        let mut result = 0;
        let code = match comm {
            Comm::Pointer(comm) => {
                // SAFETY: both functions have this signature where handles are pointers.
                let f = unsafe { self.symbol::<unsafe extern "C" fn(*mut c_void, *mut c_int) -> c_int>(function) }?;
                // SAFETY: MPI is initialised, the handle is MPI_COMM_WORLD, the result outlives the call.
                unsafe { f(comm, &mut result) }
            }
            Comm::Integer(comm) => {
                // SAFETY: both functions have this signature where handles are integers.
                let f = unsafe { self.symbol::<unsafe extern "C" fn(c_int, *mut c_int) -> c_int>(function) }?;
                // SAFETY: as above.
                unsafe { f(comm, &mut result) }
            }
        };
        ensure!(code == SUCCESS, "{}: error {code}", function.to_string_lossy());
        Ok(result)
    }

    fn diagnose(&self) -> anyhow::Result<String> {
        // SAFETY: the signature in c_api/nagare.h.
        let f = unsafe { self.symbol::<unsafe extern "C" fn(*mut c_char, usize) -> usize>(c"nagare_diagnose") }?;
        // SAFETY: `ask` passes a buffer and its length.
        Ok(ask(|buffer, length| unsafe { f(buffer, length) }))
    }

    fn describe(&self, comm: Comm) -> anyhow::Result<String> {
        const TEXT: *const c_char = c"text".as_ptr();
        const NAME: &CStr = c"nagare_describe";
        Ok(match comm {
            Comm::Pointer(comm) => {
                // SAFETY: the signature in c_api/nagare.h, where handles are pointers.
                let f = unsafe {
                    self.symbol::<unsafe extern "C" fn(*mut c_void, *const c_char, *mut c_char, usize) -> usize>(NAME)
                }?;
                // SAFETY: the handle is MPI_COMM_WORLD, the format a constant; `ask` passes a buffer and its length.
                ask(|buffer, length| unsafe { f(comm, TEXT, buffer, length) })
            }
            Comm::Integer(comm) => {
                // SAFETY: the signature in c_api/nagare.h, where handles are integers.
                let f = unsafe {
                    self.symbol::<unsafe extern "C" fn(c_int, *const c_char, *mut c_char, usize) -> usize>(NAME)
                }?;
                // SAFETY: as above.
                ask(|buffer, length| unsafe { f(comm, TEXT, buffer, length) })
            }
        })
    }
}

/// The text of a function that, like snprintf, fills a buffer, ends it with NUL, and returns the length it needs.
fn ask(fill: impl Fn(*mut c_char, usize) -> usize) -> String {
    let mut buffer = vec![0u8; TEXT];
    let needed = fill(buffer.as_mut_ptr().cast(), buffer.len());
    if needed >= buffer.len() {
        buffer = vec![0u8; needed.saturating_add(1)];
        fill(buffer.as_mut_ptr().cast(), buffer.len());
    }
    let text = CStr::from_bytes_until_nul(&buffer).map(CStr::to_string_lossy);
    text.map_or_else(|_| String::new(), |text| text.into_owned())
}
