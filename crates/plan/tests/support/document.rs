//! Tables of a document, so that what it says can be tested.

/// Rows of the table of `docs/algorithms.md` whose first column is called `head`.
pub fn table(head: &str) -> Vec<Vec<String>> {
    table_of(include_str!("../../../../docs/algorithms.md"), head)
}

/// Rows of the table whose first column is called `head`, cells without code marks.
pub fn table_of(document: &str, head: &str) -> Vec<Vec<String>> {
    let cells = |line: &str| -> Vec<String> {
        line.trim().trim_matches('|').split('|').map(|c| c.trim().replace('`', "")).collect()
    };
    let mut lines = document.lines().skip_while(|l| !(l.starts_with('|') && cells(l)[0] == head));
    let rows: Vec<Vec<String>> = lines.by_ref().take_while(|l| l.starts_with('|')).skip(2).map(cells).collect();
    assert!(!rows.is_empty(), "no table `{head}`");
    rows
}

/// A cell that is a number.
pub fn number<T: std::str::FromStr>(cell: &str) -> T {
    cell.parse().unwrap_or_else(|_| panic!("`{cell}` is no number"))
}
