//! Memory set aside for the many small pieces that a call is made of: plans, tables, lists. The code that makes them, the standard
//! library's too, knows no way out where there is no memory but to end the process.
//!
//! ```text
//!   hold ──► reserve  [ head │ piece │ piece │         free         ]   touched only where the system refuses, and only by
//!                                                                     the thread that holds it
//! ```
//!
//! Reserves are kept for the next call and never given back, since a piece (of a plan) may outlive its call. What is freed before anything
//! else is taken is free for the next piece, as on a stack; one whose pieces are all freed is empty again.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::marker::PhantomData;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

#[cfg(not(test))]
#[global_allocator]
static ALLOCATOR: Allocator<System> = Allocator(System);

/// All reserves; new ones are added at the front.
static RESERVES: AtomicPtr<Reserve> = AtomicPtr::new(ptr::null_mut());

thread_local! {
    /// What this thread holds.
    static HELD: Cell<*const Reserve> = const { Cell::new(ptr::null()) };
}

/// The system's allocator, and behind it what the thread holds in reserve.
struct Allocator<S>(S);

/// Head of a reserve, at its beginning.
struct Reserve {
    next: *const Reserve,
    /// First byte of the whole reserve, which is the head's, and how many there are.
    start: *mut u8,
    bytes: usize,
    /// Pieces in use, and one for the holder, in the upper half; bytes taken, the head's among them, in the lower. 0: free.
    state: AtomicU64,
}

/// As long as it lives, the thread that made it has a reserve.
pub struct Hold {
    previous: *const Reserve,
    /// It belongs to its thread.
    here: PhantomData<*const Reserve>,
}

/// Largest reserve: what it has taken is counted in 32 bits.
const LARGEST: usize = u32::MAX as usize;
const ONE: u64 = 1 << 32;
const ALIGNMENT: usize = 64;
const GRAIN: usize = 16;

/// Bytes that deciding on a call between `ranks` ranks, planning it and running it take in small pieces, one after the other; but for the
/// order of a contention-free exchange (`nagare_plan`'s `Planner::exchange_bytes`).
pub fn of_call(ranks: u32) -> usize {
    (1 << 20) + (32 << 10) * ranks as usize
}

/// Sets aside `bytes` bytes for this thread, or more, up to 4 GiB; `None` if there is no memory.
pub fn hold(bytes: usize) -> Option<Hold> {
    let size = bytes.saturating_add(size_of::<Reserve>()).min(LARGEST);
    let reserve = all().find(|reserve| reserve.bytes >= size && reserve.claim()).or_else(|| Reserve::new(size))?;
    Some(Hold { previous: HELD.replace(reserve), here: PhantomData })
}

/// Does `ask` without what this thread holds: for the large, where there is an error to report.
pub fn without<T>(ask: impl FnOnce() -> T) -> T {
    let _none = Hold { previous: HELD.replace(ptr::null()), here: PhantomData };
    ask()
}

impl Drop for Hold {
    fn drop(&mut self) {
        let held = HELD.replace(self.previous);
        // SAFETY: null, or put there by `hold`; reserves are never freed.
        if let Some(held) = unsafe { held.as_ref() } {
            held.less(|state| state);
        }
    }
}

fn all() -> impl Iterator<Item = &'static Reserve> {
    // SAFETY: what is in the list is a reserve, fully written before it was added, and never freed or changed but for its state.
    let at = |reserve: *const Reserve| unsafe { reserve.as_ref() };
    std::iter::successors(at(RESERVES.load(Ordering::Acquire)), move |reserve| at(reserve.next))
}

impl Reserve {
    /// Another one, claimed.
    fn new(bytes: usize) -> Option<&'static Self> {
        let layout = Layout::from_size_align(bytes, ALIGNMENT).ok()?;
        // SAFETY: not empty: it has room for the head.
        let start = unsafe { System.alloc(layout) };
        if start.is_null() {
            return None;
        }
        let head = start.cast::<Self>();
        let mut next = RESERVES.load(Ordering::Acquire);
        loop {
            // SAFETY: ours alone until it is in the list, large enough for the head and aligned more strictly.
            unsafe { head.write(Self { next, start, bytes, state: AtomicU64::new(ONE | size_of::<Self>() as u64) }) };
            match RESERVES.compare_exchange(next, head, Ordering::AcqRel, Ordering::Acquire) {
                // SAFETY: just written, and never freed.
                Ok(_) => return Some(unsafe { &*head }),
                Err(other) => next = other,
            }
        }
    }

    /// Whether it was free, and is now the caller's.
    fn claim(&self) -> bool {
        let held = ONE | size_of::<Self>() as u64;
        self.state.compare_exchange(0, held, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Room for a piece; null if there is none left. Only for the thread that holds it.
    fn take(&self, layout: Layout) -> *mut u8 {
        let mut state = self.state.load(Ordering::Relaxed);
        loop {
            let taken = state as u32 as usize;
            let padding = (self.start.addr() + taken).wrapping_neg() % layout.align();
            let Some(end) = self.end(taken + padding, layout.size()) else { return ptr::null_mut() };
            let with = (state - taken as u64 + ONE) | end as u64;
            match self.state.compare_exchange_weak(state, with, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return self.start.wrapping_add(taken + padding),
                Err(other) => state = other,
            }
        }
    }

    /// Where a piece of `bytes` ends that starts at byte `first`; `None` beyond the reserve's own end.
    fn end(&self, first: usize, bytes: usize) -> Option<usize> {
        // Multiples of most alignments, so that hardly any padding keeps a stack from shrinking.
        bytes.checked_next_multiple_of(GRAIN)?.checked_add(first).filter(|&end| end <= self.bytes)
    }

    /// Where `piece` starts, and whether nothing was taken after it.
    fn is_last(&self, state: u64, piece: *mut u8, bytes: usize) -> (usize, bool) {
        let first = piece.addr() - self.start.addr();
        (first, self.end(first, bytes) == Some(state as u32 as usize))
    }

    /// Whether `piece` is `bytes` long now, where it is. Only for the thread that holds it.
    fn resize(&self, piece: *mut u8, old: usize, bytes: usize) -> bool {
        let change = |state: u64| {
            let (first, last) = self.is_last(state, piece, old);
            let end = self.end(first, bytes).filter(|_| last)?;
            Some((state >> 32 << 32) | end as u64)
        };
        self.state.fetch_update(Ordering::Acquire, Ordering::Relaxed, change).is_ok()
    }

    /// A piece is no longer needed.
    fn free(&self, piece: *mut u8, bytes: usize) {
        self.less(|state| match self.is_last(state, piece, bytes) {
            (first, true) => (state >> 32 << 32) | first as u64,
            _ => state,
        });
    }

    /// One piece, or the holder, fewer; `rest`: what has become of the others. What was written to a piece comes before whatever its
    /// place is taken for next.
    fn less(&self, rest: impl Fn(u64) -> u64) {
        let change = |state: u64| Some(if state < 2 * ONE { 0 } else { rest(state) - ONE });
        let _ = self.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, change);
    }

    /// Whether this thread holds it.
    fn is_held(&self) -> bool {
        ptr::eq(HELD.get(), self)
    }

    /// The reserve that `piece` was taken from.
    fn of(piece: *mut u8) -> Option<&'static Self> {
        all().find(|reserve| (reserve.start.addr()..reserve.start.addr() + reserve.bytes).contains(&piece.addr()))
    }
}

/// From what this thread holds; null if it holds nothing or that is used up.
fn take(layout: Layout) -> *mut u8 {
    // SAFETY: `hold` has put it there; reserves are never freed.
    unsafe { HELD.get().as_ref() }.map_or(ptr::null_mut(), |reserve| reserve.take(layout))
}

// SAFETY: what the system gives, only it takes back. A piece of a reserve is aligned and of its own: `Reserve::take` counts on from the
// end of the last piece in use, or of a later one. Nothing here allocates or unwinds: a thread's `HELD` is a constant at first
// and has no destructor.
unsafe impl<S: GlobalAlloc> GlobalAlloc for Allocator<S> {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as demanded of the caller.
        let piece = unsafe { self.0.alloc(layout) };
        if piece.is_null() { take(layout) } else { piece }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as demanded of the caller.
        let piece = unsafe { self.0.alloc_zeroed(layout) };
        if !piece.is_null() {
            return piece;
        }
        let piece = take(layout);
        if !piece.is_null() {
            // SAFETY: of that size.
            unsafe { piece.write_bytes(0, layout.size()) };
        }
        piece
    }

    #[inline]
    unsafe fn dealloc(&self, piece: *mut u8, layout: Layout) {
        match Reserve::of(piece) {
            None => {
                // SAFETY: as demanded of the caller; no reserve's, so the system's.
                unsafe { self.0.dealloc(piece, layout) }
            }
            Some(reserve) => reserve.free(piece, layout.size()),
        }
    }

    #[inline]
    unsafe fn realloc(&self, piece: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        match Reserve::of(piece) {
            None => {
                // SAFETY: as demanded of the caller; no reserve's, so the system's.
                let moved = unsafe { self.0.realloc(piece, layout, bytes) };
                if !moved.is_null() {
                    return moved;
                }
            }
            Some(reserve) if reserve.is_held() && reserve.resize(piece, layout.size(), bytes) => return piece,
            Some(_) => {}
        }
        // SAFETY: `bytes` is not 0 and fits, as demanded of the caller.
        let moved = unsafe { self.alloc(Layout::from_size_align_unchecked(bytes, layout.align())) };
        if !moved.is_null() {
            // SAFETY: both are at least that long, and pieces do not overlap.
            unsafe { moved.copy_from_nonoverlapping(piece, layout.size().min(bytes)) };
            // SAFETY: as demanded of the caller, who has no more use for it.
            unsafe { self.dealloc(piece, layout) };
        }
        moved
    }
}

#[cfg(test)]
mod tests;
