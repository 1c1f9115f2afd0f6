//! TAP devices: network devices whose packets a process reads and writes.

use crate::error::Error;
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use rustix::ioctl::{IntegerSetter, Opcode, Updater, ioctl, opcode};
use std::ffi::c_int;

/// Where they come from.
const SOURCE: &str = "/dev/net/tun";

/// TUNSETIFF and TUNSETOFFLOAD of linux/if_tun.h, and the flags they take.
const SET_INTERFACE: Opcode = opcode::write::<c_int>(b'T', 202);
const SET_OFFLOAD: Opcode = opcode::write::<c_int>(b'T', 208);
const TAP: u16 = 0x0002;
const NO_PACKET_INFORMATION: u16 = 0x1000;
const WITH_HEADER: u16 = 0x4000;
const CHECKSUMS: usize = 0x01;
const SEGMENTS_OF_TCP: usize = 0x02;

/// `struct ifreq` of linux/if.h, of which TUNSETIFF uses the name and the flags.
#[repr(C)]
struct Request {
    name: [u8; 16],
    flags: u16,
    rest: [u8; 22],
}

/// A file of the source of TAP devices.
struct Tap(OwnedFd);

fn open_source() -> Result<Tap, Errno> {
    open(SOURCE, OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty()).map(Tap)
}

/// Whether this user may open their source.
///
/// # Errors
/// What the system says if not.
pub fn probe() -> Result<(), Error> {
    open_source().map(drop).map_err(Error::file(SOURCE))
}

/// A new device in the calling thread's network namespace, which is there while the file is open. Reading and writing
/// never wait. What is read is a packet of up to two segments, without the checksum if a device has not computed it,
/// behind a header that says so: what has been read can be written to another such device.
///
/// # Errors
/// If the system allows none, or there is one of that name.
pub fn create(name: &str) -> Result<OwnedFd, Error> {
    let doing = || format!("making the device {name} by {SOURCE}");
    let tap = open_source().map_err(Error::file(SOURCE))?;
    let mut request = Request { name: [0; 16], flags: TAP | NO_PACKET_INFORMATION | WITH_HEADER, rest: [0; 22] };
    // The last byte stays 0.
    let room = request.name.len() - 1;
    let fits = name.len() <= room;
    let fitting = fits.then_some(name.as_bytes()).ok_or(Errno::NAMETOOLONG).map_err(Error::system(doing()))?;
    request.name[..fitting.len()].copy_from_slice(fitting);
    set_interface(&tap, &mut request).and_then(|()| set_offload(&tap)).map_err(Error::system(doing()))?;
    Ok(tap.0)
}

fn set_interface(tap: &Tap, request: &mut Request) -> Result<(), Errno> {
    // SAFETY: a `Tap` is a file of /dev/net/tun alone, whose driver takes 'T' 202 for TUNSETIFF. It reads a `struct
    // ifreq` from the address it is given and writes one back there: 40 bytes, fewer on 32-bit systems. `Request` has
    // 40 bytes, all of them initialized, of types that any bytes are values of, and is borrowed mutably for the time of
    // the call.
    unsafe { ioctl(&tap.0, Updater::<SET_INTERFACE, Request>::new(request)) }
}

fn set_offload(tap: &Tap) -> Result<(), Errno> {
    // SAFETY: a `Tap` is a file of /dev/net/tun alone, whose driver takes 'T' 208 for TUNSETOFFLOAD. Its argument is an
    // integer, the flags themselves: the driver reads and writes no memory of this process.
    unsafe { ioctl(&tap.0, IntegerSetter::<SET_OFFLOAD>::new_usize(CHECKSUMS | SEGMENTS_OF_TCP)) }
}
