//! Command lines that preload a library into the ranks, and not into the launcher.
//!
//! On remote nodes ranks see only what the launcher is told to pass on: `LD_PRELOAD`, and with Open MPI every NAGARE_*
//! variable too. What the user passes already is kept: an own LD_PRELOAD comes before Nagare, so that tools see calls
//! first.

use super::launcher::Kind;
use super::library::FILE_NAME;
use anyhow::ensure;

const PRELOAD: &str = "LD_PRELOAD";

/// The libraries in a value of LD_PRELOAD that are not ours.
pub fn others(value: Option<&str>) -> impl Iterator<Item = &str> {
    let entries = value.unwrap_or_default().split([':', ' ']).filter(|entry| !entry.is_empty());
    entries.filter(|entry| entry.rsplit('/').next() != Some(FILE_NAME))
}

/// What the environment and the library contribute.
pub struct Preload<'a> {
    /// Path of libnagare.so.
    pub library: &'a str,
    /// LD_PRELOAD of the environment.
    pub environment: Option<&'a str>,
    /// SLURM_EXPORT_ENV of the environment.
    pub slurm_export: Option<&'a str>,
    /// Names of the NAGARE_* variables that are set.
    pub variables: &'a [String],
}

impl Preload<'_> {
    /// The value of LD_PRELOAD: the libraries of `own` in their order, then ours.
    pub fn value(&self, own: Option<&str>) -> String {
        others(own).chain([self.library]).collect::<Vec<_>>().join(":")
    }

    /// The launcher's arguments with what makes its ranks preload the library.
    ///
    /// # Errors
    /// If the user's arguments leave no way to do so.
    pub fn arguments(&self, kind: Kind, arguments: &[String]) -> anyhow::Result<Vec<String>> {
        match kind {
            Kind::OpenMpi => self.open_mpi(arguments),
            Kind::Hydra => self.hydra(arguments),
            Kind::Srun => Ok(self.srun(arguments)),
        }
    }

    /// `-x` holds for one application context, and the last of several for one variable wins.
    fn open_mpi(&self, arguments: &[String]) -> anyhow::Result<Vec<String>> {
        let is = |names: &[&str]| arguments.iter().any(|a| names.contains(&a.as_str()));
        ensure!(
            !is(&["--app", "-app"]),
            "mpirun --app reads the ranks' options from a file; put `-x {PRELOAD}={}` into it",
            self.library
        );
        ensure!(
            !is(&["mca_base_env_list"]) && std::env::var_os("OMPI_MCA_mca_base_env_list").is_none(),
            "Open MPI does not allow -x, which preloading needs, together with mca_base_env_list; use -x in its place"
        );
        let mut result = Vec::new();
        for (index, context) in arguments.split(|a| a == ":").enumerate() {
            if index > 0 {
                result.push(":".to_owned());
            }
            let mut given: Vec<&str> = Vec::new();
            let mut rest = context.to_vec();
            for at in 1..context.len() {
                if !matches!(context[at - 1].as_str(), "-x" | "--x") {
                    continue;
                }
                let (name, own) =
                    context[at].split_once('=').map_or((context[at].as_str(), None), |(n, v)| (n, Some(v)));
                given.push(name);
                if name == PRELOAD {
                    rest[at] = format!("{PRELOAD}={}", self.value(own.or(self.environment)));
                }
            }
            if !given.contains(&PRELOAD) {
                result.extend(["-x".to_owned(), format!("{PRELOAD}={}", self.value(self.environment))]);
            }
            for name in self.variables.iter().filter(|name| !given.contains(&name.as_str())) {
                result.extend(["-x".to_owned(), name.clone()]);
            }
            result.extend(rest);
        }
        Ok(result)
    }

    /// `-genv` holds for all ranks, `-env` for one executable and before `-genv`. The environment is passed on unless
    /// asked otherwise.
    fn hydra(&self, arguments: &[String]) -> anyhow::Result<Vec<String>> {
        let mut rest: Vec<String> = Vec::with_capacity(arguments.len());
        let mut given: Vec<&str> = Vec::new();
        let mut everywhere = false;
        let mut restricted = false;
        let mut at = 0;
        while at < arguments.len() {
            let option = arguments[at].as_str();
            let name = option.strip_prefix("--").or(option.strip_prefix('-')).unwrap_or_default();
            ensure!(
                name != "configfile",
                "mpiexec -configfile reads the ranks' options from a file; put `-genv {PRELOAD} {}` into it",
                self.library
            );
            restricted |= ["genvnone", "genvlist", "envnone", "envlist"].contains(&name);
            rest.push(option.to_owned());
            at += 1;
            if !matches!(name, "genv" | "env") || at == arguments.len() {
                continue;
            }
            // Either `-genv NAME VALUE` or `-genv NAME=VALUE`.
            let (variable, value) = match arguments[at].split_once('=') {
                Some(pair) => pair,
                None => (arguments[at].as_str(), arguments.get(at + 1).map_or("", String::as_str)),
            };
            let used = if arguments[at].contains('=') { 1 } else { 2 };
            if variable == PRELOAD {
                everywhere |= name == "genv";
                rest.extend([PRELOAD.to_owned(), self.value(Some(value))]);
            } else {
                given.push(variable);
                rest.extend(arguments[at..].iter().take(used).cloned());
            }
            at = (at + used).min(arguments.len());
        }
        let mut result = Vec::new();
        if !everywhere {
            result.extend(["-genv".to_owned(), PRELOAD.to_owned(), self.value(self.environment)]);
        }
        if restricted {
            for name in self.variables.iter().filter(|name| !given.contains(&name.as_str())) {
                let value = std::env::var(name).unwrap_or_default();
                result.extend(["-genv".to_owned(), name.clone(), value]);
            }
        }
        result.extend(rest);
        Ok(result)
    }

    /// `--export` is one comma-separated list; `NONE` and lists without `ALL` pass on only what they name.
    fn srun(&self, arguments: &[String]) -> Vec<String> {
        let mut rest = arguments.to_vec();
        let mut own = self.slurm_export.map(str::to_owned);
        if let Some(at) = rest.iter().position(|a| a == "--export" || a.starts_with("--export=")) {
            let option = rest.remove(at);
            own = match option.split_once('=') {
                Some((_, value)) => Some(value.to_owned()),
                None if at < rest.len() => Some(rest.remove(at)),
                None => None,
            };
        }
        let own = own.unwrap_or_else(|| "ALL".to_owned());
        let entries = own.split(',').filter(|entry| !entry.is_empty() && !["NONE", "NIL"].contains(entry));
        let mut list: Vec<String> = Vec::new();
        let mut preload = self.environment;
        for entry in entries {
            match entry.strip_prefix(PRELOAD).map(|rest| rest.strip_prefix('=')) {
                Some(Some(value)) => preload = Some(value),
                Some(None) if entry == PRELOAD => {}
                _ => list.push(entry.to_owned()),
            }
        }
        list.push(format!("{PRELOAD}={}", self.value(preload)));
        if !list.iter().any(|entry| entry == "ALL") {
            let named = |name: &str| list.iter().any(|entry| entry.split('=').next() == Some(name));
            let missing: Vec<String> = self.variables.iter().filter(|name| !named(name)).cloned().collect();
            list.extend(missing);
        }
        let mut result = vec![format!("--export={}", list.join(","))];
        result.extend(rest);
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(kind: Kind, environment: Option<&str>, line: &str) -> String {
        let variables = ["NAGARE_LOG".to_owned(), "NAGARE_REPORT".to_owned()];
        let preload = Preload { library: "/n/libnagare.so", environment, slurm_export: None, variables: &variables };
        let line: Vec<String> = line.split(' ').map(str::to_owned).collect();
        preload.arguments(kind, &line).unwrap().join(" ")
    }

    #[test]
    fn open_mpi_passes_variables_in_every_context() {
        assert_eq!(
            arguments(Kind::OpenMpi, None, "-np 2 ./a : -x NAGARE_LOG=info -np 1 ./b"),
            "-x LD_PRELOAD=/n/libnagare.so -x NAGARE_LOG -x NAGARE_REPORT -np 2 ./a : \
             -x LD_PRELOAD=/n/libnagare.so -x NAGARE_REPORT -x NAGARE_LOG=info -np 1 ./b"
        );
    }

    #[test]
    fn an_own_preload_comes_first_and_an_old_nagare_goes() {
        let open_mpi = |environment, line: &str| arguments(Kind::OpenMpi, environment, line);
        let tail = "-x NAGARE_LOG -x NAGARE_REPORT";
        assert_eq!(
            open_mpi(Some("/t/tool.so /old/libnagare.so"), "./a"),
            format!("-x LD_PRELOAD=/t/tool.so:/n/libnagare.so {tail} ./a")
        );
        assert_eq!(open_mpi(None, "-x LD_PRELOAD=t.so ./a"), format!("{tail} -x LD_PRELOAD=t.so:/n/libnagare.so ./a"));
        assert_eq!(
            open_mpi(Some("e.so"), "-x LD_PRELOAD ./a"),
            format!("{tail} -x LD_PRELOAD=e.so:/n/libnagare.so ./a")
        );
        let hydra = |line: &str| arguments(Kind::Hydra, Some("e.so"), line);
        assert_eq!(hydra("-genv LD_PRELOAD t.so -n 2 ./a"), "-genv LD_PRELOAD t.so:/n/libnagare.so -n 2 ./a");
        assert_eq!(
            hydra("-n 1 -env LD_PRELOAD=t.so ./a"),
            "-genv LD_PRELOAD e.so:/n/libnagare.so -n 1 -env LD_PRELOAD t.so:/n/libnagare.so ./a"
        );
    }

    #[test]
    fn srun_keeps_the_list_the_user_gave() {
        let srun = |line: &str| arguments(Kind::Srun, None, line);
        assert_eq!(srun("-n 2 ./a"), "--export=ALL,LD_PRELOAD=/n/libnagare.so -n 2 ./a");
        assert_eq!(
            srun("--export=NONE -n 2 ./a"),
            "--export=LD_PRELOAD=/n/libnagare.so,NAGARE_LOG,NAGARE_REPORT -n 2 ./a"
        );
        assert_eq!(
            srun("-n 2 --export ALL,LD_PRELOAD=t.so,A=1 ./a"),
            "--export=ALL,A=1,LD_PRELOAD=t.so:/n/libnagare.so -n 2 ./a"
        );
    }
}
