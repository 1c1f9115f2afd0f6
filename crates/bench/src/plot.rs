//! Time against size as SVG, both logarithmic.

use crate::operation::{Operation, Unit};
use crate::record::{Cell, DEFAULT, Results, STOCK, algorithms};
use std::fmt::Write;

const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 520.0;
/// The area of the curves: left, top, right, bottom.
const AREA: (f64, f64, f64, f64) = (70.0, 64.0, 650.0, 460.0);
/// Least distance between names beside the curves.
const LINE_HEIGHT: f64 = 18.0;
/// Colours of forced algorithms, the first distinct also for the colour-blind (Okabe and Ito), in the order of
/// [`algorithms`].
const COLOURS: [&str; 9] =
    ["#e69f00", "#56b4e9", "#009e73", "#d55e00", "#cc79a7", "#8a6d00", "#6a3d9a", "#7fb800", "#a50026"];
/// Decades that are shown below the least time measured.
const BELOW: f64 = 0.7;
const LIMIT: &str = "limit of the links";

/// A curve: points (bytes, seconds) by size.
struct Curve {
    name: String,
    colour: &'static str,
    /// Stroke width, and a dash pattern.
    stroke: (f64, &'static str),
    points: Vec<(f64, f64)>,
}

/// Positions on the paper.
struct Scale {
    x: (f64, f64),
    y: (f64, f64),
}

impl Scale {
    fn new(curves: &[Curve]) -> Self {
        let range = |values: &mut dyn Iterator<Item = f64>| {
            values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)))
        };
        let points = || curves.iter().flat_map(|curve| &curve.points);
        let x = range(&mut points().map(|p| p.0.log2()));
        let y = range(&mut points().map(|p| p.1.log10()));
        // The limit of a few bytes is far below what any software reaches: the curve may leave the area.
        let measured = curves.iter().filter(|curve| curve.name != LIMIT).flat_map(|curve| &curve.points);
        let least = measured.map(|p| p.1.log10()).fold(f64::INFINITY, f64::min);
        let y = if least.is_finite() { (y.0.max(least - BELOW), y.1) } else { y };
        // A little air, and no empty range where there is one point only.
        Self { x: (x.0 - 0.3, x.1 + 0.3), y: (y.0 - 0.1, y.1 + 0.1) }
    }

    fn x(&self, bytes: f64) -> f64 {
        AREA.0 + (bytes.log2() - self.x.0) / (self.x.1 - self.x.0) * (AREA.2 - AREA.0)
    }

    fn y(&self, seconds: f64) -> f64 {
        AREA.3 - (seconds.log10() - self.y.0) / (self.y.1 - self.y.0) * (AREA.3 - AREA.1)
    }
}

// Writing to a String cannot fail.
macro_rules! line {
    ($text:expr, $($format:tt)*) => { { let _ = writeln!($text, $($format)*); } };
}

/// The plot of one operation; `None` if it was not measured.
pub fn svg(results: &Results, operation: Operation) -> Option<String> {
    let mut cells: Vec<&Cell> = results.cells.iter().filter(|cell| cell.collective == operation).collect();
    cells.sort_by_key(|cell| cell.block);
    let curves = curves(&cells);
    if curves.is_empty() {
        return None;
    }
    let scale = Scale::new(&curves);
    let mut text = String::new();
    line!(
        text,
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" {}>"#,
        r#"font-family="sans-serif" font-size="13""#
    );
    line!(text, r##"<rect width="100%" height="100%" fill="#ffffff"/>"##);
    let (ranks, fabric) = (results.job.hosts.len(), escaped(&results.fabric));
    let title = format!("{operation} on {fabric}, {ranks} ranks, map {}", escaped(&results.map));
    line!(text, r#"<text x="{}" y="26" font-size="17">{title}</text>"#, AREA.0);
    let (mpi, congestion) = (escaped(&results.job.mpi), results.job.congestion.as_deref().map(escaped));
    let congestion = congestion.map_or(String::new(), |name| format!(", {name}"));
    let about = format!("{mpi}{congestion}; median time of the slowest rank");
    line!(text, r##"<text x="{}" y="46" fill="#555555">{about}</text>"##, AREA.0);
    grid(&mut text, &scale, &cells);
    let (width, height) = (AREA.2 - AREA.0, AREA.3 - AREA.1);
    let area = format!(r#"x="{}" y="{}" width="{width}" height="{height}""#, AREA.0, AREA.1);
    line!(text, r#"<clipPath id="area"><rect {area}/></clipPath>"#);
    line!(text, r#"<g clip-path="url(#area)">"#);
    for curve in &curves {
        draw(&mut text, &scale, curve);
    }
    text += "</g>\n";
    names(&mut text, &scale, &curves);
    text += "</svg>\n";
    Some(text)
}

/// Forced algorithms first, so that what matters most lies on top.
fn curves(cells: &[&Cell]) -> Vec<Curve> {
    let timed = |name: &str| {
        let point = |cell: &&Cell| cell.timing(name).map(|timing| (cell.block as f64, timing.median));
        cells.iter().filter_map(point).filter(|point| point.1 > 0.0).collect::<Vec<_>>()
    };
    let curve = |name: &str, label: &str, colour, width, dashes| Curve {
        name: label.to_owned(),
        colour,
        stroke: (width, dashes),
        points: timed(name),
    };
    let forced = algorithms().zip(COLOURS.iter().cycle());
    let mut curves: Vec<Curve> = forced.map(|(name, colour)| curve(name, name, colour, 1.5, "none")).collect();
    let limits = cells.iter().filter_map(|cell| Some((cell.block as f64, cell.limit?)));
    curves.push(Curve { name: LIMIT.to_owned(), colour: "#000000", stroke: (1.5, "6 4"), points: limits.collect() });
    // Of its own choice too, which can be far faster than all it was told.
    let best = cells.iter().filter_map(|cell| Some((cell.block as f64, cell.best_stock()?.median)));
    let (name, stroke) = ("best stock".to_owned(), (3.0, "3 4"));
    curves.push(Curve { name, colour: "#555555", stroke, points: best.collect() });
    curves.push(curve(STOCK, "stock MPI", "#555555", 3.0, "none"));
    curves.push(curve(DEFAULT, "Nagare's default", "#0072b2", 3.0, "12 3"));
    curves.retain(|curve| !curve.points.is_empty());
    curves
}

fn grid(text: &mut String, scale: &Scale, cells: &[&Cell]) {
    let (left, top, right, bottom) = AREA;
    let decades = scale.y.0.floor() as i32..=scale.y.1.ceil() as i32;
    // Few decades leave room for steps between them.
    let steps: &[f64] = if scale.y.1 - scale.y.0 < 3.0 { &[1.0, 2.0, 5.0] } else { &[1.0] };
    for seconds in decades.flat_map(|decade| steps.iter().map(move |step| step * 10f64.powi(decade))) {
        let y = scale.y(seconds);
        if (top..=bottom).contains(&y) {
            line!(text, r##"<line x1="{left}" y1="{y:.1}" x2="{right}" y2="{y:.1}" stroke="#dddddd"/>"##);
            let label = duration(seconds);
            line!(text, r#"<text x="{}" y="{:.1}" text-anchor="end">{label}</text>"#, left - 6.0, y + 4.5);
        }
    }
    let mut free = f64::NEG_INFINITY;
    for cell in cells {
        let x = scale.x(cell.block as f64);
        line!(text, r##"<line x1="{x:.1}" y1="{top}" x2="{x:.1}" y2="{bottom}" stroke="#eeeeee"/>"##);
        // Labels must not touch.
        if x >= free {
            line!(text, r#"<text x="{x:.1}" y="{}" text-anchor="middle">{}</text>"#, bottom + 18.0, size(cell.block));
            free = x + 42.0;
        }
    }
    line!(
        text,
        r##"<rect x="{left}" y="{top}" width="{}" height="{}" fill="none" stroke="#888888"/>"##,
        right - left,
        bottom - top
    );
    let middle = (left + right) / 2.0;
    let axis = match cells.first().map(|cell| cell.collective.unit()) {
        Some(Unit::Pair) => "bytes per rank pair",
        Some(Unit::Rank) => "bytes per rank",
        _ => "bytes of the vector",
    };
    line!(text, r#"<text x="{middle}" y="{}" text-anchor="middle">{axis}</text>"#, bottom + 42.0);
}

fn draw(text: &mut String, scale: &Scale, curve: &Curve) {
    let (colour, (width, dashes)) = (curve.colour, curve.stroke);
    let points: Vec<String> =
        curve.points.iter().map(|&(bytes, seconds)| format!("{:.1},{:.1}", scale.x(bytes), scale.y(seconds))).collect();
    line!(
        text,
        r#"<polyline points="{}" fill="none" stroke="{colour}" stroke-width="{width}" stroke-dasharray="{dashes}"/>"#,
        points.join(" ")
    );
    for &(bytes, seconds) in &curve.points {
        let (x, y, radius) = (scale.x(bytes), scale.y(seconds), width.max(2.0));
        line!(text, r#"<circle cx="{x:.1}" cy="{y:.1}" r="{radius}" fill="{colour}"/>"#);
    }
}

/// Names beside the ends of their curves, moved apart where those are close.
fn names(text: &mut String, scale: &Scale, curves: &[Curve]) {
    let mut ends: Vec<(f64, f64, &Curve)> =
        curves.iter().filter_map(|c| c.points.last().map(|&(x, y)| (scale.x(x), scale.y(y).min(AREA.3), c))).collect();
    ends.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut places: Vec<f64> = ends.iter().map(|end| end.1).collect();
    // Downwards from the first, then upwards from the bottom.
    for i in 1..places.len() {
        places[i] = places[i].max(places[i - 1] + LINE_HEIGHT);
    }
    let mut lowest = AREA.3;
    for place in places.iter_mut().rev() {
        *place = place.min(lowest);
        lowest = *place - LINE_HEIGHT;
    }
    let (edge, start) = (AREA.2 + 4.0, AREA.2 + 22.0);
    for ((x, y, curve), place) in ends.into_iter().zip(places) {
        let (colour, name) = (curve.colour, escaped(&curve.name));
        let weight = if curve.stroke.0 > 2.0 { "bold" } else { "normal" };
        line!(
            text,
            r#"<polyline points="{:.1},{y:.1} {edge:.1},{y:.1} {:.1},{place:.1}" fill="none" stroke="{colour}" {}/>"#,
            x + 4.0,
            start - 3.0,
            r#"stroke-width="0.7""#
        );
        line!(text, r#"<text x="{start}" y="{:.1}" fill="{colour}" font-weight="{weight}">{name}</text>"#, place + 4.5);
    }
}

fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 0.99e-3 => format!("{:.0} µs", s * 1e6),
        s if s < 0.99 => format!("{:.0} ms", s * 1e3),
        s => format!("{s:.0} s"),
    }
}

fn size(bytes: u64) -> String {
    match bytes {
        b if b >= 1 << 20 && b % (1 << 20) == 0 => format!("{}M", b >> 20),
        b if b >= 1 << 10 && b % (1 << 10) == 0 => format!("{}K", b >> 10),
        b => b.to_string(),
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Timing, forced_stock};

    fn results(times: &[(u64, &[(&str, f64)])]) -> Results {
        let timing = |&(name, median): &(&str, f64)| Timing::without_spread(name, median);
        let cell = |&(bytes, timings): &(u64, &[(&str, f64)])| Cell {
            timings: timings.iter().map(timing).collect(),
            limit: Some(bytes as f64 * 1e-7),
            ..Cell::new(Operation::Bcast, bytes, bytes)
        };
        let cells = times.iter().map(cell).collect();
        Results { fabric: "a<b & \"c\"".into(), map: "slot".into(), cells, ..Results::default() }
    }

    /// The numbers of the attribute `points` of the curve that starts with `prefix`.
    fn points(svg: &str, mark: &str) -> Vec<(f64, f64)> {
        let line = svg.lines().find(|line| line.contains("fill=\"none\"") && line.contains(mark)).unwrap_or_default();
        let list = line.split('"').nth(1).unwrap_or_default();
        let pair = |p: &str| p.split_once(',').and_then(|(x, y)| Some((x.parse().ok()?, y.parse().ok()?)));
        list.split(' ').filter_map(pair).collect()
    }

    #[test]
    fn equal_factors_are_equal_distances() {
        let times: [(u64, &[(&str, f64)]); 3] =
            [(1024, &[(STOCK, 1e-3)]), (4096, &[(STOCK, 1e-2)]), (16384, &[(STOCK, 1e-1)])];
        let text = svg(&results(&times), Operation::Bcast).unwrap_or_default();
        let at = points(&text, "stroke-width=\"3\"");
        assert_eq!(at.len(), 3, "{text}");
        assert!(((at[1].0 - at[0].0) - (at[2].0 - at[1].0)).abs() < 0.3 && at[0].0 < at[1].0, "{at:?}");
        // Longer times are higher up.
        assert!(((at[0].1 - at[1].1) - (at[1].1 - at[2].1)).abs() < 0.3 && at[0].1 > at[1].1, "{at:?}");
        assert!(text.contains("a&lt;b &amp; &quot;c&quot;"));
    }

    #[test]
    fn the_best_of_stock_is_one_curve() {
        let (a, b) = (forced_stock("pipeline 8K"), forced_stock("chain 8K"));
        let times: [(u64, &[(&str, f64)]); 2] =
            [(1024, &[(STOCK, 1e-3), (&a, 9e-4), (&b, 8e-4)]), (4096, &[(STOCK, 1e-3), (&a, 1e-2), (&b, 2e-2)])];
        let text = svg(&results(&times), Operation::Bcast).unwrap_or_default();
        // 0.8 ms by one setting; then both take far longer than stock's own choice, which is the best.
        let (best, stock) = (points(&text, "stroke-dasharray=\"3 4\""), points(&text, "stroke-dasharray=\"none\""));
        assert_eq!((best.len(), best[1]), (2, stock[1]), "{text}");
        assert!(best[0].1 > stock[0].1, "{text}");
        assert_eq!(text.matches("best stock").count(), 1);
    }

    #[test]
    fn nothing_measured_is_no_plot_and_one_size_is_one() {
        let one: [(u64, &[(&str, f64)]); 1] = [(8, &[(STOCK, 1e-4), (DEFAULT, 1e-4)])];
        let text = svg(&results(&one), Operation::Bcast).unwrap_or_default();
        assert!(!text.is_empty() && !text.contains("NaN") && !text.contains("inf"), "{text}");
        assert_eq!(svg(&results(&one), Operation::Reduce), None);
    }
}
