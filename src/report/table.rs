//! Tables of the report as text.

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};

/// A table without lines between its cells; columns of numbers are aligned to the `right`.
pub fn table<const N: usize>(header: [&str; N], lines: &[[String; N]], right: &[usize]) -> String {
    let mut table = Table::new();
    table.load_preset(NOTHING).set_header(header).add_rows(lines);
    for (index, column) in table.column_iter_mut().enumerate() {
        // The first begins where other lines begin, and two blanks are between columns.
        column.set_padding((0, if index + 1 < N { 2 } else { 0 }));
        if right.contains(&index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.lines().fold(String::new(), |text, line| text + line.trim_end() + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_below_their_heading() {
        let lines = [["7", "a"], ["1048576", "bc"]].map(|line| line.map(str::to_owned));
        assert_eq!(table(["bytes", "of"], &lines, &[0]), "  bytes  of\n      7  a\n1048576  bc\n");
    }
}
