//! Edge colourings of bipartite graphs.

const NONE: u32 = u32::MAX;

/// Colours edges `(left, right)`, of which every left vertex has at most `colours`, so that no left vertex has a colour
/// twice and every right vertex with at least `colours` edges has every colour.
///
/// A right vertex is split into several of `colours` edges each; then every vertex has at most as many edges as there
/// are colours, and a colouring exists (Kőnig). An edge whose ends lack different colours gets the one the left end
/// lacks, after these two colours were exchanged on the path of both that begins at the right end.
pub(super) fn colour(edges: &[(u32, u32)], colours: usize) -> Vec<u32> {
    // Vertices of both sides: left ones first, then the right ones, split.
    let lefts = edges.iter().map(|e| e.0 as usize + 1).max().unwrap_or(0);
    let rights = edges.iter().map(|e| e.1 as usize + 1).max().unwrap_or(0);
    let (mut degree, mut part) = (vec![0; rights], vec![0; rights]);
    let mut vertices = lefts;
    let mut ends: Vec<[usize; 2]> = Vec::with_capacity(edges.len());
    for &(left, right) in edges {
        let right = right as usize;
        if degree[right] % colours == 0 {
            part[right] = vertices;
            vertices += 1;
        }
        degree[right] += 1;
        ends.push([left as usize, part[right]]);
    }
    // The edge of every colour at every vertex.
    let mut at = vec![NONE; vertices * colours];
    let mut coloured = vec![NONE; edges.len()];
    for (edge, &[left, right]) in ends.iter().enumerate() {
        let lacks = |at: &[u32], vertex: usize| (0..colours).find(|c| at[vertex * colours + c] == NONE).unwrap_or(0);
        let (a, b) = (lacks(&at, left), lacks(&at, right));
        // Exchange a and b along the path a b a … from the right end. It cannot reach the left end, which lacks a: it
        // comes to vertices of that side by edges of colour a.
        let (mut vertex, mut colour) = (right, a);
        let mut path = Vec::new();
        while at[vertex * colours + colour] != NONE {
            let next = at[vertex * colours + colour];
            path.push(next as usize);
            let [l, r] = ends[next as usize];
            vertex = if vertex == l { r } else { l };
            colour = if colour == a { b } else { a };
        }
        for &edge in &path {
            ends[edge].iter().for_each(|v| at[v * colours + coloured[edge] as usize] = NONE);
        }
        for &edge in &path {
            coloured[edge] = if coloured[edge] as usize == a { b } else { a } as u32;
            ends[edge].iter().for_each(|v| at[v * colours + coloured[edge] as usize] = edge as u32);
        }
        coloured[edge] = a as u32;
        [left, right].iter().for_each(|v| at[v * colours + a] = edge as u32);
    }
    coloured
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_left_vertex_has_a_colour_twice_and_full_right_vertices_have_all() {
        for (rows, hosts) in (1..9u32).flat_map(|rows| (1..9).map(move |hosts| (rows, hosts))) {
            // Rows of `hosts` edges each, to hosts in runs of a length that differs from row to row.
            let edges: Vec<(u32, u32)> = (0..rows)
                .flat_map(|row| (0..hosts).map(move |u| (row, (u / (1 + row % 4) + 3 * row) % hosts)))
                .collect();
            let colours = colour(&edges, hosts as usize);
            for row in 0..rows {
                let mut of_row: Vec<u32> =
                    edges.iter().zip(&colours).filter(|(e, _)| e.0 == row).map(|(_, &c)| c).collect();
                of_row.sort_unstable();
                assert!(of_row.iter().copied().eq(0..hosts));
            }
            for host in 0..hosts {
                let mut of_host: Vec<u32> =
                    edges.iter().zip(&colours).filter(|(e, _)| e.1 == host).map(|(_, &c)| c).collect();
                let all = of_host.len() as u32 >= hosts;
                of_host.sort_unstable();
                of_host.dedup();
                assert!(!all || of_host.len() as u32 == hosts);
            }
        }
    }
}
