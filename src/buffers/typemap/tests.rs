//! Types made at random, whose bytes are listed one by one as the standard's definitions place them (MPI 4.0 section
//! 5.1.2).

use super::{Bytes, Constructor, Inner, bytes};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRunner};

/// A type as a program makes it; displacements of `H…` and `Struct` in bytes, blocks as (length, displacement).
#[derive(Clone, Debug)]
enum Type {
    /// Bytes that are one after another.
    Basic(i64),
    /// Such as `MPI_SHORT_INT`: a gap in the middle, more extent than data.
    Pair,
    Dup(Box<Type>),
    Resized(i64, i64, Box<Type>),
    Contiguous(i64, Box<Type>),
    Vector(i64, i64, i64, Box<Type>),
    Hvector(i64, i64, i64, Box<Type>),
    Indexed(Vec<(i64, i64)>, Box<Type>),
    Hindexed(Vec<(i64, i64)>, Box<Type>),
    IndexedBlock(i64, Vec<i64>, Box<Type>),
    HindexedBlock(i64, Vec<i64>, Box<Type>),
    Struct(Vec<(i64, i64, Type)>),
    /// Dimensions as (size, length, start).
    Subarray(bool, Vec<(i64, i64, i64)>, Box<Type>),
}

/// Every byte of an element in the order of the type map, and its bounds.
#[derive(Clone, Debug, Default)]
struct Listed {
    at: Vec<i64>,
    bounds: Option<(i64, i64)>,
}

impl Listed {
    fn extent(&self) -> i64 {
        self.bounds.map_or(0, |(lower, upper)| upper - lower)
    }

    /// Adds a copy of one element, `by` bytes further on.
    fn add(&mut self, element: &Self, by: i64) {
        self.at.extend(element.at.iter().map(|at| at + by));
        if let Some((lower, upper)) = element.bounds {
            let (lower, upper) = (lower + by, upper + by);
            let old = self.bounds.unwrap_or((lower, upper));
            self.bounds = Some((old.0.min(lower), old.1.max(upper)));
        }
    }

    fn add_block(&mut self, element: &Self, length: i64, by: i64) {
        (0..length).for_each(|k| self.add(element, by + k * element.extent()));
    }

    /// What the listed bytes are, by looking at all of them.
    fn bytes(&self) -> Bytes {
        let Some(&first) = self.at.first() else { return Bytes::None };
        let in_a_row = self.at.iter().zip(first..).all(|(&at, expected)| at == expected);
        if in_a_row { Bytes::Run { first, count: self.at.len() as i64 } } else { Bytes::Scattered }
    }
}

fn list(of: &Type) -> Listed {
    let mut all = Listed::default();
    match of {
        Type::Basic(size) => all = Listed { at: (0..*size).collect(), bounds: Some((0, *size)) },
        Type::Pair => all = Listed { at: vec![0, 1, 4, 5, 6, 7], bounds: Some((0, 8)) },
        Type::Dup(of) => all = list(of),
        Type::Resized(lower, extent, of) => {
            all = Listed { bounds: Some((*lower, lower + extent)), ..list(of) };
        }
        Type::Contiguous(count, of) => all.add_block(&list(of), *count, 0),
        Type::Vector(count, length, stride, of) => {
            let of = list(of);
            (0..*count).for_each(|k| all.add_block(&of, *length, k * stride * of.extent()));
        }
        Type::Hvector(count, length, stride, of) => {
            let of = list(of);
            (0..*count).for_each(|k| all.add_block(&of, *length, k * stride));
        }
        Type::Indexed(blocks, of) => {
            let of = list(of);
            blocks.iter().for_each(|(length, at)| all.add_block(&of, *length, at * of.extent()));
        }
        Type::Hindexed(blocks, of) => {
            let of = list(of);
            blocks.iter().for_each(|(length, at)| all.add_block(&of, *length, *at));
        }
        Type::IndexedBlock(length, places, of) => {
            let of = list(of);
            places.iter().for_each(|at| all.add_block(&of, *length, at * of.extent()));
        }
        Type::HindexedBlock(length, places, of) => {
            let of = list(of);
            places.iter().for_each(|at| all.add_block(&of, *length, *at));
        }
        Type::Struct(blocks) => blocks.iter().for_each(|(length, at, of)| all.add_block(&list(of), *length, *at)),
        Type::Subarray(fortran, dimensions, of) => {
            let of = list(of);
            let mut slowest_first = dimensions.clone();
            if *fortran {
                slowest_first.reverse();
            }
            add_subarray(&mut all, &of, &slowest_first, 0);
            let elements: i64 = dimensions.iter().map(|(size, ..)| size).product();
            all.bounds = of.bounds.map(|(lower, _)| (lower, lower + elements * of.extent()));
        }
    }
    all
}

fn add_subarray(all: &mut Listed, of: &Listed, slowest_first: &[(i64, i64, i64)], element: i64) {
    match slowest_first {
        [] => all.add(of, element * of.extent()),
        [(size, length, start), faster @ ..] => {
            (*start..start + length).for_each(|k| add_subarray(all, of, faster, element * size + k));
        }
    }
}

/// What the function under test finds, with the extents of the list.
fn found(of: &Type) -> Bytes {
    let part = |of: &Type| Inner { bytes: found(of), extent: list(of).extent() };
    let counted = |first: i64, blocks: &[(i64, i64)]| -> Vec<i64> {
        [first].into_iter().chain(blocks.iter().map(|b| b.0)).chain(blocks.iter().map(|b| b.1)).collect()
    };
    let one = |constructor, numbers: &[i64], of: &Type| bytes(constructor, numbers, &[part(of)]);
    match of {
        Type::Basic(_) | Type::Pair => list(of).bytes(),
        Type::Dup(of) => one(Constructor::Same, &[], of),
        Type::Resized(lower, extent, of) => one(Constructor::Same, &[*lower, *extent], of),
        Type::Contiguous(count, of) => one(Constructor::Contiguous, &[*count], of),
        Type::Vector(count, length, stride, of) => one(Constructor::Vector, &[*count, *length, *stride], of),
        Type::Hvector(count, length, stride, of) => one(Constructor::Hvector, &[*count, *length, *stride], of),
        Type::Indexed(blocks, of) => one(Constructor::Indexed, &counted(blocks.len() as i64, blocks), of),
        Type::Hindexed(blocks, of) => one(Constructor::Hindexed, &counted(blocks.len() as i64, blocks), of),
        Type::IndexedBlock(length, places, of) => {
            one(Constructor::IndexedBlock, &[&[places.len() as i64, *length], &places[..]].concat(), of)
        }
        Type::HindexedBlock(length, places, of) => {
            one(Constructor::HindexedBlock, &[&[places.len() as i64, *length], &places[..]].concat(), of)
        }
        Type::Struct(blocks) => {
            let places: Vec<_> = blocks.iter().map(|(length, at, _)| (*length, *at)).collect();
            let inner: Vec<_> = blocks.iter().map(|(.., of)| part(of)).collect();
            bytes(Constructor::Struct, &counted(blocks.len() as i64, &places), &inner)
        }
        Type::Subarray(fortran, dimensions, of) => {
            let mut numbers = vec![dimensions.len() as i64];
            numbers.extend(dimensions.iter().map(|d| d.0));
            numbers.extend(dimensions.iter().map(|d| d.1));
            numbers.extend(dimensions.iter().map(|d| d.2));
            one(Constructor::Subarray { first_is_fastest: *fortran }, &numbers, of)
        }
    }
}

/// Blocks that often touch one another, and often do not: each begins near the end of the one before.
fn blocks(unit: i64) -> impl Strategy<Value = Vec<(i64, i64)>> {
    vec((0..3i64, prop_oneof![4 => Just(0i64), 1 => -2..3i64]), 0..4).prop_map(move |steps| {
        let mut next = 0;
        let place = |(length, step): (i64, i64)| {
            let at = next + step;
            next = at + length * unit;
            (length, at)
        };
        steps.into_iter().map(place).collect()
    })
}

/// Distances of equal blocks.
fn places(unit: i64) -> impl Strategy<Value = Vec<i64>> {
    prop_oneof![
        (0..4i64, -1..2i64).prop_map(move |(count, start)| (0..count).map(|k| start + k * unit).collect::<Vec<_>>()),
        vec(-4..5i64, 0..4),
    ]
}

fn dimension() -> impl Strategy<Value = (i64, i64, i64)> {
    (1..4i64)
        .prop_flat_map(|size| (Just(size), 1..=size))
        .prop_flat_map(|(size, length)| (Just(size), Just(length), 0..=size - length))
}

fn types() -> impl Strategy<Value = Type> {
    let basic = prop_oneof![6 => (1..5i64).prop_map(Type::Basic), 1 => Just(Type::Basic(0)), 1 => Just(Type::Pair)];
    basic.prop_recursive(3, 12, 3, |inner| {
        let of = inner.clone().prop_map(Box::new);
        let small = || 0..4i64;
        // Of bytes, those that distances in bytes often fit.
        let fitting = (1..5i64).prop_map(|size| (size, Box::new(Type::Basic(size))));
        let fitted = (fitting, 1..3i64).prop_flat_map(move |((size, of), length)| {
            let (a, b, c) = (of.clone(), of.clone(), of.clone());
            prop_oneof![
                blocks(size).prop_map(move |blocks| Type::Hindexed(blocks, of.clone())),
                places(size * length).prop_map(move |places| Type::HindexedBlock(length, places, a.clone())),
                places(length).prop_map(move |places| Type::IndexedBlock(length, places, b.clone())),
                small().prop_map(move |count| Type::Hvector(count, length, size * length, c.clone())),
            ]
        });
        // Members that follow one another, as in a C structure, and now and then do not.
        let members = vec((0..3i64, prop_oneof![5 => Just(0i64), 1 => -2..3i64], inner), 0..4).prop_map(|parts| {
            let mut next = 0;
            let member = |(length, step, of): (i64, i64, Type)| {
                let listed = list(&of);
                let at = next + step;
                next = at + length * listed.extent();
                (length, at, of)
            };
            Type::Struct(parts.into_iter().map(member).collect())
        });
        prop_oneof![
            of.clone().prop_map(Type::Dup),
            (-3..4i64, -4..9i64, of.clone()).prop_map(|(lower, extent, of)| Type::Resized(lower, extent, of)),
            (small(), of.clone()).prop_map(|(count, of)| Type::Contiguous(count, of)),
            (small(), small(), -3..4i64, of.clone())
                .prop_map(|(n, length, stride, of)| Type::Vector(n, length, stride, of)),
            (small(), small(), -9..10i64, of.clone())
                .prop_map(|(n, length, stride, of)| Type::Hvector(n, length, stride, of)),
            (blocks(1), of.clone()).prop_map(|(blocks, of)| Type::Indexed(blocks, of)),
            (blocks(2), of.clone()).prop_map(|(blocks, of)| Type::Hindexed(blocks, of)),
            (small(), places(1), of.clone()).prop_map(|(length, places, of)| Type::IndexedBlock(length, places, of)),
            (any::<bool>(), vec(dimension(), 1..4), of).prop_map(|(fortran, d, of)| Type::Subarray(fortran, d, of)),
            members,
            fitted,
        ]
    })
}

#[test]
fn what_is_found_is_what_is_listed() {
    let mut runner = TestRunner::new(Config::with_cases(20_000));
    let (mut runs, mut scattered) = (0, 0);
    let tree = types();
    runner
        .run(&tree, |of| {
            prop_assert_eq!(found(&of), list(&of).bytes());
            Ok(())
        })
        .unwrap_or_else(|error| panic!("{error}"));
    // Of both kinds there are enough, other than basic types.
    for _ in 0..2000 {
        let of = tree.new_tree(&mut runner).expect("a type").current();
        match list(&of).bytes() {
            _ if matches!(of, Type::Basic(_) | Type::Pair) => {}
            Bytes::Run { .. } => runs += 1,
            Bytes::Scattered => scattered += 1,
            Bytes::None => {}
        }
    }
    assert!(runs > 300 && scattered > 300, "{runs} runs, {scattered} scattered");
}

/// Types that overlap, leave gaps or go backwards, in as many bytes as a dense one has.
#[test]
fn as_many_bytes_and_not_in_a_row() {
    let int = || Box::new(Type::Basic(4));
    for of in [
        Type::Indexed(vec![(2, 0), (1, 1), (1, 3)], int()),
        Type::Hindexed(vec![(2, 0), (1, 4), (1, 12)], int()),
        Type::IndexedBlock(2, vec![0, 1, 3, 3], int()),
        Type::HindexedBlock(1, vec![0, 4, 4, 12], int()),
        Type::Struct(vec![(2, 0, Type::Basic(4)), (1, 4, Type::Basic(4)), (1, 12, Type::Basic(4))]),
        Type::Indexed(vec![(2, 2), (2, 0)], int()),
        Type::Vector(2, 1, -1, int()),
        Type::Resized(0, 8, Box::new(Type::Hvector(2, 1, 2, int()))),
    ] {
        assert_eq!(found(&of), Bytes::Scattered, "{of:?}");
        assert_eq!(list(&of).bytes(), Bytes::Scattered, "{of:?}");
    }
}

/// Numbers that cannot be those of a type, or that overflow.
#[test]
fn numbers_without_sense() {
    let int = [Inner { bytes: Bytes::Run { first: 0, count: 4 }, extent: 4 }];
    for (constructor, numbers, inner) in [
        (Constructor::Same, &[][..], &[][..]),
        (Constructor::Contiguous, &[], &int),
        (Constructor::Contiguous, &[i64::MAX], &int),
        (Constructor::Vector, &[2, 1, i64::MAX], &int),
        (Constructor::Indexed, &[3, 1, 1, 1, 0, 1], &int),
        (Constructor::Indexed, &[-1], &int),
        (Constructor::Indexed, &[i64::MAX, 1], &int),
        (Constructor::Hindexed, &[1, 1, i64::MAX], &[Inner { bytes: Bytes::Run { first: 1, count: 4 }, extent: 4 }]),
        (Constructor::Struct, &[2, 1, 1, 0, 4], &int),
        (Constructor::Subarray { first_is_fastest: true }, &[2, 3, 3, 3, 3, 0], &int),
        (Constructor::Subarray { first_is_fastest: false }, &[1, i64::MAX, 1, 1 << 62], &int),
    ] {
        assert_eq!(bytes(constructor, numbers, inner), Bytes::Scattered, "{constructor:?} {numbers:?}");
    }
}
