//! How much of what tests could try they try.

/// Whether tests run all their cases (`make test-all`, which sets `TEST_ALL`), not a part of them that stands for the
/// others.
pub fn everything() -> bool {
    std::env::var_os("TEST_ALL").is_some()
}
