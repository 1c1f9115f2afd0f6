//! Reports for tests.

use super::file::Report;

/// A report with these rows.
pub fn report(rows: &serde_json::Value) -> Report {
    serde_json::from_value(value(rows)).expect("a report")
}

/// The same as data.
pub fn value(rows: &serde_json::Value) -> serde_json::Value {
    serde_json::json!({
        "schema": 1, "nagare": "0.1.0", "mpi": "Open MPI v4.1.4", "ranks": 16, "nodes": 8, "levels": [],
        "topology_from": "", "rows": rows, "learned": [],
    })
}

/// A row of 16 ranks, with seconds of the slowest.
pub fn row(collective: &str, algorithm: &str, calls: u64, seconds: f64) -> serde_json::Value {
    serde_json::json!({
        "collective": collective, "algorithm": algorithm, "min_bytes": 1024, "max_bytes": 4096, "calls": calls,
        "total_seconds": 16.0 * seconds, "max_seconds": seconds,
    })
}

/// The cells of the rows of a table in which a cell is `first`.
pub fn cells(text: &str, first: &str) -> Vec<Vec<String>> {
    let rows = text.lines().filter(|line| line.contains(&format!(" {first} ")));
    rows.map(|row| row.split(['│', '┆']).map(|cell| cell.trim().to_owned()).collect()).collect()
}
