//! TCP's congestion control in a testbed: the same on every machine, whatever its own setting.

use crate::error::Error;
use std::fs;

/// The default of the kernel and of distributions.
pub const USUAL: &str = "cubic";
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

    /// What the namespaces of a testbed get: `asked`, or [`USUAL`]. `None` if the kernel does not give it to them, so
    /// that the machine's own stays.
    ///
    /// # Errors
    /// [`Error::Congestion`] if `asked` cannot be had.
    pub fn choose(&self, asked: Option<&str>) -> Result<Option<String>, Error> {
        let name = asked.unwrap_or(USUAL);
        let is_in = |list: &[String]| list.iter().any(|known| known == name);
        let wrong = |problem: String| Error::Congestion { name: name.to_owned(), problem };
        let problem = if !is_in(&self.available) {
            let list = self.available.join(", ");
            wrong(format!("unknown to this kernel; expected one of tcp_available_congestion_control: {list}"))
        } else if self.allowed.as_deref().is_some_and(|allowed| !is_in(allowed)) {
            let list = self.allowed.as_deref().unwrap_or_default().join(" ");
            let sysctl = format!("sysctl -w net.ipv4.tcp_allowed_congestion_control=\"{list} {name}\"");
            wrong(format!("not allowed in namespaces; root changes that: {sysctl}"))
        } else {
            return Ok(Some(name.to_owned()));
        };
        if asked.is_some() { Err(problem) } else { Ok(None) }
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
    fn the_machines_stays_where_cubic_is_not_to_be_had() {
        assert_eq!(kernel("reno bbr", "reno bbr").choose(None).unwrap(), None);
        let restricted = kernel("reno bbr cubic", "reno bbr");
        assert_eq!(restricted.choose(None).unwrap(), None);
        let error = restricted.choose(Some("cubic")).unwrap_err().to_string();
        assert!(error.contains("tcp_allowed_congestion_control=\"reno bbr cubic\""), "{error}");
    }
}
