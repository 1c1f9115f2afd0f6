//! A profile as TOML, written: the form is in [`file`](super::file).

use super::file::{SCHEMA, STOCK};
use super::{Cell, Measured, Profile, measures};
use crate::algorithm::Algorithm;
use crate::fabric::MessageCost;
use std::fmt::Write;

impl Profile {
    /// The text of its file.
    pub fn to_toml(&self) -> String {
        let mut text = String::from(
            "# What was measured: `nagare profile show FILE` explains it, docs/profiles.md says who reads it.\n",
        );
        // Writing to a String cannot fail.
        macro_rules! line {
            ($($format:tt)*) => { { let _ = writeln!(text, $($format)*); } };
        }
        let string = |value: &str| toml::Value::String(value.to_owned()).to_string();
        let Measured { mpi, network, transport, placement, ranks, nodes, nagare, date, command } = &self.measured;
        line!("schema = {SCHEMA}\n\n[measured]");
        line!("mpi = {}\nnetwork = {}", string(mpi), string(network));
        line!("transport = {}\nplacement = {}", string(transport), string(placement));
        line!("ranks = {ranks}\nnodes = {nodes}");
        line!("nagare = {}\ndate = {}\ncommand = {}", string(nagare), string(date), string(command));
        line!("\n[network]");
        let MessageCost { latency_us, gap_us } = self.costs.message;
        let host = self.costs.host_goodput;
        for (key, value, unit) in [
            ("message_latency", latency_us, "microseconds a message costs beyond its bytes"),
            ("message_gap", gap_us, "microseconds between the messages of a host"),
            ("host_goodput", host, "Mbit/s of data that a host sends while all do"),
        ] {
            if let Some(value) = value {
                line!("{key} = {value:?}   # {unit}");
            }
        }
        let _ = measures::write(&mut text, &self.pairs, self.reduction);
        for Cell { collective, bytes, most, fastest, stock_us, fastest_us } in &self.cells {
            let algorithm = fastest.map_or(STOCK, Algorithm::name);
            line!("\n[[fastest]]\ncollective = \"{collective}\"\nbytes = {bytes}");
            if let Some(most) = most {
                line!("most = {most}   # it holds from bytes to most");
            }
            line!("algorithm = \"{algorithm}\"");
            line!("us = {fastest_us:?}\nstock_us = {stock_us:?}");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::profile;
    use super::super::{Pair, Reduction};
    use super::*;
    use crate::collective::Collective;

    #[test]
    fn what_is_written_is_read() {
        let mut written =
            profile(&[(Collective::Bcast, 65536, Some(Algorithm::TwoTree)), (Collective::ReduceScatterBlock, 8, None)]);
        written.cells[0].most = Some(131_071);
        written.measured.command = "nagare tune \"a b\" \\ \n".to_owned();
        written.costs.message.latency_us = Some(66.25);
        written.costs.host_goodput = Some(1e5);
        let pair = Pair {
            within: "node \"x\"".to_owned(),
            latency_us: 0.5,
            goodput: 41e3,
            eager: Some(4064),
            rendezvous_us: Some(1.5),
            assumed: Some(3840),
        };
        let least = Pair { within: "job".to_owned(), eager: None, rendezvous_us: None, assumed: None, ..pair.clone() };
        written.pairs = vec![pair, least];
        written.reduction = Some(Reduction { int_ns: 0.2, double_ns: 0.25 });
        let text = written.to_toml();
        assert_eq!(Profile::from_toml(&text, "p.toml"), Ok(written), "{text}");
    }
}
