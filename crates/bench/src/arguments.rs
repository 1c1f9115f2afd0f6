//! The program's command line, also checked by `nagare bench` before anything is started.

use crate::operation::Operation;
use crate::record::{DEFAULT, Numbers, STOCK};
use nagare_plan::algorithm::{ALGORITHMS, Algorithm};
use nagare_plan::choice::parse_bytes;
use std::time::Duration;

const USAGE: &str = "usage: nagare-bench OUT.jsonl [--sizes BYTES,…] [--collectives NAME,…] \
                     [--algorithms NAME,…] [--root RANK] [--numbers int|float] [--budget SECONDS] \
                     [--oracle-budget SECONDS] [--series CALLS] [--back-to-back CALLS] [--race SECONDS]";

/// What can be said.
#[derive(Debug, Clone, PartialEq)]
pub struct Arguments {
    /// File for the results.
    pub out: String,
    /// Bytes of a rank's vector; where there are blocks, of all together.
    pub sizes: Vec<u64>,
    /// Collectives in order.
    pub collectives: Vec<Operation>,
    /// Configurations by name, in any order; `None`: all.
    pub algorithms: Option<Vec<String>>,
    /// Root of the collectives that have one.
    pub root: u32,
    /// What elements are.
    pub numbers: Numbers,
    /// Time for one collective and size, all configurations together.
    pub budget: Duration,
    /// Time for trying everything the library can be told, for one collective and size; `None`: it is told nothing.
    pub oracle: Option<Duration>,
    /// Calls in a row on a new communicator whose mean is one iteration; 1 without series.
    pub series: u32,
    /// Calls after each of which, but the last, ranks go on to the next without waiting for one another; 1: they wait.
    pub back_to_back: u32,
    /// Time for all cells together, in which configurations that fall behind are measured no further.
    pub race: Option<Duration>,
}

impl Arguments {
    /// Reads the words after the program's name.
    ///
    /// # Errors
    /// One line about the first that is wrong.
    pub fn parse(words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut arguments = Self {
            out: String::new(),
            sizes: (3..=22).map(|shift| 1 << shift).collect(),
            collectives: Operation::usual().collect(),
            algorithms: None,
            root: 0,
            numbers: Numbers::Int,
            budget: Duration::from_secs(10),
            oracle: None,
            series: 1,
            back_to_back: 1,
            race: None,
        };
        let mut words = words;
        while let Some(word) = words.next() {
            if !word.starts_with('-') && arguments.out.is_empty() {
                arguments.out = word;
                continue;
            }
            let value = words.next().ok_or_else(|| format!("'{word}': {USAGE}"))?;
            let wrong = |part: &str, expected: &str| format!("{word} {value}: '{part}' is not {expected}");
            match word.as_str() {
                "--sizes" => {
                    let size = |part: &str| {
                        let fits = |bytes: &u64| (4..=1 << 30).contains(bytes) && bytes.is_multiple_of(4);
                        parse_bytes(part).filter(fits).ok_or_else(|| wrong(part, "a multiple of 4 from 4 to 1G"))
                    };
                    // Then the network alone is measured.
                    let sizes = value.split(',').filter(|_| value != "none");
                    arguments.sizes = sizes.map(size).collect::<Result<_, _>>()?;
                }
                "--collectives" => {
                    let named = |part: &str| {
                        Operation::from_name(part)
                            .ok_or_else(|| wrong(part, &Operation::ALL.map(Operation::name).join(", ")))
                    };
                    arguments.collectives = value.split(',').map(named).collect::<Result<_, _>>()?;
                }
                "--algorithms" => {
                    let known: Vec<&str> =
                        [STOCK, DEFAULT].into_iter().chain(ALGORITHMS.iter().map(|s| s.name)).collect();
                    let named = |part: &str| {
                        known.contains(&part).then(|| part.to_owned()).ok_or_else(|| wrong(part, &known.join(", ")))
                    };
                    arguments.algorithms = Some(value.split(',').map(named).collect::<Result<_, _>>()?);
                }
                "--root" => {
                    arguments.root = value.parse().map_err(|_| wrong(&value, "the number of a rank"))?;
                }
                "--numbers" => {
                    let named = [Numbers::Int, Numbers::Float].into_iter().find(|numbers| numbers.name() == value);
                    arguments.numbers = named.ok_or_else(|| wrong(&value, "int or float"))?;
                }
                "--budget" => {
                    arguments.budget = seconds(&value).ok_or_else(|| wrong(&value, "a number of seconds"))?;
                }
                "--oracle-budget" => {
                    let budget = seconds(&value).ok_or_else(|| wrong(&value, "a number of seconds"))?;
                    arguments.oracle = Some(budget);
                }
                "--race" => {
                    let total = seconds(&value).ok_or_else(|| wrong(&value, "a number of seconds"))?;
                    arguments.race = Some(total);
                }
                "--series" | "--back-to-back" => {
                    let calls = value.parse().ok().filter(|calls| (1..=100_000).contains(calls));
                    let calls = calls.ok_or_else(|| wrong(&value, "a number of calls from 1 to 100000"))?;
                    let field = if word == "--series" { &mut arguments.series } else { &mut arguments.back_to_back };
                    *field = calls;
                }
                _ => return Err(format!("'{word}': {USAGE}")),
            }
        }
        if arguments.out.is_empty() {
            return Err(USAGE.to_owned());
        }
        if arguments.series > 1 && arguments.oracle.is_some() {
            return Err("--series and --oracle-budget: what the library is told holds for one call; expected one of \
                        the two"
                .to_owned());
        }
        let several = arguments.series.max(arguments.back_to_back) > 1;
        if arguments.race.is_some() && (several || arguments.oracle.is_some()) {
            return Err(
                "--race is for single calls; expected neither --series, --back-to-back nor --oracle-budget".to_owned()
            );
        }
        if arguments.back_to_back > 1 && arguments.oracle.is_some() {
            return Err(
                "--back-to-back and --oracle-budget: the library's settings are tried in single calls; expected \
                        one of the two"
                    .to_owned(),
            );
        }
        if arguments.series > 1 && !arguments.series.is_multiple_of(arguments.back_to_back) {
            return Err(format!(
                "--series {} --back-to-back {}: expected a series of a whole number of such rows",
                arguments.series, arguments.back_to_back
            ));
        }
        // Numbers of elements are MPI's int, and rank 0 has ten times as many.
        let most = 512 << 20;
        let skewed = [Operation::AlltoallvSkewed, Operation::AlltoallwSkewed];
        if let Some(named) = skewed.iter().find(|operation| arguments.collectives.contains(operation))
            && arguments.sizes.iter().any(|&bytes| bytes > most)
        {
            return Err(format!("--sizes: {named} takes at most 512M"));
        }
        match arguments.misfit() {
            Some(misfit) => Err(misfit),
            None => Ok(arguments),
        }
    }

    /// The first algorithm that is named and implements none of the collectives.
    fn misfit(&self) -> Option<String> {
        let (name, unable, _) = self.named().find(|(_, _, able)| able.is_empty())?;
        Some(format!("--algorithms: {name} implements none of {}; {}", list(&unable), implemented(name)))
    }

    /// One line for every algorithm that is named and implements only a part of the collectives.
    pub fn gaps(&self) -> Vec<String> {
        let some = self.named().filter(|(_, unable, _)| !unable.is_empty());
        some.map(|(name, unable, _)| format!("{name} is not measured with {}; {}", list(&unable), implemented(name)))
            .collect()
    }

    /// The algorithms of ours that are named, each with the collectives to be measured that it does not implement, and
    /// those that it does.
    fn named(&self) -> impl Iterator<Item = (&str, Vec<Operation>, Vec<Operation>)> {
        self.algorithms.iter().flatten().filter_map(|name| {
            let algorithm = Algorithm::from_name(name)?;
            let able = |operation: &Operation| operation.planned().is_some_and(|c| algorithm.implements(c));
            let (able, unable) = self.collectives.iter().partition(|&operation| able(operation));
            Some((name.as_str(), unable, able))
        })
    }
}

/// Names with commas.
fn list(operations: &[Operation]) -> String {
    operations.iter().map(|operation| operation.name()).collect::<Vec<_>>().join(", ")
}

/// What an algorithm is for, in words.
fn implemented(name: &str) -> String {
    let collectives = Algorithm::from_name(name).map(|algorithm| algorithm.spec().collectives).unwrap_or_default();
    format!("it implements {}", collectives.iter().map(|collective| collective.name()).collect::<Vec<_>>().join(", "))
}

fn seconds(text: &str) -> Option<Duration> {
    text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Arguments, String> {
        Arguments::parse(line.split(' ').map(str::to_owned))
    }

    #[test]
    fn sizes_collectives_and_budget() {
        let all = parse("o.jsonl").unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((all.sizes.first(), all.sizes.last(), all.sizes.len()), (Some(&8), Some(&(4 << 20)), 20));
        let some = parse(
            "o.jsonl --sizes 8,64K --collectives reduce,gather --budget 0.5 --oracle-budget 3 --algorithms \
             stock,two_tree --root 3",
        );
        let series = parse("o.jsonl --series 50").unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((series.series, all.series), (50, 1));
        let row = parse("o.jsonl --back-to-back 4 --series 8").unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((row.series, row.back_to_back, series.back_to_back), (8, 4, 1));
        let race = parse("o.jsonl --race 90 --sizes none").unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((race.race, race.sizes.len()), (Some(Duration::from_secs(90)), 0));
        let some = some.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(some.sizes, [8, 65536]);
        assert_eq!(some.collectives, [Operation::Reduce, Operation::Gather]);
        assert_eq!(some.budget, Duration::from_millis(500));
        assert_eq!(some.algorithms, Some(vec!["stock".to_owned(), "two_tree".to_owned()]));
        assert_eq!((all.algorithms, some.root, all.root), (None, 3, 0));
        assert!(all.collectives.contains(&Operation::Alltoallv));
        for variant in [Operation::AlltoallvSparse, Operation::AlltoallvSkewed, Operation::AlltoallwSkewed] {
            assert!(!all.collectives.contains(&variant), "{variant}");
        }
        assert_eq!((some.oracle, all.oracle), (Some(Duration::from_secs(3)), None));
    }

    #[test]
    fn algorithms_that_fit_no_collective_are_mistakes_and_some_are_told() {
        let message = |line: &str| parse(line).err().unwrap_or_default();
        assert_eq!(
            message("o --algorithms stock,xor --collectives bcast,gather"),
            "--algorithms: xor implements none of bcast, gather; it implements alltoall, alltoallv, alltoallw"
        );
        // Whatever the order of the words.
        assert!(message("o --collectives gather --algorithms two_tree").contains("two_tree implements none of gather"));
        let gaps = |line: &str| parse(line).map(|arguments| arguments.gaps());
        let expected = "xor is not measured with bcast; it implements alltoall, alltoallv, alltoallw".to_owned();
        assert_eq!(
            gaps("o --collectives bcast,alltoall --algorithms xor,two_level_ring,stock,default").map(|g| g.len()),
            Ok(2)
        );
        assert_eq!(gaps("o --collectives bcast,alltoallv_sparse --algorithms xor,stock"), Ok(vec![expected]));
        let several = "o --collectives allreduce --algorithms stock,default,halving_doubling,ring,gateway_two_tree";
        assert_eq!(gaps(several), Ok(Vec::new()));
        assert_eq!(gaps("o"), Ok(Vec::new()));
    }

    #[test]
    fn mistakes_are_named() {
        for (line, part) in [
            ("o --sizes 8,6", "'6'"),
            ("o --sizes 64Q", "'64Q'"),
            ("o --sizes 4K,1G --collectives alltoallv_skewed", "alltoallv_skewed takes at most 512M"),
            ("o --sizes 4K,1G --collectives bcast,alltoallw_skewed", "alltoallw_skewed takes at most 512M"),
            ("o --collectives scan", "'scan'"),
            ("o --algorithms ring,circle", "'circle' is not stock, default, two_tree"),
            ("o --root first", "'first'"),
            ("o --budget -1", "'-1'"),
            ("o --series 0", "'0' is not a number of calls"),
            ("o --series 50 --oracle-budget 3", "expected one of the two"),
            ("o --race 10 --series 50", "expected neither --series, --back-to-back nor"),
            ("o --race 10 --back-to-back 4", "expected neither --series, --back-to-back nor"),
            ("o --back-to-back 0", "'0' is not a number of calls"),
            ("o --back-to-back 4 --oracle-budget 3", "expected one of the two"),
            ("o --back-to-back 4 --series 50", "expected a series of a whole number of such rows"),
            ("o --race ten", "'ten' is not a number of seconds"),
            ("o --speed 3", "'--speed'"),
            ("o --sizes", "'--sizes'"),
            ("--sizes 8", "usage"),
        ] {
            let message = parse(line).err().unwrap_or_default();
            assert!(message.contains(part), "{line}: {message}");
        }
    }
}
