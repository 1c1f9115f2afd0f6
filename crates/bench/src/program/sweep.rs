//! Everything the library can be told for one operation: each setting once per size, and the fastest go on to be
//! measured by turns with the other configurations.

use crate::data::Data;
use crate::nagare::Nagare;
use crate::together::Together;
use crate::tuner::Tuner;
use mpi::ffi;
use mpi::raw::{AsRaw, FromRaw};
use mpi::topology::SimpleCommunicator;
use mpi::traits::Communicator;
use nagare_bench::operation::Operation;
use nagare_bench::oracle::{DYNAMIC_RULES, Family, Setting, Value};
use nagare_bench::record::{Oracle, Tried};
use nagare_bench::search::{Search, finalists};
use nagare_bench::statistics::LONG;
use std::collections::BTreeMap;
use std::mem::MaybeUninit;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// What is the same for all operations.
pub struct Library<'a> {
    together: &'a Together<'a>,
    nagare: Option<&'a Nagare>,
    tuner: &'a Tuner,
    family: Family,
    budget: Duration,
}

impl<'a> Library<'a> {
    /// The library that says `version` of itself.
    ///
    /// # Errors
    /// If it cannot be told anything.
    pub fn new(
        together: &'a Together,
        nagare: Option<&'a Nagare>,
        tuner: &'a Tuner,
        version: &str,
        budget: Duration,
    ) -> Result<Self, String> {
        let family =
            Family::of(version).ok_or_else(|| format!("--oracle-budget: nothing is known about '{version}'"))?;
        if family == Family::OpenMpi && tuner.get(DYNAMIC_RULES)? == 0 {
            return Err(format!(
                "--oracle-budget: Open MPI needs OMPI_MCA_{DYNAMIC_RULES}=1 in the ranks' environment"
            ));
        }
        Ok(Self { together, nagare, tuner, family, budget })
    }
}

/// A setting that can be used.
pub struct Ready {
    /// Its name.
    pub name: String,
    /// A communicator that has it; `None` if it is set for every call.
    communicator: Option<SimpleCommunicator>,
    variables: Vec<(String, Value)>,
    /// What the library is told, in its own words.
    told: BTreeMap<String, String>,
}

impl Ready {
    /// Lets `act` run with the setting.
    ///
    /// # Errors
    /// If the library does not take it any more.
    pub fn with<R>(&self, library: &Library, act: impl FnOnce(&SimpleCommunicator) -> R) -> Result<R, String> {
        match &self.communicator {
            Some(communicator) => Ok(act(communicator)),
            None => set_for(library.tuner, &self.variables, || act(library.together.world)),
        }
    }
}

/// Sets variables, lets `act` run, and puts them back.
fn set_for<R>(tuner: &Tuner, variables: &[(String, Value)], act: impl FnOnce() -> R) -> Result<R, String> {
    let mut before = Vec::new();
    let set = variables.iter().try_for_each(|(name, value)| {
        before.push((name, tuner.set(name, value)?));
        Ok(())
    });
    let result = set.map(|()| act());
    let mut restored = Ok(());
    for (name, number) in before {
        restored = tuner.set(name, &Value::Number(number)).map(drop).and(restored);
    }
    restored.and(result)
}

/// The settings of one operation, over all its sizes.
pub struct Sweep<'a> {
    library: &'a Library<'a>,
    operation: Operation,
    /// Settings made so far by name, or why they cannot be used.
    ready: BTreeMap<String, Result<Rc<Ready>, String>>,
    search: Search,
}

impl<'a> Sweep<'a> {
    /// For `operation`, with nothing tried yet.
    pub fn new(library: &'a Library<'a>, operation: Operation) -> Self {
        Self { library, operation, ready: BTreeMap::new(), search: Search::default() }
    }

    /// Tries all settings with vectors of `bytes` (and blocks of `block`) while there is time. Returns the fastest.
    ///
    /// # Errors
    /// If the library does not take back what it took before.
    pub fn fastest(
        &mut self,
        bytes: u64,
        block: u64,
        buffers: &mut dyn Data,
    ) -> Result<(Vec<Rc<Ready>>, Oracle), String> {
        let Library { together, family, budget, .. } = *self.library;
        let (start, budget) = (Instant::now(), budget.as_secs_f64());
        let mut untried = family.settings(self.operation, block);
        let mut oracle = Oracle { how: family.how().to_owned(), ..Oracle::default() };
        let mut times: Vec<(f64, Rc<Ready>)> = Vec::new();
        while let Some(setting) = self.search.take(&mut untried, bytes) {
            let elapsed = together.largest(start.elapsed().as_secs_f64());
            let outcome = match self.search.objection(&setting.name, bytes, elapsed, budget) {
                Some(reason) => Err(reason),
                None => self.once(&setting, buffers)?,
            };
            let (seconds, left_out) = match outcome {
                Ok((seconds, ready)) => {
                    self.search.learn(&setting.name, bytes, seconds);
                    times.push((seconds, ready));
                    (Some(seconds), None)
                }
                Err(reason) => (None, Some(reason)),
            };
            oracle.tried.push(Tried { setting: setting.name, seconds, left_out });
        }
        let fastest = finalists(times);
        oracle.fastest = fastest.iter().map(|ready| (ready.name.clone(), ready.told.clone())).collect();
        Ok((fastest, oracle))
    }

    /// One call, or why there is none. The first one with a setting makes connections and is followed by another,
    /// unless it was [`LONG`].
    #[allow(clippy::type_complexity, reason = "the inner result is what becomes of one setting")]
    fn once(&mut self, setting: &Setting, buffers: &mut dyn Data) -> Result<Result<(f64, Rc<Ready>), String>, String> {
        let fresh = !self.ready.contains_key(&setting.name);
        if fresh {
            let made = self.make(setting).map(Rc::new);
            self.ready.insert(setting.name.clone(), made);
        }
        let ready = match self.ready.get(&setting.name) {
            Some(Ok(ready)) => Rc::clone(ready),
            Some(Err(reason)) => return Ok(Err(reason.clone())),
            None => return Ok(Err("not made".to_owned())),
        };
        let together = self.library.together;
        let mut seconds = 0.0;
        let mut calls = 1 + u8::from(fresh);
        while calls > 0 {
            seconds = ready.with(self.library, |communicator| {
                buffers.prepare();
                together.barrier();
                let start = Instant::now();
                buffers.call(communicator);
                together.largest(start.elapsed().as_secs_f64())
            })?;
            // All ranks must drop it together.
            if together.largest(f64::from(u8::from(buffers.verify().is_err()))) > 0.0 {
                let reason = "its result is wrong".to_owned();
                self.ready.insert(setting.name.clone(), Err(reason.clone()));
                return Ok(Err(reason));
            }
            calls = if seconds < LONG { calls - 1 } else { 0 };
        }
        Ok(Ok((seconds, ready)))
    }

    /// Makes a setting usable; all ranks do or none.
    fn make(&self, setting: &Setting) -> Result<Ready, String> {
        let Library { together, nagare, tuner, family, .. } = self.library;
        // Whether every rank's library takes it, before they do anything together.
        let taken = set_for(tuner, &setting.variables, || ());
        if together.largest(f64::from(u8::from(taken.is_err()))) > 0.0 {
            return Err(taken.err().unwrap_or_else(|| "another rank's library does not take it".to_owned()));
        }
        let communicator = match family {
            Family::Mpich => None,
            Family::OpenMpi => Some(set_for(tuner, &setting.variables, || match setting.component {
                Some(component) => preferring(together.world, component),
                None => together.world.duplicate(),
            })?),
        };
        if let (Some(nagare), Some(communicator)) = (nagare, &communicator) {
            nagare.set_algorithm(communicator.as_raw(), Some("all=stock"))?;
        }
        let told = setting.variables.iter().map(|(name, value)| (name.clone(), value.to_string()));
        let told =
            told.chain(setting.component.map(|component| (PREFERENCE.to_owned(), component.to_owned()))).collect();
        Ok(Ready { name: setting.name.clone(), communicator, variables: setting.variables.clone(), told })
    }
}

/// Key of a communicator's info: the component of Open MPI's collectives that comes first.
const PREFERENCE: &str = "ompi_comm_coll_preference";

/// A duplicate of `world` on which `component` comes first.
fn preferring(world: &SimpleCommunicator, component: &str) -> SimpleCommunicator {
    let key = std::ffi::CString::new(PREFERENCE).unwrap_or_default();
    let value = std::ffi::CString::new(component).unwrap_or_default();
    let mut info = MaybeUninit::<ffi::MPI_Info>::uninit();
    let mut communicator = MaybeUninit::<ffi::MPI_Comm>::uninit();
    // SAFETY: every handle is set by the call before it is used, for errors end the job; the texts outlive the calls;
    // the new communicator is owned by what is returned.
    unsafe {
        ffi::MPI_Info_create(info.as_mut_ptr());
        ffi::MPI_Info_set(info.assume_init(), key.as_ptr(), value.as_ptr());
        ffi::MPI_Comm_dup_with_info(world.as_raw(), info.assume_init(), communicator.as_mut_ptr());
        ffi::MPI_Info_free(info.as_mut_ptr());
        SimpleCommunicator::from_raw(communicator.assume_init())
    }
}
