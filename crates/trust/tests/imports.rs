//! Which modules of a crate import each other: read from the sources of every crate, and allowed in one direction only.
//!
//! ```text
//!   src/lib.rs                  the modules that lib.rs declares, each a file or a folder with all below it:
//!   src/choice.rs                  choice ──► algorithm ──► cost        `crate::cost::…` in a file of src/algorithm/
//!   src/algorithm/, src/cost/         a circle: from a module along arrows back to itself
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Circles that are known, by the folder of the crate's root file: to be taken apart, and then out of this list.
const KNOWN: &[(&str, &[&str])] = &[
    ("crates/bench/src/program", &["measure", "sweep"]),
    ("crates/cli/src", &["args", "bench", "env", "machine", "testbed", "testbed_run"]),
    ("crates/harness/src", &["mpi", "program"]),
    ("crates/testbed/src", &["error", "layout"]),
    (
        "src",
        &[
            "boundary",
            "communicator",
            "destination",
            "facts",
            "meeting",
            "notice",
            "pool",
            "private",
            "report",
            "setup",
            "shim",
            "witness",
        ],
    ),
    ("src", &["call", "staged"]),
];

/// Modules, and for each the others that it imports.
type Graph = BTreeMap<String, BTreeSet<String>>;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Source files below a folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    for path in entries.map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found
}

/// The code of a file: without comments, and without what is for tests: single declarations, and a module at the end.
fn code(text: &str) -> String {
    let mut lines = text.lines().map(str::trim_start).filter(|line| !line.starts_with("//"));
    let mut kept = Vec::new();
    while let Some(line) = lines.next() {
        if line != "#[cfg(test)]" {
            kept.push(line);
        } else if lines.next().is_none_or(|item| item.ends_with('{')) {
            break;
        }
    }
    kept.join("\n")
}

/// The first name of every path in what follows `crate::` or `super::`: one, or those of a group in braces.
fn first_names(rest: &str) -> Vec<&str> {
    let name = |text: &'_ str| text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    let Some(group) = rest.strip_prefix('{') else { return vec![&rest[..name(rest)]] };
    let (mut names, mut depth, mut start) = (Vec::new(), 0, 0);
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            ',' | '}' if depth == 0 => {
                let item = group[start..at].trim();
                names.push(&item[..name(item)]);
                if c == '}' {
                    return names;
                }
                start = at + 1;
            }
            '}' => depth -= 1,
            _ => {}
        }
    }
    names
}

/// What a file, so many modules below the root, names in the root: by `crate::`, and by as many `super::` as lead
/// there.
fn imports(code: &str, depth: usize) -> Vec<&str> {
    let upwards = "super::".repeat(depth);
    let after = |prefix: &str| {
        let starts = code.match_indices(prefix).filter(|&(at, _)| {
            // Not the end of a longer name or of a longer row of `super::`.
            !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':')
        });
        starts.flat_map(|(at, prefix)| first_names(&code[at + prefix.len()..])).collect::<Vec<_>>()
    };
    [after("crate::"), after(&upwards)].concat()
}

/// The modules that `root`, a `lib.rs` or `main.rs`, declares, and what they import from one another.
fn graph(root: &Path) -> Graph {
    let folder = root.parent().unwrap();
    let root_code = code(&fs::read_to_string(root).unwrap());
    let declared = root_code.lines().filter_map(|line| {
        let line = line.strip_prefix("pub ").or(line.strip_prefix("pub(crate) ")).unwrap_or(line);
        line.strip_prefix("mod ")?.strip_suffix(';').map(str::to_owned)
    });
    let mut graph: Graph = declared.map(|module| (module, BTreeSet::new())).collect();
    for module in graph.keys().cloned().collect::<Vec<_>>() {
        let below = folder.join(&module);
        let mut files = if below.is_dir() { sources(&below) } else { Vec::new() };
        files.extend(Some(folder.join(format!("{module}.rs"))).filter(|file| file.is_file()));
        assert!(!files.is_empty(), "{}: no file for `mod {module}`", root.display());
        for file in files.iter().filter(|file| !file.ends_with("tests.rs")) {
            let path = file.with_extension("");
            let depth = path.strip_prefix(folder).unwrap().components().filter(|c| c.as_os_str() != "mod").count();
            let text = code(&fs::read_to_string(file).unwrap());
            for name in imports(&text, depth) {
                // A name that is re-exported by the root belongs to the module it comes from.
                let reexport = |line: &&str| line.starts_with("pub use ") && line.contains(&format!("::{name};"));
                let from = root_code.lines().find(reexport).and_then(|line| line[8..].split("::").next());
                let other = if graph.contains_key(name) { name } else { from.unwrap_or(name) };
                if other != module && graph.contains_key(other) {
                    graph.get_mut(&module).unwrap().insert(other.to_owned());
                }
            }
        }
    }
    graph
}

/// Modules that can be reached along imports.
fn reached(graph: &Graph, from: &str) -> BTreeSet<String> {
    let (mut found, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(module) = open.pop() {
        for next in &graph[module] {
            if found.insert(next.clone()) {
                open.push(next);
            }
        }
    }
    found
}

/// The sets of modules that all import one another, directly or through others.
fn circles(graph: &Graph) -> BTreeSet<Vec<String>> {
    let reach: BTreeMap<&String, BTreeSet<String>> = graph.keys().map(|m| (m, reached(graph, m))).collect();
    let circle = |module: &String| {
        let both = reach[module].iter().filter(|other| reach[other].contains(module));
        both.cloned().collect::<Vec<String>>()
    };
    graph.keys().map(circle).filter(|circle| !circle.is_empty()).collect()
}

/// Root files of all crates of the workspace, programs among them.
fn roots() -> Vec<PathBuf> {
    let repository = repository();
    let crates = fs::read_dir(repository.join("crates")).unwrap().map(|entry| entry.unwrap().path());
    let folders = crates.filter(|folder| folder.join("Cargo.toml").is_file()).chain([repository]);
    let files = folders.flat_map(|folder| sources(&folder.join("src")));
    files.filter(|file| file.ends_with("lib.rs") || file.ends_with("main.rs")).collect()
}

#[test]
fn modules_import_one_another_in_one_direction() {
    let repository = repository();
    let mut found = BTreeMap::new();
    for root in roots() {
        let folder = root.parent().unwrap().strip_prefix(&repository).unwrap().to_str().unwrap().to_owned();
        let graph = graph(&root);
        for circle in circles(&graph) {
            let arrows = circle.iter().map(|module| {
                let others = graph[module].iter().filter(|other| circle.contains(other)).cloned();
                format!("{module} imports {}", others.collect::<Vec<_>>().join(", "))
            });
            let arrows = arrows.collect::<Vec<_>>().join("; ");
            found.insert((folder.clone(), circle), arrows);
        }
    }
    let known: BTreeSet<(String, Vec<String>)> = KNOWN
        .iter()
        .map(|(folder, circle)| ((*folder).to_owned(), circle.iter().map(|&module| module.to_owned()).collect()))
        .collect();
    let new: Vec<String> = found
        .iter()
        .filter(|(circle, _)| !known.contains(circle))
        .map(|((folder, _), arrows)| format!("a circle in {folder}: {arrows}"))
        .collect();
    assert!(new.is_empty(), "{}", new.join("\n"));
    let gone: Vec<_> = known.iter().filter(|circle| !found.contains_key(circle)).collect();
    assert!(gone.is_empty(), "no circle any more, and no longer to be listed as known: {gone:?}");
}

/// What the test would see if it had to.
#[test]
fn imports_are_read_from_every_form_of_path() {
    let text = "use crate::{a, b::{c, d}, e::*};\nuse super::super::f::G;\nlet x = crate::h::i();\nuse super::j;\n\
                // crate::comment\npub(in crate::k) fn l() {}\n#[cfg(test)]\nuse crate::test;\n\
                crate::m::n();\n#[cfg(test)]\nmod tests {\nuse crate::o;\n}";
    let found: BTreeSet<String> = imports(&code(text), 2).into_iter().map(str::to_owned).collect();
    assert_eq!(found, ["a", "b", "e", "f", "h", "k", "m"].map(str::to_owned).into());
    let graph: Graph = [("a", "b"), ("b", "c"), ("c", "b"), ("d", "a")]
        .map(|(from, to)| (from.to_owned(), [to.to_owned()].into()))
        .into();
    assert_eq!(circles(&graph), [vec!["b".to_owned(), "c".to_owned()]].into());
}
