//! Which modules import each other: read from the sources of every crate, and allowed in one direction only, between
//! the modules of every folder.
//!
//! ```text
//!   src/lib.rs                  the modules that lib.rs declares, each a file or a folder with all below it:
//!   src/choice.rs                  choice ──► algorithm ──► cost        `crate::cost::…` in a file of src/algorithm/
//!   src/algorithm/, src/cost/         a circle: from a module along arrows back to itself
//!   src/cost/mod.rs             the same for the modules that it declares, also where it is src/cost.rs; what such a
//!                               file itself defines belongs to none
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

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

/// The code of a file: without comments, and without what is for tests: single declarations, blocks, and a module at
/// the end.
fn code(text: &str) -> String {
    let mut lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    let mut kept = Vec::new();
    while let Some(line) = lines.next() {
        if line.trim_start() != "#[cfg(test)]" {
            kept.push(line.trim_start());
            continue;
        }
        let Some(item) = lines.next() else { break };
        if item.trim_start().starts_with("mod ") && item.ends_with('{') {
            break;
        }
        // A block ends where its first line begins.
        let end = format!("{}}}", &item[..item.len() - item.trim_start().len()]);
        if item.ends_with('{') {
            lines.by_ref().find(|line| *line == end);
        }
    }
    kept.join("\n")
}

/// The paths that a use tree names, such as `a::{b, c::d}`, up to what ends it.
fn paths(tree: &str) -> Vec<Vec<&str>> {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let mut path = Vec::new();
    let mut rest = tree.trim_start();
    loop {
        if let Some(group) = rest.strip_prefix('{') {
            let (mut found, mut depth, mut start) = (Vec::new(), 0, 0);
            for (at, c) in group.char_indices() {
                if depth == 0 && matches!(c, ',' | '}') {
                    found.extend(paths(&group[start..at]).into_iter().map(|below| [path.clone(), below].concat()));
                    start = at + 1;
                }
                match c {
                    '}' if depth == 0 => break,
                    '}' => depth -= 1,
                    '{' => depth += 1,
                    _ => {}
                }
            }
            return found;
        }
        let name = &rest[..rest.find(|c| !is_name(c)).unwrap_or(rest.len())];
        if !name.is_empty() {
            path.push(name);
        }
        match rest[name.len()..].strip_prefix("::") {
            Some(below) if !name.is_empty() => rest = below,
            _ => return vec![path],
        }
    }
}

/// What the code of `module`, a path from the root, names in its crate: by `crate::` and by `super::`.
fn imports<'c>(code: &'c str, module: &[&'c str]) -> BTreeSet<Vec<&'c str>> {
    let starts = |prefix: &'static str| {
        code.match_indices(prefix).map(|(at, _)| at).filter(|&at| {
            // Not the end of a longer name or path.
            !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':')
        })
    };
    let mut found = BTreeSet::new();
    for path in starts("crate::").flat_map(|at| paths(&code[at..])) {
        found.insert(path[1..].to_vec());
    }
    for path in starts("super::").flat_map(|at| paths(&code[at..])) {
        let up = path.iter().take_while(|name| **name == "super").count();
        let above = module.len().saturating_sub(up);
        found.insert([&module[..above], &path[up..]].concat());
    }
    found
}

/// Modules that a root or `mod.rs` declares.
fn declared(code: &str) -> Vec<&str> {
    let module = |line: &'_ str| {
        let start = line.find("mod ").filter(|&at| at == 0 || line.starts_with("pub"))?;
        Some((start + 4, line.strip_suffix(';')?.len()))
    };
    code.lines().filter_map(|line| module(line).map(|(from, to)| &line[from..to])).collect()
}

/// Where what a module re-exports by that name comes from, below that module.
fn origin<'c>(code: &'c str, name: &str) -> Option<&'c str> {
    let forms = ["pub use ", "pub(crate) use ", "pub(super) use "];
    let places = forms.iter().flat_map(|form| code.match_indices(form));
    let reexports = places.flat_map(|(at, found)| paths(&code[at + found.len()..]));
    let mut found = reexports.filter(|path| path.last() == Some(&name));
    found.find_map(|path| path.into_iter().find(|&part| part != "self"))
}

/// The modules that `root`, a `lib.rs`, a `main.rs` or the file of a module, declares, which are in `folder`, and what
/// they import from one another. `place`: its own path from the root of its crate.
fn graph(root: &Path, folder: &Path, place: &[&str]) -> Graph {
    let root_code = code(&fs::read_to_string(root).unwrap());
    let mut graph: Graph = declared(&root_code).into_iter().map(|name| (name.to_owned(), BTreeSet::new())).collect();
    for module in graph.keys().cloned().collect::<Vec<_>>() {
        let below = folder.join(&module);
        let mut files = if below.is_dir() { sources(&below) } else { Vec::new() };
        files.extend(Some(folder.join(format!("{module}.rs"))).filter(|file| file.is_file()));
        assert!(!files.is_empty(), "{}: no file for `mod {module}`", root.display());
        for file in files {
            let path = file.with_extension("");
            // `tests.rs`, or what is in a folder of that name.
            if path.strip_prefix(folder).unwrap().iter().any(|name| name == "tests") {
                continue;
            }
            let names = path.strip_prefix(folder).unwrap().iter().map(|name| name.to_str().unwrap());
            let own: Vec<&str> = place.iter().copied().chain(names.filter(|&name| name != "mod")).collect();
            for import in imports(&code(&fs::read_to_string(&file).unwrap()), &own) {
                let Some(&name) = import.strip_prefix(place).and_then(<[&str]>::first) else { continue };
                // A name that is re-exported belongs to the module it comes from.
                let known = graph.contains_key(name);
                let other = if known { name } else { origin(&root_code, name).unwrap_or(name) };
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
    let mut found = Vec::new();
    for crate_root in roots() {
        let folder = crate_root.parent().unwrap();
        let folder_of = |file: &PathBuf| match file.ends_with("mod.rs") {
            true => file.parent().unwrap().to_owned(),
            false => file.with_extension(""),
        };
        let below = sources(folder).into_iter().map(|file| (folder_of(&file), file));
        // A program in a folder of its own is a crate of its own.
        let inner = below.filter(|(own, _)| own.is_dir() && !own.join("main.rs").is_file());
        for (own, root) in inner.chain([(folder.to_owned(), crate_root.clone())]) {
            let names = own.strip_prefix(folder).unwrap().iter().map(|name| name.to_str().unwrap());
            let place: Vec<&str> = names.collect();
            let graph = graph(&root, &own, &place);
            for circle in circles(&graph) {
                let arrows = circle.iter().map(|module| {
                    let others = graph[module].iter().filter(|other| circle.contains(other)).cloned();
                    format!("{module} imports {}", others.collect::<Vec<_>>().join(", "))
                });
                let arrows = arrows.collect::<Vec<_>>().join("; ");
                let root = root.strip_prefix(repository()).unwrap().display().to_string();
                found.push(format!("a circle in {root}: {arrows}"));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// What the test would see if it had to.
#[test]
fn imports_are_read_from_every_form_of_path() {
    let text = "use crate::{a, b::{c, d}, e::*};\nuse super::super::f::G;\nlet x = crate::h::i();\nuse super::{j, \
        k::l};\n\
                // crate::comment\npub(in crate::m) fn n() {}\n#[cfg(test)]\nuse crate::test;\n\
                other::crate::o();\n#[cfg(test)]\nimpl Q {\n    use crate::q;\n}\nuse \
                crate::r;\n#[cfg(test)]\nmod tests {\nuse crate::p;\n}";
    let code = code(text);
    let found: BTreeSet<String> = imports(&code, &["x", "y", "z"]).iter().map(|path| path.join("::")).collect();
    assert_eq!(
        found,
        ["a", "b::c", "b::d", "e", "x::f::G", "h::i", "x::y::j", "x::y::k::l", "m", "r"].map(str::to_owned).into()
    );
    assert_eq!(declared("mod a;\npub mod b;\npub(crate) mod c;\nmodal();\nmod d {"), ["a", "b", "c"]);
    assert_eq!(origin("pub use a::{b::C, D};\npub use self::e::F;", "C"), Some("a"));
    assert_eq!(origin("pub use a::{b::C, D};\npub use self::e::F;", "F"), Some("e"));
    assert_eq!(origin("pub(crate) use a::G;", "G"), Some("a"));
    let graph: Graph = [("a", "b"), ("b", "c"), ("c", "b"), ("d", "a")]
        .map(|(from, to)| (from.to_owned(), [to.to_owned()].into()))
        .into();
    assert_eq!(circles(&graph), [vec!["b".to_owned(), "c".to_owned()]].into());
}
