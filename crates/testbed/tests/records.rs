//! What is up, and what a crash leaves.

use nagare_plan::fabric::{Fabric, shipped};
use nagare_testbed::error::Error;
use nagare_testbed::record::{Given, Process, Record, Records, name_from, write};
use std::process::{Command, Stdio};

fn record(name: &str, maker: Process, holder: Option<Process>) -> Record {
    Record { name: name.to_owned(), hosts: 8, switches: 3, given: Given::default(), stays: true, maker, holder }
}

fn me() -> Process {
    Process::of(std::process::id() as i32).unwrap()
}

/// A process that has ended.
fn ended() -> Process {
    Process { started: me().started.wrapping_sub(1), ..me() }
}

#[test]
fn a_testbed_that_is_up_or_being_made_is_not_made_again_and_the_rest_of_a_crash_is() {
    let directory = tempfile::tempdir().unwrap();
    let records = Records::in_directory(directory.path().join("records")).unwrap();
    let fabric = Fabric::from_toml(shipped("tree8").unwrap(), "tree8").unwrap();
    let new = record("tree8", me(), None);
    let path = records.create(&new, &fabric).unwrap();
    assert!(matches!(records.create(&new, &fabric), Err(Error::Busy(_))));
    write(&path, &record("tree8", ended(), Some(me()))).unwrap();
    assert!(matches!(records.create(&new, &fabric), Err(Error::AlreadyUp(_))));
    write(&path, &record("tree8", ended(), Some(ended()))).unwrap();
    assert_eq!(records.all().unwrap(), [record("tree8", ended(), Some(ended()))]);
    records.create(&new, &fabric).unwrap();
    assert_eq!(records.find("tree8"), Some(new.clone()));
    // Another process's testbed of that name stays.
    records.forget(&record("tree8", ended(), None)).unwrap();
    assert_eq!(records.find("tree8"), Some(new.clone()));
    records.forget(&new).unwrap();
    assert_eq!(records.all().unwrap(), []);
    assert!(!path.exists());
}

#[test]
fn a_process_is_told_from_a_later_one_of_its_number() {
    let mut child = Command::new("sleep").arg("100").stdin(Stdio::null()).spawn().unwrap();
    let process = Process::of(child.id() as i32).unwrap();
    assert!(process.is_alive() && !ended().is_alive());
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!process.is_alive());
}

#[test]
fn names_are_those_of_directories() {
    assert_eq!(name_from("my fabric/1"), "my-fabric-1");
    assert_eq!(name_from("..").as_str(), "fabric");
    assert_eq!(name_from("lock"), "fabric");
    let directory = tempfile::tempdir().unwrap();
    let records = Records::in_directory(directory.path().to_owned()).unwrap();
    assert_eq!(records.find("../x"), None);
}
