//! An algorithm for every collective, the rows of each in turn.

use nagare_plan::algorithm::ALGORITHMS;
use nagare_plan::collective::Collective;

/// Every collective with the algorithm whose turn it is, by their names. As many turns in a row as any collective has
/// algorithms go through all of them.
pub fn algorithms(turn: u64) -> impl Iterator<Item = (&'static str, &'static str)> {
    Collective::ALL.into_iter().zip(0..).filter_map(move |(collective, offset)| {
        let able: Vec<&str> =
            ALGORITHMS.iter().filter(|s| s.collectives.contains(&collective)).map(|s| s.name).collect();
        let at = (turn + offset) % able.len().max(1) as u64;
        able.get(at as usize).map(|algorithm| (collective.name(), *algorithm))
    })
}
