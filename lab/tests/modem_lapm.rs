//! HDLC framing and LAPM stations: exact bits, and links over a bad line.

use std::collections::VecDeque;
use wetstring_lab::Random;
use wetstring_lab::modem::hdlc::{self, Deframer};
use wetstring_lab::modem::lapm::{Frame, Kind, Params, Role, Station};

#[test]
fn the_check_is_that_of_x25() {
    assert_eq!(hdlc::check(b"123456789"), 0x906e);
    assert_eq!(hdlc::check(b""), 0);
}

#[test]
fn bits_are_counted_as_they_are_made() {
    let mut random = Random::stream(1, "hdlc", "frames");
    for len in 0..300 {
        let mut octets = vec![0; len];
        match len % 3 {
            0 => random.fill(&mut octets),
            1 => octets.fill(0xff),
            _ => {
                for octet in &mut octets {
                    *octet = random.pick(&[0xff, 0x7e, 0xf8, 0x1f]);
                }
            }
        }
        let bits = hdlc::stuff(&octets);
        assert_eq!(hdlc::body_bits(&octets), bits.len() as u64, "{octets:02x?}");
        assert!(
            !bits.windows(6).any(|run| run.iter().all(|one| *one)),
            "six ones in {octets:02x?}"
        );
    }
    // A zero after each five ones: 8000 ones and the check.
    let ones = hdlc::body_bits(&[0xff; 1000]);
    assert!((8000 + 1600 + 16..=8000 + 1600 + 20).contains(&ones), "{ones}");
}

#[test]
fn an_average_full_frame_takes_1089_bits() {
    // Address, control, 128 random octets, check, flag; 1 bit in 62 of random bits is inserted.
    let mut random = Random::stream(2, "hdlc", "frames");
    let mut total = 0;
    let count = 20_000u32;
    for number in 0..count {
        let mut octets = vec![0; 128];
        random.fill(&mut octets);
        let frame = Frame::I { ns: number as u8 & 0x7f, nr: 0, poll: false, octets };
        total += hdlc::body_bits(&frame.octets(Role::Originator)) + hdlc::FLAG_BITS;
    }
    let average = total / u64::from(count);
    assert!((1088..=1090).contains(&average), "{average}");
}

#[test]
fn frames_are_found_between_flags_one_or_many() {
    let mut random = Random::stream(3, "hdlc", "stream");
    let mut bits: Vec<bool> = Vec::new();
    let mut sent = Vec::new();
    for _ in 0..200 {
        for _ in 0..random.pick(&[0, 0, 1, 5]) {
            bits.extend(hdlc::flag());
        }
        let mut octets = vec![0; random.between(2, 131) as usize];
        random.fill(&mut octets);
        bits.extend(hdlc::stuff(&octets));
        bits.extend(hdlc::flag());
        sent.push(octets);
    }
    let mut deframer = Deframer::new(133);
    let got: Vec<Vec<u8>> = bits
        .iter()
        .filter_map(|bit| deframer.push(*bit))
        .map(|frame| frame.expect("good"))
        .collect();
    assert_eq!(got, sent);
    assert!(deframer.is_between());
}

#[test]
fn damaged_bits_give_no_wrong_frames_and_the_next_one_is_found() {
    let mut random = Random::stream(4, "hdlc", "damage");
    let (mut wrong, mut bad) = (0, 0);
    for _ in 0..5000 {
        let mut deframer = Deframer::new(133);
        let mut octets = vec![0; random.between(3, 131) as usize];
        random.fill(&mut octets);
        let mut bits = hdlc::stuff(&octets);
        bits.extend(hdlc::flag());
        for _ in 0..random.between(1, 30) {
            let hit = random.below(bits.len() as u64) as usize;
            bits[hit] ^= true;
        }
        for bit in bits {
            match deframer.push(bit) {
                Some(Ok(frame)) => wrong += u32::from(frame != octets),
                Some(Err(_)) => bad += 1,
                None => {}
            }
        }
        // An idle flag, a good frame: it arrives.
        let good = [3, 2, 4, 5, 6];
        let rest = hdlc::flag().into_iter().chain(hdlc::stuff(&good)).chain(hdlc::flag());
        let last = rest.filter_map(|bit| deframer.push(bit)).last();
        assert_eq!(last, Some(Ok(good.to_vec())));
    }
    // One damaged frame in 65,536 has a good check.
    assert!(wrong <= 1 && bad > 4000, "{wrong} wrong, {bad} bad");
    // Ones without end and noise without flags take no memory.
    let mut deframer = Deframer::new(133);
    for _ in 0..1_000_000 {
        assert_ne!(deframer.push(random.one_in(3)).map(|frame| frame.is_ok()), Some(true));
    }
}

#[test]
fn frames_read_what_they_write() {
    for (role, other) in [(Role::Originator, Role::Answerer), (Role::Answerer, Role::Originator)] {
        let mut frames = vec![Frame::I { ns: 127, nr: 5, poll: true, octets: vec![1, 2, 3] }];
        for kind in [Kind::Rr, Kind::Rnr, Kind::Rej, Kind::Srej] {
            for (poll, command) in [(false, false), (true, false), (true, true)] {
                frames.push(Frame::S { kind, nr: 99, poll, command });
            }
        }
        for frame in frames {
            let octets = frame.octets(role);
            assert_eq!(Frame::parse(&octets, other), Some(frame));
        }
    }
    // The originator's command and response, and the control octets, as V.42 has them.
    let rr = |command| Frame::S { kind: Kind::Rr, nr: 1, poll: true, command };
    assert_eq!(rr(true).octets(Role::Originator), [0x03, 0x01, 0x03]);
    assert_eq!(rr(false).octets(Role::Originator), [0x01, 0x01, 0x03]);
    assert_eq!(rr(true).octets(Role::Answerer), [0x01, 0x01, 0x03]);
    for octets in [&[][..], &[3, 1], &[5, 0, 0], &[3, 3, 0], &[3, 1, 0, 9], &[1, 0, 0, 9]] {
        assert_eq!(Frame::parse(octets, Role::Answerer), None, "{octets:02x?}");
    }
}

const PARAMS: Params =
    Params { window: 15, octets: 4, t401: 1000, t402: 0, n400: 5, selective: false };

/// Two stations; each frame takes 10 and arrives 35 later, unless it is lost.
fn converse(params: Params, seed: u64, lost_in: u64, blocks: usize) -> [Station; 2] {
    let mut random = Random::stream(seed, "lapm", "loss");
    let mut stations = [Station::new(params), Station::new(params)];
    let mut flights: [VecDeque<(u64, Frame)>; 2] = Default::default();
    let mut free = [0; 2];
    let mut left = [blocks; 2];
    let mut got: [VecDeque<u8>; 2] = Default::default();
    let mut now = 0;
    let block = |number: usize| (number as u32).to_be_bytes().to_vec();
    while got.iter().any(|got| got.len() < blocks * 4) || !stations.iter().all(Station::is_idle) {
        for me in 0..2 {
            while flights[1 - me].front().is_some_and(|(at, _)| *at <= now) {
                let (_, frame) = flights[1 - me].pop_front().expect("a frame");
                let frame = Frame::parse(&frame.octets(Role::Originator), Role::Answerer);
                stations[me].receive(now, frame.expect("a frame"), true, &mut got[me]);
            }
            stations[me].tick(now);
            if free[me] <= now {
                let count = &mut left[me];
                let frame = stations[me].send(now, || {
                    *count = count.checked_sub(1)?;
                    Some(block(blocks - *count - 1))
                });
                if let Some(frame) = frame {
                    free[me] = now + 10;
                    stations[me].sent(&frame, now + 10);
                    if !random.one_in(lost_in) {
                        flights[me].push_back((now + 45, frame));
                    }
                }
            }
            assert!(got[me].len() <= blocks * 4);
        }
        now += 5;
        assert!(now < 100_000_000, "expected an end: {stations:?}");
        assert!(!stations.iter().any(Station::is_down), "gave up");
    }
    let wanted: Vec<u8> = (0..blocks).flat_map(block).collect();
    assert!(got.iter().all(|got| *got == wanted), "seed {seed}");
    stations
}

#[test]
fn a_clean_link_has_no_retransmissions() {
    for selective in [false, true] {
        let stations = converse(Params { selective, ..PARAMS }, 1, 0, 1000);
        for station in stations {
            let counters = station.counters;
            assert_eq!((counters.i_frames, counters.again, counters.reject), (1000, 0, 0));
            assert_eq!((counters.timeouts, counters.duplicates), (0, 0));
        }
    }
}

#[test]
fn lost_frames_come_again_and_selective_rejects_repeat_less() {
    let mut again = [0; 2];
    for seed in 0..60 {
        for (place, selective) in [false, true].into_iter().enumerate() {
            let params = Params { selective, n400: 50, ..PARAMS };
            let stations = converse(params, seed, [5, 20, 100][seed as usize % 3], 400);
            for station in stations {
                assert_eq!(station.counters.i_frames, 400);
                again[place] += station.counters.again;
            }
        }
    }
    assert!(again[1] * 10 < again[0] * 9, "{again:?}");
}

#[test]
fn a_busy_station_stops_and_restarts_the_other() {
    let mut stations = [Station::new(PARAMS), Station::new(PARAMS)];
    let mut got = VecDeque::new();
    stations[1].set_busy(true);
    let rnr = stations[1].send(0, || None).expect("RNR");
    assert_eq!(rnr, Frame::S { kind: Kind::Rnr, nr: 0, poll: false, command: false });
    assert!(stations[0].takes_more());
    stations[0].receive(0, rnr, true, &mut got);
    assert!(!stations[0].takes_more());
    assert_eq!(stations[0].send(0, || Some(vec![1])), None);
    // The RR that ends it is lost: T401, a question, an answer.
    stations[1].set_busy(false);
    stations[1].send(1, || None).expect("RR");
    assert_eq!(stations[0].t401_at(), Some(1000));
    assert!(stations[0].tick(1000));
    let ask = stations[0].send(1000, || Some(vec![1])).expect("RR P");
    assert_eq!(ask, Frame::S { kind: Kind::Rr, nr: 0, poll: true, command: true });
    stations[0].sent(&ask, 1010);
    stations[1].receive(1020, ask, true, &mut got);
    let answer = stations[1].send(1020, || None).expect("RR F");
    assert_eq!(answer, Frame::S { kind: Kind::Rr, nr: 0, poll: true, command: false });
    stations[0].receive(1030, answer, true, &mut got);
    assert!(matches!(stations[0].send(1030, || Some(vec![1])), Some(Frame::I { ns: 0, .. })));
}

#[test]
fn a_station_without_answers_gives_up() {
    let mut station = Station::new(PARAMS);
    let mut now = 0;
    let mut frames = 0;
    while !station.is_down() {
        while let Some(frame) = station.send(now, || (frames == 0).then(|| vec![1])) {
            frames += 1;
            station.sent(&frame, now + 10);
        }
        now = station.t401_at().expect("it waits");
        station.tick(now);
    }
    assert_eq!((frames, station.counters.timeouts, now), (6, 6, 6 * 1010));
}

#[test]
fn the_window_is_the_window() {
    let mut station = Station::new(PARAMS);
    let mut count = 0;
    while let Some(frame) = station.send(0, || Some(vec![7])) {
        assert!(matches!(frame, Frame::I { ns, .. } if ns == count));
        station.sent(&frame, 0);
        count += 1;
    }
    assert_eq!(count, 15);
    let mut got = VecDeque::new();
    // An acknowledgement of what was never sent is none.
    let rr = |nr| Frame::S { kind: Kind::Rr, nr, poll: false, command: false };
    station.receive(1, rr(16), true, &mut got);
    assert_eq!(station.send(1, || Some(vec![7])), None);
    station.receive(1, rr(3), true, &mut got);
    for _ in 0..3 {
        assert!(station.send(1, || Some(vec![7])).is_some());
    }
    assert_eq!(station.send(1, || Some(vec![7])), None);
}
