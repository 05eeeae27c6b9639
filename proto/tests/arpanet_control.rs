//! The host-host protocol's messages: golden vectors both ways, and those that say more than they have.

use wetstring_proto::arpanet::control::{
    BadControl, BadMessage, Control, HEADER, Header, LONGEST_BITS, NAMES, code_as_str, message,
    text,
};
use wetstring_proto::arpanet::leader::{Address, BadLeader, Form, Kind, Leader};

const CONTROL: &str = include_str!("../../vectors/arpanet/control.txt");

fn from_hex(text: &str) -> Vec<u8> {
    (0..text.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap())
        .collect()
}

fn command(text: &str) -> Control {
    let mut words = text.split(' ');
    let name = words.next().unwrap();
    let numbers: Vec<u32> = words.map(|word| word.parse().unwrap()).collect();
    let (octet, short) = (|at: usize| numbers[at] as u8, |at: usize| numbers[at] as u16);
    match name {
        "NOP" => Control::Nop,
        "RTS" => Control::Rts { mine: numbers[0], yours: numbers[1], link: octet(2) },
        "STR" => Control::Str { mine: numbers[0], yours: numbers[1], size: octet(2) },
        "CLS" => Control::Cls { mine: numbers[0], yours: numbers[1] },
        "ALL" => Control::All { link: octet(0), messages: short(1), bits: numbers[2] },
        "GVB" => Control::Gvb { link: octet(0), messages: octet(1), bits: octet(2) },
        "RET" => Control::Ret { link: octet(0), messages: short(1), bits: numbers[2] },
        "INR" => Control::Inr { link: octet(0) },
        "INS" => Control::Ins { link: octet(0) },
        "ECO" => Control::Eco(octet(0)),
        "ERP" => Control::Erp(octet(0)),
        "ERR" => {
            let mut data = [0; 10];
            data.iter_mut().zip(&numbers[1..]).for_each(|(room, number)| *room = *number as u8);
            Control::Err { code: octet(0), data }
        }
        "RST" => Control::Rst,
        "RRP" => Control::Rrp,
        other => panic!("{other}"),
    }
}

#[test]
fn golden_messages() {
    let (mut count, mut seen) = (0, [false; 14]);
    for line in CONTROL.lines().filter(|line| !line.starts_with('#')) {
        let (octets, meaning) = line.split_once(" = ").unwrap();
        let octets = from_hex(octets);
        let (head, body) = meaning.trim_end_matches(" *").split_once(": ").unwrap();
        let head: Vec<&str> = head.split(' ').collect();
        let (host, imp) = head[0].split_once('/').unwrap();
        let address = Address { host: host.parse().unwrap(), imp: imp.parse().unwrap() };
        let leader = Leader::regular(address, head[1].parse().unwrap());
        let header = Header { size: head[2].parse().unwrap(), count: head[3].parse().unwrap() };
        let wanted = Ok((leader, header, &octets[9..]));
        assert_eq!(message(Form::Old, &octets), wanted, "{line}");

        let mut again = [0; 200];
        let mut len = leader.put(Form::Old, &mut again).unwrap();
        len += header.put(&mut again[len..]).unwrap();
        if let Some(text) = body.strip_prefix('=') {
            let text = from_hex(text.trim());
            again[len..len + text.len()].copy_from_slice(&text);
            len += text.len();
        } else {
            let mut rest = &octets[9..];
            for wanted in body.split(", ").map(command) {
                let (found, used) = Control::parse(rest).unwrap();
                assert_eq!((found, used), (wanted, wanted.octets()), "{line}");
                seen[usize::from(found.opcode())] = true;
                assert_eq!(found.put(&mut again[len..len + used - 1]), None, "no room");
                len += found.put(&mut again[len..]).unwrap();
                rest = &rest[used..];
            }
            assert_eq!(rest, [0; 0]);
        }
        assert_eq!(again[..len], octets, "{line}");
        // Padding is a 1 and zeros, or anything.
        let padded = [&octets[..], &[0x80, 0, 0]].concat();
        assert_eq!(message(Form::Old, &padded), wanted);
        count += 1;
    }
    assert_eq!((count, seen), (18, [true; 14]));
}

#[test]
fn a_text_that_is_longer_than_its_message() {
    for (size, count, came) in [(36_u8, 26_u16, 116), (255, 65_535, 1000), (8, 1, 0), (1, 9, 1)] {
        let header = Header { size, count };
        let mut octets = vec![0; HEADER + came];
        header.put(&mut octets).unwrap();
        let expected = usize::from(size) * usize::from(count);
        let bad = BadMessage::Text { expected, came: came * 8 };
        assert_eq!(text(&octets), Err(bad));
        assert!(bad.to_string().contains(&format!("{expected} bits, got {}", came * 8)));
        octets.resize(header.octets(), 0);
        assert_eq!(
            text(&octets).map(|(found, text)| (found, text.len())),
            Ok((header, octets.len() - 5))
        );
    }
    assert_eq!(text(&[0, 0, 0, 1, 0, 9]), Err(BadMessage::NoSize));
    assert_eq!(text(&[0, 8, 0, 1]), Err(BadMessage::Header(4)));
    let none = message(Form::Old, &[0, 6]);
    assert_eq!(none, Err(BadMessage::Leader(BadLeader::Short { expected: 4, came: 2 })));
    assert_eq!(message(Form::Old, &[5, 6, 2, 0]), Err(BadMessage::Kind(Kind::Rfnm)));
    // The digest's figures of RFC 662.
    assert_eq!(Header { size: 36, count: 26 }.bits(), 936);
    assert_eq!(Header { size: 36, count: 222 }.bits(), 7992);
    assert_eq!((LONGEST_BITS - 40) / 36, 222);
}

#[test]
fn invalid_commands() {
    for opcode in 14..=255 {
        assert_eq!(Control::parse(&[opcode; 12]), Err(BadControl::Opcode(opcode)));
    }
    for opcode in 0..14_u8 {
        let whole = [&[opcode][..], &[0; 11]].concat();
        let expected = (1..=12)
            .find(|len| !matches!(Control::parse(&whole[..*len]), Err(BadControl::Short { .. })));
        let expected = expected.unwrap();
        for came in 1..expected {
            let short = BadControl::Short { opcode, expected, came };
            assert_eq!(Control::parse(&whole[..came]), Err(short));
            assert_eq!(short.code(), 2);
            let said =
                format!("expected {expected} octets of {}, got {came}", NAMES[usize::from(opcode)]);
            assert_eq!(short.to_string(), said);
        }
    }
    let bad = [
        Control::Rts { mine: 1, yours: 3, link: 2 },
        Control::Rts { mine: 2, yours: 4, link: 2 },
        Control::Rts { mine: 2, yours: 3, link: 1 },
        Control::Rts { mine: 2, yours: 3, link: 72 },
        Control::Str { mine: 2, yours: 4, size: 8 },
        Control::Str { mine: 1, yours: 3, size: 8 },
        Control::Str { mine: 1, yours: 2, size: 0 },
        Control::Cls { mine: 1, yours: 3 },
    ];
    for command in bad {
        let mut octets = [0; 12];
        let len = command.put(&mut octets).unwrap();
        let opcode = command.opcode();
        assert_eq!(
            Control::parse(&octets[..len]),
            Err(BadControl::Parameters { opcode }),
            "{command:?}"
        );
    }
    assert_eq!(BadControl::Opcode(99).to_string(), "expected an opcode from 0 to 13, got 99");
    assert_eq!(code_as_str(5), "socket or link not connected");
    assert_eq!(code_as_str(77), "undefined");
}
