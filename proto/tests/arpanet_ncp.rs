//! The NCP: connections between hosts at one IMP, their allocation, their ends, and what goes wrong.

use crate::arpanet_net;
use crate::common;

use arpanet_net::{Fate, Net, address};
use common::random;
use wetstring_proto::arpanet::leader::{Dead, Form, Kind};
use wetstring_proto::arpanet::ncp::{Buffers, Config, Echo, Id, State, Trouble, Wanted};
use wetstring_proto::{Duration, Span};

/// Opens a connection from host 0, socket 5, to host 1, socket 4.
fn pair(net: &mut Net, wanted: Wanted) -> (Id, Id) {
    let from = net.call(0, |host, cx| host.open(cx, address(1), wanted).unwrap());
    let to = Wanted::new(4, 5).passive();
    let to = net.call(1, |host, cx| host.open(cx, address(0), to).unwrap());
    net.settle();
    (from, to)
}

/// Sends octets from one end to the other, and closes; returns what came.
fn carry(net: &mut Net, from: Id, to: Id, file: &[u8]) -> Vec<u8> {
    let (mut sent, mut got) = (0, Vec::new());
    for _ in 0..100_000 {
        let wrote = net.host(0).write(from, &file[sent..], (file.len() - sent) * 8) / 8;
        sent += wrote;
        if sent == file.len() {
            net.host(0).close(from);
        }
        net.settle();
        let mut some = [0; 300];
        let bits = net.host(1).peek(to, &mut some);
        got.extend_from_slice(&some[..bits / 8]);
        net.host(1).consume(to, bits / 8 * 8);
        net.settle();
        match net.state(1, to) {
            State::Open => {}
            State::Ended => break,
            other => panic!("{other:?}"),
        }
        // What is left of an octet at the end.
        if bits < 8 && sent == file.len() {
            net.host(1).consume(to, bits);
        }
    }
    got
}

#[test]
fn files_of_any_length_in_bytes_of_any_size() {
    for form in [Form::Old, Form::New] {
        for size in [1_u8, 7, 8, 9, 32, 36, 200, 255] {
            for (window, buffers) in
                [(1, Buffers::Both), (8, Buffers::Both), (1, Buffers::Small), (4, Buffers::Large)]
            {
                for len in [0, 1, 5, 100, 1000, 20_000] {
                    let config =
                        Config { form, window, buffers, host_window: 8, ..Config::default() };
                    let mut net = Net::new(&[config.clone(), config]);
                    let file = random(len, 7 + len as u64);
                    let (from, to) = pair(&mut net, Wanted::new(5, 4).size(size).bulk());
                    assert_eq!(net.state(0, from), State::Open);
                    assert_eq!(net.host(1).size(to), size);
                    let got = carry(&mut net, from, to, &file);
                    assert!(got[..len] == file, "{size} {window} {len}");
                    assert!((got.len() - len) * 8 < usize::from(size));
                    assert!(got[len..].iter().all(|octet| *octet == 0), "the filling is zeros");
                    assert_eq!(net.state(0, from), State::Ended);
                    assert_eq!(net.state(1, to), State::Ended);
                    assert!(
                        net.hosts
                            .iter()
                            .all(|host| host.counts().damaged + host.counts().errors_out == 0)
                    );
                }
            }
        }
    }
}

/// The zeros that fill the last byte had no place in a buffer that was full, and the rest of the file stayed there.
#[test]
fn a_last_byte_is_filled_when_the_buffer_is_full() {
    for size in [1_u8, 7, 36, 255] {
        let config = Config { buffer_len: 2048, ..Config::default() };
        let mut net = Net::new(&[config.clone(), config]);
        let (from, to) = pair(&mut net, Wanted::new(5, 4).size(size).bulk());
        let file = random(4000, 11);
        let mut len = 0;
        while let wrote @ 1.. = net.host(0).write(from, &file[len..], (file.len() - len) * 8) / 8 {
            len += wrote;
        }
        assert!(len > 1900, "the buffer is full");
        let got = carry(&mut net, from, to, &[]);
        assert_eq!(net.state(1, to), State::Ended, "{size}");
        assert!(got.get(..len) == Some(&file[..len]), "{size}: {} of {len}", got.len());
    }
}

#[test]
fn the_two_output_buffers() {
    let messages = |buffers, class: fn(Wanted) -> Wanted, octets: usize| -> Vec<usize> {
        let config = Config { buffers, buffer_len: 16_384, ..Config::default() };
        let mut net = Net::new(&[config.clone(), config]);
        let (from, to) = pair(&mut net, class(Wanted::new(5, 4).size(36)));
        let file = random(octets, 3);
        assert!(carry(&mut net, from, to, &file)[..octets] == file);
        // After the leader: the header, and the bytes.
        let count = |text: Vec<u8>| usize::from(u16::from_be_bytes([text[2], text[3]]));
        net.texts(0, 2).into_iter().map(count).collect()
    };
    // 2000 words of 36 bits: 222 of them in the longest message, 26 in a single packet.
    let new = messages(Buffers::Both, Wanted::bulk, 9000);
    assert_eq!(new, [vec![222; 9], vec![2]].concat());
    let old = messages(Buffers::Small, Wanted::bulk, 9000);
    assert_eq!(old, [vec![26; 76], vec![24]].concat());
    // Few bits go in a small one, at once.
    assert_eq!(messages(Buffers::Both, |wanted| wanted, 45), [10]);
    assert_eq!(messages(Buffers::Both, Wanted::bulk, 45), [10]);
}

#[test]
fn one_message_of_a_link_until_its_rfnm() {
    for (window, expected) in [(1, 1), (3, 3), (8, 4)] {
        let config = Config { window, host_window: 4, ..Config::default() };
        let mut net = Net::new(&[config.clone(), config]);
        let (from, _) = pair(&mut net, Wanted::new(5, 4).bulk());
        net.held = Some(std::collections::VecDeque::new());
        net.host(0).write(from, &random(8000, 1), 64_000);
        net.settle();
        assert_eq!(net.texts(0, 2).len(), expected, "window {window}");
        // One RFNM, one message.
        let (to, rfnm) = net.held.as_mut().unwrap().pop_front().unwrap();
        net.hear(to, &rfnm);
        net.settle();
        assert_eq!(net.texts(0, 2).len(), expected + 1);
        // The same again is none of ours where ids tell.
        net.hear(to, &[5, 6 | 1 << 6, 2, 0xF0]);
        net.settle();
        assert_eq!(net.texts(0, 2).len(), expected + 1);
    }
}

#[test]
fn the_requests_in_any_order() {
    // The receiver asks, and the sender; both at once; each may be passive.
    for (first, passive) in [(0, true), (1, true), (0, false), (1, false)] {
        let mut net = Net::two();
        net.host(0).listen(5, 5).unwrap();
        net.host(1).listen(4, 4).unwrap();
        let wanted = [Wanted::new(5, 4).size(9), Wanted::new(4, 5)];
        let active =
            net.call(first, |host, cx| host.open(cx, address(1 - first), wanted[first]).unwrap());
        net.settle();
        assert_eq!(net.state(first, active), State::Opening);
        let mut other = wanted[1 - first];
        other.passive = passive;
        let rfc = net.host(1 - first).waiting(other.local).unwrap();
        assert_eq!((rfc.from, rfc.foreign), (address(first), wanted[first].local));
        let other = net.call(1 - first, |host, cx| host.open(cx, address(first), other).unwrap());
        net.settle();
        assert_eq!(net.host(1 - first).waiting(wanted[1 - first].local), None);
        assert_eq!(
            (net.state(first, active), net.state(1 - first, other)),
            (State::Open, State::Open)
        );
        let receiver = if first == 1 { active } else { other };
        assert_eq!(net.host(1).size(receiver), 9);
    }
}

#[test]
pub(crate) fn requests_are_refused_or_run_out() {
    let mut net = Net::two();
    let wanted = Wanted::new(6, 3);
    let id = net.call(0, |host, cx| host.open(cx, address(1), wanted).unwrap());
    net.settle();
    assert_eq!(net.state(0, id), State::Failed(Trouble::Refused));
    // A process that listens may take its time, and may refuse.
    net.host(1).listen(3, 3).unwrap();
    let id = net.call(0, |host, cx| host.open(cx, address(1), wanted).unwrap());
    net.settle();
    let rfc = net.host(1).waiting(3).unwrap();
    net.host(1).refuse(rfc);
    net.settle();
    assert_eq!(net.state(0, id), State::Failed(Trouble::Refused));
    net.host(0).release(id);
    // Or nothing is done about it.
    let id = net.call(0, |host, cx| host.open(cx, address(1), wanted).unwrap());
    net.pass(Duration::from_secs(29));
    assert_eq!(net.state(0, id), State::Opening);
    net.pass(Duration::from_secs(2));
    assert!(matches!(net.state(0, id), State::Failed(Trouble::NoAnswer | Trouble::Refused)));
    assert_eq!(net.host(1).waiting(3), None);
    net.pass(Duration::from_secs(60));
    assert!(net.hosts.iter().all(|host| host.deadline().is_none()), "nothing is left behind");
}

#[test]
pub(crate) fn passive_connection_runs_out_without_a_word() {
    let mut net = Net::two();
    let wanted = Wanted::new(6, 3).passive();
    let id = net.call(0, |host, cx| host.open(cx, address(1), wanted).unwrap());
    net.pass(Duration::from_secs(29));
    assert_eq!(net.state(0, id), State::Opening);
    net.pass(Duration::from_secs(2));
    assert_eq!(net.state(0, id), State::Failed(Trouble::NoAnswer));
    assert_eq!(net.hosts[0].counts().control_out, 0, "the peer knows nothing of it");
    net.host(0).release(id);
    assert!(net.host(0).is_quiet());
}

#[test]
fn dead_host_is_reported_at_once() {
    for why in [0, 1, 3] {
        let mut net = Net::two();
        net.judge = Box::new(move |_, _, _| Fate::Dead(why));
        let id = net.call(0, |host, cx| host.open(cx, address(1), Wanted::new(6, 3)).unwrap());
        net.call(0, |host, cx| host.echo(cx, address(1), 7).unwrap());
        net.settle();
        let dead = Dead::of(why);
        assert_eq!(net.state(0, id), State::Failed(Trouble::Dead(dead)));
        assert_eq!(net.host(0).echoed(address(1)), Some(Echo::Dead(dead)));
        assert!(net.hosts[0].deadline().is_none());
    }
    // In the middle of a file.
    let mut net = Net::two();
    let (from, _) = pair(&mut net, Wanted::new(5, 4));
    net.judge =
        Box::new(|_, leader, _| if leader.link == 2 { Fate::Dead(1) } else { Fate::Deliver });
    net.host(0).write(from, b"a line", 48);
    net.settle();
    assert_eq!(net.state(0, from), State::Failed(Trouble::Dead(Dead::Host)));
}

#[test]
fn undelivered_message_is_retransmitted() {
    let mut net = Net::two();
    let (from, to) = pair(&mut net, Wanted::new(5, 4).size(36));
    let mut count = 0;
    net.judge = Box::new(move |_, leader, _| {
        count += 1;
        if leader.kind == Kind::Regular && count % 3 != 0 {
            Fate::Incomplete(3)
        } else {
            Fate::Deliver
        }
    });
    let file = random(4000, 5);
    net.host(0).write(from, &file, 32_000);
    net.host(0).close(from);
    net.pass(Duration::from_secs(60));
    let mut got = vec![0; 4005];
    assert_eq!(net.host(1).peek(to, &mut got) / 36, 32_000_usize.div_ceil(36));
    assert!(got[..4000] == file);
    assert!(net.hosts[0].counts().again > 4 && net.hosts[0].counts().incomplete > 4);

    // But not indefinitely, and not where others were sent after it.
    for window in [1, 4] {
        let config = Config { window, retries: 3, ..Config::default() };
        let mut net = Net::new(&[config.clone(), config]);
        let (from, to) = pair(&mut net, Wanted::new(5, 4).bulk());
        net.judge = Box::new(|_, leader, _| {
            if leader.link == 2 && leader.id == 0 { Fate::Incomplete(4) } else { Fate::Deliver }
        });
        net.held = (window > 1).then(std::collections::VecDeque::new);
        net.host(0).write(from, &random(8000, 5), 64_000);
        net.settle();
        for (to, message) in net.held.take().unwrap_or_default() {
            net.hear(to, &message);
        }
        net.pass(Duration::from_secs(60));
        assert_eq!(net.state(0, from), State::Failed(Trouble::Lost), "window {window}");
        assert_eq!(net.hosts[0].counts().again, if window == 1 { 3 } else { 0 });
        // The receiver hears of it.
        assert!(
            net.state(1, to) != State::Opening && net.texts(0, 0).iter().any(|text| text[5] == 3)
        );
    }
}

#[test]
fn oversized_data_is_split_into_messages() {
    // The IMPs of 1973 in emulation take seven packets and not eight.
    for (size, packets) in [(8, 7), (36, 7), (8, 3), (255, 1), (1, 2)] {
        let mut net = Net::two();
        let (from, to) = pair(&mut net, Wanted::new(5, 4).size(size).bulk());
        let most = packets * 126;
        net.judge =
            Box::new(
                move |_, _, message| {
                    if message.len() - 4 > most { Fate::Incomplete(1) } else { Fate::Deliver }
                },
            );
        let file = random(10_000, 3);
        let got = carry(&mut net, from, to, &file);
        assert!(got[..10_000] == file, "{size} {packets}");
        assert_eq!((net.state(0, from), net.state(1, to)), (State::Ended, State::Ended));
        // It is tried until it fits, and then known.
        assert_eq!(net.hosts[0].counts().incomplete, 8 - packets as u64, "{size} {packets}");
        net.host(0).release(from);
        net.host(1).release(to);
        let (from, to) = pair(&mut net, Wanted::new(5, 4).size(size).bulk());
        let before = net.hosts[0].counts().incomplete;
        net.host(0).write(from, &file[..4000], 32_000);
        net.host(0).close(from);
        net.settle();
        assert_eq!(net.host(1).queued(to), 32_000_usize.next_multiple_of(usize::from(size)));
        assert_eq!(net.hosts[0].counts().incomplete, before);
    }
    // A single packet is never too long: a host that says so repeats it indefinitely.
    let mut net = Net::two();
    let (from, _) = pair(&mut net, Wanted::new(5, 4).bulk());
    net.judge =
        Box::new(|_, leader, _| if leader.link == 2 { Fate::Incomplete(1) } else { Fate::Deliver });
    net.host(0).write(from, &random(8000, 1), 64_000);
    net.host(0).push(from);
    net.pass(Duration::from_secs(60));
    assert_eq!(net.state(0, from), State::Failed(Trouble::Lost));
}

#[test]
fn a_rfnm_that_does_not_come_ends_it() {
    // Whether the message was delivered is not known: to send it again might put it there twice.
    let mut net = Net::two();
    let (from, to) = pair(&mut net, Wanted::new(5, 4));
    net.judge =
        Box::new(|_, leader, _| if leader.link == 2 { Fate::NoRfnm } else { Fate::Deliver });
    net.host(0).write(from, b"once", 32);
    net.pass(Duration::from_secs(29));
    assert_eq!(net.state(0, from), State::Open);
    net.pass(Duration::from_secs(2));
    assert_eq!(net.state(0, from), State::Failed(Trouble::NoRfnm));
    assert_eq!(net.hosts[0].counts().no_rfnm, 1);
    assert_eq!(net.host(1).queued(to), 32, "once");
    net.host(1).consume(to, 32);
    assert_eq!(net.state(1, to), State::Ended, "it was closed in good order");
    // On the control link everything with that host ends.
    let mut net = Net::two();
    let (from, _) = pair(&mut net, Wanted::new(5, 4));
    net.judge = Box::new(|from, _, _| if from == 0 { Fate::Lost } else { Fate::Deliver });
    net.host(0).interrupt(from);
    net.pass(Duration::from_secs(31));
    assert_eq!(net.state(0, from), State::Failed(Trouble::NoRfnm));
    assert!(!net.host(0).is_up(address(1)));
}

#[test]
fn a_reset_forgets_everything_of_that_host_only() {
    let configs = [Config::default(), Config::default(), Config::default()];
    let mut net = Net::new(&configs);
    let (from, to) = pair(&mut net, Wanted::new(5, 4));
    let other = net.call(2, |host, cx| host.open(cx, address(1), Wanted::new(7, 6)).unwrap());
    let third =
        net.call(1, |host, cx| host.open(cx, address(2), Wanted::new(6, 7).passive()).unwrap());
    net.settle();
    net.call(0, |host, cx| host.reset(cx, address(1)).unwrap());
    net.settle();
    assert_eq!(net.state(0, from), State::Failed(Trouble::Aborted));
    assert_eq!(net.state(1, to), State::Failed(Trouble::Reset));
    assert_eq!((net.state(2, other), net.state(1, third)), (State::Open, State::Open));
    assert!(net.host(0).is_up(address(1)));
    // There is no such host.
    let mut net = Net::two();
    net.hosts.truncate(1);
    let id = net.call(0, |host, cx| host.open(cx, address(1), Wanted::new(6, 3)).unwrap());
    net.settle();
    assert_eq!(net.state(0, id), State::Failed(Trouble::Dead(Dead::Host)));
}

#[test]
fn no_reply_to_a_reset() {
    let config = Config { rfnm: Span::from_secs(60), ..Config::default() };
    let mut net = Net::new(&[config]);
    net.judge = Box::new(|_, _, _| Fate::Lost);
    let id = net.call(0, |host, cx| host.open(cx, address(1), Wanted::new(6, 3)).unwrap());
    net.pass(Duration::from_secs(19));
    assert_eq!(net.state(0, id), State::Opening);
    assert_eq!(net.texts(0, 0), [[0, 8, 0, 1, 0, 12]], "a RST, and nothing else");
    net.pass(Duration::from_secs(2));
    assert_eq!(net.state(0, id), State::Failed(Trouble::NoReset));
    assert_eq!(net.texts(0, 0).len(), 1);
}

#[test]
fn echoes() {
    let mut net = Net::two();
    for data in [0, 0x5A, 255] {
        net.call(0, |host, cx| host.echo(cx, address(1), data).unwrap());
        assert_eq!(net.host(0).echoed(address(1)), Some(Echo::Waiting));
        assert!(net.call(0, |host, cx| host.echo(cx, address(1), 1)).is_err(), "one at a time");
        net.settle();
        assert_eq!(net.host(0).echoed(address(1)), Some(Echo::Back { data, ns: 0 }));
        assert_eq!(net.host(0).echoed(address(1)), None);
    }
    net.judge = Box::new(|from, _, _| if from == 1 { Fate::Lost } else { Fate::Deliver });
    net.call(0, |host, cx| host.echo(cx, address(1), 9).unwrap());
    net.pass(Duration::from_secs(21));
    assert_eq!(net.host(0).echoed(address(1)), Some(Echo::Silence));
}

#[test]
fn interrupts_and_allocation_given_back() {
    let mut net = Net::two();
    let (from, to) = pair(&mut net, Wanted::new(5, 4));
    net.host(0).interrupt(from);
    net.settle();
    assert!(net.host(1).interrupted(to) && !net.host(1).interrupted(to));
    net.host(1).interrupt(to);
    net.settle();
    assert!(net.host(0).interrupted(from) && !net.host(0).interrupted(from));

    let before = net.host(0).allocation(from);
    assert_eq!(before, net.host(1).allocation(to), "both ends count the same");
    assert!(before.0 == 64 && before.1 > 60_000);
    // Once, or what is asked back is allocated again at once.
    net.host(1).allow(to, 0, 0);
    net.host(1).take_back(to, 64, 32);
    net.settle();
    let after = net.host(0).allocation(from);
    assert_eq!(after, (32, before.1 - (u64::from(before.1) * 32).div_ceil(128) as u32));
    assert_eq!(after, net.host(1).allocation(to));
    net.host(1).take_back(to, 255, 128);
    net.settle();
    assert_eq!((net.host(0).allocation(from), net.host(1).allocation(to)), ((0, 0), (0, 0)));
    // Nothing is sent that is not allowed, and in the end that is the end.
    net.host(0).write(from, b"more", 32);
    net.settle();
    assert_eq!(net.texts(0, 2).len(), 0);
    net.host(1).allow(to, 1, 16);
    net.settle();
    assert_eq!(net.texts(0, 2), [[0, 8, 0, 2, 0, b'm', b'o']]);
    net.pass(Duration::from_secs(301));
    assert_eq!(net.state(0, from), State::Failed(Trouble::NoAllocation));
}

#[test]
fn closed_by_the_receiver() {
    let mut net = Net::two();
    let (from, to) = pair(&mut net, Wanted::new(5, 4));
    net.host(1).close(to);
    net.settle();
    assert_eq!((net.state(0, from), net.state(1, to)), (State::Ended, State::Ended));
    let mut net = Net::two();
    let (from, to) = pair(&mut net, Wanted::new(5, 4).bulk());
    net.host(0).write(from, b"never sent, as it is too little", 200);
    net.host(1).close(to);
    net.settle();
    assert_eq!(net.state(0, from), State::Failed(Trouble::Closed));
    // Places are free again, however often.
    for _ in 0..200 {
        let (from, to) = pair(&mut net, Wanted::new(5, 4));
        net.host(0).write(from, b"x", 8);
        net.host(0).close(from);
        net.settle();
        assert_eq!(net.host(1).queued(to), 8);
        net.host(0).release(from);
        net.host(1).release(to);
        net.settle();
    }
}

#[test]
fn invalid_commands_are_reported_but_errors_are_not() {
    let mut net = Net::two();
    let control =
        |text: &[u8]| [&[0, 6 | 1 << 6, 0, 0, 0, 8, 0, text.len() as u8, 0], text].concat();
    let codes = |net: &mut Net, text: &[u8]| -> Vec<u8> {
        net.said.clear();
        net.hear(0, &control(text));
        net.settle();
        let errors = net.texts(0, 0);
        errors.iter().filter(|text| text[5] == 11).map(|text| text[6]).collect()
    };
    assert_eq!(codes(&mut net, &[99]), [1]);
    assert_eq!(codes(&mut net, &[4, 2, 0]), [2]);
    assert_eq!(
        codes(&mut net, &[1, 0, 0, 0, 1, 0, 0, 0, 3, 2]),
        [3],
        "a receiver with an odd socket"
    );
    assert_eq!(codes(&mut net, &[4, 2, 0, 1, 0, 0, 0, 9]), [5], "ALL for a link that is not there");
    assert_eq!(codes(&mut net, &[0, 0, 0]), [0; 0]);
    // Any content of an ERR, also a truncated one.
    for len in 1..=12 {
        assert_eq!(
            codes(&mut net, &[11, 200, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11][..len]),
            [0; 0]
        );
    }
    // Data on a link that is not there.
    net.said.clear();
    net.hear(0, &[0, 6 | 1 << 6, 40, 0, 0, 8, 0, 1, 0, 7]);
    net.settle();
    assert_eq!(net.texts(0, 0)[0][5..7], [11, 5]);
}
