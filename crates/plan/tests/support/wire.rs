//! What links of Ethernet carry of a program's data over TCP, and numbers compared with such.

/// Data in a full Ethernet frame with IPv4 and TCP headers (with time stamps) of which 1514 bytes count against the
/// rate.
pub const SHARE: f64 = (1500.0 - 20.0 - 32.0) / 1514.0;

/// Nanoseconds per byte of the program at a rate.
pub fn per_byte(mbit: f64) -> f64 {
    8.0 / (mbit * 1e6) * 1e9 / SHARE
}

/// Asserts that a number is the expected one but for rounding.
pub fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() <= 1e-6 * expected.abs(), "{found} expected {expected}");
}
