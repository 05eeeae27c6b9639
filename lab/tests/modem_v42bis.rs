//! V.42bis: the vectors, round trips of anything, and streams that no encoder makes.

use std::path::Path;
use wetstring_lab::Random;
use wetstring_lab::modem::v42bis::{BadSize, DecodeError, Decoder, Encoder, Mode, Proposal, Size};

const WORDS: [&str; 10] =
    ["the ", "modem ", "sends ", "a ", "carrier ", "and ", "data ", "over ", "line ", "to "];

fn words(count: usize) -> Vec<u8> {
    let mut x = 7u32;
    let mut text = Vec::new();
    for _ in 0..count {
        x = x.wrapping_mul(1_103_515_245).wrapping_add(12_345);
        text.extend(WORDS[(x >> 16) as usize % 10].bytes());
    }
    text
}

fn unhex(text: &str) -> Vec<u8> {
    let byte = |at| u8::from_str_radix(&text[at..at + 2], 16).expect("hex digits");
    (0..text.len()).step_by(2).map(byte).collect()
}

/// Plays the steps of a vector; gives the plain characters and the octets.
fn play(steps: &str, size: Size) -> (Vec<u8>, Vec<u8>) {
    let mut encoder = Encoder::new(size);
    let (mut plain, mut wire) = (Vec::new(), Vec::new());
    for step in steps.split_whitespace() {
        let data = match step.split_once(':') {
            None => match step {
                "compress" => {
                    encoder.compress(&mut wire);
                    continue;
                }
                "transparent" => {
                    encoder.transparent(&mut wire);
                    continue;
                }
                "flush" => {
                    encoder.flush(&mut wire);
                    continue;
                }
                _ => panic!("unknown step {step}"),
            },
            Some(("data", hex)) => unhex(hex),
            Some(("ramp", times)) => {
                let ramp: Vec<u8> = (0..=255).collect();
                ramp.repeat(times.parse().expect("a number"))
            }
            Some(("words", count)) => words(count.parse().expect("a number")),
            Some(_) => panic!("unknown step {step}"),
        };
        encoder.data(&data, &mut wire);
        plain.extend(data);
    }
    (plain, wire)
}

fn vectors() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../vectors/modem/v42bis.txt");
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn the_vectors_both_ways() {
    let mut count = 0;
    for line in vectors().lines().filter(|line| !line.starts_with(['#', ' '])) {
        let (head, wanted) = line.split_once(" = ").expect("a vector has octets");
        let mut head = head.splitn(4, ' ');
        let name = head.next().expect("a name");
        let mut number = || head.next().and_then(|n| n.parse().ok()).expect("a number");
        let size = Size::new(number(), number()).expect("a good size");
        let (plain, wire) = play(head.next().unwrap_or(""), size);
        match wanted.strip_prefix("len:").and_then(|rest| rest.split_once(" crc32:")) {
            None => assert_eq!(wire, unhex(wanted), "{name}"),
            Some((len, crc)) => {
                assert_eq!(wire.len().to_string(), len, "{name}: length");
                assert_eq!(format!("{:08x}", crc32fast::hash(&wire)), crc, "{name}: check");
            }
        }
        // The decoder takes what the other coder's octets mean, octet by octet.
        let mut decoder = Decoder::new(size);
        let mut got = Vec::new();
        for octet in &wire {
            decoder.decode(std::slice::from_ref(octet), &mut got).expect(name);
        }
        assert_eq!(got, plain, "{name}");
        count += 1;
    }
    assert!(count >= 57, "expected all vectors, got {count}");
}

/// The codewords of nine bits that follow escape and ECM.
fn codewords(wire: &[u8]) -> Vec<u32> {
    let (mut codes, mut bit) = (Vec::new(), 16);
    while bit + 9 <= wire.len() * 8 {
        let bits = (0..9).map(|k| u32::from(wire[(bit + k) / 8] >> ((bit + k) % 8) & 1) << k);
        let code: u32 = bits.sum();
        codes.push(code);
        bit += 9;
        if code <= 1 {
            bit = bit.next_multiple_of(8);
        }
    }
    codes
}

#[test]
fn the_codewords_are_those_of_the_recommendations_example() {
    let text = vectors();
    let mut lines = text.lines().peekable();
    let mut seen = 0;
    while let Some(line) = lines.next() {
        let Some(codes) = lines.peek().and_then(|next| next.strip_prefix("  codes ")) else {
            continue;
        };
        let (head, wire) = line.split_once(" = ").expect("a vector has octets");
        if !head.contains("512 6 compress ") || head.contains("transparent") {
            continue;
        }
        let wanted: Vec<u32> = codes.split(' ').map(|code| code.parse().expect("code")).collect();
        assert_eq!(codewords(&unhex(wire)), wanted, "{head}");
        seen += 1;
    }
    assert_eq!(seen, 5);
}

/// Characters of a random kind: few or many different ones, runs, repeats.
fn characters(random: &mut Random) -> Vec<u8> {
    let len = random.below(1500) as usize;
    match random.below(4) {
        0 => (0..len).map(|_| random.bits() as u8).collect(),
        1 => (0..len).map(|_| random.pick(&[0, 51, 102, 153, 204, 65])).collect(),
        2 => vec![random.bits() as u8; len],
        _ => words(len / 5),
    }
}

#[test]
fn everything_round_trips_with_flushes_modes_and_resets() {
    for seed in 0..300 {
        let mut random = Random::stream(seed, "v42bis", "round trip");
        let codewords = random.pick(&[512, 513, 700, 1024, 2048, 4096]);
        let size = Size::new(codewords, random.pick(&[6, 7, 32, 250])).expect("a good size");
        let (mut encoder, mut decoder) = (Encoder::new(size), Decoder::new(size));
        let memory = (encoder.memory_bytes(), decoder.memory_bytes());
        let (mut plain, mut got) = (Vec::new(), Vec::new());
        for _ in 0..random.between(1, 20) {
            let mut wire = Vec::new();
            let data = characters(&mut random);
            plain.extend(&data);
            if random.one_in(2) {
                encoder.data(&data, &mut wire);
            } else {
                encoder.push(&data, &mut wire);
            }
            match random.below(8) {
                0 => encoder.compress(&mut wire),
                1 => encoder.transparent(&mut wire),
                2 => encoder.reset(&mut wire),
                3..=5 => encoder.flush(&mut wire),
                _ => {}
            }
            let cut = random.below(wire.len() as u64 + 1) as usize;
            decoder.decode(&wire[..cut], &mut got).expect("what an encoder made");
            decoder.decode(&wire[cut..], &mut got).expect("what an encoder made");
            assert!(plain.starts_with(&got), "seed {seed}");
            if !encoder.holds_back() {
                assert_eq!(got.len(), plain.len(), "seed {seed}: nothing is held back");
            }
        }
        let mut wire = Vec::new();
        encoder.flush(&mut wire);
        assert!(!encoder.holds_back());
        decoder.decode(&wire, &mut got).expect("what an encoder made");
        assert_eq!(got, plain, "seed {seed}");
        assert_eq!((encoder.memory_bytes(), decoder.memory_bytes()), memory);
    }
}

#[test]
fn the_octets_do_not_depend_on_how_the_characters_were_cut() {
    let mut random = Random::stream(1, "v42bis", "cuts");
    let mut text = words(2000);
    let mut noise = vec![0; 5000];
    random.fill(&mut noise);
    text.extend(noise);
    text.extend(words(1000));
    let mut whole = Vec::new();
    Encoder::new(Size::PRODUCT).push(&text, &mut whole);
    let (mut encoder, mut wire, mut rest) = (Encoder::new(Size::PRODUCT), Vec::new(), &text[..]);
    while !rest.is_empty() {
        let (now, later) = rest.split_at(random.between(1, 40).min(rest.len() as u64) as usize);
        encoder.push(now, &mut wire);
        rest = later;
    }
    assert_eq!(wire, whole);
}

#[test]
fn the_mode_follows_the_data() {
    let mut random = Random::stream(2, "v42bis", "modes");
    let mut encoder = Encoder::new(Size::PRODUCT);
    let mut wire = Vec::new();
    assert_eq!(encoder.mode(), Mode::Transparent);
    let text = words(4000);
    encoder.push(&text, &mut wire);
    assert_eq!(encoder.mode(), Mode::Compressed);
    assert!(wire.len() * 4 < text.len(), "{} octets of {}", wire.len(), text.len());
    let mut noise = vec![0; 100_000];
    random.fill(&mut noise);
    wire.clear();
    encoder.push(&noise, &mut wire);
    assert_eq!(encoder.mode(), Mode::Transparent);
    // One escape in 256 octets, and what it cost to notice.
    assert!(wire.len() < noise.len() + noise.len() / 256 + 200, "{} octets", wire.len());
}

#[test]
fn damaged_octets_neither_panic_nor_grow() {
    let mut errors = 0;
    for seed in 0..2000 {
        let mut random = Random::stream(seed, "v42bis", "damage");
        let size = Size::new(random.pick(&[512, 600, 2048]), random.pick(&[6, 250]));
        let size = size.expect("a good size");
        let mut wire = Vec::new();
        let mut encoder = Encoder::new(size);
        encoder.compress(&mut wire);
        encoder.data(&characters(&mut random), &mut wire);
        for _ in 0..random.between(1, 8) {
            let at = random.between(2, wire.len() as u64) as usize;
            match wire.get_mut(at) {
                Some(octet) => *octet ^= 1 << random.below(8),
                None => wire.push(random.bits() as u8),
            }
        }
        let mut decoder = Decoder::new(size);
        let memory = decoder.memory_bytes();
        let mut into = Vec::new();
        for octet in &wire {
            let before = into.len();
            let result = decoder.decode(std::slice::from_ref(octet), &mut into);
            assert!(into.len() - before <= 250);
            if result.is_err() {
                errors += 1;
                break;
            }
        }
        assert_eq!(decoder.memory_bytes(), memory);
    }
    assert!(errors > 200, "expected damage to be noticed now and then, got {errors} times");
}

#[test]
fn each_error_is_named() {
    let decode = |octets: &[u8]| Decoder::new(Size::default()).decode(octets, &mut Vec::new());
    assert_eq!(decode(&[0, 3]), Err(DecodeError::Command { command: 3 }));
    // Nine bits are the most with 512 codewords: STEPUP is 2.
    assert_eq!(decode(&[0, 0, 2, 0]), Err(DecodeError::TooWide { widest: 9 }));
    // 259 is the entry to be filled next, 260 is empty.
    assert_eq!(decode(&[0, 0, 3, 1]), Err(DecodeError::NotYet { codeword: 259 }));
    assert_eq!(decode(&[0, 0, 4, 1]), Err(DecodeError::Empty { codeword: 260 }));
    let shown = DecodeError::Empty { codeword: 260 }.to_string();
    assert_eq!(shown, "expected a codeword in use, got 260, which is empty");
}

#[test]
fn proposals_agree_on_the_lower_values() {
    let one = Proposal { codewords: 2048, string_len: 32, ..Proposal::default() };
    let other =
        Proposal { from_initiator: true, from_responder: false, codewords: 1024, string_len: 250 };
    let agreed = one.agree(&other).expect("good values");
    assert_eq!(agreed.size, Size::new(1024, 32).expect("a good size"));
    assert!(agreed.from_initiator && !agreed.from_responder);
    assert_eq!(Proposal::default().agree(&one).map(|a| a.size), Ok(Size::default()));
    assert_eq!(Size::default().widest(), 9);
    assert_eq!(Size::new(513, 6).map(Size::widest), Ok(10));
    let low = Proposal { codewords: 511, ..one };
    assert_eq!(one.agree(&low), Err(BadSize { codewords: 511, string_len: 32 }));
    assert!(low.agree(&one).is_err());
    assert!(Size::new(512, 5).is_err() && Size::new(512, 251).is_err());
}
