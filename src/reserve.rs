//! Memory set aside for the many small pieces that calls are made of: plans, tables, lists. The code that makes them, the standard
//! library's too, knows no way out where there is no memory but to end the process.
//!
//! ```text
//!   the system has nothing for a thread ──► the reserve that it holds, if any: a call, from its choice to its end
//!                                       ──► one that all threads share: whatever else they do
//!
//!   reserve  [ head │ piece │ piece │  not touched before it is needed  ]
//! ```
//!
//! Reserves are kept for the next call and never given back, since a piece (of a plan) may outlive its call. What is freed before anything
//! else is taken is free for the next piece, as on a stack; one whose pieces are all freed is empty again.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::marker::PhantomData;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};

#[cfg(not(test))]
#[global_allocator]
static ALLOCATOR: Allocator<System> = Allocator(System);

/// All reserves; new ones are added at the front.
static RESERVES: AtomicPtr<Reserve> = AtomicPtr::new(ptr::null_mut());

/// The one that threads share.
static SHARED: AtomicPtr<Reserve> = AtomicPtr::new(ptr::null_mut());

/// Whether a piece was ever taken from any.
static TAKEN: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// What this thread holds.
    static HELD: Cell<*const Reserve> = const { Cell::new(ptr::null()) };
    /// Whether it is to have nothing but what the system gives.
    static ALONE: Cell<bool> = const { Cell::new(false) };
}

/// The system's allocator, and behind it what is in reserve.
struct Allocator<S>(S);

/// Head of a reserve, at its beginning.
#[repr(C)]
struct Reserve {
    next: *const Reserve,
    /// First byte of the whole reserve, which is the head's, and how many there are.
    start: *mut u8,
    bytes: usize,
    state: State,
}

// SAFETY: what its pointers point to is written once, before anybody else sees them, but for pieces, which have one owner each.
unsafe impl Sync for Reserve {}

/// Pieces in use, and one for the holder, in the upper half; bytes taken, the head's among them, in the lower. 0: free. On a line of the cache of
/// its own: all threads read what is before it.
#[repr(align(64))]
struct State(AtomicU64);

/// As long as it lives, the thread that made it has a reserve.
pub struct Hold {
    previous: *const Reserve,
    /// It belongs to its thread.
    here: PhantomData<*const Reserve>,
}

/// Largest room of a reserve: what it has taken is counted in 32 bits.
const LARGEST: usize = 2 << 30;
const ONE: u64 = 1 << 32;
const HEAD: u64 = size_of::<Reserve>() as u64;
const ALIGNMENT: usize = 64;
/// Pieces are as long as multiples of this: hardly any padding between them keeps a stack from shrinking.
const GRAIN: usize = 16;

/// Sets aside `bytes` bytes for what all threads do outside of holds, and as many for the first hold; what can be had of them.
pub fn prepare(bytes: usize) {
    if let Some(shared) = Reserve::new(bytes) {
        // That of an earlier world has what it has.
        SHARED.store(ptr::from_ref(shared).cast_mut(), Ordering::Release);
    }
    drop(hold(bytes));
}

/// Sets aside `bytes` bytes for this thread, or more, 2 GiB at most; `None` if there is no memory.
pub fn hold(bytes: usize) -> Option<Hold> {
    let room = bytes.min(LARGEST);
    let reserve = all().find(|reserve| reserve.has_room(room) && reserve.claim()).or_else(|| Reserve::new(room))?;
    Some(reserve.held())
}

/// Does `ask` with nothing in reserve: for the large, where there is an error to report.
pub fn without<T>(ask: impl FnOnce() -> T) -> T {
    let before = ALONE.replace(true);
    let answer = ask();
    ALONE.set(before);
    answer
}

impl Drop for Hold {
    fn drop(&mut self) {
        let held = HELD.replace(self.previous);
        // SAFETY: put there by `Reserve::held`; reserves are never freed.
        unsafe { &*held }.less(|state| state);
    }
}

fn all() -> impl Iterator<Item = &'static Reserve> {
    // SAFETY: what is in the list is a reserve, fully written before it was added, and never freed or changed but for its state.
    let at = |reserve: *const Reserve| unsafe { reserve.as_ref() };
    std::iter::successors(at(RESERVES.load(Ordering::Acquire)), move |reserve| at(reserve.next))
}

impl Reserve {
    /// Another one, claimed, with room for so many bytes, as far as there can be.
    fn new(room: usize) -> Option<&'static Self> {
        let bytes = room.min(LARGEST) + size_of::<Self>();
        let layout = Layout::from_size_align(bytes, ALIGNMENT).ok()?;
        // SAFETY: not empty: it has room for the head.
        let start = unsafe { System.alloc(layout) };
        if start.is_null() {
            return None;
        }
        let head = start.cast::<Self>();
        let mut next = RESERVES.load(Ordering::Acquire);
        loop {
            // SAFETY: ours alone until it is in the list, large enough for the head and aligned like it.
            unsafe { head.write(Self { next, start, bytes, state: State(AtomicU64::new(ONE | HEAD)) }) };
            match RESERVES.compare_exchange(next, head, Ordering::AcqRel, Ordering::Acquire) {
                // SAFETY: just written, and never freed.
                Ok(_) => return Some(unsafe { &*head }),
                Err(other) => next = other,
            }
        }
    }

    /// Whether it can have room for so many bytes.
    fn has_room(&self, bytes: usize) -> bool {
        self.bytes - size_of::<Self>() >= bytes
    }

    /// Whether it was free, and is now the caller's.
    fn claim(&self) -> bool {
        let state = &self.state.0;
        // A look first: an exchange takes the line from whoever has it.
        state.load(Ordering::Relaxed) == 0
            && state.compare_exchange(0, ONE | HEAD, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Makes it this thread's, who has claimed it.
    fn held(&'static self) -> Hold {
        Hold { previous: HELD.replace(self), here: PhantomData }
    }

    /// Room for a piece; null if there is none left. For those who hold it, or if it is shared.
    fn take(&self, layout: Layout) -> *mut u8 {
        let mut state = self.state.0.load(Ordering::Relaxed);
        loop {
            let taken = state as u32 as usize;
            let padding = (self.start.addr() + taken).wrapping_neg() % layout.align();
            let Some(end) = self.end(taken + padding, layout.size()) else { return ptr::null_mut() };
            let with = (state - taken as u64 + ONE) | end as u64;
            // Whoever had that place before was done with it when the state said so.
            match self.state.0.compare_exchange_weak(state, with, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => {
                    // Whoever frees the piece has got it from here.
                    TAKEN.store(true, Ordering::Relaxed);
                    return self.start.wrapping_add(taken + padding);
                }
                Err(other) => state = other,
            }
        }
    }

    /// Where a piece of `bytes` ends that starts at byte `first`; `None` beyond the reserve's own end.
    fn end(&self, first: usize, bytes: usize) -> Option<usize> {
        bytes.checked_next_multiple_of(GRAIN)?.checked_add(first).filter(|&end| end <= self.bytes)
    }

    /// Where `piece` starts, and whether nothing was taken after it.
    fn is_last(&self, state: u64, piece: *mut u8, bytes: usize) -> (usize, bool) {
        let first = piece.addr() - self.start.addr();
        (first, self.end(first, bytes) == Some(state as u32 as usize))
    }

    /// Whether `piece` is `bytes` long now, where it is.
    fn resize(&self, piece: *mut u8, old: usize, bytes: usize) -> bool {
        if bytes <= old {
            return true;
        }
        // Nobody takes anything from one that is neither held nor shared, so only its last piece could grow.
        let change = |state: u64| {
            let (first, last) = self.is_last(state, piece, old);
            let end = self.end(first, bytes).filter(|_| last)?;
            Some((state >> 32 << 32) | end as u64)
        };
        self.state.0.fetch_update(Ordering::Acquire, Ordering::Relaxed, change).is_ok()
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
        let change = |state: u64| {
            Some(match state >> 32 {
                0 | 1 => 0,
                // Only the holder is left, and all is free; or one piece of a reserve that nobody can take anything from.
                2 => ONE | HEAD,
                _ => rest(state) - ONE,
            })
        };
        let _ = self.state.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, change);
    }

    /// The reserve that `piece` was taken from.
    #[inline]
    fn of(piece: *mut u8) -> Option<&'static Self> {
        if TAKEN.load(Ordering::Relaxed) { Self::found(piece) } else { None }
    }

    #[cold]
    fn found(piece: *mut u8) -> Option<&'static Self> {
        all().find(|reserve| (reserve.start.addr()..reserve.start.addr() + reserve.bytes).contains(&piece.addr()))
    }
}

/// From what this thread holds, else from what is shared; null if there is nothing.
#[cold]
fn take(layout: Layout) -> *mut u8 {
    if ALONE.get() {
        return ptr::null_mut();
    }
    for reserve in [HELD.get(), SHARED.load(Ordering::Acquire).cast_const()] {
        // SAFETY: null, or put there by `Reserve::held` or `prepare`; reserves are never freed.
        let piece = unsafe { reserve.as_ref() }.map_or(ptr::null_mut(), |reserve| reserve.take(layout));
        if !piece.is_null() {
            return piece;
        }
    }
    ptr::null_mut()
}

// SAFETY: what the system gives, only it takes back. A piece of a reserve is aligned and of its own: `Reserve::take` counts on from the
// end of the last piece in use, or of a later one. Nothing here allocates or unwinds: what threads have of their own is a constant at
// first and has no destructor.
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
            Some(reserve) if reserve.resize(piece, layout.size(), bytes) => return piece,
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
