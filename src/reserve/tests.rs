//! A system that refuses this thread, and what it has in reserve.

use super::*;
use nagare_plan::Planner;
use nagare_plan::algorithm::{ALGORITHMS, Algorithm};
use nagare_plan::collective::Collective;
use nagare_plan::cost::Segments;
use nagare_plan::fabric::{Fabric, Generator, TierRates};
use nagare_plan::footprint;
use nagare_plan::schedule::Program;
use nagare_plan::topology::Topology;
use std::sync::Arc;

#[path = "../../crates/plan/tests/support/network.rs"]
mod network;

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

/// The system refuses this thread as long as it lives.
struct Refusal;

impl Refusal {
    fn start() -> Self {
        REFUSES.set(true);
        Self
    }
}

impl Drop for Refusal {
    fn drop(&mut self) {
        REFUSES.set(false);
    }
}

/// Holds a reserve with room for so many bytes and no more, which no other test has had.
fn hold_new(bytes: usize) -> Hold {
    Reserve::new(bytes).expect("memory for a reserve").held()
}

/// Does `work` with `bytes` in reserve and nothing from the system.
fn refused<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    let _held = hold_new(bytes);
    let _refusal = Refusal::start();
    work()
}

/// What is in use of a reserve: pieces and its holder; bytes with its head's.
fn in_use(reserve: &Reserve) -> (u64, usize) {
    let state = reserve.state.0.load(Ordering::Relaxed);
    (state >> 32, state as u32 as usize)
}

fn of<T>(list: &[T]) -> &'static Reserve {
    Reserve::of(list.as_ptr().cast_mut().cast()).expect("of a reserve")
}

fn fits(bytes: usize) -> bool {
    let mut asked = Vec::<u8>::new();
    let answer = asked.try_reserve_exact(bytes).is_ok();
    std::hint::black_box(&asked);
    answer
}

#[test]
fn pieces_keep_what_is_in_them() {
    let (lists, text, zeros) = refused(1 << 20, || {
        let mut lists: Vec<Vec<u32>> = vec![Vec::new(); 40];
        // They grow in turn, and so move.
        for k in 0..2000_u32 {
            lists[k as usize % 40].push(k);
        }
        let mut zeros = vec![0_u64; 300];
        zeros.truncate(200);
        zeros.shrink_to_fit();
        (lists, "a".repeat(70) + "-5", zeros)
    });
    for (at, list) in lists.iter().enumerate() {
        assert_eq!(*list, (at as u32..2000).step_by(40).collect::<Vec<_>>());
        assert!(ptr::eq(of(list), of(text.as_bytes())));
        assert_eq!(list.as_ptr().addr() % align_of::<u32>(), 0);
    }
    assert_eq!(text.len(), 72);
    assert_eq!(zeros, [0; 200]);
}

#[test]
fn a_reserve_is_free_again_when_its_last_piece_is() {
    let (first, second) = refused(5 << 20, || (vec![7_u8; 1000], vec![8_u8; 1000]));
    let reserve = of(&first);
    assert_eq!(in_use(reserve).0, 2);
    assert!(!reserve.claim(), "it has pieces");
    drop(second);
    std::thread::spawn(move || assert_eq!(first, [7; 1000])).join().unwrap();
    assert_eq!(in_use(reserve), (0, 0));
    assert!(reserve.claim());
}

#[test]
fn what_was_taken_last_makes_room_when_it_is_freed() {
    let lengths = refused(100 << 10, || {
        let mut lengths = [0; 2];
        for _ in 0..1000 {
            let long = vec![1_u8; 60 << 10];
            let grown: Vec<u64> = (0..4000).collect();
            lengths = [long.len(), grown.len()];
        }
        lengths
    });
    assert_eq!(lengths, [60 << 10, 4000]);
}

#[test]
fn what_is_freed_in_any_order_makes_room_when_all_is() {
    let sum = refused(100 << 10, || {
        let mut sum = 0;
        for k in 0..1000_usize {
            let pieces = [vec![1_u8; 20 << 10], vec![2_u8; 20 << 10], vec![3_u8; 20 << 10]];
            sum += usize::from(pieces[k % 3][k]);
            let [first, second, third] = pieces;
            drop(first);
            drop(third);
            drop(second);
        }
        sum
    });
    assert_eq!(sum, (0..1000).map(|k| k % 3 + 1).sum::<usize>());
}

#[test]
fn there_is_no_more_than_was_set_aside_and_nothing_without_it() {
    let held = refused(100 << 10, || [fits(90 << 10), fits(101 << 10), without(|| fits(16)), fits(16)]);
    assert_eq!(held, [true, false, false, true]);
    let none = {
        let _refusal = Refusal::start();
        fits(16)
    };
    assert!(!none);
}

/// Nested reserves: the inner one for as long as it lives.
#[test]
fn one_is_held_after_another() {
    let outer = hold_new(64 << 10);
    let first = HELD.get();
    let inner = hold(64 << 10).unwrap();
    assert!(!ptr::eq(HELD.get(), first));
    drop(inner);
    assert!(ptr::eq(HELD.get(), first));
    drop(outer);
    assert!(HELD.get().is_null());
}

/// Eight threads with pieces of one reserve, freed by each other.
#[test]
fn threads_share_a_reserve() {
    // Room for all of them: while one is in use, what is freed in between is not free again.
    let reserve = Reserve::new(32 << 20).unwrap();
    let (to, from) = std::sync::mpsc::channel::<(usize, usize)>();
    let from = std::sync::Mutex::new(from);
    let layout = |k: usize| Layout::from_size_align(8 + k * 40 % 3000, 8).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (to, from) = (to.clone(), &from);
            scope.spawn(move || {
                for k in 0..2000 {
                    let piece = reserve.take(layout(k));
                    assert!(!piece.is_null());
                    // SAFETY: of that size and nobody else's.
                    unsafe { piece.write_bytes(thread + 1, layout(k).size()) };
                    to.send((piece.expose_provenance(), k)).unwrap();
                    let (other, k) = from.lock().unwrap().recv().unwrap();
                    let other = ptr::with_exposed_provenance_mut::<u8>(other);
                    // SAFETY: as above, by whoever has sent it.
                    let bytes = unsafe { std::slice::from_raw_parts(other, layout(k).size()) };
                    assert!(bytes.iter().all(|&byte| byte == bytes[0]), "somebody else has written to it");
                    reserve.free(other, layout(k).size());
                }
            });
        }
    });
    assert_eq!(in_use(reserve), (1, size_of::<Reserve>()));
}

/// The first `nodes` nodes of a network, or all of them, with `width` ranks each.
fn on(fabric: Fabric, nodes: Option<usize>, width: usize) -> Topology {
    let ranks = nodes.unwrap_or(fabric.host_count()) * width;
    let placement = network::place(&fabric, "by slot", ranks, width);
    network::planner(&Arc::new(fabric), &placement).topology().clone()
}

fn generated(generator: &Generator) -> Fabric {
    generator.builder("network", &TierRates::uniform(100.0, 1.0)).unwrap().build().unwrap()
}

fn flat(nodes: u32, width: u32) -> Topology {
    Topology::of_nodes((0..nodes * width).map(|rank| rank / width).collect::<Vec<_>>()).unwrap()
}

fn torus(dims: &[u32]) -> Generator {
    Generator::Torus { dims: dims.to_vec(), hosts_per_switch: 1 }
}

/// Plans a first call with so many bytes: what is known of the communicator, the choice, the plan.
fn plan(topology: &Arc<Topology>, bytes: usize, collective: Collective, algorithm: Algorithm) -> Option<Program> {
    refused(bytes, || {
        let planner = Planner::new(Arc::clone(topology));
        planner.fitting(collective, 1 << 20, Segments::AtMost(1 << 16));
        let plan = planner.plan_cut(collective, algorithm, 0, 0, 16)?;
        Program::new(plan, collective.has_output(0, 0)).ok()
    })
}

#[test]
fn planning_needs_no_more_than_is_set_aside() {
    let fat_tree = |ports| Generator::FatTree { ports, levels: 3, hosts_per_leaf: None };
    let whole = [
        Generator::Star { hosts: 4 },
        Generator::Star { hosts: 64 },
        Generator::Tree { children: vec![16, 8] },
        fat_tree(8),
        torus(&[2, 2]),
        torus(&[8, 8]),
        torus(&[4, 4, 4]),
    ];
    let of_large = [
        (fat_tree(16), 4),
        (fat_tree(24), 2),
        (fat_tree(24), 16),
        (torus(&[16, 16, 16]), 4),
        (Generator::Tree { children: vec![4, 64, 64] }, 16),
    ];
    let topologies = whole.iter().flat_map(|network| [1, 3].map(|width| on(generated(network), None, width)));
    let topologies =
        topologies.chain(["mlfm36", "wan2x8"].map(|name| on(Fabric::clone(&network::load(name)), None, 2)));
    let topologies = topologies.chain(of_large.iter().map(|(network, nodes)| on(generated(network), Some(*nodes), 1)));
    let topologies = topologies.chain([(2, 1), (5, 3), (64, 4), (500, 1)].map(|(nodes, width)| flat(nodes, width)));
    let mut calls = 0;
    for topology in topologies.map(Arc::new) {
        for spec in ALGORITHMS.iter().filter(|spec| spec.algorithm != Algorithm::ContentionFree) {
            for collective in Collective::ALL.into_iter().filter(|&collective| spec.algorithm.implements(collective)) {
                let bytes = footprint::planning(&topology);
                assert!(plan(&topology, bytes, collective, spec.algorithm).is_some(), "{collective} {}", spec.name);
                calls += 1;
            }
        }
    }
    assert!(calls > 300, "{calls}");
}

/// It is asked for, and so must be neither too little nor many times too much.
#[test]
fn the_order_of_a_contention_free_exchange() {
    let networks = [Generator::Star { hosts: 64 }, torus(&[8, 8]), torus(&[5, 5, 5])];
    for topology in
        networks.iter().map(|network| on(generated(network), None, 1)).chain([flat(64, 2), flat(200, 1)]).map(Arc::new)
    {
        let whole = footprint::exchange(&topology);
        // Holes in a stack are what it has beyond what is in use at a time.
        let bytes = footprint::planning(&topology) + 2 * whole;
        assert!(plan(&topology, bytes, Collective::Alltoall, Algorithm::ContentionFree).is_some());
        let started = Planner::new(Arc::clone(&topology));
        let kept = refused(bytes, || {
            started.context().exchange();
            // SAFETY: held by this thread.
            in_use(unsafe { &*HELD.get() }).1
        });
        assert!(kept * 12 > whole, "{whole} bytes for {kept} that are kept");
    }
}
