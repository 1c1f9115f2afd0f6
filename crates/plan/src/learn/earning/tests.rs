use super::*;

/// A call takes so many nanoseconds.
fn ran(earning: &mut Earning, nanoseconds: u64) {
    if earning.is_timed() {
        earning.add(nanoseconds);
    }
}

/// What the ranks find out before a call, all of which took what this one did, where asking takes so long.
fn asked(earning: &mut Earning, asking: Duration) -> Verdict {
    loop {
        let times = earning.times();
        match earning.judge(asking, times) {
            Verdict::Again => {}
            verdict => return verdict,
        }
    }
}

/// How many calls of so many nanoseconds run on the library, and how often ranks ask each other meanwhile, which
/// takes so many. They were predicted to be half as long.
fn until_earned(nanoseconds: u64, asking: u64) -> (u64, u32) {
    let mut earning = Earning::new(Some(nanoseconds as f64 / 2.0), false);
    let (mut calls, mut asked) = (0, 0);
    loop {
        if earning.next_call() {
            let mut ask = || {
                asked += 1;
                let times = earning.times();
                earning.judge(Duration::from_nanos(asking), times)
            };
            let mut verdict = ask();
            while verdict == Verdict::Again {
                verdict = ask();
            }
            if verdict == Verdict::Enough {
                return (calls, asked);
            }
        }
        ran(&mut earning, nanoseconds);
        calls += 1;
    }
}

#[test]
fn long_calls_earn_it_soon_and_short_ones_late() {
    assert_eq!(until_earned(100_000_000, 1_000_000), (1, 2));
    assert_eq!(until_earned(8_000_000, 10_000), (2, 2));
    assert_eq!(until_earned(2_000_000, 10_000), (8, 2));
    assert_eq!(until_earned(100_000, 10_000), (150, 2));
    // Asked before call 61, when 56 have been counted: every eighth is timed.
    assert_eq!(until_earned(5_000, 10_000), (3215, 2));
}

/// Fifty processes on two processors, say.
#[test]
fn where_asking_is_dear_trials_wait() {
    assert_eq!(until_earned(3_000_000, 1_000_000), (132, 7));
    assert_eq!(until_earned(15_000_000, 1_000_000), (1, 2));
}

/// What is predicted to be short is not asked about while it cannot have taken long.
#[test]
fn short_calls_are_not_disturbed() {
    let mut earning = Earning::new(Some(5_000.0), true);
    assert_eq!((0..100).filter(|_| earning.next_call()).count(), 0);
    assert!(earning.next_call());
    // Of what nothing is predicted one learns soon.
    let mut earning = Earning::new(None, true);
    assert!(!earning.next_call() && earning.next_call());
}

/// Whenever trials begin, together with asking they take at most a seventh of the time of the calls before them,
/// or a twentieth of a series of fifty.
#[test]
fn what_trials_cost_is_a_small_part() {
    for nanoseconds in [30_000, 400_000, 5_000_000, 60_000_000, 700_000_000] {
        for asking in [1_000, 20_000, 300_000, 4_000_000] {
            let (calls, asked) = until_earned(nanoseconds, asking);
            let cost = (20 + u64::from(asked)) * asking;
            let spent = calls * nanoseconds;
            assert!(cost <= spent / 7 || cost <= 50 * nanoseconds / 20, "{nanoseconds} {asking}: {calls}");
        }
    }
}

/// A rank that waits for nobody, as the root of a broadcast, goes by what others tell.
#[test]
fn the_longest_times_decide() {
    let mut root = Earning::new(Some(1e6), false);
    root.next_call();
    assert!(root.next_call());
    assert_eq!(root.times(), [0, 0, 0]);
    assert_eq!(root.judge(Duration::from_micros(3), [6_000_000, 0, 0]), Verdict::Later);
    // Two and a half times as many calls take 15 ms.
    assert!(!root.next_call() && root.next_call());
    assert_eq!(root.times(), [0, 3_000, 0]);
    assert_eq!(root.judge(Duration::from_micros(3), [30_000_000, 40_000, 24_000_000]), Verdict::Enough);
}

/// Who came first to the first call has waited there; it does not take that for what asking costs.
#[test]
fn late_ranks_do_not_make_asking_dear() {
    let mut early = Earning::new(None, false);
    assert!(!early.next_call() && early.next_call());
    assert_eq!(early.judge(Duration::from_millis(900), [80_000_000, 0, 0]), Verdict::Again);
    assert_eq!(early.times(), [0, 900_000_000, 0]);
    assert_eq!(early.judge(Duration::from_micros(30), [80_000_000, 900_000_000, 0]), Verdict::Again);
    assert_eq!(early.times(), [0, 30_000, 0]);
    assert_eq!(early.judge(Duration::from_micros(30), [80_000_000, 40_000, 0]), Verdict::Enough);
    // Where it is dear indeed, they do not go on asking.
    let mut dear = Earning::new(None, false);
    assert!(!dear.next_call() && dear.next_call());
    let verdicts =
        [0, 900_000_000, 900_000_000].map(|asking| dear.judge(Duration::from_millis(900), [80_000_000, asking, 0]));
    assert_eq!(verdicts, [Verdict::Again, Verdict::Again, Verdict::Later]);
    // Where it was not quite cheap enough while connections were opened, once more.
    let mut opening = Earning::new(None, false);
    assert!(!opening.next_call() && opening.next_call());
    let verdicts = [0, 90_000_000, 15_000_000, 2_000_000]
        .map(|asking| opening.judge(Duration::from_millis(2), [80_000_000, asking, 0]));
    assert_eq!(verdicts, [Verdict::Again, Verdict::Again, Verdict::Again, Verdict::Enough]);
}

#[test]
fn of_short_calls_some_are_timed_and_stand_for_all() {
    for (nanoseconds, least_timed) in [(1_000, 100), (300_000, 792)] {
        let mut earning = Earning::new(Some(1.0), true);
        let (mut calls, mut timed) = (0, 0);
        while calls < 792 {
            earning.next_call();
            calls += 1;
            if earning.is_timed() {
                // One in which the rank waited.
                earning.add(if timed == 50 { 500_000 } else { nanoseconds });
                timed += 1;
            }
        }
        let expected = 791 * nanoseconds + 500_000;
        assert!(earning.times()[0].abs_diff(expected) <= 8 * nanoseconds, "{:?}", earning.times());
        assert!((least_timed..least_timed + 10).contains(&timed), "{timed}");
    }
}

/// As programs do that begin with short messages.
#[test]
fn what_begins_short_is_asked_about_again() {
    let mut earning = Earning::new(None, false);
    let asked = (0..5000u64).filter(|_| {
        let is_asked = earning.next_call();
        if is_asked {
            let times = earning.times();
            assert_eq!(earning.judge(Duration::from_micros(2), times), Verdict::Later);
        }
        ran(&mut earning, 1_000);
        is_asked
    });
    assert_eq!(asked.collect::<Vec<_>>(), [1, 64, 164, 328, 656, 1312, 2624]);
}

#[test]
fn ranks_ask_before_the_same_calls_whatever_they_measured() {
    let (mut one, mut other) = (Earning::new(Some(1e5), false), Earning::new(Some(1e5), false));
    for call in 0..5000 {
        // Also where one looks first whether it is such a call.
        let is_asked = !one.next_unasked() && one.next_call();
        assert_eq!(is_asked, other.next_call());
        if is_asked {
            let longest = std::array::from_fn(|which| one.times()[which].max(other.times()[which]));
            let verdict = one.judge(Duration::from_micros(7), longest);
            assert_eq!(verdict, other.judge(Duration::from_micros(1), longest));
            assert_eq!(verdict, Verdict::Later);
        }
        ran(&mut one, call);
        ran(&mut other, 1);
    }
}

/// What is only worth trying where the library is slow is tried once it is: what the first call takes, which may open
/// connections, does not count.
#[test]
fn where_a_trial_is_worth_it_only_beside_a_slow_library_ranks_ask_whether_it_is() {
    let until_earned = |times: fn(u64) -> u64| {
        let mut earning = Earning::new(Some(40e6), false).worth_from(Some(50e6));
        let mut asked = Vec::new();
        for call in 1..=200 {
            if earning.next_call() {
                let mut verdict = Verdict::Again;
                while verdict == Verdict::Again {
                    let times = earning.times();
                    verdict = earning.judge(Duration::from_micros(100), times);
                }
                asked.push(call);
                if verdict == Verdict::Enough {
                    return (Some(call), asked);
                }
            }
            ran(&mut earning, times(call));
        }
        (None, asked)
    };
    assert_eq!(until_earned(|_| 40_000_000), (None, vec![3, 6, 18, 66]));
    assert_eq!(until_earned(|call| if call == 1 { 400_000_000 } else { 40_000_000 }).0, None);
    assert_eq!(until_earned(|_| 240_000_000), (Some(3), vec![3]));
    assert_eq!(until_earned(|call| if call < 4 { 40_000_000 } else { 240_000_000 }), (Some(6), vec![3, 6]));
    // It may be slow seldom: one time-out in twenty calls is not worth a trial.
    assert_eq!(until_earned(|call| if call % 20 == 0 { 240_000_000 } else { 38_000_000 }).0, None);
}

/// Of calls of the library of these nanoseconds, the number of those that run before ours is believed to be far faster:
/// the library is predicted to take 5 ms, ours 3. Asking takes so many nanoseconds.
fn until_believed(library: &[u64], asking: u64) -> Option<usize> {
    let mut earning = Earning::new(Some(3e6), false).believed_between(Some([5e6, 10e6]));
    for (call, &nanoseconds) in library.iter().enumerate() {
        if earning.next_call() {
            let verdict = asked(&mut earning, Duration::from_nanos(asking));
            if verdict == Verdict::Enough || earning.is_believed() {
                return earning.is_believed().then_some(call);
            }
        }
        ran(&mut earning, nanoseconds);
    }
    None
}

#[test]
fn what_is_predicted_is_believed_where_the_library_takes_as_long_as_predicted() {
    let dear = 6_000_000;
    assert_eq!(until_believed(&[6_000_000; 20], dear), Some(1));
    // The first call opens connections, so that later ones tell.
    for (first, believed) in [(14_000_000, 2), (40_000_000, 2)] {
        let calls = [vec![first], vec![6_000_000; 20]].concat();
        assert_eq!(until_believed(&calls, dear), Some(believed), "{first}");
    }
    // Not where asking once more would be a large part of fifty calls.
    let opening = [vec![200_000_000], vec![6_000_000; 20]].concat();
    assert_eq!(until_believed(&opening, 30_000_000), Some(9));
    // Too many ranks for the processors: nothing is as predicted.
    assert_eq!(until_believed(&[20_000_000; 20], dear), None);
    assert_eq!(until_believed(&[vec![90_000_000], vec![20_000_000; 20]].concat(), dear), None);
    // The library is as fast as ours is predicted to be.
    assert_eq!(until_believed(&[3_500_000; 20], dear), None);
}

/// The library takes 0.2 ms as predicted, what is believed to be twice as fast waits for a time-out in every call: two
/// of them are seen.
#[test]
fn what_is_believed_and_slow_earns_trials_soon() {
    let mut earning = Earning::new(Some(0.1e6), false).believed_between(Some([0.15e6, 0.4e6]));
    let mut ours = 0;
    for _ in 0..100 {
        if earning.next_call() {
            let verdict = asked(&mut earning, Duration::from_micros(50));
            if verdict == Verdict::Enough {
                break;
            }
        }
        ours += u32::from(earning.is_believed());
        let nanoseconds = if earning.is_believed() { 200_000_000 } else { 200_000 };
        ran(&mut earning, nanoseconds);
    }
    assert_eq!(ours, 2);
}

/// A Reduce of MPICH 5 among twenty ranks on two processors takes 28 ms once or twice, and then a second. Ranks that
/// asked while trials seemed dear notice soon.
#[test]
fn calls_that_become_far_slower_earn_trials_soon() {
    let mut earning = Earning::new(Some(1e6), false);
    let mut earned = 0;
    while earned == 0 {
        if earning.next_call() {
            let verdict = asked(&mut earning, Duration::from_micros(4000));
            if verdict == Verdict::Enough {
                earned = earning.calls;
            }
        }
        let nanoseconds = if earning.calls <= 2 { 28_000_000 } else { 1_160_000_000 };
        ran(&mut earning, nanoseconds);
    }
    assert_eq!(earned, 10);
}

/// Between sites whose messages take milliseconds ranks ask once in fifty calls that are much shorter than twenty
/// questions.
#[test]
fn where_asking_is_predicted_to_be_dear_ranks_do_not_ask_what_it_takes() {
    let asked = |predicted| {
        let mut earning = Earning::new(Some(4e6), false).asked_in(predicted);
        let mut asked = Vec::new();
        for call in 1..=100 {
            if earning.next_call() {
                asked.push(call);
                let times = earning.times();
                assert_eq!(earning.judge(Duration::from_millis(5), times), Verdict::Later);
            }
            ran(&mut earning, if call == 1 { 8_000_000 } else { 4_000_000 });
        }
        asked
    };
    assert_eq!(asked(Some(4e6)), [2, 65]);
    assert_eq!(asked(None), [2, 3, 45]);
}

/// The rank that was the slowest in the first call, as the root that opened connections, is not the slowest later.
#[test]
fn belief_goes_by_what_later_calls_took_the_slowest_of_them() {
    let ranks = [[14_000_000, 100_000], [4_000_000, 20_000_000]];
    let mut all = ranks.map(|_| Earning::new(Some(3e6), false).believed_between(Some([5e6, 10e6])));
    for call in 0..20 {
        let are_asked = all.each_mut().map(Earning::next_call);
        assert_eq!(are_asked[0], are_asked[1]);
        if are_asked[0] {
            let [one, other] = all.each_ref().map(Earning::times);
            let longest = std::array::from_fn(|which| one[which].max(other[which]));
            all.iter_mut().for_each(|earning| {
                earning.judge(Duration::from_millis(5), longest);
            });
        }
        for (earning, times) in all.iter_mut().zip(ranks) {
            ran(earning, times[call.min(1)]);
        }
    }
    assert_eq!(all.each_ref().map(Earning::is_believed), [false; 2]);
}
