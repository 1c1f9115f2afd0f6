//! Buffers of a call: reserved before the first message, reused afterwards.

use parking_lot::Mutex;
use std::mem::MaybeUninit;

/// Buffers kept for reuse, and the largest one worth keeping.
const KEPT: usize = 4;
const KEPT_BYTES: usize = 17 << 20;

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
        Some(Self(buffer))
    }

    /// First byte.
    pub fn address(&mut self) -> *mut u8 {
        self.0.as_mut_ptr().cast()
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
