//! TCP's congestion control in a testbed: the same on every machine, whatever its own setting.

use crate::error::Error;
use std::fs;

/// What a testbed gets that nobody asked for another: the default of the kernel and of distributions; where there is
/// none for namespaces, what every kernel has. Both give way to lost packets, as TCP on most clusters does; bbr, which
/// some machines have as their own, fills queues for the calls that follow (docs/benchmarks.md).
pub const USUAL: [&str; 2] = ["cubic", "reno"];
/// The setting of one network namespace, below `/proc/sys/net`.
pub const SETTING: &str = "ipv4/tcp_congestion_control";

/// What there is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kernel {
    /// `net.ipv4.tcp_available_congestion_control`.
    pub available: Vec<String>,
    /// `net.ipv4.tcp_allowed_congestion_control`: only these can be the default of a namespace. `None` where the kernel
    /// does not tell.
    pub allowed: Option<Vec<String>>,
}

impl Kernel {
    /// That of this machine.
    pub fn new() -> Self {
        let words = |name: &str| {
            let text = fs::read_to_string(format!("/proc/sys/net/ipv4/tcp_{name}_congestion_control")).ok()?;
            Some(text.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
        };
        Self { available: words("available").unwrap_or_default(), allowed: words("allowed") }
    }

    /// What the namespaces of a testbed get: `asked`, or the first of [`USUAL`] that the kernel gives them. `None` if
    /// it gives them neither, so that the machine's own stays.
    ///
    /// # Errors
    /// [`Error::Congestion`] if `asked` cannot be had.
    pub fn choose(&self, asked: Option<&str>) -> Result<Option<String>, Error> {
        if let Some(name) = asked {
            return self.lacks(name).map_or_else(
                || Ok(Some(name.to_owned())),
                |problem| Err(Error::Congestion { name: name.to_owned(), problem }),
            );
        }
        Ok(USUAL.into_iter().find(|name| self.lacks(name).is_none()).map(str::to_owned))
    }

    /// Why namespaces cannot have `name`; nothing if they can.
    fn lacks(&self, name: &str) -> Option<String> {
        let is_in = |list: &[String]| list.iter().any(|known| known == name);
        if !is_in(&self.available) {
            let list = self.available.join(", ");
            return Some(format!("unknown to this kernel; expected one of tcp_available_congestion_control: {list}"));
        }
        let allowed = self.allowed.as_deref().filter(|allowed| !is_in(allowed))?.join(" ");
        let sysctl = format!("sysctl -w net.ipv4.tcp_allowed_congestion_control=\"{allowed} {name}\"");
        Some(format!("not allowed in namespaces; root changes that: {sysctl}"))
    }
}

impl Default for Kernel {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(available: &str, allowed: &str) -> Kernel {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect();
        Kernel { available: words(available), allowed: Some(words(allowed)) }
    }

    #[test]
    fn cubic_unless_asked_otherwise() {
        let kernel = kernel("reno bbr cubic", "reno bbr cubic");
        assert_eq!(kernel.choose(None).unwrap().as_deref(), Some("cubic"));
        assert_eq!(kernel.choose(Some("bbr")).unwrap().as_deref(), Some("bbr"));
        let error = kernel.choose(Some("vegas")).unwrap_err().to_string();
        assert!(error.contains("'vegas'") && error.contains(": reno, bbr, cubic"), "{error}");
    }

    #[test]
    fn reno_where_cubic_is_not_to_be_had_and_else_the_machines() {
        assert_eq!(kernel("bbr reno", "bbr reno").choose(None).unwrap().as_deref(), Some("reno"));
        let restricted = kernel("reno bbr cubic", "reno bbr");
        assert_eq!(restricted.choose(None).unwrap().as_deref(), Some("reno"));
        let error = restricted.choose(Some("cubic")).unwrap_err().to_string();
        assert!(error.contains("tcp_allowed_congestion_control=\"reno bbr cubic\""), "{error}");
        assert_eq!(kernel("reno bbr cubic", "bbr").choose(None).unwrap(), None);
    }
}
