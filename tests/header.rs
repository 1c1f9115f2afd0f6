//! `c_api/nagare.h` is what cbindgen makes of `src/c_api.rs`. `UPDATE_HEADER=1` writes it.

use std::path::Path;

#[test]
fn the_committed_header_is_current() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(root.join("c_api/cbindgen.toml")).expect("c_api/cbindgen.toml");
    let bindings =
        cbindgen::Builder::new().with_src(root.join("src/c_api.rs")).with_config(config).generate().expect("bindings");
    let mut current = Vec::new();
    bindings.write(&mut current);
    let current = String::from_utf8(current).expect("UTF-8");
    let path = root.join("c_api/nagare.h");
    if std::env::var_os("UPDATE_HEADER").is_some() {
        std::fs::write(&path, &current).expect("c_api/nagare.h");
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == current, "c_api/nagare.h is not current: UPDATE_HEADER=1 cargo test --test jobs header");
}
