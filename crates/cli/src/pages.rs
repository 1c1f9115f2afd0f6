//! `nagare pages`: manual pages and completions of shells, made from the same table that reads the command line.

use anyhow::Context;
use clap::{Args, Command};
use clap_complete::{Shell, generate_to};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Args)]
pub struct PagesArgs {
    /// Directory that gets them, as the share of an installation
    pub directory: PathBuf,
}

/// Where the systems look for completions of each shell, below `share`.
const COMPLETIONS: [(Shell, &str); 3] = [
    (Shell::Bash, "bash-completion/completions"),
    (Shell::Zsh, "zsh/site-functions"),
    (Shell::Fish, "fish/vendor_completions.d"),
];

/// Writes all pages of `command`, which is all of `nagare`.
pub fn run(args: &PagesArgs, command: &Command) -> anyhow::Result<ExitCode> {
    let manual = made(&args.directory.join("man/man1"))?;
    clap_mangen::generate_to(command.clone(), &manual).with_context(|| manual.display().to_string())?;
    for (shell, place) in COMPLETIONS {
        let place = made(&args.directory.join(place))?;
        let file = generate_to(shell, &mut shown(command), "nagare", &place);
        let file = file.with_context(|| place.display().to_string())?;
        if shell == Shell::Bash {
            // bash-completion loads a file that has the command's name.
            fs::rename(&file, place.join("nagare")).with_context(|| file.display().to_string())?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// What completions offer of a command: the generators know of hidden options, not of hidden subcommands.
fn shown(command: &Command) -> Command {
    let subcommands = command.get_subcommands().filter(|command| !command.is_hide_set()).map(shown);
    Command::new(command.get_name().to_owned())
        .about(command.get_about().cloned().unwrap_or_default())
        .version(env!("CARGO_PKG_VERSION"))
        .args(command.get_arguments())
        .subcommands(subcommands)
}

fn made(directory: &Path) -> anyhow::Result<PathBuf> {
    fs::create_dir_all(directory).with_context(|| directory.display().to_string())?;
    Ok(directory.to_owned())
}
