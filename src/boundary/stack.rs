//! A stack of our own for calls that need much: MPICH's reductions and constructors of communicators take 130 KiB of
//! stack each. A program whose threads have small stacks may call only collectives that need less, and Nagare makes its
//! communicators inside these.

/// Runs `body` on such a stack, where the calling thread has too little left. What leaves `body` by an exception there
/// ends the process: only Nagare's agreements and constructors of communicators run here, in which no code of the
/// program is called but for the handler of an error that the MPI library itself meets in them.
#[cfg(mpi_family = "mpich")]
pub fn on_large<R>(body: impl FnOnce() -> R) -> R {
    /// Below the stack: an overflow ends the process instead of overwriting other memory.
    const GUARD: usize = 64 << 10;
    if left().is_none_or(|left| left >= SIZE) {
        return body();
    }
    // SAFETY: a new mapping, which nobody else knows.
    let start = unsafe {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_STACK | libc::MAP_NORESERVE;
        libc::mmap(std::ptr::null_mut(), GUARD + SIZE, libc::PROT_NONE, flags, -1, 0)
    };
    if start == libc::MAP_FAILED {
        return body();
    }
    let stack = start.wrapping_byte_add(GUARD);
    // SAFETY: within the new mapping.
    let usable = unsafe { libc::mprotect(stack, SIZE, libc::PROT_READ | libc::PROT_WRITE) } == 0;
    // SAFETY: the stack is as long as said, aligned to pages, and used by nobody else until this returns; what unwinds
    // ends the process.
    let result = if usable { unsafe { psm::on_stack(stack.cast(), SIZE, body) } } else { body() };
    // SAFETY: mapped above, and nothing refers to it: what the body returned is on the stack of the caller.
    unsafe { libc::munmap(start, GUARD + SIZE) };
    result
}

/// Bytes: three times what was measured. They are touched only where they are used.
#[cfg(mpi_family = "mpich")]
const SIZE: usize = 512 << 10;

/// Bytes of stack that the calling thread has left; `None` for the first thread of the process, whose stack grows, and
/// where the system does not tell.
#[cfg(mpi_family = "mpich")]
fn left() -> Option<usize> {
    let here = std::hint::black_box(0u8);
    let mut lowest = std::ptr::null_mut();
    let mut bytes = 0;
    // SAFETY: the attributes are filled in before they are asked, and destroyed once; the thread is the calling one.
    let known = unsafe {
        if libc::gettid() == libc::getpid() {
            return None;
        }
        let mut attributes = std::mem::zeroed();
        let known = libc::pthread_getattr_np(libc::pthread_self(), &raw mut attributes) == 0;
        if known {
            libc::pthread_attr_getstack(&raw const attributes, &raw mut lowest, &raw mut bytes);
            libc::pthread_attr_destroy(&raw mut attributes);
        }
        known
    };
    known.then(|| (&raw const here).addr().saturating_sub(lowest.addr()))
}

/// Runs `body`: Open MPI takes no more for these than for the program's own calls.
#[cfg(mpi_family = "openmpi")]
pub fn on_large<R>(body: impl FnOnce() -> R) -> R {
    body()
}
