//! Buffers of a call: reserved before the first message, reused afterwards.

use parking_lot::Mutex;
use std::mem::MaybeUninit;

/// Buffers kept for reuse, and the largest one worth keeping.
const KEPT: usize = 4;
const KEPT_BYTES: usize = 17 << 20;

/// Of so many bytes the kernel is asked to make pages of 2 MiB, where it makes them for those who ask: a call whose
/// buffer is fresh would otherwise spend more time on the faults of its pages than on the data.
const HUGE: usize = 4 << 20;

/// A cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
#[allow(dead_code, reason = "only its size and alignment count")]
struct Line([u8; 64]);

/// Memory aligned to cache lines, and so for every MPI type.
#[derive(Debug, Default)]
pub struct Buffer(Vec<MaybeUninit<Line>>);

static POOL: Mutex<Vec<Vec<MaybeUninit<Line>>>> = Mutex::new(Vec::new());

impl Buffer {
    /// At least `bytes` bytes, with any contents; `None` if there is no memory.
    pub fn new(bytes: usize) -> Option<Self> {
        if bytes == 0 {
            return Some(Self::default());
        }
        let words = bytes.div_ceil(size_of::<Line>());
        let pooled = {
            let mut pool = POOL.lock();
            // The smallest that fits: the larger ones are for what a call stages.
            let fitting = (0..pool.len()).filter(|&index| pool[index].len() >= words);
            fitting.min_by_key(|&index| pool[index].len()).map(|index| pool.swap_remove(index))
        };
        if let Some(buffer) = pooled {
            return Some(Self(buffer));
        }
        let mut buffer = Vec::new();
        buffer.try_reserve_exact(words).ok()?;
        // SAFETY: there is room for as many, and they may have any contents.
        unsafe { buffer.set_len(words) };
        if bytes >= HUGE {
            ask_for_huge_pages(&mut buffer);
        }
        Some(Self(buffer))
    }

    /// First byte.
    pub fn address(&mut self) -> *mut u8 {
        self.0.as_mut_ptr().cast()
    }
}

/// A kernel that has none goes on as before.
fn ask_for_huge_pages(buffer: &mut [MaybeUninit<Line>]) {
    // SAFETY: no memory.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) }.max(1) as usize;
    let (start, bytes) = (buffer.as_mut_ptr().cast::<u8>(), size_of_val(buffer));
    let skipped = start.align_offset(page);
    if skipped < bytes {
        // SAFETY: from the first page that begins in the buffer to its last: advice that changes no contents.
        unsafe { libc::madvise(start.add(skipped).cast(), bytes - skipped, libc::MADV_HUGEPAGE) };
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let buffer = std::mem::take(&mut self.0);
        let bytes = buffer.len() * size_of::<Line>();
        if (1..=KEPT_BYTES).contains(&bytes) {
            let mut pool = POOL.lock();
            if pool.len() < KEPT {
                pool.push(buffer);
            } else if let Some(smallest) =
                pool.iter_mut().min_by_key(|kept| kept.len()).filter(|kept| kept.len() < buffer.len())
            {
                // Large ones are what costs time to make.
                *smallest = buffer;
            }
        }
    }
}
