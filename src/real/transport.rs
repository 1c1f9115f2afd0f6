//! How the MPI library's messages travel between nodes: what it says of that, without a message.

use super::cvar::Variables;
use crate::real::Real;
use std::ffi::CStr;
use std::fs::read_dir;
use std::path::Path;

/// Components of Open MPI that carry messages between nodes, by variables that are all there where they are in use, and
/// what they are called here: a library below (`ucx`, `ofi`, `psm2`), or `ob1` over what it has itself. Those of `mtl`
/// are opened by `cm` alone; without it they are there where a tool has listed all variables before `MPI_Init`.
const COMPONENTS: [(&[&CStr], &str); 8] = [
    (&[c"pml_ucx_priority"], "ucx"),
    (&[CM, c"mtl_psm2_priority"], "psm2"),
    (&[CM, c"mtl_ofi_priority"], "ofi"),
    (&[CM, c"mtl_portals4_priority"], "portals4"),
    (&[c"btl_openib_eager_limit"], "openib"),
    (&[c"btl_uct_eager_limit"], UCT),
    (&[c"btl_ofi_eager_limit"], BTL_OFI),
    (&[c"btl_tcp_eager_limit"], TCP),
];

/// A variable of what hands messages to components of `mtl`.
const CM: &CStr = c"pml_cm_priority";

/// Those of them that are libraries below Open MPI, which carry messages within a node too.
pub const BELOW: [&str; 4] = ["ucx", "psm2", "ofi", "portals4"];

/// Open MPI's own over TCP.
pub const TCP: &str = "tcp";

/// Open MPI's own over UCX's lower layer, and where Linux lists the adapters that it drives, unless told otherwise.
const UCT: &str = "uct";
const ADAPTERS: &str = "/sys/class/infiniband";

/// Open MPI's own over libfabric.
const BTL_OFI: &str = "btl ofi";

/// How MPICH's older device begins, and its newer one.
pub const CH3: &str = "ch3";
pub const CH4: &str = "ch4:";

/// Whether messages go through libfabric: by Open MPI's `ofi`, or MPICH's device `ch4:ofi`, which may name a provider,
/// `ch4:ofi:tcp`, or a second network module, `ch4:ofi ucx`, that a user may choose in its place.
pub fn is_libfabric(component: &str) -> bool {
    component == "ofi" || of_device(component).next() == Some("ofi")
}

/// Whether MPICH's device names a provider of libfabric that is TCP.
pub fn names_tcp(component: &str) -> bool {
    of_device(component).skip(1).any(|provider| is_tcp("", provider))
}

/// Network module, provider, and what else the name of MPICH's newer device says; nothing of others.
fn of_device(component: &str) -> impl Iterator<Item = &str> {
    component.strip_prefix(CH4).into_iter().flat_map(|device| device.split([':', ' ', ',']))
}

/// Variables with which users tell the libraries below which way to go.
const CHOICES: [&str; 3] = ["UCX_TLS", "UCX_NET_DEVICES", "FI_PROVIDER"];

/// What carries messages between nodes, such as `tcp`, `ucx` or `ch4:ofi`; `None` where the library does not say.
pub fn component(real: &Real) -> Option<String> {
    if let Some(device) = real.device() {
        return Some(device);
    }
    let variables = Variables::open(real)?;
    let has_all = |names: &[&CStr]| names.iter().all(|name| variables.has(name));
    let has = |component: &str| COMPONENTS.iter().any(|&(names, of)| of == component && has_all(names));
    let mut in_use = COMPONENTS.iter().map(|&(_, component)| component).filter(|component| has(component));
    let carries = |component: &str| match component {
        // Open MPI 5 keeps it on hosts whose adapters it cannot drive, and its messages go over TCP.
        UCT => !has(TCP) || has_adapter(Path::new(ADAPTERS)),
        // It carries one-sided messages alone, unless a user tells it otherwise.
        BTL_OFI => !has(TCP),
        _ => true,
    };
    in_use.find(|component| carries(component)).map(str::to_owned)
}

/// Whether a host has an adapter that `uct` drives: mlx4_0, mlx5_0, …
fn has_adapter(adapters: &Path) -> bool {
    let names = read_dir(adapters).into_iter().flatten().flatten().map(|adapter| adapter.file_name());
    names.into_iter().any(|name| name.as_encoded_bytes().starts_with(b"mlx"))
}

/// Whether the user has chosen TCP for the library below.
pub fn is_told_tcp() -> bool {
    let of = |name| std::env::var(name).unwrap_or_default();
    is_tcp(&of("UCX_TLS"), &of("FI_PROVIDER"))
}

/// `ucx`: a list of transports, all others are out, or after `^` these; `provider`: a name, layers after semicolons.
fn is_tcp(ucx: &str, provider: &str) -> bool {
    let has = |word: &str| ucx.split(',').any(|given| given == word);
    let is_listed = !ucx.starts_with('^') && has("tcp");
    let with_rdma =
        ["all", "rc", "rc_v", "rc_x", "rc_verbs", "rc_mlx5", "dc", "dc_x", "dc_mlx5", "ud", "ud_v", "ud_x", "ib"];
    let over_tcp = provider.split(';').any(|layer| ["tcp", "sockets", "udp", "net"].contains(&layer));
    is_listed && !with_rdma.into_iter().any(has) || over_tcp
}

/// The component, with what users have chosen below it: what a profile was measured with.
pub fn name(real: &Real) -> String {
    let component = component(real).unwrap_or_else(|| "unknown".to_owned());
    let chosen = CHOICES.iter().filter_map(|&choice| Some(format!(" {choice}={}", std::env::var(choice).ok()?)));
    component + &chosen.collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::{has_adapter, is_libfabric, is_tcp, names_tcp};
    use std::path::Path;

    #[test]
    fn adapters_are_those_of_one_maker() {
        let host = tempfile::tempdir().expect("a directory");
        assert!(!has_adapter(&host.path().join("missing")));
        for (name, expected) in [("hfi1_0", false), ("mlx5_1", true)] {
            std::fs::create_dir(host.path().join(name)).expect("a directory");
            assert_eq!(has_adapter(host.path()), expected, "{name}");
        }
        assert!(!has_adapter(Path::new("/dev/null")));
    }

    #[test]
    fn libfabric_is_what_messages_go_through_first() {
        for component in ["ofi", "ch4:ofi", "ch4:ofi ucx", "ch4:ofi,ucx", "ch4:ofi:cxi", "ch4:ofi:tcp"] {
            assert!(is_libfabric(component), "{component}");
            assert_eq!(names_tcp(component), component == "ch4:ofi:tcp", "{component}");
        }
        for component in ["btl ofi", "ch4:ucx ofi", "ch4:ucx", "ch3:nemesis:ofi", "ucx", "tcp", ""] {
            assert!(!is_libfabric(component) && !names_tcp(component), "{component}");
        }
        assert!(names_tcp("ch4:ofi:sockets"));
    }

    #[test]
    fn users_choose_tcp() {
        for (ucx, provider) in
            [("tcp", ""), ("tcp,self,sm", ""), ("", "tcp"), ("", "tcp;ofi_rxm"), ("rc,sm", "sockets")]
        {
            assert!(is_tcp(ucx, provider), "{ucx} {provider}");
        }
        for (ucx, provider) in [("", ""), ("all", ""), ("^tcp", ""), ("rc,tcp", ""), ("", "verbs;ofi_rxm"), ("", "cxi")]
        {
            assert!(!is_tcp(ucx, provider), "{ucx} {provider}");
        }
    }
}
