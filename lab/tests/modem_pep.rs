//! PEP: turns, three lengths of packets, and what they cost.

use wetstring_lab::element::{Element, End};
use wetstring_lab::modem::pep::{PepModel, PepPair, PepStats};
use wetstring_proto::{Cx, Instant, NoTrace};

fn pair(text: &str) -> PepPair {
    let model: PepModel = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
    assert_eq!(model.to_string().parse::<PepModel>().unwrap(), model, "{text}");
    PepPair::new(&model)
}

/// Runs a pair for this time. `each` gets the output at both ends, and returns the input.
fn run(
    pair: &mut PepPair,
    seconds: u64,
    mut each: impl FnMut(u64, [&[u8]; 2]) -> [Vec<u8>; 2],
) -> [PepStats; 2] {
    let mut now = 0;
    let mut wants: [Vec<u8>; 2] = each(0, [&[], &[]]);
    while now < seconds * 1_000_000_000 {
        let cx = &mut Cx { now: Instant(now), trace: &mut NoTrace };
        let mut room = [[0; 512]; 2];
        let lens = [pair.emit(cx, End::A, &mut room[0]), pair.emit(cx, End::B, &mut room[1])];
        let more = each(now, [&room[0][..lens[0]], &room[1][..lens[1]]]);
        for end in End::BOTH {
            let want = &mut wants[end.index()];
            want.extend(&more[end.index()]);
            let taken = pair.offer(cx, end, want);
            want.drain(..taken);
        }
        let room = End::BOTH.into_iter().filter(|end| !wants[end.index()].is_empty());
        let room = room.filter_map(|end| pair.room(end));
        let next =
            End::BOTH.into_iter().filter_map(|end| pair.next(end)).chain(room).min().unwrap();
        now = next.as_nanos().max(now + 1);
    }
    End::BOTH.map(|end| pair.stats(end))
}

/// Characters of a file from A that came out at B by the end, in order.
fn bulk(text: &str, seconds: u64) -> (u64, [PepStats; 2]) {
    let mut pair = pair(text);
    let (mut offered, mut came) = (0u64, 0u64);
    let stats = run(&mut pair, seconds, |_, [_, at_b]| {
        for byte in at_b {
            assert_eq!(*byte, (came % 251) as u8, "character {came}");
            came += 1;
        }
        let mut more = Vec::new();
        while offered < came + 20_000 {
            more.push((offered % 251) as u8);
            offered += 1;
        }
        [more, Vec::new()]
    });
    (came, stats)
}

#[test]
fn a_file_goes_by_turns_of_twelve_long_packets() {
    let (came, [a, b]) = bulk("pep:dte=38400", 60);
    // Twelve long packets, two gaps and the other side's empty micro packet.
    let cycle_ms = 12.0 * 136.0 + 2.0 * 11.33 + 11.33;
    let expected = 60_000.0 / cycle_ms * 3000.0;
    let off = came as f64 / expected - 1.0;
    assert!(off.abs() < 0.03, "{came} characters, expected {expected:.0}");
    assert!(a.packets[2] > 400 && a.packets[0] + a.packets[1] < 5, "{a:?}");
    assert_eq!(b.packets.iter().sum::<u64>(), b.empty, "{b:?}");
    // The first long packet alone comes after a turn without one.
    assert_eq!(a.calibrations, 1, "{a:?}");
    // The host's line is the limit where it is slower.
    let (came, _) = bulk("pep:dte=9600", 60);
    assert!((56_000..=57_600).contains(&came), "{came}");
}

/// Characters per second, typed, with an echo that takes the far host this long.
fn typed(text: &str, echo_ms: u64) -> (f64, PepStats) {
    let mut pair = pair(text);
    let (mut echoes, mut began, mut owed) = (0, false, std::collections::VecDeque::new());
    let [a, _] = run(&mut pair, 30, |now, [at_a, at_b]| {
        echoes += at_a.len();
        let types = !began || !at_a.is_empty();
        began = true;
        owed.extend(at_b.iter().map(|byte| (now + echo_ms * 1_000_000, *byte)));
        let mut echo = Vec::new();
        while owed.front().is_some_and(|(due, _)| *due <= now) {
            echo.extend(owed.pop_front().map(|(_, byte)| byte));
        }
        [if types { vec![b'x'] } else { Vec::new() }, echo]
    });
    (echoes as f64 / 30.0, a)
}

/// 7.5 characters a second with short packets [May 1988]: a host that echoes later than the gap between
/// turns misses one, and each character takes two exchanges.
#[test]
fn typing_waits_for_turns() {
    let (rate, a) = typed("pep:s120=12", 20);
    assert!((7.2..7.8).contains(&rate), "{rate}");
    assert_eq!(a.packets[0], 0, "{a:?}");
    let (rate, _) = typed("pep:s120=12", 0);
    assert!((14.4..15.6).contains(&rate), "an echo within the gap: {rate}");
    let (rate, a) = typed("pep:", 20);
    assert!((10.5..11.6).contains(&rate), "micro packets: {rate}");
    assert_eq!(a.packets[1], 0, "{a:?}");
}

/// An answer of eleven characters does not fit into a micro packet, and one of nine does (SLIP on Telebit (1989)).
#[test]
fn two_characters_too_many_cost_a_short_packet() {
    for (len, kind) in [(9usize, 0usize), (11, 1)] {
        let mut pair = pair("pep:dte=38400");
        let mut answered = 0;
        let [_, b] = run(&mut pair, 20, |now, _| {
            let due = now / 500_000_000;
            if due > answered {
                answered = due;
                return [Vec::new(), vec![b'a'; len]];
            }
            [Vec::new(), Vec::new()]
        });
        let shorts = if kind == 0 { 0..=0 } else { 38..=39 };
        assert!(shorts.contains(&b.packets[1]), "{len}: {b:?}");
        assert_eq!(b.packets[2], 0, "{len}: {b:?}");
        assert!(b.characters >= 38 * len as u64, "{len}: {b:?}");
    }
}

/// The two guesses of SLIP on Telebit (1989) about S120=0: a full frame for eleven characters, or two micro packets of which
/// the second waits for the other side's turn.
#[test]
fn answers_slightly_too_long_follow_the_source() {
    let sent = |words: &str| {
        let mut pair = pair(&format!("pep:dte=38400,{words}"));
        let mut answered = 0;
        let [_, b] = run(&mut pair, 20, |now, _| {
            let due = now / 500_000_000;
            let new = due > answered;
            answered = due;
            [Vec::new(), if new { vec![b'a'; 11] } else { Vec::new() }]
        });
        assert!(b.characters >= 38 * 11, "{words}: {b:?}");
        b
    };
    let full = sent("short=9");
    assert!(full.packets[1] == 0 && (38..=39).contains(&full.packets[2]), "{full:?}");
    let micros = sent("micros=1");
    assert_eq!((micros.packets[1], micros.packets[2]), (0, 0), "{micros:?}");
    let with_data = micros.packets[0] - micros.empty;
    assert!((76..=78).contains(&with_data), "{micros:?}");
    assert!(micros.turns >= micros.packets[0], "one packet a turn: {micros:?}");
}

/// Every nanosecond of the channel is of a packet, full or not, of a calibration or of a gap.
#[test]
fn the_times_of_the_channel_add_up() {
    let mut pair = pair("pep:dte=38400,ber=1e-4");
    let mut said = [0; 2];
    let stats = run(&mut pair, 60, |now, _| {
        // Forty characters twelve times in ten seconds, and five times.
        let mut some = |end: usize, every_ms: u64| {
            let due = now / 1_000_000 / every_ms;
            let new = due > said[end];
            said[end] = due;
            if new { vec![b'x'; 40] } else { Vec::new() }
        };
        [some(0, 800), some(1, 2000)]
    });
    let all: u64 = stats
        .iter()
        .map(|of| {
            let packets = of.filled_ns + of.unfilled_ns + of.empty_ns + of.damaged_ns;
            assert_eq!(packets + of.calibrate_ns, of.busy_ns, "{of:?}");
            assert!(of.filled_ns > 0 && of.unfilled_ns > 0 && of.empty_ns > 0, "{of:?}");
            assert!(of.damaged_ns > 0, "{of:?}");
            of.busy_ns + of.gap_ns
        })
        .sum();
    // What has begun may not have ended.
    assert!((60_000_000_000..60_300_000_000).contains(&all), "{all}");
}

#[test]
fn damaged_packets_are_retransmitted_in_order() {
    let (came, [a, _]) = bulk("pep:dte=38400,ber=1e-4", 120);
    assert!(a.damaged > 50, "{a:?}");
    let sent = a.packets[2];
    // Every packet that was hit costs one more, and hardly anything else.
    let whole = (sent - a.damaged) * 250;
    assert!(came <= whole && came + 8192 > whole, "{came} of {whole}: {a:?}");
    let (clean, _) = bulk("pep:dte=38400,ber=1e-4,dir=rev", 120);
    assert!(clean > came, "{clean} and {came}");
}

#[test]
fn impossible_descriptions_are_reported() {
    for (text, wanted) in [
        ("pep:s120=7", "expected 0 (all packets) or 12"),
        ("pep:micro=30", "micro, short and long to grow"),
        ("pep:spoof=kermit", "expected uucp or none"),
        ("pep:micros=0", "expected 1 to 64 packets"),
        ("pep:speed=9", "expected one of dte, s120"),
        ("pep:dte=10", "300 to 38400"),
    ] {
        let error = text.parse::<PepModel>().unwrap_err().to_string();
        assert!(error.contains(wanted), "{text}: {error}");
    }
}
