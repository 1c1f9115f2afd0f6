//! What this host's kernel says of its links, without a clock: the same in every run.
//!
//! ```text
//!   /sys/class/net/NAME/device          a real adapter, not a bridge or a pair of a namespace
//!                      /operstate, /speed        up, Mbit/s
//!   /sys/class/infiniband/NAME/ports/N/state     4: ACTIVE
//!                                     /rate      100 Gb/sec (4X EDR)
//! ```

use std::fs::{read_dir, read_to_string};
use std::path::{Path, PathBuf};

/// Entries of a directory that are looked at.
const MOST: usize = 4096;

/// Gbit/s of the fastest links that are sold; what says more is not believed.
const FASTEST: f64 = 2000.0;

/// The links of this host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Links {
    /// Rate of the fastest network interface that is up, Mbit/s.
    pub net: Option<u32>,
    /// Rate of the fastest RDMA port that is active, Mbit/s.
    pub rdma: Option<u32>,
}

impl Links {
    /// Of this host.
    pub fn here() -> Self {
        Self::below(Path::new("/sys/class"))
    }

    fn below(class: &Path) -> Self {
        let ports = entries(&class.join("infiniband")).into_iter().flat_map(|device| entries(&device.join("ports")));
        Self {
            net: entries(&class.join("net")).iter().filter_map(|interface| speed(interface)).max(),
            rdma: ports.filter_map(|port| rate(&port)).max(),
        }
    }
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    let Ok(found) = read_dir(directory) else { return Vec::new() };
    found.filter_map(|entry| Some(entry.ok()?.path())).take(MOST).collect()
}

fn text(path: &Path) -> Option<String> {
    read_to_string(path).ok().map(|text| text.trim().to_owned())
}

fn speed(interface: &Path) -> Option<u32> {
    let is_up = interface.join("device").exists() && text(&interface.join("operstate"))? == "up";
    let speed = is_up.then(|| text(&interface.join("speed"))?.parse::<f64>().ok())??;
    believed(speed / 1000.0)
}

fn rate(port: &Path) -> Option<u32> {
    let is_active = text(&port.join("state"))?.starts_with('4');
    let rate = is_active.then(|| text(&port.join("rate"))?.split_whitespace().next()?.parse::<f64>().ok())??;
    believed(rate)
}

fn believed(gbit: f64) -> Option<u32> {
    (gbit > 0.0 && gbit <= FASTEST).then_some((gbit * 1000.0) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{create_dir_all, write};

    #[test]
    fn real_links_that_are_up_count() {
        let root = std::env::temp_dir().join(format!("nagare-links-{}", std::process::id()));
        let file = |name: &str, text: &str| {
            let path = root.join(name);
            create_dir_all(path.parent().expect("a directory")).expect("made");
            write(path, text).expect("written");
        };
        assert_eq!(Links::below(&root), Links::default());
        for (name, speed, state, is_real) in [
            ("eth0", "1000\n", "up\n", true),
            ("eth1", "25000\n", "up\n", true),
            ("eth2", "100000\n", "down\n", true),
            ("veth0", "10000000\n", "up\n", false),
            ("wlan0", "-1\n", "up\n", true),
            ("odd0", "4294967295\n", "up\n", true),
        ] {
            file(&format!("net/{name}/speed"), speed);
            file(&format!("net/{name}/operstate"), state);
            if is_real {
                file(&format!("net/{name}/device/vendor"), "0x15b3\n");
            }
        }
        assert_eq!(Links::below(&root), Links { net: Some(25_000), rdma: None });
        file("infiniband/mlx5_0/ports/1/state", "4: ACTIVE\n");
        file("infiniband/mlx5_0/ports/1/rate", "100 Gb/sec (4X EDR)\n");
        file("infiniband/mlx5_1/ports/1/state", "1: DOWN\n");
        file("infiniband/mlx5_1/ports/1/rate", "400 Gb/sec (4X NDR)\n");
        assert_eq!(Links::below(&root), Links { net: Some(25_000), rdma: Some(100_000) });
        std::fs::remove_dir_all(&root).expect("removed");
    }
}
