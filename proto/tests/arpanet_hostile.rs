//! ARPANET hosts against illegal messages: no other connection suffers, nothing grows, and the end is clear.

use crate::arpanet_net;
use crate::arpanet_server;
use crate::arpanet_terminal;
use crate::common;

use arpanet_net::{Fate, Net, address};
use arpanet_server::Server;
use arpanet_terminal::Terminal;
use common::random;
use wetstring_proto::Duration;
use wetstring_proto::arpanet::control::Control;
use wetstring_proto::arpanet::ftp::Options;
use wetstring_proto::arpanet::leader::{Address, Form, Leader};
use wetstring_proto::arpanet::ncp::{Config, Id, State, Trouble, Wanted};

/// A message with a control command from a host.
fn control(from: Address, command: &Control) -> Vec<u8> {
    let mut text = [0; 12];
    let len = command.put(&mut text).unwrap();
    message(from, 0, 8, len as u16, &text[..len])
}

/// A message with this header and text.
fn message(from: Address, link: u8, size: u8, count: u16, text: &[u8]) -> Vec<u8> {
    let mut leader = [0; 4];
    Leader::regular(from, link).put(Form::Old, &mut leader).unwrap();
    let [high, low] = count.to_be_bytes();
    [&leader[..], &[0, size, high, low, 0], text].concat()
}

/// A connection from host 0, socket 5, to host 1, socket 4.
fn pair(net: &mut Net) -> (Id, Id) {
    let from = net.call(0, |host, cx| host.open(cx, address(1), Wanted::new(5, 4)).unwrap());
    let to = Wanted::new(4, 5).passive();
    let to = net.call(1, |host, cx| host.open(cx, address(0), to).unwrap());
    net.settle();
    assert_eq!((net.state(0, from), net.state(1, to)), (State::Open, State::Open));
    (from, to)
}

/// Whether octets still go from one end to the other.
fn is_well(net: &mut Net, (from, to): (Id, Id)) -> bool {
    net.host(0).write(from, b"still here", 80);
    net.host(0).push(from);
    net.settle();
    let mut got = [0; 10];
    let bits = net.host(1).peek(to, &mut got);
    net.host(1).consume(to, bits);
    net.settle();
    bits == 80 && got == *b"still here"
}

/// Every address of an old leader but those of these hosts.
fn strangers(count: usize) -> impl Iterator<Item = Address> {
    let all = (0..4).flat_map(|host| (0..64).map(move |imp| Address { host, imp }));
    all.filter(move |at| (0..count).all(|index| address(index) != *at))
}

#[test]
fn requests_without_end_from_one_host() {
    let mut net = Net::new(&[(); 4].map(|()| Config::default()));
    net.host(1).listen(3, 3).unwrap();
    let enemy = address(3);
    for socket in 0..5000_u32 {
        let request = Control::Rts { mine: socket * 2, yours: 3, link: 2 + (socket % 70) as u8 };
        net.hear(1, &control(enemy, &request));
        if socket % 7 == 0 {
            net.settle();
        }
    }
    let counts = *net.hosts[1].counts();
    assert!(counts.refused + counts.dropped >= 4990, "{counts:?}");
    // Another host's request has a place, and is served.
    let id = net.call(2, |host, cx| host.open(cx, address(1), Wanted::new(6, 3)).unwrap());
    net.settle();
    assert_eq!(net.state(2, id), State::Opening, "not refused");
    let mine = Wanted::new(3, 6).passive();
    let other = net.call(1, |host, cx| host.open(cx, address(2), mine).unwrap());
    net.settle();
    assert_eq!((net.state(2, id), net.state(1, other)), (State::Open, State::Open));
    // What waits runs out.
    net.pass(Duration::from_secs(61));
    assert_eq!(net.host(1).waiting(3), None);
    assert!(net.hosts[1].deadline().is_none());
}

#[test]
fn requests_and_resets_from_every_host_there_is() {
    for command in [
        Control::Rst,
        Control::Rrp,
        Control::Eco(1),
        Control::Rts { mine: 4, yours: 3, link: 2 },
        Control::Cls { mine: 5, yours: 4 },
        Control::Err { code: 5, data: [1; 10] },
    ] {
        let mut net = Net::two();
        net.host(1).listen(3, 3).unwrap();
        let ends = pair(&mut net);
        for turn in 0..3 {
            for from in strangers(2) {
                net.hear(1, &control(from, &command));
                if turn == 1 {
                    net.settle();
                }
            }
        }
        assert!(is_well(&mut net, ends), "{command:?}");
        net.settle();
        // None of them is there: they are told to be dead, and what they began is over.
        net.pass(Duration::from_secs(61));
        assert!(is_well(&mut net, ends), "{command:?}");
        net.host(0).close(ends.0);
        net.pass(Duration::from_secs(61));
        assert_eq!((net.state(0, ends.0), net.state(1, ends.1)), (State::Ended, State::Ended));
        assert!(net.hosts.iter().all(|host| host.deadline().is_none()), "{command:?}");
    }
}

#[test]
fn silent_client_cannot_block_others_indefinitely() {
    // No RFNM for anything that is said to the strangers: each holds a place until it is over.
    let mut net = Net::two();
    net.judge = Box::new(|from, leader, _| {
        if from == 1 && leader.address != address(0) { Fate::Lost } else { Fate::Deliver }
    });
    for from in strangers(2) {
        net.hear(1, &control(from, &Control::Rst));
        net.settle();
    }
    assert!(net.hosts[1].counts().dropped > 200);
    net.pass(Duration::from_secs(31));
    let ends = pair(&mut net);
    assert!(is_well(&mut net, ends));
}

#[test]
fn forged_reset_is_up_to_the_imp() {
    // The leader's source is the IMP's word. With it the connection of that host ends, and no other.
    let mut net = Net::two();
    let (from, to) = pair(&mut net);
    net.hear(1, &control(address(0), &Control::Rst));
    net.settle();
    assert_eq!(net.state(1, to), State::Failed(Trouble::Reset));
    // The host that did not say it continues as far as it was allowed, and hears no more.
    for _ in 0..100 {
        net.host(0).write(from, b"lost", 32);
        net.host(0).push(from);
        net.settle();
    }
    net.pass(Duration::from_secs(301));
    assert_eq!(net.state(0, from), State::Failed(Trouble::NoAllocation));
}

#[test]
fn allocations_that_do_not_fit_the_counters() {
    let mut net = Net::two();
    let (from, to) = pair(&mut net);
    let errors = net.hosts[0].counts().errors_out;
    for (messages, bits) in [(u16::MAX, 0), (0, u32::MAX), (u16::MAX, u32::MAX)] {
        net.hear(0, &control(address(1), &Control::All { link: 2, messages, bits }));
        net.settle();
    }
    assert_eq!(net.host(0).allocation(from), (u16::MAX, u32::MAX), "as much as they hold");
    assert!(net.hosts[0].counts().errors_out > errors, "which is told");
    // What is allowed beyond what there is room for ends where it must.
    net.host(0).write(from, &random(8000, 1), 64_000);
    net.settle();
    assert_eq!(net.state(1, to), State::Open);
    let mut sent = 0;
    while net.state(1, to) == State::Open && sent < 100 {
        net.host(0).write(from, &random(8000, 1), 64_000);
        net.host(0).push(from);
        net.settle();
        sent += 1;
    }
    assert_eq!(net.state(1, to), State::Failed(Trouble::Overflow));
    // A return of more than was given leaves nothing, not less.
    let mut net = Net::two();
    let (_, to) = pair(&mut net);
    for _ in 0..2 {
        let all = Control::Ret { link: 2, messages: u16::MAX, bits: u32::MAX };
        net.hear(1, &control(address(0), &all));
    }
    // As many as were returned are allocated again.
    net.settle();
    assert_eq!(net.state(1, to), State::Open);
    assert!(net.host(1).allocation(to).1 <= 8192 * 8);
}

#[test]
fn messages_beyond_what_was_allowed() {
    let forty = random(40, 1);
    for (what, expected) in [
        (vec![message(address(0), 2, 8, 9000, &random(9000, 1))], Trouble::Overflow),
        (vec![message(address(0), 2, 8, 0, &[]); 65], Trouble::Overflow),
        (vec![message(address(0), 2, 36, 8, &forty)], Trouble::ByteSize),
        (vec![message(address(0), 2, 7, 8, &forty)], Trouble::ByteSize),
    ] {
        let mut net = Net::two();
        let (_, to) = pair(&mut net);
        for message in what {
            net.hear(1, &message);
        }
        assert_eq!(net.state(1, to), State::Failed(expected));
        net.pass(Duration::from_secs(61));
        assert!(net.hosts.iter().all(|host| host.deadline().is_none()));
    }
}

#[test]
fn wrong_headers_are_only_counted() {
    let mut net = Net::two();
    let ends = pair(&mut net);
    let from = address(0);
    let wrong = [
        message(from, 2, 0, 1, b"x"),
        message(from, 2, 0, 0, b""),
        message(from, 2, 8, 2, b"x"),
        message(from, 2, 255, 65_535, b"xxxxxxxx"),
        message(from, 2, 36, 3, &[0; 13]),
        message(from, 0, 7, 1, b"\x0c"),
        message(from, 0, 8, 100, b"\x0c"),
        message(from, 1, 8, 1, b"x"),
        message(from, 72, 8, 1, b"x"),
        message(from, 190, 8, 1, b"x"),
        message(from, 255, 8, 1, b"x"),
        vec![0, 6, 2, 0, 0, 8],
        vec![0, 6, 2],
        vec![0],
        vec![],
        vec![0xFF; 2000],
    ];
    for (count, wrong) in wrong.iter().enumerate() {
        net.hear(1, wrong);
        assert_eq!(net.hosts[1].counts().damaged, count as u64 + 1, "{wrong:?}");
        assert!(is_well(&mut net, ends), "{wrong:?}");
    }
    let codes: Vec<u8> =
        net.texts(1, 0).iter().filter(|text| text[5] == 11).map(|text| text[6]).collect();
    assert!(codes.is_empty(), "{codes:?}");
}

#[test]
fn errors_are_never_answered_with_errors() {
    let mut net = Net::two();
    let ends = pair(&mut net);
    net.said.clear();
    let data = [11; 10];
    for code in 0..=255 {
        net.hear(0, &control(address(1), &Control::Err { code, data }));
        net.hear(1, &control(address(0), &Control::Err { code, data }));
        net.settle();
    }
    assert_eq!(net.said, []);
    assert_eq!(net.hosts[0].counts().errors_in, 256);
    assert!(is_well(&mut net, ends));
}

#[test]
fn sockets_at_the_end_of_their_numbers() {
    // A user whose sockets, counted from this one, would be more than a number holds.
    for last in [u32::MAX - 1, u32::MAX - 3, u32::MAX - 5] {
        let mut net = Net::two();
        let mut server = Server::new(Options::default());
        net.call(1, |host, cx| server.turn(host, cx));
        for command in [
            Control::Rts { mine: last, yours: 3, link: 9 },
            Control::All { link: 9, messages: 1, bits: 32 },
        ] {
            net.hear(1, &control(address(0), &command));
            net.settle();
            net.call(1, |host, cx| server.turn(host, cx));
        }
        net.hear(1, &control(address(0), &Control::Cls { mine: last, yours: 3 }));
        net.settle();
        for _ in 0..30 {
            net.pass(Duration::from_secs(10));
            net.call(1, |host, cx| server.turn(host, cx));
        }
        assert!(server.services.is_empty());
    }
}

/// Stores a file by hand: these octets in bytes of this size, after these commands; what the server said of it last.
fn store(commands: &[&str], size: u8, octets: &[u8]) -> (String, Vec<common::File>) {
    let mut net = Net::two();
    let mut server = Server::new(Options::default());
    let mut user = Terminal::call(&mut net, &mut server);
    user.say(&mut net, &mut server, "USER a");
    user.say(&mut net, &mut server, "TYPE I");
    for command in commands {
        let said = user.say(&mut net, &mut server, command);
        assert!(said.starts_with("200"), "{command}: {said}");
    }
    let wanted = Wanted::new(user.pair.ours + 5, user.pair.theirs + 2).size(size).passive();
    let id = net.call(0, |host, cx| host.open(cx, address(1), wanted).unwrap());
    let begun = user.say(&mut net, &mut server, "STOR f");
    if !begun.starts_with("250") {
        return (begun, server.stored);
    }
    let mut rest = octets;
    for _ in 0..200 {
        let wrote = net.host(0).write(id, rest, rest.len() * 8) / 8;
        rest = &rest[wrote..];
        if rest.is_empty() {
            net.host(0).close(id);
        }
        net.settle();
        net.call(1, |host, cx| server.turn(host, cx));
    }
    let said = user.say(&mut net, &mut server, "");
    let more = user.say(&mut net, &mut server, "NOOP");
    assert!(more.starts_with("200"), "the user may go on: {more}");
    (said, server.stored)
}

#[test]
fn files_that_break_the_rules_of_their_mode() {
    let block = |flags: u8, count: u16, data: &[u8]| {
        let [high, low] = count.to_be_bytes();
        [&[flags, high, low], data].concat()
    };
    let good = [block(0, 3, b"abc"), block(64, 2, b"de")].concat();
    let marked = [block(0, 3, b"abc"), block(16, 4, b"MARK"), block(64, 2, b"de")].concat();
    // After the end of the file nothing counts.
    let behind = [&good[..], &block(0, 3, b"xyz")].concat();
    for (commands, octets) in [
        (&["MODE B"][..], &good),
        (&["MODE B"], &marked),
        (&["MODE B"], &behind),
        (&["MODE B", "ALLO 5"], &good),
    ] {
        let (said, stored) = store(commands, 8, octets);
        assert!(said.starts_with("257") && said.contains("5 octets"), "{said}");
        assert!(stored[0].complete && stored[0].bytes == b"abcde");
    }
    let bad: [(&[&str], u8, Vec<u8>); 16] = [
        // Fewer than the block's count.
        (&["MODE B"], 8, block(0, 1000, b"0123456789")),
        (&["MODE B"], 8, block(64, 1000, b"0123456789")),
        (&["MODE B"], 8, block(16, 1000, b"MARK")),
        // No end of the file, a header that is none, or not whole.
        (&["MODE B"], 8, block(0, 3, b"abc")),
        (&["MODE B"], 8, block(5, 3, b"abc")),
        (&["MODE B"], 8, b"\0\0".to_vec()),
        (&["MODE B"], 8, vec![]),
        (&["MODE B"], 8, [block(0, 3, b"abc"), vec![64, 0]].concat()),
        // Records without their end, and an escape of nothing.
        (&["STRU R"], 8, b"abc".to_vec()),
        (&["STRU R"], 8, b"abc\xFF\x09def\xFF\x02".to_vec()),
        // Less than was announced.
        (&["ALLO 100"], 8, b"abc".to_vec()),
        (&["BYTE 36", "ALLO 100"], 36, b"abc".to_vec()),
        // More, or none.
        (&["ALLO 2"], 8, b"abc".to_vec()),
        (&["ALLO 0"], 8, b"abc".to_vec()),
        (&["MODE B", "ALLO 4"], 8, good.clone()),
        (&["BYTE 36", "ALLO 5"], 36, b"abcabcabc".to_vec()),
    ];
    for (commands, size, octets) in bad {
        let (said, stored) = store(commands, size, &octets);
        assert!(said.starts_with("452"), "{commands:?} {octets:?}: {said}");
        assert!(stored.iter().all(|file| !file.complete), "{commands:?}");
    }
    // Bytes of another size than was said.
    let (said, stored) = store(&["BYTE 36"], 8, b"abc");
    assert!(said.starts_with("457") && said.contains("expected bytes of 36 bits, got 8"), "{said}");
    assert!(stored.iter().all(|file| !file.complete));
}
