//! The interpreter of random MPI programs: carries out every statement of its language, under a stock MPI and with
//! Nagare, and notices what is wrong.

use nagare_harness::{Job, Mpi, Outcome, Program, compile, root_directory, scratch_directory};
use std::fs;

const FILES: [&str; 6] = ["basics", "communicators", "messages", "threads", "types", "rarely"];

fn interpreter(mpi: Mpi) -> Program {
    compile(mpi, "tests/programs/fuzz.c")
}

fn cases(name: &str) -> String {
    root_directory().join("tests/programs/cases").join(format!("{name}.txt")).display().to_string()
}

/// The numbers of the cases that were right.
fn right(outcome: &Outcome) -> Vec<u32> {
    let lines = outcome.ended.stdout.lines().filter_map(|l| l.strip_prefix("ok "));
    lines.map(|number| number.parse().expect("a number")).collect()
}

#[test]
fn every_statement_is_carried_out() {
    let scratch = scratch_directory();
    let file = scratch.path().join("cases.txt");
    let text: String = FILES.iter().map(|name| fs::read_to_string(cases(name)).expect("cases")).collect();
    fs::write(&file, text).expect("a file of cases");
    let path = file.display().to_string();
    let all = [1, 2, 3, 11, 21, 22, 23, 24, 31, 32, 41, 42, 43, 51, 52, 53, 54, 55];
    for mpi in [Mpi::OpenMpi4, Mpi::Mpich4] {
        let program = interpreter(mpi);
        let outcome = Job::stock(&program, 3).arguments(&[&path]).run().verified("fuzz");
        assert_eq!(right(&outcome), all, "{}", outcome.ended.output());

        let outcome = Job::forced(&program, 3).arguments(&[&path, "avoid=none"]).run().verified("fuzz");
        assert_eq!(right(&outcome), all, "{}", outcome.ended.output());
        let report = outcome.report();
        report.assert_ran("grouped_two_tree", Some("xor"));
        report.assert_ran_blocks();
        assert!(report.ours("") > 100, "{report:?}");
        // Callbacks call on what is being freed; an operation on an F90 type is the library's.
        let reasons = ["being freed", "no data", "one rank", "operation does not commute", "type of operation"];
        assert_eq!(report.reasons(), reasons, "{report:?}");
    }
}

/// A byte that comes out wrong is noticed: of the data, of a guard, behind a result, in one rank's rounded sum, in a
/// message.
#[test]
fn what_is_wrong_is_noticed() {
    let program = interpreter(Mpi::OpenMpi4);
    for (file, case, corrupt, byte) in [
        ("basics", "1", "4", ""),
        ("basics", "1", "9", "byte=3"),
        ("basics", "1", "12", "byte=100000"),
        ("basics", "2", "5", ""),
        ("basics", "3", "3", ""),
        ("messages", "21", "2", ""),
        ("communicators", "11", "101", "byte=64"),
        ("rarely", "51", "2", ""),
        ("rarely", "54", "2", ""),
        ("rarely", "55", "1", ""),
    ] {
        let corrupt = format!("corrupt={corrupt}");
        let only = format!("only={case}");
        let mut words = vec![only.as_str(), corrupt.as_str(), "watchdog=300"];
        words.extend((!byte.is_empty()).then_some(byte));
        let path = cases(file);
        let outcome = Job::stock(&program, 3).arguments(&[&path]).arguments(&words).run();
        let line = outcome.ended.stderr.lines().find(|l| l.starts_with("FAIL fuzz: "));
        let line = line.unwrap_or_else(|| panic!("{words:?} went unnoticed\n{}", outcome.ended.output()));
        assert!(line.contains(&format!(" case={case} statement=")), "{line}");
        assert!(!outcome.ended.success() && !outcome.ended.stdout.contains("PASS"), "{}", outcome.ended.output());
    }
}

#[test]
fn a_file_that_makes_no_sense_is_refused_with_its_line() {
    let program = interpreter(Mpi::Mpich4);
    let scratch = scratch_directory();
    for (text, line, message) in [
        ("case 1\ncall 1 what=bcast items=five\nend\n", 2, "items=five: expected a number"),
        (
            "case 1\n\n# more\ncall 1 what=reduce kind=double op=bor\nend\n",
            4,
            "operation bor has no meaning for double",
        ),
        ("case 1\ncall 1 what=bcast items=7 send=vector\nend\n", 2, "no multiple of the 6 of vector"),
        ("case 1\ncall 1 what=bcast comm=1\nend\n", 2, "there is no communicator 1 here"),
        ("case 1 threads=2\ncall 1 what=bcast comm=1\nend\n", 2, "communicator 1 belongs to thread 1"),
        ("case 1\ncall 1 what=bcast start=1\nend\n", 3, "statement 1 is never finished"),
        ("case 1\nfinish 1\nend\n", 2, "statement 1 has not been started"),
        ("case 1\ncall 1 what=allreduce op=max data=rounding\nend\n", 2, "data=rounding is for sums"),
        ("case 1\ncomm 1 make=dup\nfree 1\nfree 1\nend\n", 4, "there is no communicator 1 here"),
        ("case 1\ncomm 1 make=cart dims=1\ncomm 2 of=1 make=sub keep=0\nend\n", 3, "keeps no dimension"),
        ("case 1\ncall 1 what=allgather items=4 receive=overlap\nend\n", 2, "overlap overlaps: it can be sent only"),
        ("case 1\ncall 1 what=alltoall items=4 send=shrunk receive=plain\nend\n", 2, "blocks of shrunk would overlap"),
        ("case 1\ncall 1 what=barrier last=1\nend\n", 2, "a last call needs a communicator"),
        ("case 1\ncall 1 what=alltoallv times=2\nend\n", 2, "shape=rare and times= are for an alltoallv alone"),
        ("case 1\ncall 1 what=bcast\n", 2, "case 1 has no end"),
        ("call 1 what=bcast\n", 1, "expected `case`"),
    ] {
        let file = scratch.path().join("cases.txt");
        fs::write(&file, text).expect("a file of cases");
        let outcome = Job::stock(&program, 1).arguments(&[&file.display().to_string()]).run();
        let start = format!("fuzz: {}:{line}: ", file.display());
        let said = outcome.ended.stderr.lines().any(|l| l.starts_with(&start) && l.contains(message));
        assert!(said && !outcome.ended.success(), "{text}\n{}", outcome.ended.output());
        assert!(!outcome.ended.stdout.contains("ok"), "{}", outcome.ended.output());
    }
}
