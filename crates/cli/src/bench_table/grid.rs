//! A table of text and numbers, for the terminal and as Markdown.

use crate::output::table;
use comfy_table::CellAlignment;

/// A table as text, not yet laid out. Columns from the second on are numbers.
pub struct Grid {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Grid {
    /// Columns by their `header`, and `rows` of as many cells.
    pub fn new(header: Vec<String>, rows: Vec<Vec<String>>) -> Self {
        Self { header, rows }
    }

    /// For the terminal.
    pub fn boxed(&self) -> String {
        let mut table = table(&self.header);
        for row in &self.rows {
            table.add_row(row);
        }
        for column in table.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        format!("{table}\n")
    }

    /// As Markdown.
    pub fn markdown(&self) -> String {
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | ").replace('*', "\\*"));
        let mut rule = vec!["---".to_owned()];
        rule.resize(self.header.len(), "--:".to_owned());
        [line(&self.header), line(&rule)].into_iter().chain(self.rows.iter().map(|row| line(row))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_has_one_rule_for_every_column() {
        let grid = Grid { header: vec!["a".into(), "b".into()], rows: vec![vec!["1 *".into(), "2".into()]] };
        assert_eq!(grid.markdown(), "| a | b |\n| --- | --: |\n| 1 \\* | 2 |\n");
    }
}
