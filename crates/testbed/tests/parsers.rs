//! Host files and records of testbeds, whatever is in them.

use nagare_mutate::{Counting, assert_helpful, bytes, cases, checked, texts};
use nagare_testbed::hostfile::hosts_of_ranks;
use nagare_testbed::record::{name_from, read};
use proptest::prelude::*;
use std::fs;

#[global_allocator]
static MEMORY: Counting = Counting;

const HOSTFILES: &[&str] = &["# ranks\nn0\n\n n1:2 # two\nn0 slots=1\n", "n0:4\nn1:4\nn2 slots=16\n", "a.b.c\n"];
const RECORDS: &[&str] = &["{\"name\":\"tree8\",\"hosts\":8,\"switches\":3,\"congestion\":null,\"stays\":true,\
     \"maker\":{\"pid\":1,\"started\":7,\"boot\":\"a\"},\"holder\":{\"pid\":2,\"started\":9,\"boot\":\"a\"}}"];

proptest! {
    #![proptest_config(cases(10_000))]

    #[test]
    fn host_files(text in texts(HOSTFILES, &["slots=", ":2", "n0", "# "])) {
        checked(text.as_str(), |text| match hosts_of_ranks(text, "hosts") {
            Ok(hosts) => {
                assert!(hosts.len() <= 1 << 20 && hosts.iter().all(|host| !host.is_empty()));
                // One host a line is the same file.
                let again = || hosts_of_ranks(&hosts.join("\n"), "hosts").unwrap();
                assert!(hosts.iter().any(|host| host.contains(':')) || again() == hosts);
            }
            Err(error) => assert_helpful(&error.to_string()),
        });
    }

    #[test]
    fn names_of_testbeds(text in texts(HOSTFILES, &["..", "/", "lock"])) {
        let name = checked(text.as_str(), name_from);
        assert!((1..=64).contains(&name.len()) && !name.contains('/') && !name.starts_with('.'));
        assert_eq!(name_from(&name), name);
    }
}

proptest! {
    #![proptest_config(cases(1000))]

    #[test]
    fn records(bytes in bytes(RECORDS, &["\"tree8\"", "null", "{", "pid"])) {
        let directory = tempfile::tempdir().unwrap();
        let testbed = directory.path().join("tree8");
        fs::create_dir(&testbed).unwrap();
        fs::write(testbed.join("record.json"), &bytes).unwrap();
        let record = checked(&bytes, |_| read(&testbed));
        assert!(record.is_none_or(|record| record.name == "tree8"));
    }
}

#[test]
fn host_files_that_once_failed() {
    // A few bytes a line asked for a million names each.
    let text = "n0:1048576\n".repeat(100_000);
    let error = checked(&(), |()| hosts_of_ranks(&text, "hosts").unwrap_err().to_string());
    assert_eq!(error, "hosts:2: more than 1048576 ranks with this line; expected fewer");
    // So did a long name, as many times as it may come.
    let long = format!("{}:1048576", "n".repeat(5000));
    assert_helpful(&checked(long.as_str(), |text| hosts_of_ranks(text, "hosts").unwrap_err().to_string()));
    assert_helpful(
        &hosts_of_ranks(&format!("n0 \u{1b}[31m{}", "x".repeat(1 << 20)), "hosts\n").unwrap_err().to_string(),
    );
}
