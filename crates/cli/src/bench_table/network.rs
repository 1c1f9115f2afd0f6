//! What was measured of the network itself, and what a fabric file may say of it.

use super::{Grid, percent};
use nagare_bench::record::{GAP, LATENCY, Results};

/// The network itself: measured, and what its file says.
pub fn network(results: &Results) -> Grid {
    let header = ["network", "flows", "measured", "by the rates", "share"].map(str::to_owned).into();
    let mut rows = Vec::new();
    for goodput in &results.goodput {
        let bits = goodput.bytes as f64 * 8.0 * goodput.flows.len() as f64 / 1e6;
        let limit = goodput.limit;
        let test = match goodput.test.as_str() {
            "pair" => "one host to one half way across",
            "across" => "every host to the one half way on",
            "next" => "every host to the next",
            other => other,
        };
        rows.push(vec![
            test.to_owned(),
            goodput.flows.len().to_string(),
            format!("{:.1} Mbit/s", bits / goodput.seconds),
            limit.map_or("-".to_owned(), |limit| format!("{:.1} Mbit/s", bits / limit)),
            limit.map_or("-".to_owned(), |limit| percent(limit / goodput.seconds)),
        ]);
    }
    for message in &results.messages {
        let test = match message.test.as_str() {
            LATENCY => format!("half a round trip of {} bytes, half way across", message.bytes),
            GAP => format!("one message of {} bytes after the other, every host to the next", message.bytes),
            other => other.to_owned(),
        };
        let measured = format!("{} µs", number(message.microseconds));
        rows.push(vec![test, message.flows.len().to_string(), measured, "-".to_owned(), "-".to_owned()]);
    }
    Grid::new(header, rows)
}

/// The lines by which a fabric file tells what messages cost; `None` if neither can be told.
pub fn suggestion(results: &Results) -> Option<String> {
    let tests = [("message_latency", LATENCY), ("message_gap", GAP)];
    let line = |(key, test)| Some(format!("{key} = {}   # microseconds\n", number(results.message(test)?)));
    Some(tests.into_iter().filter_map(line).collect::<String>()).filter(|lines| !lines.is_empty())
}

/// Whole microseconds where there are ten or more.
fn number(microseconds: f64) -> String {
    if microseconds >= 9.95 { format!("{microseconds:.0}") } else { format!("{microseconds:.1}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nagare_bench::record::Message;

    #[test]
    fn the_suggestion_has_the_form_of_a_fabric_file() {
        let message = |test: &str, microseconds| {
            let test = test.to_owned();
            Message { test, flows: Vec::new(), bytes: 8, microseconds, links: 0.0 }
        };
        let messages = vec![message(LATENCY, 75.2), message(GAP, 2.34)];
        let results = Results { messages, ..Results::default() };
        let expected = "message_latency = 75   # microseconds\nmessage_gap = 2.3   # microseconds\n";
        assert_eq!(suggestion(&results).as_deref(), Some(expected));
        assert_eq!(suggestion(&Results::default()), None);
    }
}
