//! An allocator that counts the memory of each thread, and fails the test where it is far too much.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    /// Bytes this thread has now and had at most; memory freed by another thread stays on the account of the first.
    static BYTES: Cell<(isize, isize)> = const { Cell::new((0, 0)) };
}

/// The system's allocator with an account for every thread.
pub struct Counting;

fn add(change: isize) {
    // A thread that is ending has no account any more.
    let _ = BYTES.try_with(|bytes| {
        let (now, most) = bytes.get();
        bytes.set((now + change, most.max(now + change)));
    });
}

// SAFETY: everything is done by the system's allocator with the arguments given; the account is plain numbers of this
// thread, is made without an allocation (const), and has no destructor.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout.size() as isize);
        // A mistake that asks for more than there is must end this test, not the machine.
        if BYTES.try_with(|bytes| bytes.get().0).is_ok_and(|now| now > 2 * crate::MOST_BYTES as isize) {
            return std::ptr::null_mut();
        }
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        add(-(layout.size() as isize));
        // SAFETY: as the caller promises; `alloc` above took it from the same allocator.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// What `work` returns, and the most bytes that this thread had beyond those it began with.
pub(crate) fn peak_of<R>(work: impl FnOnce() -> R) -> (R, usize) {
    let before = BYTES.with(|bytes| {
        let now = bytes.get().0;
        bytes.set((now, now));
        now
    });
    let result = work();
    let most = BYTES.with(|bytes| bytes.get().1);
    (result, (most - before).max(0) as usize)
}
