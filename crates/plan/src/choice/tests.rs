use super::*;

fn call(collective: Collective, bytes: u64, nodes: u32) -> Call {
    Call { collective, bytes, ranks: 16, nodes }
}

#[test]
fn the_example_of_the_documentation() {
    let rules = Rules::parse("bcast=grouped_two_tree:64K-;alltoall=xor;all=stock").unwrap();
    let choose = |c, bytes| rules.choose(&call(c, bytes, 1), || None);
    assert_eq!(choose(Collective::Bcast, 65536), Choice::Run(Algorithm::GroupedTwoTree));
    assert_eq!(choose(Collective::Bcast, 65535), Choice::Library(Reason::Asked));
    assert_eq!(choose(Collective::Alltoall, 1), Choice::Run(Algorithm::Xor));
    assert_eq!(choose(Collective::Reduce, 1 << 20), Choice::Library(Reason::Asked));
    assert_eq!(rules.floor(Collective::Alltoall), 0);
}

#[test]
fn what_was_measured_comes_after_rules_and_before_defaults() {
    let measured = |min, max, found| Rule {
        collective: Some(Collective::Bcast),
        prescription: Prescription::Measured(found),
        min,
        max,
    };
    let ring = Some(Algorithm::Chain);
    let rules = Rules::parse("bcast=two_tree:1K-2K").unwrap();
    let rules = rules.before(&[measured(256, 4096, ring), measured(4097, 65536, None)]);
    let choose = |bytes| rules.choose(&call(Collective::Bcast, bytes, 4), || Some(Algorithm::GroupedTwoTree));
    assert_eq!(choose(255), Choice::Library(Reason::Small));
    assert_eq!(choose(256), Choice::Run(Algorithm::Chain));
    assert_eq!(choose(1024), Choice::Run(Algorithm::TwoTree));
    assert_eq!(choose(65536), Choice::Library(Reason::Faster));
    assert_eq!(choose(65537), Choice::Run(Algorithm::GroupedTwoTree));
    assert_eq!((rules.floor(Collective::Bcast), rules.floor_on(Collective::Bcast, 4, 0)), (256, 256));
    assert_eq!(rules.floor_on(Collective::Reduce, 4, 0), Rules::default().floor_on(Collective::Reduce, 4, 0));
}

#[test]
fn defaults_need_several_nodes_and_large_messages() {
    let rules = Rules::default();
    let chain = || Some(Algorithm::Chain);
    assert_eq!(rules.choose(&call(Collective::Bcast, 1 << 20, 1), chain), Choice::Library(Reason::OneNode));
    assert_eq!(rules.choose(&call(Collective::Bcast, 1 << 20, 2), chain), Choice::Run(Algorithm::Chain));
    assert_eq!(rules.choose(&call(Collective::Bcast, (2 << 10) - 1, 2), chain), Choice::Library(Reason::Small));
    assert_eq!(rules.floor(Collective::Bcast), 2 << 10);
    assert_eq!(rules.floor_on(Collective::Bcast, 2, 0), 2 << 10);
    assert_eq!(rules.floor_on(Collective::Bcast, 1, 0), u64::MAX);
    // What a network says holds for defaults only.
    assert_eq!(rules.floor_on(Collective::Bcast, 2, 9 << 10), 9 << 10);
    let told = Rules::parse("bcast=chain:2K-").unwrap();
    assert_eq!([1, 2].map(|nodes| told.floor_on(Collective::Bcast, nodes, 9 << 10)), [2 << 10; 2]);
}

#[test]
fn nothing_runs_where_nothing_fits_better_than_the_library() {
    let choose = |collective, bytes, fitting| Rules::default().choose(&call(collective, bytes, 8), || fitting);
    let ring = Some(Algorithm::TwoLevelRing);
    assert_eq!(choose(Collective::Alltoall, 4 << 10, ring), Choice::Run(Algorithm::TwoLevelRing));
    assert_eq!(choose(Collective::Alltoall, 63, ring), Choice::Library(Reason::Small));
    assert_eq!(choose(Collective::Alltoallv, 0, ring), Choice::Run(Algorithm::TwoLevelRing));
    assert_eq!(choose(Collective::Gather, 1 << 20, None), Choice::Library(Reason::Faster));
    assert_eq!(choose(Collective::Gather, 4 << 10, Some(Algorithm::Relay)), Choice::Run(Algorithm::Relay));
    assert_eq!(choose(Collective::Scatter, 32 << 10, Some(Algorithm::Relay)), Choice::Run(Algorithm::Relay));
}

#[test]
fn reasons_are_numbered_in_report_order() {
    assert!(Reason::ALL.iter().enumerate().all(|(index, &reason)| reason as usize == index));
}

#[test]
fn no_number_of_bytes_decides_where_ranks_know_their_own_only() {
    for collective in [Collective::Alltoallv, Collective::Alltoallw] {
        let choose = |rules: &str, bytes| Rules::parse(rules).unwrap().choose(&call(collective, bytes, 8), || None);
        for bytes in [0, 1, 1 << 30] {
            assert_eq!(choose("all=stock:1-;all=xor", bytes), Choice::Run(Algorithm::Xor));
            assert_eq!(choose(&format!("{collective}=stock"), bytes), Choice::Library(Reason::Asked));
        }
    }
}

#[test]
fn an_algorithm_for_all_holds_where_it_can() {
    let rules = Rules::parse("all=two_tree").unwrap();
    assert_eq!(rules.choose(&call(Collective::Reduce, 1, 1), || None), Choice::Run(Algorithm::TwoTree));
    assert_eq!(rules.choose(&call(Collective::Alltoall, 1, 1), || None), Choice::Library(Reason::Small));
}

#[test]
fn errors_say_what_was_expected() {
    for (text, message) in [
        ("bcast", "`bcast`: no `=`; expected collective=algorithm[:min-max]"),
        (
            "bcst=stock",
            "`bcst=stock`: unknown collective `bcst`; expected all, reduce, bcast, allreduce, alltoall, alltoallv, \
             alltoallw, gather, gatherv, scatter, scatterv, allgather, allgatherv, reduce_scatter_block, \
             reduce_scatter",
        ),
        (
            "alltoallv=xor:1K-",
            "`alltoallv=xor:1K-`: alltoallv has no `1K-`: a rank knows its own counts only; expected \
             alltoallv=algorithm",
        ),
        ("all=stock:1", "`all=stock:1`: no `-` in `1`; expected bytes as min-max, min- or -max, such as 64K-1M"),
        (
            "all=stock:2K-1K",
            "`all=stock:2K-1K`: 2048 is above 1024; expected bytes as min-max, min- or -max, such as 64K-1M",
        ),
        (
            "all=stock:x-",
            "`all=stock:x-`: `x` is no number of bytes; expected bytes as min-max, min- or -max, such as 64K-1M",
        ),
    ] {
        assert_eq!(Rules::parse(text).unwrap_err().to_string(), message);
    }
    let former = "`aggregated_leader` is now `aggregated` with NAGARE_AGGREGATORS=1";
    for (text, collective, problem) in [
        ("bcast=xor", Some(Collective::Bcast), "`xor` does not implement bcast"),
        ("alltoall=rong", Some(Collective::Alltoall), "unknown algorithm `rong`"),
        ("alltoall=aggregated_leader", Some(Collective::Alltoall), former),
        ("all=rong", None, "unknown algorithm `rong`"),
    ] {
        let expected = Algorithm::names(collective).join(", ");
        let message = format!("`{text}`: {problem}; expected {expected}, stock");
        assert_eq!(Rules::parse(text).unwrap_err().to_string(), message);
    }
    assert_eq!(parse_bytes("16777216T"), None);
    assert_eq!(parse_bytes("99999999999G"), None);
    assert_eq!(parse_bytes("K"), None);
}

/// Nothing fits a Gatherv: why it is the library's depends on what the user has said, and on the nodes.
#[test]
fn what_never_fits_has_its_reason() {
    let reason = |rules: &str, nodes| {
        let call = Call { collective: Collective::Gatherv, bytes: 0, ranks: 8, nodes };
        Rules::parse(rules).expect("rules").reason(&call)
    };
    assert_eq!(reason("", 4), Reason::Faster);
    assert_eq!(reason("gatherv=stock", 4), Reason::Asked);
    assert_eq!(reason("", 1), Reason::OneNode);
}
