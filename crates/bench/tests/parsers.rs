//! The program's command line, its results and the kernel's counters, whatever is in them.

use nagare_bench::arguments::Arguments;
use nagare_bench::load::{Ticks, own_ticks};
use nagare_bench::record::{Results, read_lines};
use nagare_mutate::{Counting, cases, checked, texts};
use proptest::prelude::*;

#[global_allocator]
static MEMORY: Counting = Counting;

const LINES: &[&str] =
    &["{\"line\":\"job\",\"nagare\":\"0.1.0\",\"mpi\":\"Open MPI v4.1.4\",\"hosts\":[\"n0\",\"n1\"],\"root\":0}\n\
     {\"line\":\"goodput\",\"test\":\"pair\",\"flows\":[[0,1]],\"bytes\":1048576,\"seconds\":0.1}\n\
     {\"line\":\"message\",\"test\":\"latency\",\"flows\":[[0,1]],\"bytes\":8,\"microseconds\":90.5}\n\
     {\"line\":\"others\",\"processors\":0.1}\n\
     {\"line\":\"cell\",\"collective\":\"bcast\",\"bytes\":8,\"block\":8,\
     \"timings\":[{\"configuration\":\"stock\",\"ran\":\"stock\",\
     \"iterations\":3,\"median\":1.0,\"quartile1\":1.0,\"quartile3\":1.0,\"fastest\":1.0}]}\n{\"line\":\"end\"}\n"];
const RESULTS: &[&str] =
    &["{\"schema\":1,\"name\":\"a\",\"fabric\":\"tree8\",\"map\":\"slot\",\"command\":\"nagare\",\"machine\":\"m\",\
     \"complete\":true,\
     \"job\":{\"nagare\":null,\"mpi\":\"x\",\"hosts\":[]},\"goodput\":[],\"cells\":[]}"];
const STATS: &[&str] = &[
    "cpu  1728407 200 1231012 1371712 2700 0 275768 1638 7 0\ncpu0 845660 83 617043 697693 655 0 140743 826 0 0\nintr \
     12 cpu\n",
    "27950 (a ) R b) R 27900 27900 17157 0 -1 4194304 101 0 0 0 4711 12 0 0 20 0 1 0 2320316",
];
const COMMANDS: &[&str] = &[
    "o.jsonl --sizes 8,64K --collectives reduce,gather --budget 0.5 --oracle-budget 3 --algorithms stock,two_tree \
     --root 3",
    "o.jsonl",
];

proptest! {
    #![proptest_config(cases(5000))]

    #[test]
    fn lines_of_results(text in texts(LINES, &["null", "{}", "[", "\"line\":"])) {
        checked(text.as_str(), |text| match read_lines(text) {
            Ok(lines) => assert!(lines.len() <= text.lines().count()),
            Err(line) => assert!((1..=text.split_inclusive('\n').count()).contains(&line), "{line}"),
        });
    }

    #[test]
    fn results(text in texts(RESULTS, &["null", "{}", "["])) {
        checked(text.as_str(), |text| {
            let Ok(results) = serde_json::from_str::<Results>(text) else { return };
            let again = results.to_lines().expect("what was read");
            assert_eq!(serde_json::from_str::<Results>(&again).ok(), Some(results));
        });
    }

    #[test]
    fn counters_of_the_kernel(
        before in texts(STATS, &["cpu ", "cpu7", ") "]),
        after in texts(STATS, &["cpu ", "cpu7", ") "]),
    ) {
        checked(&(before, after), |(before, after)| {
            let own = own_ticks(after).unwrap_or(0);
            if let Some((before, after)) = Ticks::of_machine(before).zip(Ticks::of_machine(after)) {
                assert!(after.others(before, own).is_none_or(|others| others.is_finite() && others >= 0.0));
            }
        });
    }

    #[test]
    fn command_lines(line in texts(COMMANDS, &["--sizes", "--budget", " ", "nan", "--root"])) {
        checked(line.as_str(), |line| match Arguments::parse(line.split(' ').map(str::to_owned)) {
            Ok(arguments) => {
                assert!(!arguments.out.is_empty());
                assert!(arguments.sizes.iter().all(|bytes| (4..=1 << 30).contains(bytes)));
            }
            Err(message) => assert!(!message.is_empty()),
        });
    }
}
