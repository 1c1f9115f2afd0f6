//! Scratch memory: where a combination receives what it combines, a ring of segments of its own.

use super::stream::{NONE, Stream};
use super::transport::Transport;
use crate::schedule::{Action, Parts, Program, Space};

/// Unfinished combinations that may have receives posted at the same time; bounds the scratch memory of long plans.
const ACTIVE_COMBINATIONS: usize = 16;

/// Gives each combination a ring of scratch segments, long plans a few rings in turn; the number of segments in a ring.
pub(super) fn share<T: Transport>(
    program: &Program,
    streams: &mut [Stream],
    window: u64,
    transport: &mut T,
) -> Result<u64, T::Error> {
    let plan = &program.plan;
    let (mut count, mut ring, mut longest) = (0, 0, 0);
    // The last combination on each ring.
    let mut last = [NONE; ACTIVE_COMBINATIONS];
    for hop in 0..streams.len() {
        if plan.hops[hop].action == Action::Reduce && !streams[hop].is_direct && streams[hop].segments > 0 {
            let before = std::mem::replace(&mut last[count % ACTIVE_COMBINATIONS], hop as u32);
            streams[hop].scratch_before = before;
            if let Some(before) = streams.get_mut(before as usize) {
                before.scratch_after = hop as u32;
            }
            // The number of the ring, until it is known how long rings are.
            streams[hop].scratch = (count % ACTIVE_COMBINATIONS) as u32;
            ring = streams[hop].segments.min(window).max(ring);
            longest = streams[hop].segment(0).1.max(longest);
            count += 1;
        }
    }
    if count > 0 || plan.staged > 0 {
        let slots = count.min(ACTIVE_COMBINATIONS) as u32 * ring as u32;
        let stage = Parts { space: Space::Stage, first: 0, count: plan.staged };
        transport.reserve(slots, longest, transport.units(stage, plan.parts).1)?;
    }
    let ring = ring.max(1);
    streams.iter_mut().for_each(|stream| stream.scratch *= ring as u32);
    Ok(ring)
}

/// Whether the scratch segments that combination `hop` needs for its next segment are free again: those it uses itself
/// are within the window.
#[inline]
pub(super) fn is_free(program: &Program, streams: &[Stream], window: u64, hop: u32) -> bool {
    let Some(oldest) = streams[hop as usize].posted.checked_sub(window) else { return true };
    let readers = &program.dependencies[hop as usize].freed_by;
    readers.iter().all(|&r| streams[r as usize].done > oldest)
}

/// Whether the ring of combination `hop` is no longer in use by an earlier one.
#[inline]
pub(super) fn owns_ring(program: &Program, streams: &[Stream], hop: u32) -> bool {
    let earlier = streams[hop as usize].scratch_before;
    if earlier == NONE {
        return true;
    }
    let readers = &program.dependencies[earlier as usize].freed_by;
    std::iter::once(&earlier).chain(readers).all(|&h| streams[h as usize].finished())
}
