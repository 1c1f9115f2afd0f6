//! `nagare pages`: manual pages and completions of shells, made from the same table that reads the command line.

use anyhow::Context;
use clap::{Args, Command};
use clap_complete::{Shell, generate_to};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};
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
    let mut all = command.clone().disable_help_subcommand(true);
    all.build();
    pages(&all, &manual)?;
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

/// The page of a command, and those of what is below it.
fn pages(command: &Command, directory: &Path) -> anyhow::Result<()> {
    for below in command.get_subcommands().filter(|command| !command.is_hide_set()) {
        pages(below, directory)?;
    }
    let page = Man::new(command.clone().after_help(None::<&str>));
    let file = directory.join(page.get_filename());
    let mut text = Vec::new();
    page.render(&mut text)?;
    if let Some(help) = command.get_after_help() {
        ending(&help.to_string()).to_writer(&mut text)?;
    }
    // The generator names a subcommand by its last word and without a version, where a date belongs.
    let version = env!("CARGO_PKG_VERSION");
    let name = command.get_display_name().unwrap_or_else(|| command.get_name());
    let title = format!(".TH {} 1 \"\" \"nagare {version}\" \"Nagare\"", name.to_uppercase());
    let text = String::from_utf8(text)?;
    let lines = text.lines().map(|line| if line.starts_with(".TH ") { &title } else { line });
    fs::write(&file, lines.flat_map(|line| [line, "\n"]).collect::<String>())
        .with_context(|| file.display().to_string())
}

/// What a help text ends with: lines to be typed, which are indented and stay as they are, and notes.
fn ending(help: &str) -> Roff {
    let mut roff = Roff::new();
    let (mut section, mut is_typed, mut is_new) = ("", false, false);
    for line in help.lines() {
        let typed = line.strip_prefix("  ");
        if typed.is_some() != is_typed {
            is_typed = !is_typed;
            roff.control(if is_typed { "nf" } else { "fi" }, []);
        }
        let (heading, text) = match typed {
            Some(text) => (section, text),
            None if line.is_empty() => (section, ""),
            None if line.starts_with("Example") => ("EXAMPLES", ""),
            None => match line.strip_prefix("Exit status: ") {
                Some(text) => ("EXIT STATUS", text),
                None if section == "EXIT STATUS" => (section, line),
                None => ("NOTES", line),
            },
        };
        if heading != section {
            section = heading;
            roff.control("SH", [section]);
        } else if is_new && !text.is_empty() {
            roff.control("PP", []);
        }
        is_new = line.is_empty();
        if !text.is_empty() {
            roff.text([roman(text)]);
        }
    }
    if is_typed {
        roff.control("fi", []);
    }
    if help.contains(".md") {
        roff.control("SH", ["SEE ALSO"]);
        roff.text([roman("What is named docs/NAME.md is installed as share/doc/nagare/NAME.md.")]);
    }
    roff
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
