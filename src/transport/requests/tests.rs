//! Against a list for each stream, in random orders of starts and ends.

use super::*;
use std::collections::VecDeque;

/// Random numbers below `most`, the same for the same seed.
struct Random(u64);

impl Random {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % most
    }
}

/// A request of that number, which nobody looks into.
fn request(number: usize) -> MPI_Request {
    let mut request = null();
    let bytes = size_of::<MPI_Request>().min(size_of::<usize>());
    // SAFETY: a handle is plain data, and as many bytes of it are written as both have.
    unsafe { (&raw const number).cast::<u8>().copy_to_nonoverlapping((&raw mut request).cast(), bytes) };
    request
}

fn null() -> MPI_Request {
    // SAFETY: a handle is plain data.
    unsafe { std::mem::zeroed() }
}

/// A request that was started: its number, and whether it is complete.
type Started = (usize, bool);

/// The place in the front where the library is shown that request.
fn shown(requests: &Requests, number: usize) -> Option<usize> {
    requests.front.as_flattened().iter().position(|&shown| shown == request(number))
}

#[test]
fn the_oldest_are_shown_and_reported_in_the_order_of_their_starts() {
    for seed in 0..200 {
        let mut random = Random(seed);
        let streams = 1 + random.below(6);
        let mut requests = Requests::new(null());
        let mut queues = vec![Queue::EMPTY; streams];
        let mut model: Vec<VecDeque<Started>> = vec![VecDeque::new(); streams];
        let mut number = 0;
        for _ in 0..600 {
            let stream = random.below(streams);
            if random.below(5) < 2 {
                number += 1;
                requests.push(stream as u32, &mut queues[stream], request(number));
                model[stream].push_back((number, false));
                continue;
            }
            // Some of the first four that have not been reported, whether older ones are complete or not.
            let mut left: Vec<usize> =
                (0..model[stream].len().min(SHOWN as usize)).filter(|&at| !model[stream][at].1).collect();
            if left.is_empty() {
                continue;
            }
            let some = 1 + random.below(left.len());
            while left.len() > some {
                left.swap_remove(random.below(left.len()));
            }
            for (nth, &at) in left.iter().enumerate() {
                let place = shown(&requests, model[stream][at].0).expect("one of the oldest is shown");
                requests.front.as_flattened_mut()[place] = null();
                requests.finished[nth] = place as c_int;
                assert_eq!(requests.stream(nth) as usize, stream);
                assert_eq!(requests.found(nth..nth + 1).next().map(|found| found.0), Some(place as u32));
                assert!(queues[stream].has(place as u32), "seed {seed}");
                assert_eq!(queues[stream].before(place as u32) as usize, at, "seed {seed}");
                model[stream][at].1 = true;
            }
            requests.under_way -= some;
            assert_eq!(queues[stream].complete_all(requests.places(0..some)), some);
            let reported = requests.report(&mut queues[stream]);
            let mut expected = 0;
            while model[stream].front().is_some_and(|&(_, complete)| complete) {
                model[stream].pop_front();
                expected += 1;
            }
            assert_eq!(reported, expected, "seed {seed}");
            let under_way = model.iter().flatten().filter(|(_, complete)| !complete);
            assert_eq!(requests.is_empty(), under_way.count() == 0);
            let mut known: Vec<usize> = requests.streams().map(|stream| stream as usize).collect();
            known.sort_unstable();
            assert_eq!(known, (0..streams).filter(|&s| !model[s].is_empty()).collect::<Vec<_>>());
        }
        // What a call that gives up finds: all of them, the oldest first.
        for (stream, left) in model.iter().enumerate() {
            let active = requests.take_all(&mut queues[stream]).into_iter().filter(|&request| request != null());
            let expected = left.iter().filter(|(_, complete)| !complete).map(|&(number, _)| request(number));
            assert!(active.eq(expected), "seed {seed}");
        }
    }
}
