//! Where the watch of a rank listens.

use std::io::Result;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};

/// Addresses of a host that others are told.
const ADDRESSES: usize = 8;

/// What a rank says of its watch to all ranks of the world, before there is any: plain data without padding bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Of its host (IPv4), 0 for none: others reach one of them.
    pub addresses: [u32; ADDRESSES],
    /// 0 if it does not listen.
    pub port: u32,
    /// Seconds after which it calls a call overdue; 0 if it did not ask for a watch.
    pub limit: u32,
    /// The key it would give the world: the first rank's that has one counts. Zeros for none.
    pub key: [u64; 2],
}

impl Place {
    /// Where a rank reaches it; the loopback only on the host of both, since elsewhere another process would hear.
    pub fn sockets(&self, is_here: bool) -> impl Iterator<Item = SocketAddr> {
        let port = u16::try_from(self.port).unwrap_or(0);
        let addresses =
            self.addresses.into_iter().filter(move |&address| address != 0 && port != 0).map(Ipv4Addr::from);
        let reached = addresses.filter(move |address| is_here || !address.is_loopback());
        reached.map(move |address| SocketAddr::from((address, port)))
    }
}

/// Binds the socket that others are to ask, and says where it is.
///
/// # Errors
/// Why there is none.
pub fn bind() -> Result<(UdpSocket, Place)> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    let port = u32::from(socket.local_addr()?.port());
    let own = if_addrs::get_if_addrs()?;
    let of = |ip: IpAddr| match ip {
        IpAddr::V4(address) if !address.is_link_local() => Some(address),
        _ => None,
    };
    let mut own: Vec<Ipv4Addr> = own.iter().filter_map(|interface| of(interface.ip())).collect();
    // The loopback last: the others may be more than there is room for.
    own.sort_by_key(Ipv4Addr::is_loopback);
    if own.len() > ADDRESSES && own.last().is_some_and(Ipv4Addr::is_loopback) {
        own.swap_remove(ADDRESSES - 1);
    }
    let mut addresses = [0; ADDRESSES];
    addresses.iter_mut().zip(own).for_each(|(into, address)| *into = u32::from(address));
    Ok((socket, Place { addresses, port, limit: 0, key: random() }))
}

/// Bytes that nobody can guess; zeros where there are none to be had.
fn random() -> [u64; 2] {
    let mut key = [0; 2];
    // SAFETY: the buffer is as long as said.
    let length = unsafe { libc::getrandom((&raw mut key).cast(), size_of_val(&key), 0) };
    if length == size_of_val(&key) as isize { key } else { [0; 2] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_is_asked_on_the_same_host_alone() {
        let (own, place) = bind().expect("a socket");
        let port = own.local_addr().expect("bound").port();
        let reached = |is_here| place.sockets(is_here).collect::<Vec<_>>();
        assert!(reached(true).contains(&SocketAddr::from((Ipv4Addr::LOCALHOST, port))), "{:?}", reached(true));
        assert!(reached(false).iter().all(|socket| !socket.ip().is_loopback() && socket.port() == port));
        assert_ne!(place.key, bind().expect("a socket").1.key);
        assert_eq!(Place { port: 0, ..place }.sockets(true).count(), 0, "it does not listen");
    }
}
