//! What the first few calls cost, and what they may decide.

use super::*;

/// The slower the library, the less may pass until the others of ours have their turn.
#[test]
fn a_slow_library_hides_no_way() {
    for library in [160.0, 220.0, 500.0, 3000.0] {
        let mut trials = Trials::new(3);
        let first = (1..100).find(|_| {
            let step = trials.next_step();
            trials.note(took(([library, 100.0, 50.0][step.way] * 1e3) as u64));
            step.way == 2
        });
        assert!(first.is_some_and(|call| call <= 14), "{library}: {first:?}");
    }
}

/// What this round drops does not keep the others in trials.
#[test]
fn a_slow_way_does_not_prolong_the_trials_of_others() {
    for times in [[100.0, 105.0, 160.0], [200.0, 172.0, 300.0]] {
        let mut trials = Trials::new(3);
        let measured = (0..11).filter(|_| {
            let step = trials.next_step();
            trials.note(took((times[step.way] * 1e3) as u64));
            step.measured
        });
        assert_eq!(measured.count(), 5, "{times:?}");
    }
}

/// Where ours are hopeless, one call finds that out.
#[test]
fn hopeless_ways_cost_one_call() {
    assert_eq!(replay(4, 50, &[100.0, 450.0, 460.0, 470.0]), 49.0 * 100.0 + 450.0);
    // In a longer run they get a chance each, when the calls so far have earned it.
    let total = replay(4, 10_000, &[100.0, 450.0, 460.0, 470.0]);
    assert!(total < 10_000.0 * 100.0 * 1.005, "{total}");
}

/// Where the library is clearly slower, one call finds that out too.
#[test]
fn a_slow_library_costs_one_call() {
    assert_eq!(replay(2, 7, &[300.0, 100.0]), 6.0 * 100.0 + 300.0);
    assert_eq!(replay(3, 7, &[300.0, 100.0, 100.0]), 6.0 * 100.0 + 300.0);
    // The eighth is on it again.
    assert_eq!(replay(2, 20, &[300.0, 100.0]), 18.0 * 100.0 + 2.0 * 300.0);
    // Less clearly: two in the first round, one in the second.
    assert_eq!(replay(2, 20, &[140.0, 100.0]), 17.0 * 100.0 + 3.0 * 140.0);
}

/// What is predicted to take as long as the first of ours has a sample each before the trials end: the fastest of them
/// runs from the fifth call on, at the price of one call of the slower one.
#[test]
fn ways_that_are_predicted_alike_are_compared_at_once() {
    for (second, expected) in [(60.0, 300.0 + 100.0 + 3.0 * 60.0), (140.0, 300.0 + 140.0 + 3.0 * 100.0)] {
        let mut trials = Trials::new(4).with_alike(1);
        let times = [300.0, 100.0, second, 100.0];
        let mut total = 0.0;
        for _ in 0..5 {
            let step = trials.next_step();
            total += times[step.way];
            trials.note(took((times[step.way] * 1e3) as u64));
        }
        assert_eq!(total, expected, "{second}");
        // One that is not alike has waited, and is looked at at call 12 like the others.
        let looked: Vec<usize> = (0..12)
            .map(|_| {
                let step = trials.next_step();
                trials.note(took((times[step.way] * 1e3) as u64));
                step.way
            })
            .collect();
        assert!(looked.contains(&3), "{looked:?}");
    }
}

/// The library's first call opens connections, and ours looks faster than it is: fifty calls lose less than a tenth.
#[test]
fn an_unlucky_first_sample_of_the_library_does_little_harm() {
    for ours in [101.0, 110.0, 120.0, 130.0, 133.0] {
        let mut trials = Trials::new(2);
        let (mut total, mut calls) = (0.0, [0; 2]);
        for _ in 0..50 {
            let step = trials.next_step();
            let time = if step.way == 1 {
                ours
            } else if calls[0] == 0 {
                200.0
            } else {
                100.0
            };
            calls[step.way] += 1;
            total += time;
            if step.measured {
                trials.note(took((time * 1e3) as u64));
            }
        }
        assert_eq!(trials.settled(), Some(0), "{ours}");
        assert!(total < 50.0 * 100.0 * 1.1, "{ours}: {total}");
    }
}

/// The first call opens connections, and ours looks slower than it is, than the library or than another of ours.
#[test]
fn the_first_call_does_not_decide() {
    for times in [&[100.0, 85.0][..], &[100.0, 80.0, 90.0], &[200.0, 80.0, 90.0], &[200.0, 80.0, 90.0, 100.0]] {
        for cold in [98.0, 103.0, 150.0, 180.0] {
            let mut trials = Trials::new(times.len());
            let mut total = 0.0;
            for call in 0..50 {
                let step = trials.next_step();
                let time = if call == 0 { cold } else { times[step.way] };
                total += time;
                if step.measured {
                    trials.note(took((time * 1e3) as u64));
                }
            }
            assert_eq!(trials.settled(), Some(1), "{cold} before {times:?}");
            assert!(total <= 50.0 * 80.0 * 1.15, "{cold} before {times:?}: {total}");
        }
    }
}

/// Ways that take about the same are measured until the first of ours has its second sample, in one round.
#[test]
fn what_is_alike_is_settled_soon() {
    for (times, most) in [(&[100.0, 102.0][..], 4), (&[100.0, 102.0, 101.0], 5), (&[100.0, 115.0, 110.0], 5)] {
        let mut trials = Trials::new(times.len());
        let mut measured = 0;
        for _ in 0..40 {
            let step = trials.next_step();
            if step.measured && trials.settled().is_none() {
                measured += 1;
            }
            if step.measured {
                trials.note(took((times[step.way] * 1e3) as u64));
            }
        }
        assert_eq!((measured, trials.settled()), (most, Some(0)), "{times:?}");
    }
}
