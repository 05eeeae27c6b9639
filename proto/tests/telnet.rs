//! Telnet: recorded conversations, the byte rules both ways, and that no two ends go round in circles.

use proptest::prelude::*;
use wetstring_proto::telnet::com_port::{Command, Flow, Parity};
use wetstring_proto::telnet::{Plan, Telnet, TelnetOption as O};

const TALKS: &str = include_str!("../../vectors/telnet/talks.txt");

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> =
        text.chars().filter_map(|c| c.to_digit(16)).map(|digit| digit as u8).collect();
    assert_eq!(digits.len() % 2, 0, "{text}");
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

/// What an end says now.
fn said(telnet: &mut Telnet) -> Vec<u8> {
    let said = telnet.replies().to_vec();
    telnet.replied(said.len());
    said
}

fn heard(telnet: &mut Telnet, bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let len = telnet.receive(&mut bytes);
    bytes.truncate(len);
    bytes
}

fn wire(telnet: &Telnet, data: &[u8]) -> Vec<u8> {
    let mut wire = vec![0; 2 * data.len()];
    let done = telnet.encode(data, &mut wire);
    assert_eq!(done.taken, data.len());
    wire.truncate(done.written);
    wire
}

fn plan(name: &str) -> Plan {
    match name {
        "SERVER" => Plan::SERVER,
        "CALL" => Plan::CALL,
        "CLIENT" => Plan::CLIENT,
        "ANSWER" => Plan::ANSWER,
        _ => panic!("a plan that there is, not {name}"),
    }
}

/// Goes through the file; each time what comes is cut into pieces of `len`.
fn talks(len: usize) {
    let mut telnet = Telnet::new(Plan::CALL);
    let mut lines = TALKS.lines().enumerate().peekable();
    let mut begun = false;
    let (mut count, mut talk) = (0, "");
    while let Some((number, line)) = lines.next() {
        let at = format!("line {}, {talk}, pieces of {len}", number + 1);
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let mut data = Vec::new();
        match word {
            "talk" => {
                talk = rest;
                telnet = Telnet::new(plan(rest.split_once(':').expect("a plan").0));
                begun = true;
                count += 1;
            }
            "<" => {
                for piece in hex(rest).chunks(len) {
                    data.extend(heard(&mut telnet, piece));
                }
            }
            "wire" => {
                let (plain, coded) = rest.split_once(" = ").expect("two sides");
                assert_eq!(wire(&telnet, &hex(plain)), hex(coded), "{at}");
            }
            "state" => {
                for word in rest.split(' ') {
                    let holds = match word {
                        "binary" => telnet.is_binary(),
                        "nvt" => !telnet.is_binary(),
                        "settled" => telnet.is_settled(),
                        "unsettled" => !telnet.is_settled(),
                        "serving" => telnet.peer_serves() == Some(true),
                        "stopped" => telnet.peer_serves() == Some(false),
                        _ => panic!("{at}: {word}"),
                    };
                    assert!(holds, "{at}: {word}");
                }
            }
            "" | "#" => continue,
            _ => panic!("{at}"),
        }
        let mut next = |mark: &str| {
            let line = lines.next_if(|(_, line)| line.starts_with(mark));
            line.map_or_else(Vec::new, |(_, line)| hex(&line[mark.len()..]))
        };
        assert!(begun, "{at}");
        assert_eq!(said(&mut telnet), next("> "), "said: {at}");
        assert_eq!(data, next("= "), "data: {at}");
    }
    assert_eq!(count, 4);
}

#[test]
fn recorded_conversations() {
    for len in [1000, 7, 3, 2, 1] {
        talks(len);
    }
}

/// Lets two ends talk until both are silent.
fn meet(a: &mut Telnet, b: &mut Telnet) -> usize {
    let mut turns = 0;
    loop {
        let (from_a, from_b) = (said(a), said(b));
        if from_a.is_empty() && from_b.is_empty() {
            return turns;
        }
        assert!(heard(b, &from_a).is_empty() && heard(a, &from_b).is_empty());
        turns += 1;
        assert!(turns < 20, "they go round in circles");
    }
}

#[test]
fn two_of_ours_agree() {
    for (a, b, serves) in [
        (Plan::CALL, Plan::ANSWER, None),
        (Plan::CALL, Plan::CALL, None),
        (Plan::CLIENT, Plan::SERVER, Some(true)),
        (Plan::CALL, Plan::SERVER, Some(true)),
    ] {
        let (mut a, mut b) = (Telnet::new(a), Telnet::new(b));
        meet(&mut a, &mut b);
        assert!(a.is_binary() && b.is_binary() && a.is_settled() && b.is_settled());
        assert_eq!(a.peer_serves(), serves);
        assert_eq!(wire(&a, b"\r\xff\n"), b"\r\xff\xff\n");
        // A server that ends says so, and one that has none to stop says nothing.
        b.stop_server();
        meet(&mut a, &mut b);
        assert_eq!(a.peer_serves(), serves.map(|_| false));
        // Asked to continue, it says that it does.
        a.request_server();
        meet(&mut a, &mut b);
        assert_eq!(a.peer_serves(), serves);
        // Options can be left again, by who has asked for them too.
        a.leave(O::Binary, true);
        a.leave(O::Binary, false);
        meet(&mut a, &mut b);
        assert!(!a.has_us(O::Binary) && !b.has_us(O::Binary) && a.is_settled());
        assert_eq!(wire(&a, b"\r\xff\n"), b"\r\0\xff\xff\n");
    }
}

#[test]
fn serial_ports_are_set() {
    let mut telnet = Telnet::new(Plan::COM_PORT);
    assert!(!telnet.set_com_port(Command::Rate(9600)), "not agreed yet");
    said(&mut telnet);
    heard(&mut telnet, &hex("fffd00 fffb00 fffd03 fffb03 fffd2c"));
    assert!(telnet.is_settled());
    for (command, bytes) in [
        (Command::Rate(115_200), "fffa2c01 0001c200 fff0"),
        (Command::Rate(255), "fffa2c01 000000ffff fff0"),
        (Command::DataBits(7), "fffa2c02 07 fff0"),
        (Command::Parity(Parity::Even), "fffa2c03 03 fff0"),
        (Command::StopBits(2), "fffa2c04 02 fff0"),
        (Command::Flow(Flow::Hardware), "fffa2c05 03 fff0"),
        (Command::Break(true), "fffa2c05 05 fff0"),
        (Command::Dtr(false), "fffa2c05 09 fff0"),
        (Command::Rts(true), "fffa2c05 0b fff0"),
        (Command::Purge { received: true, sent: true }, "fffa2c0c 03 fff0"),
    ] {
        assert!(telnet.set_com_port(command));
        assert_eq!(said(&mut telnet), hex(bytes), "{command:?}");
    }
    assert!(!telnet.is_settled());
    heard(&mut telnet, &hex("fffa2c65 0001c200 fff0 fffa2c66 08 fff0 fffa2c67 03 fff0"));
    heard(&mut telnet, &hex("fffa2c68 02 fff0 fffa2c69 05 fff0 fffa2c6b b0 fff0 fffa2c6c fff0"));
    assert!(!telnet.is_settled(), "flow control is not answered");
    heard(&mut telnet, &hex("fffa2c69 03 fff0"));
    assert!(telnet.is_settled());
    let port = telnet.com_port();
    assert_eq!(
        (port.rate, port.data_bits, port.parity),
        (Some(115_200), Some(8), Some(Parity::Even))
    );
    assert_eq!(
        (port.stop_bits, port.flow, port.modem),
        (Some(2), Some(Flow::Hardware), Some(0xb0))
    );
    assert!(port.suspended);
}

proptest! {
    /// Whatever the modes, all bytes pass, however the wire is cut and however little room there is.
    #[test]
    fn bytes_pass(data: Vec<u8>, binary: bool, cut in 1..9_usize, room in 2..9_usize) {
        let (mut a, mut b) = (Telnet::new(Plan::CALL), Telnet::new(Plan::ANSWER));
        meet(&mut a, &mut b);
        if !binary {
            a.leave(O::Binary, true);
            meet(&mut a, &mut b);
        }
        let (mut wire, mut rest) = (Vec::new(), &data[..]);
        while !rest.is_empty() {
            let mut place = vec![0; room];
            let done = a.encode(rest, &mut place);
            prop_assert!(done.taken > 0);
            rest = &rest[done.taken..];
            wire.extend_from_slice(&place[..done.written]);
        }
        let got: Vec<u8> = wire.chunks(cut).flat_map(|piece| heard(&mut b, piece)).collect();
        prop_assert_eq!(got, data);
    }

    /// Two ends with any requests come to an end, and both know the same.
    #[test]
    fn no_circles(bits: [u8; 8]) {
        let set = |bits: u8| {
            let all = O::ALL.into_iter().enumerate();
            let some: Vec<O> = all.filter(|(at, _)| bits >> at & 1 == 1).map(|(_, o)| o).collect();
            wetstring_proto::telnet::Options::these(&some)
        };
        let plan = |bits: &[u8]| Plan {
            ask_us: set(bits[0]), ask_him: set(bits[1]), allow_us: set(bits[2]), allow_him: set(bits[3]),
        };
        let (mut a, mut b) = (Telnet::new(plan(&bits[..4])), Telnet::new(plan(&bits[4..])));
        meet(&mut a, &mut b);
        prop_assert!(a.is_settled() && b.is_settled());
        for option in O::ALL {
            prop_assert_eq!(a.has_us(option), b.has_him(option));
            prop_assert_eq!(a.has_him(option), b.has_us(option));
        }
    }
}
