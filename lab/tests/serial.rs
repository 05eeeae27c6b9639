//! The serial line: exact times, and noise that depends on nothing but the characters.

use std::collections::VecDeque;
use wetstring_lab::serial::{Direction, Parity};
use wetstring_lab::store::Content;
use wetstring_lab::{Element, End, LineModel, Random, Recorder, Serial};
use wetstring_proto::{Cx, Instant, NoTrace};

/// What came out at one end: when, and which byte.
type Out = Vec<(u64, u8)>;

fn model(text: &str) -> LineModel {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Offers each of `writes` at its time (or when there is room for it), and gives what came out
/// at [A, B].
fn carry(line: &mut Serial, writes: &[(u64, End, &[u8])]) -> [Out; 2] {
    carry_traced(line, writes, &mut Recorder::off())
}

fn carry_traced(
    line: &mut Serial,
    writes: &[(u64, End, &[u8])],
    recorder: &mut Recorder,
) -> [Out; 2] {
    let mut queues: [VecDeque<(u64, Vec<u8>)>; 2] = End::BOTH.map(|end| {
        let own = writes.iter().filter(|write| write.1 == end);
        own.map(|(at, _, bytes)| (*at, bytes.to_vec())).collect()
    });
    let mut out = [Vec::new(), Vec::new()];
    let mut now = 0;
    loop {
        let mut trace = recorder.of("line");
        let mut cx = Cx { now: Instant(now), trace: &mut trace };
        for end in End::BOTH {
            let queue = &mut queues[end.index()];
            while let Some((_, bytes)) = queue.front_mut().filter(|(at, _)| *at <= now) {
                let taken = line.offer(&mut cx, end, bytes);
                bytes.drain(..taken);
                if !bytes.is_empty() {
                    break;
                }
                queue.pop_front();
            }
            let mut buffer = [0; 7];
            loop {
                let len = line.emit(&mut cx, end, &mut buffer);
                out[end.index()].extend(buffer[..len].iter().map(|byte| (now, *byte)));
                if len == 0 {
                    break;
                }
            }
        }
        let coming = End::BOTH.iter().flat_map(|end| {
            let offer = queues[end.index()].front().map(|(at, _)| *at).filter(|at| *at > now);
            [line.next(*end).map(Instant::as_nanos), line.room(*end).map(Instant::as_nanos), offer]
        });
        match coming.flatten().min() {
            Some(next) => now = next.max(now),
            None => return out,
        }
    }
}

fn bytes(out: &Out) -> Vec<u8> {
    out.iter().map(|(_, byte)| *byte).collect()
}

/// Indices at which two equally long sequences differ.
fn differences(sent: &[u8], got: &[u8]) -> Vec<usize> {
    assert_eq!(sent.len(), got.len());
    (0..sent.len()).filter(|index| sent[*index] != got[*index]).collect()
}

#[test]
fn characters_take_exactly_their_time() {
    for (text, rate, bits) in [
        ("9600", 9600, 10u64),
        ("9600,bits=11", 9600, 11),
        ("115200,buffer=4096", 115_200, 10),
        ("31200,delay=75ms,buffer=1", 31_200, 10),
        ("7", 7, 10),
    ] {
        let model = model(text);
        let sent = Content::Random(1).bytes(5000);
        let [_, out] = carry(&mut Serial::new(&model), &[(0, End::A, &sent)]);
        assert_eq!(bytes(&out), sent, "{text}");
        let delay = model.delay.as_nanos() as u64;
        for (index, (at, _)) in out.iter().enumerate() {
            let exact = (index as u64 + 1) * bits * 1_000_000_000 / rate;
            // Half the buffer leaves before the sender is woken, so only a buffer of one lets the
            // line fall idle; and it does not even then, because it is woken on time.
            assert_eq!(*at, exact + delay, "{text}: character {index}");
        }
    }
}

#[test]
fn a_line_without_rate_only_delays() {
    let sent = Content::Ramp.bytes(100_000);
    let [_, out] = carry(&mut Serial::new(&model("0,delay=3ms")), &[(5, End::A, &sent)]);
    assert_eq!(bytes(&out), sent);
    assert!(out.iter().all(|(at, _)| *at == 3_000_005));
}

#[test]
fn an_idle_line_starts_at_once_and_a_new_run_carries_no_remainder() {
    let writes: [(u64, End, &[u8]); 2] = [(100, End::A, b"ab"), (3_000_000_000, End::A, b"c")];
    let [_, out] = carry(&mut Serial::new(&model("9600")), &writes);
    let expected = [(1_041_766, b'a'), (2_083_433, b'b'), (3_001_041_666, b'c')];
    assert_eq!(out, expected);
}

const NOISY: &str = "9600,delay=20ms,ber=1e-3,burst=5@300ms,drop=2e-3,dup=2e-3,seed=3,buffer=9999";

#[test]
fn chunks_do_not_matter() {
    let sent = Content::Random(5).bytes(6000);
    let whole = carry(&mut Serial::new(&model(NOISY)), &[(0, End::A, &sent)]);
    let mut random = Random::stream(1, "test", "chunks");
    for _ in 0..5 {
        let mut rest = &sent[..];
        let mut writes = Vec::new();
        while !rest.is_empty() {
            let len = (random.between(1, 200) as usize).min(rest.len());
            // Each comes before the line falls idle.
            let at = if writes.is_empty() { 0 } else { random.below(500_000) };
            writes.push((at, End::A, &rest[..len]));
            rest = &rest[len..];
        }
        let cut = carry(&mut Serial::new(&model(NOISY)), &writes);
        assert_eq!(cut, whole);
    }
    assert_ne!(bytes(&whole[1]), sent, "the noise did nothing");
}

#[test]
fn pauses_and_small_buffers_do_not_move_the_noise() {
    let sent = Content::Random(5).bytes(6000);
    let [_, whole] = carry(&mut Serial::new(&model(NOISY)), &[(0, End::A, &sent)]);
    let writes: Vec<(u64, End, &[u8])> = sent
        .chunks(97)
        .enumerate()
        .map(|(index, chunk)| (index as u64 * 700_000_000, End::A, chunk))
        .collect();
    let small = model(&NOISY.replace("buffer=9999", "buffer=16"));
    let [_, paused] = carry(&mut Serial::new(&small), &writes);
    assert_eq!(bytes(&paused), bytes(&whole));
}

#[test]
fn bursts_stand_where_the_description_says() {
    // 2 s at 9600 bit/s are 1920 characters.
    let sent = Content::Random(9).bytes(20_000);
    for text in ["9600,burst=8@2s,seed=4", "9600,burst=8@1920,seed=4", "19200,burst=8@1s,seed=4"] {
        let [_, out] = carry(&mut Serial::new(&model(text)), &[(0, End::A, &sent)]);
        let damaged = differences(&sent, &bytes(&out));
        let (first, rest) = damaged.split_first().expect("at least one burst");
        assert!(*first < 1920, "{text}: the first burst begins within the first period");
        assert_eq!(damaged.len() % 8, 0, "{text}");
        assert!(rest.len() > 8 * 9, "{text}");
        for (index, at) in damaged.iter().enumerate() {
            assert_eq!(*at, first + index / 8 * 1920 + index % 8, "{text}");
        }
    }
    let at = |text: &str| {
        let [_, out] = carry(&mut Serial::new(&model(text)), &[(0, End::A, &sent)]);
        differences(&sent, &bytes(&out))[0]
    };
    assert_ne!(at("9600,burst=8@2s,seed=4"), at("9600,burst=8@2s,seed=5"), "phase from the seed");
}

#[test]
fn noise_keeps_to_its_direction() {
    let sent = Content::Random(2).bytes(5000);
    for (direction, harmed) in
        [("fwd", [false, true]), ("rev", [true, false]), ("both", [true, true])]
    {
        let text = format!("19200,burst=4@500,ber=1e-4,drop=1e-3,dup=1e-3,dir={direction}");
        let writes: [(u64, End, &[u8]); 2] = [(0, End::A, &sent), (0, End::B, &sent)];
        let mut line = Serial::new(&model(&text));
        let out = carry(&mut line, &writes);
        for end in End::BOTH {
            assert_eq!(bytes(&out[end.index()]) != sent, harmed[end.index()], "{direction}");
            let usage = line.usage(end.other());
            assert_eq!(usage.damaged_bytes > 0, harmed[end.index()], "{direction}");
        }
        assert!(bytes(&out[0]) != bytes(&out[1]), "each direction has its own noise");
    }
}

#[test]
fn bit_errors_come_as_often_as_they_should() {
    let count = 400_000;
    let sent = vec![0xff; count];
    let mut line = Serial::new(&model("0,ber=1e-4"));
    let [_, out] = carry(&mut line, &[(0, End::A, &sent)]);
    let got = bytes(&out);
    let framing = got.split(|byte| *byte == 0).skip(1).count() as u64;
    let flipped: u64 =
        got.iter().filter(|byte| **byte != 0).map(|byte| byte.count_zeros() as u64).sum();
    // 4,000,000 bits, 1e-4: 400 hits with a deviation of 20; a fifth are in start and stop bits.
    assert!((320..480).contains(&(framing + flipped)), "{framing} + {flipped}");
    assert!((40..120).contains(&framing), "{framing}");
    assert_eq!(line.usage(End::A).bits, 10 * count as u64);
}

#[test]
fn lost_and_doubled_characters_are_counted() {
    let sent = Content::Random(3).bytes(50_000);
    let mut line = Serial::new(&model("0,drop=1e-3"));
    let [_, out] = carry(&mut line, &[(0, End::A, &sent)]);
    let dropped = line.usage(End::A).dropped_bytes;
    assert!((20..100).contains(&dropped), "{dropped}");
    assert_eq!(out.len() as u64, 50_000 - dropped);
    let mut line = Serial::new(&model("0,dup=1e-3"));
    let [_, out] = carry(&mut line, &[(0, End::A, &sent)]);
    let doubled = line.usage(End::A).duplicated_bytes;
    assert!((20..100).contains(&doubled), "{doubled}");
    assert_eq!(out.len() as u64, 50_000 + doubled);
    let [_, all] = carry(&mut Serial::new(&model("0,drop=1")), &[(0, End::A, &sent)]);
    assert!(all.is_empty());
    let [_, all] = carry(&mut Serial::new(&model("0,dup=1")), &[(0, End::A, b"abc")]);
    assert_eq!(bytes(&all), b"aabbcc");
}

#[test]
fn seven_bits_and_parity() {
    let sent: Vec<u8> = (0..=255).collect();
    let through =
        |text: &str| bytes(&carry(&mut Serial::new(&model(text)), &[(0, End::A, &sent)])[1]);
    let seven: Vec<u8> = sent.iter().map(|byte| byte & 0x7f).collect();
    assert_eq!(through("9600"), sent);
    assert_eq!(through("9600,7bit"), seven);
    assert_eq!(through("9600,7bit,parity=space"), seven);
    assert!(through("9600,parity=even").iter().all(|byte| byte.count_ones() % 2 == 0));
    assert!(through("9600,parity=odd").iter().all(|byte| byte.count_ones() % 2 == 1));
    assert!(through("9600,parity=mark").iter().all(|byte| *byte >= 0x80));
    for parity in ["even", "odd", "mark", "space"] {
        let got = through(&format!("9600,parity={parity}"));
        assert!(got.iter().zip(&seven).all(|(got, sent)| got & 0x7f == *sent), "{parity}");
    }
    // Noise stays within the seven bits, and still damages.
    let zeros = vec![0; 10_000];
    let text = "9600,7bit,burst=8@100,ber=1e-3";
    let out = bytes(&carry(&mut Serial::new(&model(text)), &[(0, End::A, &zeros)])[1]);
    assert!(out.iter().all(|byte| *byte < 0x80));
    assert!(out.iter().filter(|byte| **byte != 0).count() >= 8 * 99);
}

#[test]
fn half_duplex_turns_around() {
    // A character takes 1 ms, the delay is 10 ms, turning takes 80 ms.
    let text = "10000,delay=10ms,half=80ms";
    let ms = |ms: u64| ms * 1_000_000;
    let writes: [(u64, End, &[u8]); 4] = [
        (0, End::A, b"12345"),
        (ms(2), End::B, b"xy"),
        (ms(3), End::A, b"6"),
        (ms(50), End::A, b"7"),
    ];
    let mut line = Serial::new(&model(text));
    let [a, b] = carry(&mut line, &writes);
    // 6 characters have left at 6 ms and arrived at 16; then B has the wire from 96 on; its two
    // have arrived at 108; then A again from 188 on.
    let at = |times: [(u64, u8); 2]| times.map(|(time, byte)| (ms(time), byte)).to_vec();
    assert_eq!(a, at([(107, b'x'), (108, b'y')]));
    let mut expected: Out = (1..=6).map(|n| (ms(10 + n), b'0' + n as u8)).collect();
    expected.push((ms(199), b'7'));
    assert_eq!(b, expected);
    assert_eq!(line.usage(End::A).turnarounds, 1);
    assert_eq!(line.usage(End::B).turnarounds, 1);
    // The same direction continues without a turn.
    let writes: [(u64, End, &[u8]); 2] = [(0, End::A, b"1"), (ms(500), End::A, b"2")];
    let [_, b] = carry(&mut Serial::new(&model(text)), &writes);
    assert_eq!(b, at([(11, b'1'), (511, b'2')]));
}

#[test]
fn two_that_talk_at_once_over_half_duplex_both_get_through() {
    for buffer in [1, 2, 64] {
        for delay in ["0s", "1ms", "1s"] {
            let text = format!("10000,delay={delay},half=47ms,buffer={buffer}");
            let ramp = Content::Ramp.bytes(300);
            let writes: [(u64, End, &[u8]); 4] = [
                (0, End::A, &ramp),
                (500_000, End::B, &ramp),
                (2_000_000_000, End::A, &ramp),
                (2_000_000_000, End::B, &ramp),
            ];
            let mut line = Serial::new(&model(&text));
            let [a, b] = carry(&mut line, &writes);
            assert_eq!(bytes(&a), [&ramp[..], &ramp].concat(), "{text}");
            assert_eq!(bytes(&b), bytes(&a), "{text}");
            // No character of one direction arrives within a turn of one of the other.
            let mut all: Vec<(u64, char)> = a.iter().map(|(at, _)| (*at, 'a')).collect();
            all.extend(b.iter().map(|(at, _)| (*at, 'b')));
            all.sort_unstable();
            for pair in all.windows(2).filter(|pair| pair[0].1 != pair[1].1) {
                assert!(pair[1].0 - pair[0].0 >= 48_000_000, "{text}: {pair:?}");
            }
        }
    }
}

#[test]
fn the_peer_echoes() {
    let [a, b] = carry(&mut Serial::new(&model("10000,echo,delay=5ms")), &[(0, End::A, b"hi")]);
    assert_eq!(b, [(6_000_000, b'h'), (7_000_000, b'i')]);
    assert_eq!(a, [(12_000_000, b'h'), (13_000_000, b'i')]);
}

#[test]
fn another_rate_in_reverse() {
    let writes: [(u64, End, &[u8]); 2] = [(0, End::A, b"a"), (0, End::B, b"b")];
    let [a, b] = carry(&mut Serial::new(&model("1000/100")), &writes);
    assert_eq!((a, b), (vec![(100_000_000, b'b')], vec![(10_000_000, b'a')]));
}

#[test]
fn a_full_buffer_is_back_pressure() {
    let mut line = Serial::new(&model("1000,buffer=10"));
    let mut cx = Cx { now: Instant(0), trace: &mut NoTrace };
    assert_eq!(line.room(End::A), None);
    assert_eq!(line.offer(&mut cx, End::A, &[0; 25]), 10);
    assert_eq!(line.offer(&mut cx, End::A, &[0; 15]), 0);
    // Half of the ten have left after five characters.
    assert_eq!(line.room(End::A), Some(Instant(50_000_000)));
    cx.now = Instant(50_000_000);
    assert_eq!(line.offer(&mut cx, End::A, &[0; 15]), 5);
    // However fast, what is under way is bounded.
    let mut line = Serial::new(&model("0,delay=1000s"));
    let mut taken = 0;
    for _ in 0..100 {
        taken += line.offer(&mut cx, End::A, &vec![0; 1 << 16]);
    }
    assert_eq!(taken, 1 << 20);
}

#[test]
fn calm_ends_the_noise_but_not_the_line() {
    let mut line = Serial::new(&model("9600,7bit,drop=1"));
    assert!(carry(&mut line, &[(0, End::A, b"lost")])[1].is_empty());
    line.calm();
    let mut cx = Cx { now: Instant(9_000_000_000), trace: &mut NoTrace };
    assert_eq!(line.offer(&mut cx, End::A, &[0xc1]), 1);
    cx.now = Instant(10_000_000_000);
    let mut into = [0; 4];
    assert_eq!(line.emit(&mut cx, End::B, &mut into), 1);
    assert_eq!(into[0], 0x41);
}

#[test]
fn a_trace_names_each_hit_and_is_the_same_twice() {
    let sent = Content::Random(8).bytes(3000);
    let run = |recorder: &mut Recorder| {
        carry_traced(&mut Serial::new(&model(NOISY)), &[(0, End::A, &sent)], recorder)
    };
    let ([_, out], recorder) = wetstring_lab::trace::twice(run).expect("the same twice");
    let bursts = recorder.lines().iter().filter(|line| line.contains("value burst_fwd=")).count();
    assert!(bursts >= 5 && bursts % 5 == 0, "{bursts}");
    let lost = recorder.lines().iter().filter(|line| line.contains("value drop_fwd=")).count();
    let twice = recorder.lines().iter().filter(|line| line.contains("value dup_fwd=")).count();
    assert_eq!(out.len() + lost, sent.len() + twice);
}

#[test]
fn descriptions_read_and_write_themselves() {
    for text in [
        "9600",
        "0",
        "1200/75",
        "9600,delay=250ms,burst=8@2s",
        "9600,delay=250ms,7bit,parity=even,ber=1e-5,drop=1e-6,dup=1e-6,burst=8@2s,half=80ms,seed=7",
        "19200,bits=11,ber=25e-7,burst=3@2000,dir=rev,half=0s,echo,buffer=512",
        "300,delay=1500us,7bit,dir=fwd",
    ] {
        assert_eq!(model(text).to_string(), text);
    }
    let brief = model("9600,delay=0.25s,burst=8@2s,7bit,parity=even,ber=0.00001,dir=both");
    assert_eq!(brief.to_string(), "9600,delay=250ms,7bit,parity=even,ber=1e-5,burst=8@2s");
    assert_eq!(brief.direction, Direction::Both);
    assert_eq!(brief.parity, Parity::Even);
    assert_eq!(model("rate=300"), model("300"));
    let ports = |text: &str| End::BOTH.map(|end| model(text).port_rate(end));
    assert_eq!(ports("1200/75"), [1200, 75], "the line's, unless said");
    assert_eq!(ports("1200/75,port=19200"), [19_200; 2]);
    assert_eq!(model("1200,port=0").to_string(), "1200,port=0");
}

#[test]
fn bad_descriptions_are_named() {
    let says = |text: &str| text.parse::<LineModel>().expect_err(text).to_string();
    assert_eq!(
        says("9600,delay=250"),
        "line: delay: expected a time such as 250ms (s, ms, us, ns), got `250`"
    );
    assert!(
        says("9600,speed=3").contains("expected one of rate, port, delay"),
        "{}",
        says("9600,speed=3")
    );
    for (text, key) in [
        ("", "rate"),
        ("fast", "rate"),
        ("-1", "rate"),
        ("+9600", "rate"),
        ("7bit", "rate"),
        ("delay=1s", "rate"),
        ("9600/", "rate"),
        ("99999999999999999999", "rate"),
        ("9600,delay=1s,delay=2s", "delay"),
        ("9600,delay=-1s", "delay"),
        ("9600,delay=0.1ns", "delay"),
        ("9600,delay=99999999999999s", "delay"),
        ("9600,parity=weird", "parity"),
        ("9600,7bit=yes", "7bit"),
        ("9600,bits=30", "bits"),
        ("9600,ber=2", "ber"),
        ("9600,ber=1e-40", "ber"),
        ("9600,ber=1e5", "ber"),
        ("9600,ber=", "ber"),
        ("9600,drop=.5", "drop"),
        ("9600,burst=8", "burst"),
        ("9600,burst=0@2s", "burst"),
        ("9600,burst=8@5ms", "burst"),
        ("9600,burst=8@8", "burst"),
        ("9600/10,burst=8@2s", "burst"),
        ("0,burst=8@2s", "burst"),
        ("9600,dir=up", "dir"),
        ("9600,half=x", "half"),
        ("9600,buffer=0", "buffer"),
        ("9600,seed=x", "seed"),
        ("9600,,", ""),
    ] {
        assert!(
            says(text).starts_with(&format!("line: {key}: expected ")),
            "{text}: {}",
            says(text)
        );
    }
}
