//! Files that tell the MPI library what was the fastest of its own (`--write`).

use super::{TuneArgs, measured};
use crate::mpi::Family;
use anyhow::{Context, ensure};
use nagare_bench::oracle::DYNAMIC_RULES;
use nagare_bench::record::{Job, Results, STOCK};
use nagare_bench::rules::{self, Selections, Told};
use nagare_bench::statistics::median;
use nagare_plan::quoted;
use std::fs;
use std::path::{Path, PathBuf};

/// Largest library that is read: many times what there is.
const LARGEST_LIBRARY: u64 = 1 << 30;

/// What can be written.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// Rules of Open MPI's `coll/tuned`.
    OpenmpiRules,
    /// Selections of MPICH.
    MpichJson,
}

impl Kind {
    const ALL: [Self; 2] = [Self::OpenmpiRules, Self::MpichJson];

    const fn name(self) -> &'static str {
        match self {
            Self::OpenmpiRules => "openmpi-rules",
            Self::MpichJson => "mpich-json",
        }
    }

    const fn family(self) -> Family {
        match self {
            Self::OpenmpiRules => Family::Openmpi,
            Self::MpichJson => Family::Mpich,
        }
    }
}

/// A file for the MPI library.
pub struct Written {
    kind: Kind,
    path: PathBuf,
}

/// The same, with what the library selects by itself where that becomes part of it.
pub struct Known<'a> {
    written: &'a Written,
    own: Option<Selections>,
}

/// Files with their texts, the variables that name them, and what they tell.
struct Texts {
    files: Vec<(PathBuf, String)>,
    variables: Vec<String>,
    told: Vec<Told>,
}

impl Written {
    /// What is asked for, if anything is; nothing is measured yet.
    ///
    /// # Errors
    /// If it does not fit the ranks, or a file is in the way.
    pub fn new(args: &TuneArgs, family: Family) -> anyhow::Result<Option<Self>> {
        let [kind, path] = args.write.as_slice() else { return Ok(None) };
        let known = Kind::ALL.into_iter().find(|known| known.name() == kind);
        let kind = known.with_context(|| {
            format!("--write {}; expected {}", quoted(kind), Kind::ALL.map(Kind::name).join(" or "))
        })?;
        ensure!(kind.family() == family, "--write {}; expected ranks of {}", kind.name(), kind.family().name());
        let written = Self { kind, path: std::path::absolute(path).with_context(|| path.clone())? };
        let paths = match kind {
            Kind::OpenmpiRules => vec![written.path.clone()],
            Kind::MpichJson => vec![written.path.clone(), written.device()],
        };
        for path in paths.iter().filter(|_| !args.force) {
            ensure!(path.symlink_metadata().is_err(), "{} exists; --force replaces it", path.display());
        }
        Ok(Some(written))
    }

    /// MPICH's second file.
    fn device(&self) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(".ch4");
        PathBuf::from(name)
    }

    /// With what has to be known of the library of a job before collectives are measured.
    ///
    /// # Errors
    /// If this library cannot be told anything by such a file.
    pub fn known(&self, job: &Job) -> anyhow::Result<Known<'_>> {
        let own = match self.kind {
            Kind::OpenmpiRules => None,
            Kind::MpichJson => {
                let library = job.library.as_deref();
                let library = library.context("the ranks have no libmpich.so or libmpi.so that selections are in")?;
                Some(
                    selections(Path::new(library))
                        .with_context(|| format!("--write {}: {library}", self.kind.name()))?,
                )
            }
        };
        Ok(Known { written: self, own })
    }
}

impl Known<'_> {
    /// Measures and writes; what it is worth, in words.
    ///
    /// # Errors
    /// If that cannot be measured or written.
    pub fn write(&self, args: &TuneArgs, cells: usize) -> anyhow::Result<String> {
        let Written { kind, path } = self.written;
        let each = (args.budget.as_secs_f64() / cells.max(1) as f64 / 2.0).max(0.05).to_string();
        let words = ["--sizes", &args.sizes, "--collectives", &args.collectives, "--algorithms", STOCK, "--oracle"];
        let budgets = ["--budget", &each, "--oracle-budget", &each];
        let results = measured(&args.place, path, &[&words[..], &budgets].concat())?;
        let Texts { files, variables, told } = match &self.own {
            None => self.written.of_open_mpi(&results),
            Some(own) => self.written.of_mpich(&results, own),
        };
        for (path, text) in &files {
            fs::write(path, text).with_context(|| path.display().to_string())?;
        }
        let gains: Vec<f64> = told.iter().map(|told| told.gain).collect();
        let worth = if gains.is_empty() {
            "the library's own choice is the fastest of all that a rule can say".to_owned()
        } else {
            format!(
                "{} collectives and sizes run {:.2} times as fast as by its own choice (median)",
                gains.len(),
                median(&gains)
            )
        };
        let shown: Vec<_> = files.iter().map(|(path, _)| path.display().to_string()).collect();
        let (name, shown, used) = (kind.family().name(), shown.join(" "), variables.join(" "));
        Ok(format!("\n{name} told what to run: {worth}\n\nwritten: {shown}\nused with {used}\n"))
    }
}

impl Written {
    fn of_open_mpi(&self, results: &Results) -> Texts {
        let rules = rules::open_mpi(results);
        let file = format!("OMPI_MCA_coll_tuned_dynamic_rules_filename={}", self.path.display());
        Texts {
            files: vec![(self.path.clone(), rules.text)],
            variables: vec![format!("OMPI_MCA_{DYNAMIC_RULES}=1"), file],
            told: rules.told,
        }
    }

    fn of_mpich(&self, results: &Results, own: &Selections) -> Texts {
        let selected = rules::mpich(results, own);
        let named = |variable: &str, path: &Path| format!("MPIR_CVAR_{variable}_TUNING_JSON_FILE={}", path.display());
        let mut files = vec![(self.path.clone(), selected.algorithms)];
        let mut variables = vec![named("COLL_SELECTION", &self.path)];
        if let Some(text) = selected.device {
            variables.push(named("CH4_COLL_SELECTION", &self.device()));
            files.push((self.device(), text));
        }
        Texts { files, variables, told: selected.told }
    }
}

/// What a library selects by itself, as it holds it.
fn selections(library: &Path) -> anyhow::Result<Selections> {
    let bytes = fs::metadata(library)?.len();
    ensure!(bytes <= LARGEST_LIBRARY, "{bytes} bytes; expected at most {LARGEST_LIBRARY}");
    Selections::of_library(&fs::read(library)?)
        .context("no selections in the form of MPICH 4.0 to 5.0: this version cannot be told by such a file")
}
