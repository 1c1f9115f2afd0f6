//! What this host's kernel says of its links, without a clock: the same in every run.
//!
//! ```text
//!   /sys/class/net/NAME/device          a real adapter, not a bridge or a pair of a namespace
//!                      /operstate, /speed        up, Mbit/s
//!                      /device/cxi               there where it is one of Slingshot's, which libfabric drives by RDMA
//!   /sys/class/infiniband/NAME/ports/N/state     4: ACTIVE
//!                                     /rate      100 Gb/sec (4X EDR)
//!   …/NAME/device/numa_node             where the adapter is; -1 where there is no knowing
//! ```
//! Some small files, looked at once by one process of a host: hwloc, which lists the same as I/O devices, inspects the
//! whole machine for it (docs/benchmarks.md).

use std::fs::{read_dir, read_to_string};
use std::path::{Path, PathBuf};

/// Entries of a directory that are looked at.
const MOST: usize = 4096;

/// Gbit/s of the fastest links that are sold; what says more is not believed.
const FASTEST: f64 = 2000.0;

/// NUMA nodes whose adapters are counted, and the most that are counted on one.
const NUMA_NODES: u32 = 8;
const MOST_ADAPTERS: u32 = 15;

/// The links of this host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Links {
    /// The fastest network interfaces that are up.
    pub net: Option<Fastest>,
    /// The fastest RDMA ports that are active.
    pub rdma: Option<Fastest>,
    /// The fastest interfaces of Slingshot that are up, which libfabric alone drives by RDMA.
    pub slingshot: Option<Fastest>,
}

/// The fastest links of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fastest {
    /// Rate of each, Mbit/s.
    pub mbit: u32,
    /// How many there are.
    pub adapters: Adapters,
}

/// Numbers of adapters by NUMA node, four bits each: facts are exchanged as bytes.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Adapters(u32);

impl Adapters {
    /// None that are known.
    pub const NONE: Self = Self(0);

    /// How many there are beside a NUMA node, by its number.
    pub fn beside(self, numa: u32) -> u32 {
        if numa < NUMA_NODES { self.0 >> (4 * numa) & MOST_ADAPTERS } else { 0 }
    }

    fn and_one(self, numa: u32) -> Self {
        let is_counted = numa < NUMA_NODES && self.beside(numa) < MOST_ADAPTERS;
        if is_counted { Self(self.0 + (1 << (4 * numa))) } else { self }
    }
}

impl Fastest {
    /// Of links with their rates and NUMA nodes.
    fn of(links: impl Iterator<Item = (u32, u32)>) -> Option<Self> {
        let links: Vec<(u32, u32)> = links.collect();
        let mbit = links.iter().map(|link| link.0).max()?;
        let fastest = links.iter().filter(|link| link.0 == mbit);
        Some(Self { mbit, adapters: fastest.fold(Adapters::NONE, |all, link| all.and_one(link.1)) })
    }
}

impl Links {
    /// Of this host.
    pub fn here() -> Self {
        Self::below(Path::new("/sys/class"))
    }

    fn below(class: &Path) -> Self {
        let ports = entries(&class.join("infiniband")).into_iter().flat_map(|device| {
            let numa = numa(&device);
            entries(&device.join("ports")).into_iter().filter_map(move |port| Some((rate(&port)?, numa)))
        });
        let interfaces = entries(&class.join("net"));
        let link = |interface: &PathBuf| Some((speed(interface)?, numa(interface)));
        let of_slingshot = interfaces.iter().filter(|interface| interface.join("device/cxi").is_dir());
        Self {
            net: Fastest::of(interfaces.iter().filter_map(link)),
            rdma: Fastest::of(ports),
            slingshot: Fastest::of(of_slingshot.filter_map(link)),
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

/// The NUMA node that an adapter is beside; 0 where there is no knowing, as where there is but one.
fn numa(adapter: &Path) -> u32 {
    text(&adapter.join("device/numa_node")).and_then(|number| number.parse().ok()).unwrap_or(0)
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
        let fastest = |mbit, numa: &[u32]| {
            let adapters = numa.iter().fold(Adapters::NONE, |all, &numa| all.and_one(numa));
            Some(Fastest { mbit, adapters })
        };
        assert_eq!(Links::below(&root), Links { net: fastest(25_000, &[0]), ..Links::default() });
        // Another as fast; where the first is beside.
        file("net/eth3/speed", "25000\n");
        file("net/eth3/operstate", "up\n");
        file("net/eth3/device/numa_node", "1\n");
        file("net/eth1/device/numa_node", "-1\n");
        assert_eq!(Links::below(&root), Links { net: fastest(25_000, &[0, 1]), ..Links::default() });
        file("infiniband/mlx5_0/ports/1/state", "4: ACTIVE\n");
        file("infiniband/mlx5_0/ports/1/rate", "100 Gb/sec (4X EDR)\n");
        file("infiniband/mlx5_1/ports/1/state", "1: DOWN\n");
        file("infiniband/mlx5_1/ports/1/rate", "400 Gb/sec (4X NDR)\n");
        file("infiniband/mlx5_0/device/numa_node", "3\n");
        file("infiniband/mlx5_0/ports/2/state", "4: ACTIVE\n");
        file("infiniband/mlx5_0/ports/2/rate", "100 Gb/sec (4X EDR)\n");
        let expected = Links { net: fastest(25_000, &[0, 1]), rdma: fastest(100_000, &[3, 3]), slingshot: None };
        assert_eq!(Links::below(&root), expected);
        // Of two interfaces of Slingshot one is down.
        for (name, adapter, state) in [("hsn0", "cxi0", "up\n"), ("hsn1", "cxi1", "down\n")] {
            file(&format!("net/{name}/speed"), "200000\n");
            file(&format!("net/{name}/operstate"), state);
            file(&format!("net/{name}/device/cxi/{adapter}/dev"), "\n");
            file(&format!("net/{name}/device/numa_node"), "2\n");
        }
        let hsn = fastest(200_000, &[2]);
        assert_eq!(Links::below(&root), Links { net: hsn, slingshot: hsn, ..expected });
        std::fs::remove_dir_all(&root).expect("removed");
    }

    #[test]
    fn adapters_are_counted_on_every_numa_node_by_itself() {
        let many = (0..20).fold(Adapters::NONE, |all, _| all.and_one(2)).and_one(7).and_one(8).and_one(u32::MAX);
        let beside: Vec<u32> = (0..9).map(|numa| many.beside(numa)).collect();
        assert_eq!(beside, [0, 0, 15, 0, 0, 0, 0, 1, 0]);
    }
}
