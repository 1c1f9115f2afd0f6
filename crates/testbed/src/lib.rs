//! A [fabric](nagare_plan::fabric::Fabric) emulated on one machine.
//!
//! Hosts and switches are network namespaces, links are veth pairs, or TAP devices with a delay line between them, with
//! a rate limit and a drop-tail queue at both ends, and routes are the planned ones. One process, the *holder*, is
//! process 1 of its own process, mount and network namespaces and keeps everything: when it ends, the kernel removes
//! every process, mount, device and namespace of the testbed. So nothing is ever made in the machine's own network, and
//! nothing there can be mistaken for ours.
//!
//! ```text
//!   holder, process 1 of its namespaces
//!     host n0 ══ veth, rate and queue at both ends ══ switch l0 ══ … ══ host n1        ranks run inside the hosts
//! ```
//!
//! * Pure: [`layout`] (addresses, devices, routes), [`commands`] (their text for `ip` and `tc`), [`launch`] (options of
//!   the MPI launchers), [`hostfile`], [`congestion`] (TCP's congestion control).
//! * On the machine: [`record`] (what is up), [`namespaces`], [`holder`] (makes and keeps), [`bed`] (up, enter, down),
//!   [`tap`] and [`delay`] (links with a latency), [`node`] (a program on a host), [`rank`] (its adapter),
//!   [`supervise`] (a program with the testbed around it).
//!
//! Kernels often lack netem: links of half a millisecond or more are delayed by a process of ours, shorter ones not.

pub mod bed;
pub mod commands;
pub mod congestion;
pub mod delay;
pub mod error;
pub mod holder;
pub mod hostfile;
pub mod launch;
pub mod layout;
pub mod namespaces;
pub mod node;
pub mod rank;
pub mod record;
pub mod supervise;
pub mod tap;
