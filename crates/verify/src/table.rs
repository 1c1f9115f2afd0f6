//! `nagare-verify table`: the recorded rows as Markdown, to be read by somebody who has one MPI and one language.

use crate::record::{self, Recorded, Row};
use anyhow::Result;
use std::collections::BTreeSet;
use std::fmt::Write;

/// Languages in the order of the columns.
const LANGUAGES: &[&str] = &["C", "C++", "Fortran", "Python"];

/// Prints the document.
pub fn print() -> Result<bool> {
    print!("{}", markdown(&record::read()?));
    Ok(true)
}

fn markdown(rows: &[(String, Recorded)]) -> String {
    let mut text = String::from(
        "# What was run, with which MPI\n\n\
         Written by `make compatibility` from `docs/compatibility/*.json`, which `make compatibility-tests`,\n\
         `make conformance`, `make fuzz` and `make soak` leave behind; do not edit. The first table names, for each \
         MPI and\n\
         language, the commands that were run. The columns of the others:\n\n\
         * **binding**: the language of the program, and the interface to MPI that it uses;\n\
         * **what was run**: the programs, on how many processes, and with which choice of algorithms;\n\
         * **how many**: jobs, calls or tests that were compared, or the options of the program;\n\
         * **result**: what the comparison found;\n\
         * **product**: the last commit to what is preloaded (`src/`, `crates/plan`, `crates/config`, dependencies) \
         before\n  the run; a `+` stands for changes that were not committed. An empty cell belongs to a run from \
         before commits\n  were recorded: it is not known which version it tested, until the command is run again.\n\n\
         Versions of MPI are those that the installations name.\n",
    );
    if rows.is_empty() {
        text += "\nNothing has been recorded yet.\n";
        return text;
    }
    let mpis: BTreeSet<&str> = rows.iter().map(|(_, of)| of.row.mpi.as_str()).collect();
    let present = |language: &&&str| rows.iter().any(|(_, of)| language_of(&of.row) == **language);
    let languages: Vec<&str> = LANGUAGES.iter().filter(present).copied().collect();
    let _ = writeln!(text, "\n| MPI | {} |\n|---|{}", languages.join(" | "), "---|".repeat(languages.len()));
    for mpi in &mpis {
        let cells = languages.iter().map(|language| {
            let here = rows.iter().filter(|(_, of)| of.row.mpi == *mpi && language_of(&of.row) == *language);
            let commands: BTreeSet<&str> = here.map(|(command, _)| command.as_str()).collect();
            if commands.is_empty() { "–".to_owned() } else { commands.into_iter().collect::<Vec<_>>().join(", ") }
        });
        let _ = writeln!(text, "| [{mpi}](#{}) | {} |", anchor(mpi), cells.collect::<Vec<_>>().join(" | "));
    }
    for mpi in &mpis {
        let _ = writeln!(
            text,
            "\n## {mpi}\n\n| binding | what was run | how many | result | product |\n|---|---|---|---|---|"
        );
        let mut own: Vec<&Recorded> = rows.iter().map(|(_, of)| of).filter(|of| of.row.mpi == *mpi).collect();
        let place =
            |row: &Row| LANGUAGES.iter().position(|language| *language == language_of(row)).unwrap_or(LANGUAGES.len());
        own.sort_by_key(|of| (place(&of.row), of.row.binding.as_str()));
        for Recorded { row, product } in own {
            let _ = writeln!(text, "| {} | {} | {} | {} | {product} |", row.binding, row.what, row.ran, row.result);
        }
    }
    text
}

/// The first word of the binding.
fn language_of(row: &Row) -> &str {
    row.binding.split([' ', ',']).next().unwrap_or_default()
}

/// What Markdown calls a heading in links.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
    kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_finds_an_mpi_and_a_language() {
        let row = |mpi: &str, binding: &str, what: &str| {
            let row = Row {
                mpi: mpi.to_owned(),
                binding: binding.to_owned(),
                what: what.to_owned(),
                ran: "3 jobs".to_owned(),
                result: "right".to_owned(),
            };
            Recorded { row, product: "abc1234".to_owned() }
        };
        let rows = [
            ("fuzz".to_owned(), row("Open MPI 4.1.4", "C", "random programs")),
            ("tests".to_owned(), row("Open MPI 4.1.4", "Python (mpi4py 4.1)", "buffers")),
            ("tests".to_owned(), row("MPICH 4.0.2", "Fortran (mpif.h)", "coll")),
            ("tests".to_owned(), row("Open MPI 4.1.4", "C", "collectives")),
        ];
        let text = markdown(&rows);
        let tables = text.split_once("| MPI |").expect("a table").1;
        assert_eq!(
            tables,
            " C | Fortran | Python |\n|---|---|---|---|\n\
             | [MPICH 4.0.2](#mpich-402) | – | tests | – |\n\
             | [Open MPI 4.1.4](#open-mpi-414) | fuzz, tests | – | tests |\n\
             \n## MPICH 4.0.2\n\n| binding | what was run | how many | result | product |\n|---|---|---|---|---|\n\
             | Fortran (mpif.h) | coll | 3 jobs | right | abc1234 |\n\
             \n## Open MPI 4.1.4\n\n| binding | what was run | how many | result | product |\n|---|---|---|---|---|\n\
             | C | random programs | 3 jobs | right | abc1234 |\n| C | collectives | 3 jobs | right | abc1234 |\n\
             | Python (mpi4py 4.1) | buffers | 3 jobs | right | abc1234 |\n"
        );
    }
}
