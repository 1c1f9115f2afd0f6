use super::*;

const ON: Name = Name { epoch: 4, place: 0 };

fn heard(source: Rank, call: u32) -> Heard {
    Heard { source, notice: Notice { on: ON, call, class: 34 } }
}

fn notices(heard: &[Heard]) -> Notices {
    // SAFETY: a handle is plain data; it is not used.
    let comm = unsafe { std::mem::zeroed() };
    let all = Notices { comm, heard: Mutex::default(), any: AtomicBool::new(true) };
    heard.iter().for_each(|&new| note(&mut all.heard.lock(), new));
    all
}

/// The world's ranks 8, 9, 10, … in a communicator.
struct Some8 {
    name: Name,
    notices: Notices,
    world_ranks: Vec<Rank>,
}

impl Members for Some8 {
    fn name(&self) -> Name {
        self.name
    }

    fn world_ranks(&self) -> &[Rank] {
        &self.world_ranks
    }

    fn notices(&self) -> &Notices {
        &self.notices
    }
}

impl Some8 {
    fn check(&self, call: u32) -> Result<(), Failure> {
        self.notices.check(self, call)
    }
}

fn some(name: Name, notices: Notices) -> Some8 {
    Some8 { name, notices, world_ranks: (8..16).collect() }
}

#[test]
fn calls_before_the_one_given_up_go_on() {
    for call in [7, 0, u32::MAX] {
        let members = some(ON, notices(&[heard(10, call)]));
        assert_eq!(members.check(call.wrapping_sub(1)), Ok(()));
        for later in 0..200 {
            assert_eq!(
                members.check(call.wrapping_add(later)),
                Err(Failure::GivenUp { peer: 2, class: 34 }),
                "{call} + {later}"
            );
        }
    }
}

#[test]
fn notices_about_others_do_not_count() {
    for name in [Name { epoch: 3, ..ON }, Name { epoch: 5, ..ON }, Name { place: 1, ..ON }] {
        let members = some(name, notices(&[heard(10, 7)]));
        assert_eq!(members.check(7), Ok(()), "{name:?}");
    }
    let members = some(ON, notices(&[heard(3, 7)]));
    assert_eq!(members.check(7), Ok(()), "from a rank that is not in it");
}

/// Where several ranks give up at once, one of them tells all, whatever it has heard of the others; a rank that
/// knows of all leaves it to that one.
#[test]
fn one_of_many_tells_all() {
    let first = heard(9, u32::MAX);
    let all = [heard(5, 7), heard(3, 7), first, heard(4, 0), heard(2, 8)];
    let kept = |heard: &[Heard]| notices(heard).on(ON);
    for some in 0..1 << all.len() {
        let some: Vec<Heard> = (0..all.len()).filter(|i| some >> i & 1 == 1).map(|i| all[i]).collect();
        assert!(!kept(&some).is_some_and(|kept| kept.precedes(first)), "stopped by one of {some:?}");
    }
    for own in all.into_iter().filter(|&own| own != first) {
        assert!(kept(&all).is_some_and(|kept| kept == first && kept.precedes(own)), "{own:?}");
    }
    assert_eq!(notices(&all).heard.lock().len(), 1, "one for a communicator");
}
