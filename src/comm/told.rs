//! What has been told of the calls on one communicator (`NAGARE_LOG=debug`), so that equal calls are told once.

use parking_lot::Mutex;
use std::collections::BTreeSet;

/// Most lines that are kept; after that all are told.
const MOST: usize = 256;

/// Lines that have been told.
#[derive(Default)]
pub struct Told(Mutex<BTreeSet<String>>);

impl Told {
    /// Tells a line that is news.
    pub fn tell(&self, line: String) {
        let mut told = self.0.lock();
        if told.contains(&line) {
            return;
        }
        log::debug!("{line}");
        if told.len() < MOST {
            told.insert(line);
        }
    }
}
