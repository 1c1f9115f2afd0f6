//! A fabric written out: every host, link and fixed route by itself.

use std::fmt::Write;

use serde::{Serialize, Serializer};

use crate::fabric::ids::NodeId;
use crate::fabric::model::{Fabric, Routing};

#[derive(Serialize)]
struct Listed<'f> {
    name: &'f str,
    #[serde(skip_serializing_if = "Option::is_none")]
    queue: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message_latency: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message_gap: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    torus: Option<&'f [u32]>,
    routing: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    levels: Option<Vec<&'f str>>,
    hosts: &'f [String],
    switches: &'f [String],
    link: Vec<ListedLink<'f>>,
    routes: Vec<ListedRoute<'f>>,
}

#[derive(Serialize)]
struct ListedLink<'f> {
    from: &'f str,
    to: &'f str,
    bandwidth: f64,
    latency: f64,
    parallel: u32,
}

#[derive(Serialize)]
struct ListedRoute<'f> {
    switch: &'f str,
    destination: &'f str,
    next: &'f str,
}

impl Fabric {
    fn listed(&self) -> Listed<'_> {
        let (hosts, switches) = self.names.split_at(self.host_count());
        let links = self.links.iter().map(|l| ListedLink {
            from: self.node_name(l.a),
            to: self.node_name(l.b),
            bandwidth: l.mbit,
            latency: l.latency_us,
            parallel: l.parallel,
        });
        let routes = (self.fixed_routes().into_iter()).map(|(switch, host, link)| ListedRoute {
            switch: self.node_name(switch),
            destination: self.node_name(host),
            next: self.node_name(self.end(link)),
        });
        Listed {
            name: &self.name,
            queue: self.queue_packets,
            message_latency: self.message.latency_us,
            message_gap: self.message.gap_us,
            torus: self.torus.as_ref().map(|t| t.dims.as_slice()),
            routing: self.routing.name(),
            levels: self.level_choice.words(),
            hosts,
            switches,
            link: links.collect(),
            routes: routes.collect(),
        }
    }

    /// The fabric as a file without generator or patterns; [`Fabric::from_toml`] reads the same fabric from it.
    pub fn to_toml(&self) -> String {
        let listed = self.listed();
        let mut text = format!("name = {}\n", toml::Value::from(listed.name));
        // Writing to a String cannot fail.
        if let Some(queue) = listed.queue {
            let _ = writeln!(text, "queue = {queue}");
        }
        for (key, us) in [("message_latency", listed.message_latency), ("message_gap", listed.message_gap)] {
            if let Some(us) = us {
                let _ = writeln!(text, "{key} = {us:?}");
            }
        }
        if let Some(dims) = listed.torus {
            let _ = writeln!(text, "torus = {dims:?}");
        }
        if self.routing != Routing::default() {
            let _ = writeln!(text, "routing = \"{}\"", listed.routing);
        }
        if let Some(words) = &listed.levels {
            let _ = writeln!(text, "levels = {words:?}");
        }
        for (key, names) in [("hosts", listed.hosts), ("switches", listed.switches)] {
            let _ = writeln!(text, "{key} = [");
            for line in names.chunks(12) {
                let quoted: Vec<String> = line.iter().map(|n| format!("\"{n}\"")).collect();
                let _ = writeln!(text, "    {},", quoted.join(", "));
            }
            let _ = writeln!(text, "]");
        }
        let _ = writeln!(text, "link = [");
        for l in &listed.link {
            let (from, to, mbit, us) = (l.from, l.to, l.bandwidth, l.latency);
            let _ = write!(text, "    {{ from = \"{from}\", to = \"{to}\", bandwidth = {mbit:?}, latency = {us:?}");
            if l.parallel > 1 {
                let _ = write!(text, ", parallel = {}", l.parallel);
            }
            let _ = writeln!(text, " }},");
        }
        let _ = writeln!(text, "]");
        let mut last = None;
        for (switch, host, link) in self.fixed_routes() {
            if last.replace(switch) != Some(switch) {
                let _ = writeln!(text, "\n[routes.\"{}\"]", self.node_name(switch));
            }
            let next: NodeId = self.end(link);
            let (host, next) = (self.node_name(host), self.node_name(next));
            let _ = writeln!(text, "\"{host}\" = \"{next}\"");
        }
        text
    }
}

impl Serialize for Fabric {
    /// Name, queue, hosts, switches, links and fixed routes, all by name.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.listed().serialize(serializer)
    }
}
