//! Leaders of BBN Report 1822: golden vectors both ways, and what is none.

use wetstring_proto::arpanet::leader::{
    Address, BadLeader, Dead, Form, Incomplete, Kind, Leader, LeaderError, Long,
};

const LEADERS: &str = include_str!("../../vectors/arpanet/leaders.txt");

fn from_hex(text: &str) -> Vec<u8> {
    (0..text.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap())
        .collect()
}

/// The leader that a line of the vectors describes.
fn meaning(text: &str) -> (Form, Leader) {
    let words: Vec<&str> = text.split(' ').collect();
    let number = |at: usize| words[at].parse::<u16>().unwrap();
    let after =
        |name: &str| words.iter().position(|word| *word == name).map_or(0, |at| number(at + 1));
    let form = if words[0] == "new" { Form::New } else { Form::Old };
    let (kind, subtype) = words[1].split_once('/').unwrap();
    let leader = Leader {
        kind: Kind::ALL[kind.parse::<usize>().unwrap()],
        subtype: subtype.parse().unwrap(),
        address: Address { host: number(2) as u8, imp: number(3) },
        link: number(4) as u8,
        id: number(5) as u8,
        flags: after("flags") as u8,
        long: Long {
            network: after("network") as u8,
            handling: after("handling") as u8,
            length_bits: after("length"),
        },
    };
    (form, leader)
}

#[test]
fn golden_leaders() {
    let mut count = 0;
    for line in LEADERS.lines().filter(|line| !line.starts_with('#')) {
        let (octets, text) = line.split_once(" = ").unwrap();
        let (octets, (form, leader)) = (from_hex(octets), meaning(text));
        assert_eq!(Leader::parse(form, &octets), Ok(leader), "{line}");
        let mut into = [0xEE; 12];
        assert_eq!(leader.put(form, &mut into), Some(octets.len()), "{line}");
        assert_eq!(into[..octets.len()], octets, "{line}");
        assert_eq!(leader.put(form, &mut into[..octets.len() - 1]), None, "no room");
        // What follows is no part of it; less than all of it is none.
        let longer = [&octets[..], b"text"].concat();
        assert_eq!(Leader::parse(form, &longer), Ok(leader));
        let short = BadLeader::Short { expected: form.octets(), came: octets.len() - 1 };
        assert_eq!(Leader::parse(form, &octets[..octets.len() - 1]), Err(short));
        assert_eq!(short.subtype(), 1);
        count += 1;
    }
    assert_eq!(count, 22);
}

#[test]
fn invalid_leaders() {
    for kind in 11..15 {
        let old = Leader::parse(Form::Old, &[kind, 6, 5, 0]);
        assert_eq!(old, Err(BadLeader::Type(kind)));
        let new = Leader::parse(Form::New, &[15, 0, 0, kind, 0, 0, 0, 6, 5, 0, 0, 0]);
        assert_eq!(new, Err(BadLeader::Type(kind)));
        assert_eq!(BadLeader::Type(kind).subtype(), 2);
    }
    assert_eq!(Leader::parse(Form::Old, &[15, 0, 0, 0]), Err(BadLeader::Form(15)));
    assert_eq!(Leader::parse(Form::New, &[0; 12]), Err(BadLeader::Form(0)));
    // An old leader is told from a new one that is cut short.
    assert_eq!(Leader::parse(Form::New, &[0; 4]), Err(BadLeader::Form(0)));
    assert_eq!(
        Leader::parse(Form::New, &[15; 4]).unwrap_err().to_string(),
        "expected a leader of 12 octets, got 4"
    );
    assert_eq!(BadLeader::Type(12).to_string(), "expected a type of message from 0 to 10, got 12");
}

#[test]
fn oversized_string_is_not_written() {
    let mut into = [0; 12];
    let leader = Leader::regular(Address { host: 1, imp: 6 }, 5);
    assert_eq!(leader.put(Form::Old, &mut into), Some(4));
    let beyond = [
        Leader { address: Address { host: 4, imp: 6 }, ..leader },
        Leader { address: Address { host: 0, imp: 64 }, ..leader },
        Leader { flags: 16, ..leader },
        Leader { long: Long { length_bits: 1, ..Long::default() }, ..leader },
    ];
    for leader in beyond {
        assert_eq!(leader.put(Form::Old, &mut into), None, "{leader:?}");
        assert_eq!(leader.put(Form::New, &mut into), Some(12), "{leader:?}");
    }
    for leader in [Leader { id: 16, ..leader }, Leader { subtype: 16, ..leader }] {
        assert_eq!(leader.put(Form::Old, &mut into), None);
        assert_eq!(leader.put(Form::New, &mut into), None);
    }
}

#[test]
fn any_octets() {
    for first in 0..=255 {
        for other in [0, 1, 0x5A, 0xFF] {
            let octets = [first, other, 3, other, first, other, 9, first, 5, other, 1, first];
            for form in [Form::Old, Form::New] {
                let Ok(leader) = Leader::parse(form, &octets) else { continue };
                let mut into = [0; 12];
                let len = leader.put(form, &mut into).unwrap();
                assert_eq!(Leader::parse(form, &into[..len]), Ok(leader));
                // All but the four bits that are said to be nothing comes back.
                assert_eq!(into[1..len], octets[1..len]);
            }
        }
    }
}

#[test]
fn numbers_and_their_meaning() {
    for number in 0..=15 {
        assert_eq!(Dead::of(number).subtype(), number);
        assert_eq!(Incomplete::of(number).subtype(), number);
        assert!(
            !Dead::of(number).as_str().is_empty() && !Incomplete::of(number).as_str().is_empty()
        );
    }
    assert_eq!(LeaderError::of(1), LeaderError::Short);
    assert_eq!(LeaderError::of(7), LeaderError::Other(7));
    for (number, kind) in Kind::ALL.into_iter().enumerate() {
        assert_eq!(kind as usize, number);
        assert!(!kind.as_str().is_empty());
    }
    // MIT Multics and CISL's of RFC 662.
    assert_eq!(Address { host: 0, imp: 44 }.octet(), Some(0x2C));
    assert_eq!(Address { host: 0, imp: 6 }.octet(), Some(0x06));
    for octet in 0..=255 {
        assert_eq!(Address::from_octet(octet).octet(), Some(octet));
    }
    let sent = Leader { id: 3, flags: 8, ..Leader::regular(Address { host: 1, imp: 6 }, 5) };
    let answer = sent.answer(Kind::Incomplete, 3);
    assert_eq!((answer.link, answer.id, answer.address), (5, 3, sent.address));
    assert_eq!((answer.kind, answer.subtype, answer.flags), (Kind::Incomplete, 3, 0));
    assert!(!sent.is_uncontrolled() && Leader { subtype: 3, ..sent }.is_uncontrolled());
}
