//! A job: a program under its MPI's launcher, with Nagare in its ranks or without.

use super::fault;
use super::gate;
use super::launcher::{Ended, Running, run_watched};
use super::mpi::Family;
use super::program::{Program, compile_with};
use super::report::Report;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

/// A job to be run.
#[derive(Clone, Debug)]
pub struct Job {
    program: Program,
    arguments: Vec<OsString>,
    /// Numbers of ranks with environment variables of their own, in rank order.
    parts: Vec<(u32, Vec<(String, String)>)>,
    variables: Vec<(String, String)>,
    library: Option<Family>,
    /// Preloaded before Nagare and behind it.
    tools: [Option<OsString>; 2],
    directory: Option<OsString>,
    user: Option<u32>,
    namespace: bool,
    limit: Duration,
    gated: bool,
    yielding: bool,
}

/// What a job left behind.
#[derive(Debug)]
pub struct Outcome {
    /// Output and end.
    pub ended: Ended,
    /// The report, if one was written.
    pub report: Option<Report>,
    /// What ran on how many ranks, if with Nagare.
    ran: Option<(Program, u32)>,
}

impl Job {
    /// `program` on `ranks` ranks without Nagare.
    pub fn stock(program: &Program, ranks: u32) -> Self {
        Self {
            program: program.clone(),
            arguments: Vec::new(),
            parts: vec![(ranks, Vec::new())],
            variables: program.variables.clone(),
            library: None,
            tools: [None, None],
            directory: None,
            user: None,
            namespace: false,
            // Nothing that works takes a tenth of it on an idle machine: only a hang is ended, and its own watchdog is
            // earlier.
            limit: Duration::from_secs(600),
            gated: true,
            yielding: true,
        }
    }

    /// `program` on `ranks` ranks with Nagare preloaded and a report in JSON.
    pub fn nagare(program: &Program, ranks: u32) -> Self {
        Self { library: Some(program.mpi.family()), ..Self::stock(program, ranks) }
    }

    /// [`Self::nagare`] where every call that can be is carried out by Nagare, on a pretended machine.
    pub fn forced(program: &Program, ranks: u32) -> Self {
        Self::nagare(program, ranks).set("NAGARE_ALGORITHM", super::FORCED).set("NAGARE_TOPOLOGY", super::MACHINE)
    }

    /// Preloads the library of that family, be it the fitting one or not.
    pub fn preload(mut self, family: Family) -> Self {
        self.library = Some(family);
        self
    }

    /// Preloads another library before Nagare, or without it.
    pub fn tool_before(mut self, tool: &Program) -> Self {
        self.tools[0] = tool.words.first().cloned();
        self
    }

    /// Preloads another library behind Nagare.
    pub fn tool_behind(mut self, tool: &Program) -> Self {
        self.tools[1] = tool.words.first().cloned();
        self
    }

    /// Arguments of the program.
    pub fn arguments(mut self, words: &[&str]) -> Self {
        self.arguments.extend(words.iter().map(OsString::from));
        self
    }

    /// An environment variable of all ranks; replaces an earlier one.
    pub fn set(mut self, name: &str, value: &str) -> Self {
        self.variables.retain(|(n, _)| n != name);
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// More ranks, after those so far, with one environment variable of their own.
    pub fn and_ranks(mut self, ranks: u32, name: &str, value: &str) -> Self {
        self.parts.push((ranks, vec![(name.to_owned(), value.to_owned())]));
        self
    }

    /// Where the launcher and its ranks run.
    pub fn directory(mut self, path: &str) -> Self {
        self.directory = Some(path.into());
        self
    }

    /// The user and group as whom the launcher and its ranks run; takes a privilege.
    pub fn user(mut self, number: u32) -> Self {
        self.user = Some(number);
        self
    }

    /// Launcher and ranks are root in a user namespace that knows nobody else.
    pub fn in_namespace(mut self) -> Self {
        self.namespace = true;
        self
    }

    /// Another time limit than ten minutes.
    pub fn limit(mut self, seconds: u64) -> Self {
        self.limit = Duration::from_secs(seconds);
        self
    }

    /// Runs beside any number of others, not only as many as there may be at once.
    pub fn beside_others(mut self) -> Self {
        self.gated = false;
        self
    }

    /// Runs MPICH as it is: its ranks do not yield the core while they wait.
    pub fn without_yielding(mut self) -> Self {
        self.yielding = false;
        self
    }

    /// Runs the job when it is its turn among those of this process, at once if it runs [`Self::beside_others`].
    pub fn run(self) -> Outcome {
        let (limit, description) = (self.limit, self.description());
        let mut elapsed = Duration::ZERO;
        let outcome = self.run_watched(&mut |running| {
            elapsed = running.elapsed();
            elapsed <= limit
        });
        // Shown with --nocapture, and when a test fails.
        eprintln!("{:6.1} s  {description}", elapsed.as_secs_f64());
        outcome
    }

    /// Runs the job for as long as `keep_running`, asked again and again, says so; once more where a known fault of a
    /// library ends it.
    pub fn run_watched(self, keep_running: &mut dyn FnMut(&Running) -> bool) -> Outcome {
        let _turn = self.gated.then(gate::enter);
        let outcome = self.run_once(keep_running);
        let Some(fault) = fault::met(self.program.mpi, &outcome.ended, self.preloads_launcher()) else {
            return outcome;
        };
        fault.note(&self.description(), &outcome.ended);
        self.run_once(keep_running)
    }

    fn run_once(&self, keep_running: &mut dyn FnMut(&Running) -> bool) -> Outcome {
        let scratch = super::scratch_directory();
        let report = scratch.path().join("report.json");
        let mut command = self.command();
        if self.library.is_some() && !self.variables.iter().any(|(n, _)| n == "NAGARE_REPORT") {
            command.env("NAGARE_REPORT", &report);
        }
        let ended = run_watched(&mut command, keep_running);
        let ranks = self.parts.iter().map(|(ranks, _)| ranks).sum();
        let ran = self.library.map(|_| (self.program.clone(), ranks));
        Outcome { ended, report: Report::read(&report), ran }
    }

    fn description(&self) -> String {
        let ranks: u32 = self.parts.iter().map(|(ranks, _)| ranks).sum();
        let program = self.program.words.iter().chain(&self.arguments).map(|w| w.to_string_lossy());
        let variables = self.variables.iter().map(|(n, v)| format!("{n}={v}").into());
        let words: Vec<_> = variables.chain(program).collect();
        format!("{} {ranks} ranks: {}", self.program.mpi.name(), words.join(" "))
    }

    fn command(&self) -> Command {
        let (launcher, options) = self.program.mpi.launcher();
        let mut command = if self.namespace {
            let mut command = Command::new("unshare");
            command.arg("--map-root-user").arg(launcher);
            command
        } else {
            Command::new(launcher)
        };
        for (name, _) in std::env::vars_os().filter(|(n, _)| is_foreign(&n.to_string_lossy())) {
            command.env_remove(name);
        }
        // On one host ranks inherit the launcher's environment; only the library must not be in the launcher itself.
        command.envs(self.variables.iter().map(|(n, v)| (n, v)));
        command.args(options);
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        if let Some(user) = self.user {
            command.uid(user).gid(user);
        }
        if self.program.mpi.family() == Family::OpenMpi {
            command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
            command.env("PRTE_ALLOW_RUN_AS_ROOT", "1").env("PRTE_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        }
        for (index, (ranks, own)) in self.parts.iter().enumerate() {
            if index > 0 {
                command.arg(":");
            }
            self.add_part(&mut command, *ranks, own);
        }
        command
    }

    fn add_part(&self, command: &mut Command, ranks: u32, own: &[(String, String)]) {
        let preloaded = self.preloaded();
        if !preloaded.is_empty() {
            match self.program.mpi.family() {
                Family::OpenMpi => command.arg("-x").arg(format!("LD_PRELOAD={preloaded}")),
                Family::Mpich => command.args(["-env", "LD_PRELOAD", &preloaded]),
            };
        }
        command.args(["-n", &ranks.to_string()]);
        if !own.is_empty() {
            command.arg("env").args(own.iter().map(|(n, v)| format!("{n}={v}")));
        }
        command.args(&self.program.words).args(&self.arguments);
    }

    /// Whether the job has an LD_PRELOAD of its own, which the launcher gets as well.
    fn preloads_launcher(&self) -> bool {
        self.variables.iter().any(|(name, _)| name == "LD_PRELOAD")
    }

    /// What is preloaded into the ranks, in the form of LD_PRELOAD.
    fn preloaded(&self) -> String {
        let mpi = self.program.mpi;
        // A job that preloads for itself knows what it wants.
        let yielding = (self.yielding && !self.preloads_launcher() && mpi.family() == Family::Mpich)
            .then(|| compile_with(mpi, "tests/programs/yielding.c", ".so", &["-shared".into(), "-fPIC".into()]))
            .map(|library| library.words[0].to_string_lossy().into_owned());
        let nagare = self.library.map(|family| family.library().display().to_string());
        let [before, behind] =
            self.tools.each_ref().map(|tool| tool.as_ref().map(|path| path.to_string_lossy().into_owned()));
        [yielding, before, nagare, behind].into_iter().flatten().collect::<Vec<_>>().join(":")
    }
}

/// Variables of the caller's shell that would change what is tested.
fn is_foreign(name: &str) -> bool {
    ["NAGARE_", "OMPI_", "PMIX_", "PMI_", "HYDRA_", "MPICH_", "SLURM_"].iter().any(|p| name.starts_with(p))
        || name == "LD_PRELOAD"
}

impl Outcome {
    /// Asserts that the job ended in time with code 0, and returns it.
    #[track_caller]
    pub fn passed(self) -> Self {
        assert!(self.ended.success(), "{}", self.ended.output());
        self
    }

    /// Asserts success and one line `PASS <program> cases=…` of every program.
    #[track_caller]
    pub fn verified(self, program: &str) -> Self {
        let outcome = self.passed();
        let start = format!("PASS {program} cases=");
        let cases = outcome.ended.stdout.lines().find_map(|l| l.strip_prefix(&start)?.trim().parse::<u64>().ok());
        assert!(cases.is_some_and(|c| c > 0), "no line {start}…\n{}", outcome.ended.output());
        if let Some((program, ranks)) = &outcome.ran {
            super::record::note(program, *ranks, cases.unwrap_or_default());
        }
        outcome
    }

    /// The report.
    #[track_caller]
    pub fn report(&self) -> &Report {
        self.report.as_ref().unwrap_or_else(|| panic!("no report was written\n{}", self.ended.output()))
    }

    /// The lines that Nagare wrote to standard error.
    pub fn messages(&self) -> Vec<&str> {
        self.ended.stderr.lines().filter(|l| l.starts_with("nagare: ")).collect()
    }
}
