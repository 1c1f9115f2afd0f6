//! Options for launchers, and the files that place ranks.

use nagare_testbed::launch::{Job, Kind, Launch, launch};
use std::path::Path;

fn of(kind: Kind, hosts: &[&str]) -> Launch {
    let hosts: Vec<String> = hosts.iter().map(|&host| host.to_owned()).collect();
    let [agent, temporary, hostfile] = ["/t/agent", "/t/tmp", "/t/hosts"].map(Path::new);
    launch(kind, &Job { agent, temporary, hosts: &hosts, hostfile })
}

#[test]
fn every_launcher_uses_the_agent_and_the_file() {
    for (kind, agent) in [
        (Kind::OpenMpi4, "--mca plm_rsh_agent /t/agent"),
        (Kind::OpenMpi5, "--prtemca plm_ssh_agent /t/agent"),
        (Kind::Hydra, "-launcher-exec /t/agent"),
    ] {
        let line = of(kind, &["n0", "n1", "n1"]).options.join(" ");
        assert!(
            line.contains(agent) && line.contains(" /t/hosts ") && line.contains("n 3") | line.contains("np 3"),
            "{line}"
        );
    }
}

#[test]
fn ranks_that_return_to_a_host_keep_their_order() {
    let hosts = ["n0", "n0", "n3", "n0"];
    assert_eq!(of(Kind::OpenMpi4, &hosts).hostfile, "n0\nn0\nn3\nn0\n");
    assert_eq!(of(Kind::OpenMpi5, &hosts).hostfile, "n0\nn0\nn3\nn0\n");
    assert_eq!(of(Kind::Hydra, &hosts).hostfile, "n0:2\nn3:1\nn0:1\n");
}

#[test]
fn an_ordinary_user_is_root_in_a_user_namespace_and_open_mpi_must_be_told() {
    let environment = of(Kind::OpenMpi5, &["n0"]).environment;
    let told = |name: &str| environment.contains(&(name.to_owned(), "1".to_owned()));
    assert!(["OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"].into_iter().all(told), "{environment:?}");
    assert!(["PRTE_ALLOW_RUN_AS_ROOT", "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM"].into_iter().all(told), "{environment:?}");
}
