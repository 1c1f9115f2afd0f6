//! A system that refuses this thread, and what it has in reserve.

use super::*;
use nagare_plan::algorithm::{ALGORITHMS, Algorithm, Planner};
use nagare_plan::collective::Collective;
use nagare_plan::cost::Segments;
use nagare_plan::fabric::{Generator, Placement, TierRates};
use nagare_plan::schedule::Program;
use nagare_plan::topology::Topology;
use std::sync::Arc;

thread_local! {
    static REFUSES: Cell<bool> = const { Cell::new(false) };
}

#[global_allocator]
static ALLOCATOR: Allocator<Refusing> = Allocator(Refusing);

struct Refusing;

// SAFETY: the system's, or nothing.
unsafe impl GlobalAlloc for Refusing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as demanded of the caller.
        if REFUSES.get() { ptr::null_mut() } else { unsafe { System.alloc(layout) } }
    }

    unsafe fn dealloc(&self, piece: *mut u8, layout: Layout) {
        // SAFETY: as demanded of the caller.
        unsafe { System.dealloc(piece, layout) }
    }
}

/// Does `work` with `bytes` in reserve and nothing from the system.
fn refused<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    let held = hold(bytes).expect("memory for a reserve");
    REFUSES.set(true);
    let result = work();
    REFUSES.set(false);
    drop(held);
    result
}

/// Pieces of a reserve that are in use.
fn in_use(reserve: &Reserve) -> u64 {
    reserve.state.load(Ordering::Relaxed) >> 32
}

#[test]
fn pieces_keep_what_is_in_them() {
    let (lists, text, zeros) = refused(1 << 20, || {
        let mut lists: Vec<Vec<u32>> = vec![Vec::new(); 40];
        // They grow in turn, and so move.
        for k in 0..2000_u32 {
            lists[k as usize % 40].push(k);
        }
        (lists, format!("{}-{}", "a".repeat(70), 5), vec![0_u64; 300])
    });
    for (at, list) in lists.iter().enumerate() {
        assert_eq!(*list, (at as u32..2000).step_by(40).collect::<Vec<_>>());
        assert!(Reserve::of(list.as_ptr().cast_mut().cast()).is_some());
        assert_eq!(list.as_ptr().addr() % align_of::<u32>(), 0);
    }
    assert_eq!(text.len(), 72);
    assert!(zeros.iter().all(|&zero| zero == 0));
}

#[test]
fn a_reserve_is_free_again_when_its_last_piece_is() {
    let piece = refused(5 << 20, || vec![7_u8; 1000]);
    let reserve = Reserve::of(piece.as_ptr().cast_mut()).expect("of a reserve");
    assert_eq!(in_use(reserve), 1);
    let other = refused(5 << 20, || vec![8_u8; 1000]);
    assert!(!ptr::eq(Reserve::of(other.as_ptr().cast_mut()).expect("of a reserve"), reserve), "it was not free");
    std::thread::spawn(move || assert_eq!(piece, [7; 1000])).join().unwrap();
    assert_eq!(in_use(reserve), 0);
    assert_eq!(other, [8; 1000]);
}

#[test]
fn what_was_taken_last_makes_room_when_it_is_freed() {
    refused(100 << 10, || {
        for _ in 0..1000 {
            let long = vec![1_u8; 60 << 10];
            let grown: Vec<u64> = (0..4000).collect();
            assert_eq!((long.len(), grown[3999]), (60 << 10, 3999));
        }
    });
}

#[test]
fn there_is_no_more_than_was_set_aside_and_nothing_without_it() {
    refused(100 << 10, || {
        let fits = |bytes| Vec::<u8>::new().try_reserve_exact(bytes).is_ok();
        assert!(fits(90 << 10) && !fits(8 << 20) && !without(|| fits(16)) && fits(16));
    });
    REFUSES.set(true);
    let none = Vec::<u8>::new().try_reserve_exact(16).is_err();
    REFUSES.set(false);
    assert!(none);
}

/// Nested reserves: the inner one for as long as it lives.
#[test]
fn one_is_held_after_another() {
    let outer = hold(64 << 10).unwrap();
    let first = HELD.get();
    let inner = hold(64 << 10).unwrap();
    assert!(!ptr::eq(HELD.get(), first));
    drop(inner);
    assert!(ptr::eq(HELD.get(), first));
    drop(outer);
    assert!(HELD.get().is_null());
}

/// The nodes of a network with `width` ranks each.
fn on(generator: &Generator, width: usize) -> Topology {
    let fabric = generator.builder("network", &TierRates::uniform(100.0, 1.0)).unwrap().build().unwrap();
    let placement = Placement::by_slot(&fabric, fabric.host_count() * width, width).unwrap();
    let hosts = placement.hosts();
    let levels = fabric.levels();
    let mut names: Vec<String> = levels.iter().map(|level| level.name.clone()).collect();
    let mut groups: Vec<Vec<u32>> =
        levels.iter().map(|level| hosts.iter().map(|host| level.of_host[host.0 as usize]).collect()).collect();
    names.push("node".to_owned());
    groups.push(hosts.iter().map(|host| host.0).collect());
    Topology::new(names, groups, vec![0; hosts.len()]).unwrap().on_network(Arc::new(fabric), hosts)
}

/// The first call on a communicator: what is known of it, the choice, the plan.
#[test]
fn a_call_needs_no_more_than_is_set_aside() {
    let torus = |dims: &[u32]| Generator::Torus { dims: dims.to_vec(), hosts_per_switch: 1 };
    let networks = [
        Generator::Star { hosts: 4 },
        Generator::Star { hosts: 64 },
        Generator::Tree { children: vec![16, 8] },
        Generator::FatTree { ports: 8, levels: 3, hosts_per_leaf: None },
        torus(&[2, 2]),
        torus(&[8, 8]),
        torus(&[4, 4, 4]),
    ];
    let flat = |nodes: u32, width: u32| {
        Topology::of_nodes((0..nodes * width).map(|rank| rank / width).collect::<Vec<_>>()).unwrap()
    };
    let without_network = [(2, 1), (5, 3), (64, 4), (500, 1)].map(|(nodes, width)| flat(nodes, width));
    let topologies = networks.iter().flat_map(|network| [1, 3].map(|width| on(network, width))).chain(without_network);
    let mut calls = 0;
    for topology in topologies.map(Arc::new) {
        for spec in ALGORITHMS {
            for collective in Collective::ALL.into_iter().filter(|&collective| spec.algorithm.implements(collective)) {
                if spec.algorithm == Algorithm::ContentionFree {
                    continue;
                }
                let made = refused(of_call(topology.ranks()), || {
                    let planner = Planner::new(Arc::clone(&topology));
                    planner.fitting(collective, 1 << 20, Segments::AtMost(1 << 16));
                    let plan = planner.plan_cut(collective, spec.algorithm, 0, 0, 16)?;
                    Program::new(plan, collective.has_output(0, 0)).ok()
                });
                assert!(made.is_some(), "{collective} {}", spec.name);
                calls += 1;
            }
        }
    }
    assert!(calls > 300, "{calls}");
}
