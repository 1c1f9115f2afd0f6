//! A rank on a host with several adapters: its messages take the one that plans take them to.

use crate::error::Error;
use crate::layout::DATA_DEVICE;
use nagare_plan::fabric::adapter_of;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// What tells MPI libraries the device: Open MPI, and MPICH over UCX and over libfabric.
const TOLD_BY: [&str; 3] = ["OMPI_MCA_btl_tcp_if_include", "UCX_NET_DEVICES", "FI_TCP_IFACE"];

/// Which of the ranks of its host this process is, and how many they are, as launchers say: Open MPI, Hydra.
const NUMBERS: [[&str; 2]; 2] =
    [["OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"], ["MPI_LOCALRANKID", "MPI_LOCALNRANKS"]];

/// Becomes the program of `words`, and tells its MPI library the device. Does not return if all goes well.
///
/// # Errors
/// If there is no such program.
pub fn run(words: &[String]) -> Result<(), Error> {
    let Some((program, arguments)) = words.split_first() else { return Ok(()) };
    let device = device(|name| std::env::var(name).ok(), Path::new("/sys/class/net"));
    let mut command = Command::new(program);
    command.args(arguments).envs(TOLD_BY.map(|name| (name, &device)));
    Err(Error::file(program)(command.exec()))
}

/// The device of this process, among those in the directory of a host's `devices`.
fn device(variable: impl Fn(&str) -> Option<String>, devices: &Path) -> String {
    let number = |name: &str| variable(name)?.parse::<u32>().ok();
    let numbers = NUMBERS.iter().find_map(|[rank, size]| number(rank).zip(number(size)));
    let (slot, width) = numbers.unwrap_or((0, 1));
    let adapters = (0..).take_while(|number| devices.join(format!("{DATA_DEVICE}{number}")).exists()).count();
    format!("{DATA_DEVICE}{}", adapter_of(slot, width, adapters as u32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_spread_over_the_devices_of_their_host() {
        let root = tempfile::tempdir().expect("a directory");
        for name in ["mgmt", "data0", "data1", "data3"] {
            std::fs::create_dir(root.path().join(name)).expect("a directory");
        }
        let of = |names: [&str; 2], slot: &str, width: &str| {
            device(|name| [slot, width][names.iter().position(|own| *own == name)?].to_owned().into(), root.path())
        };
        let [open_mpi, hydra] = NUMBERS;
        assert_eq!(["0", "1"].map(|slot| of(open_mpi, slot, "2")), ["data0", "data1"]);
        // As aggregators: the second of two is the second of three ranks.
        assert_eq!(["0", "1", "2"].map(|slot| of(hydra, slot, "3")), ["data0", "data1", "data1"]);
        assert_eq!(of(open_mpi, "0", "1"), "data0");
        assert_eq!(of(["", ""], "1", "2"), "data0");
    }
}
