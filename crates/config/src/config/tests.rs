use super::*;
use nagare_plan::pattern::Pairs;
use nagare_plan::topology::DimensionOrder;

fn read(vars: &[(&str, &str)]) -> (Config, Vec<String>) {
    let (config, problems) = Config::from_vars(vars.iter().map(|&(n, v)| (n.to_owned(), v.to_owned())));
    (config, problems.iter().map(ToString::to_string).collect())
}

#[test]
fn every_variable_of_the_table_is_read() {
    let values = [
        ("NAGARE_ENABLE", "0"),
        ("NAGARE_ALGORITHM", "all=stock"),
        ("NAGARE_LEARN", "off"),
        ("NAGARE_PROFILE", "p.toml"),
        ("NAGARE_TOPOLOGY", "synthetic:node:4"),
        ("NAGARE_SEGMENT", "16K"),
        ("NAGARE_WINDOW", "4"),
        ("NAGARE_STEPS", "together"),
        ("NAGARE_PARTNERS", "2"),
        ("NAGARE_TORUS", "4x4x2"),
        ("NAGARE_TORUS_ORDER", "given"),
        ("NAGARE_TORUS_PARTNERS", "bits"),
        ("NAGARE_AGGREGATORS", "4"),
        ("NAGARE_WAIT", "pause"),
        ("NAGARE_DEVICE_MEMORY", "managed"),
        ("NAGARE_MEETING_TIMEOUT", "0"),
        ("NAGARE_WATCH", "5m"),
        ("NAGARE_STRICT", "1"),
        ("NAGARE_REPORT", "r.json"),
        ("NAGARE_LOG", "debug"),
    ];
    assert_eq!(values.map(|v| v.0).to_vec(), VARIABLES.iter().map(|v| v.name).collect::<Vec<_>>());
    for value in values {
        let (config, problems) = read(&[value]);
        assert!(problems.is_empty(), "{problems:?}");
        assert_ne!(config, Config::default(), "{} has no effect", value.0);
    }
}

#[test]
fn problems_are_one_clear_line_and_the_rest_still_holds() {
    let (config, problems) = read(&[
        ("NAGARE_ALGORITM", "x"),
        ("NAGARE_WINDOW", "1"),
        ("NAGARE_SEGMENT", "4K"),
        ("NAGARE_FOO", ""),
        ("PATH", "/bin"),
    ]);
    assert_eq!(
        problems,
        [
            "NAGARE_ALGORITM is not a variable Nagare knows, did you mean NAGARE_ALGORITHM?; `nagare env` lists \
             them",
            "NAGARE_FOO is not a variable Nagare knows; `nagare env` lists them",
            "NAGARE_WINDOW=1: expected a number between 2 and 1024",
        ]
    );
    assert_eq!((config.segment, config.window), (Some(4096), None));
}

#[test]
fn times_have_units() {
    let of = |value| (read(&[("NAGARE_WATCH", value)]).0.watch, read(&[("NAGARE_WATCH", value)]).1.len());
    assert_eq!(
        ["60", "60s", "5m", "1h", "off", ""].map(of),
        [Some(60), Some(60), Some(300), Some(3600), None, None].map(|s| (s, 0))
    );
    assert_eq!(["0", "0s", "-1s", "1ms", "soon", "5 apples", "99999999h"].map(of), [(None, 1); 7]);
}

#[test]
fn what_is_wrong_matters_where_ranks_must_agree() {
    let is_fatal = |name: &str, value: &str, is_strict| {
        let (_, problems) = Config::from_vars([(name, value)]);
        assert_eq!(problems.len(), 1, "{name}={value}: {problems:?}");
        problems[0].is_fatal(is_strict)
    };
    for (name, value, fatal) in [
        ("NAGARE_WINDOW", "abc", true),
        ("NAGARE_ALGORITHM", "bcast", true),
        ("NAGARE_LOG", "loud", false),
        ("NAGARE_WAIT", "long", false),
        ("NAGARE_REPORT", "r-%x.json", false),
        ("NAGARE_MEETING_TIMEOUT", "soon", false),
        ("NAGARE_FOO", "", false),
        ("NAGARE_ALGORITHM", "all=stock;bcast=chain", false),
    ] {
        assert_eq!(is_fatal(name, value, false), fatal, "{name}={value}");
        assert!(is_fatal(name, value, true), "{name}={value}");
    }
}

#[test]
fn rules_that_never_hold_are_told() {
    let (_, problems) = read(&[("NAGARE_ALGORITHM", "allreduce=stock; bcast=chain:-64K ;allreduce = ring")]);
    assert_eq!(problems, ["NAGARE_ALGORITHM: `allreduce = ring` never holds, since `allreduce=stock` comes before it"]);
    for sound in ["bcast=stock:64K-;bcast=chain", "all=two_tree;alltoall=xor", "bcast=chain;all=stock", ""] {
        let (_, problems) = read(&[("NAGARE_ALGORITHM", sound)]);
        assert!(problems.is_empty(), "{sound}: {problems:?}");
    }
}

#[test]
fn names_of_reports() {
    let of = |value: &str| read(&[("NAGARE_REPORT", value)]);
    let file = |name: &str, replaces| Some(ReportTarget::File { name: name.to_owned(), replaces });
    assert_eq!(of("r-%j.%h.%p.%t.100%%.json").0.report, file("r-%j.%h.%p.%t.100%%.json", false));
    assert_eq!(of("replace:r.json").0.report, file("r.json", true));
    assert_eq!(of("stdout").0.report, Some(ReportTarget::Stdout));
    for (value, says) in [("r%x", "`%x` is unknown"), ("r%", "`%` is unknown"), ("replace:", "the name of a file")] {
        let (config, problems) = of(value);
        assert!(config.report.is_none() && problems[0].contains(says), "{problems:?}");
    }
}

#[test]
fn dimensions_and_how_they_are_used() {
    let (config, problems) = read(&[
        ("NAGARE_TORUS", "W4xX2"),
        ("NAGARE_TORUS_ORDER", "alphabetical"),
        ("NAGARE_TORUS_PARTNERS", "near"),
        ("NAGARE_AGGREGATORS", "64"),
    ]);
    assert!(problems.is_empty(), "{problems:?}");
    assert_eq!(config.torus.map(|t| t.named().to_vec()), Some(vec![("W".into(), 4), ("X".into(), 2)]));
    let rails = RailOptions { order: DimensionOrder::Alphabetical, pairs: Pairs::Near, aggregators: Some(64) };
    assert_eq!(config.rails, rails);
    let (config, problems) = read(&[
        ("NAGARE_TORUS", "4x4y2"),
        ("NAGARE_TORUS_ORDER", "size"),
        ("NAGARE_TORUS_PARTNERS", "far"),
        ("NAGARE_AGGREGATORS", "0"),
    ]);
    assert_eq!(
        problems,
        [
            "NAGARE_AGGREGATORS=0: expected a number between 1 and 64",
            "NAGARE_TORUS=4x4y2: 'y' at character 4; expected x between sizes, as in 4x4x2 or W4xX2",
            "NAGARE_TORUS_ORDER=size: expected bandwidth, alphabetical or given",
            "NAGARE_TORUS_PARTNERS=far: expected near or bits",
        ]
    );
    assert_eq!((config.torus, config.rails), (None, RailOptions::default()));
}
