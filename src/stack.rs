//! A stack of our own for what takes much of one: MPICH's reductions and its making of communicators take 130 KiB each, and a program whose
//! threads have small stacks makes none in the calls that make ours.

/// Runs `body`, which must not be left by an exception, on such a stack.
#[cfg(mpi_family = "mpich")]
pub fn on_large<R>(body: impl FnOnce() -> R) -> R {
    /// Bytes: three times what was measured. They are touched only where they are used.
    const SIZE: usize = 512 << 10;
    /// Below the stack: what goes beyond it ends the process instead of writing to somebody else's memory.
    const GUARD: usize = 64 << 10;
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
    // SAFETY: the stack is as long as said, aligned to pages, and used by nobody else until this returns.
    let result = if usable { unsafe { psm::on_stack(stack.cast(), SIZE, body) } } else { body() };
    // SAFETY: mapped above, and nothing refers to it: what the body returned is on the stack of the caller.
    unsafe { libc::munmap(start, GUARD + SIZE) };
    result
}

/// Runs `body`: Open MPI takes no more for these than for the program's own calls.
#[cfg(mpi_family = "openmpi")]
pub fn on_large<R>(body: impl FnOnce() -> R) -> R {
    body()
}
