use super::*;
use crate::watch::place::bind;

const KEY: Key = Key([5, 6]);

/// Rank 0 of three on one node, and the sockets of the other two.
fn three() -> (Peers, [UdpSocket; 2]) {
    let (sockets, places): (Vec<UdpSocket>, Vec<Place>) = (0..3).map(|_| bind().expect("a socket")).unzip();
    let [own, first, second] = <[UdpSocket; 3]>::try_from(sockets).expect("three");
    for socket in [&first, &second] {
        socket.set_read_timeout(Some(Duration::from_secs(60))).expect("a socket");
    }
    (Peers::new(own, KEY, (0, "n0".to_owned()), places, vec![0; 3]).expect("a socket"), [first, second])
}

/// The next question to that rank's socket, and from where it comes.
fn question(of: &UdpSocket) -> (Datagram, SocketAddr) {
    let mut bytes = [0; LONGEST];
    let (length, from) = of.recv_from(&mut bytes).expect("a datagram");
    (KEY.opens(&bytes[..length]).expect("sealed"), from)
}

fn answers(rank: Rank, question: &Datagram) -> Datagram {
    let (host, now) = (format!("n{rank}"), Vec::new());
    let answer = Answer { rank, host, process: 1, now, last: None, ended: Some(7) };
    Datagram { from: rank, to: 0, number: question.number, says: Says::Answer(answer) }
}

#[test]
fn who_does_not_answer_is_asked_again() {
    let (mut peers, [first, _second]) = three();
    let mut turns = 0;
    assert_eq!(peers.ask(&[1, 2], Some(3), |_| false, |_| turns += 1), []);
    assert!(turns > 0, "others have to wait for ranks that are silent");
    first.set_nonblocking(true).expect("a socket");
    let mut bytes = [0; LONGEST];
    let asked = std::iter::from_fn(|| first.recv_from(&mut bytes).ok()).count();
    assert!(asked >= 2 * peers.places[1].sockets(true).count(), "asked {asked} times");
}

#[test]
fn those_who_answer_are_heard_until_it_is_enough() {
    let (mut peers, [first, second]) = three();
    let answering = [(1, first), (2, second)].map(|(rank, socket)| {
        std::thread::spawn(move || {
            let (asked, from) = question(&socket);
            socket.send_to(&KEY.seals(&answers(rank, &asked)).expect("short"), from).expect("sent");
        })
    });
    let heard = |answers: Vec<Answer>| answers.iter().map(|answer| (answer.rank, answer.ended)).collect::<Vec<_>>();
    assert_eq!(heard(peers.ask(&[0, 1, 2], Some(3), |_| false, |_| ())), [(0, None), (1, Some(7)), (2, Some(7))]);
    answering.into_iter().for_each(|thread| thread.join().expect("a question came"));
    assert_eq!(heard(peers.ask(&[0, 2], Some(3), |_| true, |_| ())), [(0, None)]);
}

#[test]
fn only_the_rank_that_is_asked_answers() {
    let (mut peers, [first, second]) = three();
    let answering = std::thread::spawn(move || {
        let (asked, from) = question(&first);
        let own = answers(1, &asked);
        let others = Datagram { from: 2, ..own.clone() };
        let old = Datagram { number: asked.number - 1, ..own.clone() };
        let away = Datagram { to: 2, ..own.clone() };
        for wrong in [&others, &old, &away] {
            first.send_to(&KEY.seals(wrong).expect("short"), from).expect("sent");
        }
        first.send_to(&Key([5, 7]).seals(&own).expect("short"), from).expect("sent");
        second.send_to(b"nonsense", from).expect("sent");
    });
    assert_eq!(peers.ask(&[1], None, |_| false, |_| ()), []);
    answering.join().expect("a question came");
}

/// A question that was read on its way is not answered to whoever sends it once more.
#[test]
fn only_ranks_are_answered() {
    let (peers, [first, second]) = three();
    let to = peers.places[0].sockets(true).last().expect("an address");
    let ask = Datagram { from: 1, to: 0, number: 9, says: Says::Ask(None) };
    let bytes = KEY.seals(&ask).expect("short");
    second.send_to(&bytes, to).expect("sent");
    first.send_to(&bytes, to).expect("sent");
    peers.wait(Duration::from_secs(60));
    peers.answer_all().expect("open");
    let (answer, _) = question(&first);
    assert!(matches!(answer, Datagram { from: 0, to: 1, number: 9, says: Says::Answer(_) }), "{answer:?}");
    second.set_nonblocking(true).expect("a socket");
    assert!(second.recv_from(&mut [0; LONGEST]).is_err(), "it was for rank 1");
}
/// Whoever sends datagrams without end keeps nothing else from its turn.
#[test]
fn some_datagrams_are_read_at_a_time() {
    let (peers, [first, second]) = three();
    let to = peers.places[0].sockets(true).last().expect("an address");
    (0..HEARD).for_each(|_| assert_eq!(second.send_to(b"nonsense", to).expect("sent"), 8));
    let ask = Datagram { from: 1, to: 0, number: 9, says: Says::Ask(None) };
    first.send_to(&KEY.seals(&ask).expect("short"), to).expect("sent");
    peers.wait(Duration::from_secs(60));
    assert_eq!(peers.receive().expect("open"), []);
    assert_eq!(peers.receive().expect("open").len(), 1, "what came after them");
}
