//! How a call's requests end where it did not come to its end.

use super::mpi_transport::MpiTransport;
use crate::real::handles::STATUS_IGNORE;
use std::ffi::c_int;
use std::time::{Duration, Instant};

/// How long a call that gives up waits for its requests: a receive that had a message already is written to until the
/// rest is there, and a send may be read from.
const CANCELLING: Duration = Duration::from_millis(250);

impl Drop for MpiTransport<'_> {
    /// A call that comes to its end has nothing under way; one that fails may, and one that an exception of the
    /// program's operation passes through.
    fn drop(&mut self) {
        if !self.requests.is_empty() {
            self.give_up();
        }
    }
}

impl MpiTransport<'_> {
    /// Ends what is under way: takes back the receives, so that nothing more is written to the program's buffers,
    /// waits a while for what has matched, and leaves the scratch memory to sends that may still be under way.
    fn give_up(&mut self) {
        let null = self.real.handles.request_null;
        let given_up = Instant::now();
        let mut requests = Vec::new();
        for line in self.lines.iter_mut() {
            let of_line = self.requests.take_all(&mut line.queue);
            for (nth, mut request) in of_line.into_iter().enumerate().filter(|(_, request)| *request != null) {
                // Where there was doubt, the oldest receive was cancelled then.
                if line.receives && !(nth == 0 && line.doubt.is_some()) {
                    // SAFETY: a receive that has not been completed by any call; one that has its message already stays
                    // as it is.
                    unsafe { (self.real.mpi.cancel)(&raw mut request) };
                }
                requests.push(request);
            }
        }
        let mut finished = vec![0; requests.len()];
        while requests.iter().any(|request| *request != null) && given_up.elapsed() < CANCELLING {
            let mut done = 0;
            // SAFETY: the arrays have as many entries; every request that is not null is active, and its buffer valid.
            // What fails now is not what made the call fail.
            unsafe {
                (self.real.mpi.testsome)(
                    requests.len() as c_int,
                    requests.as_mut_ptr(),
                    &raw mut done,
                    finished.as_mut_ptr(),
                    STATUS_IGNORE,
                )
            };
        }
        self.places.leak();
    }
}
