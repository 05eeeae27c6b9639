//! Lines with flow control: exact stops, exact losses, and no loss where there is room.

use wetstring_lab::serial::flow::{FlowLine, FlowModel};
use wetstring_lab::store::Content;
use wetstring_lab::{Element, End, LineModel, Random, Serial};
use wetstring_proto::{Cx, Instant, NoTrace};

fn line(text: &str) -> FlowLine {
    FlowLine::new(&text.parse::<FlowModel>().unwrap_or_else(|error| panic!("{text}: {error}")))
}

/// Somebody at an end: what is left to send, how much is offered at a time, and how often how
/// much is read.
struct Station {
    send: Vec<u8>,
    chunk: usize,
    /// Reads this many characters per interval in ns; `None` reads at once.
    read: Option<(usize, u64)>,
    got: Vec<(u64, u8)>,
    next_read: u64,
}

impl Station {
    fn new(send: &[u8], read: Option<(usize, u64)>) -> Self {
        let next_read = read.map_or(0, |(_, every)| every);
        Self { send: send.to_vec(), chunk: 1000, read, got: Vec::new(), next_read }
    }

    fn bytes(&self) -> Vec<u8> {
        self.got.iter().map(|(_, byte)| *byte).collect()
    }
}

/// Runs until nothing happens any more or the time is over; gives the time.
fn run(element: &mut dyn Element, stations: &mut [Station; 2], until: u64) -> u64 {
    let mut now = 0;
    loop {
        let mut cx = Cx { now: Instant(now), trace: &mut NoTrace };
        let mut next = None;
        let mut sooner = |at: Option<u64>| next = next.into_iter().chain(at).min();
        for end in End::BOTH {
            let station = &mut stations[end.index()];
            while !station.send.is_empty() {
                let chunk = station.chunk.min(station.send.len());
                let taken = element.offer(&mut cx, end, &station.send[..chunk]);
                station.send.drain(..taken);
                if taken < chunk {
                    break;
                }
            }
            let most = match station.read {
                None => 5,
                Some((count, every)) if station.next_read <= now => {
                    station.next_read = now + every;
                    count
                }
                Some(_) => 0,
            };
            let mut into = [0; 4096];
            loop {
                let len = element.emit(&mut cx, end, &mut into[..most]);
                station.got.extend(into[..len].iter().map(|byte| (now, *byte)));
                if len == 0 || station.read.is_some() {
                    break;
                }
            }
        }
        for end in End::BOTH {
            let station = &stations[end.index()];
            let arrives = element.next(end).map(Instant::as_nanos);
            if station.read.is_none() {
                sooner(arrives);
            } else {
                // Only its clock makes this one read; but what changes inside has its own time.
                sooner(arrives.filter(|at| *at > now));
                sooner(arrives.filter(|at| *at <= now).map(|_| station.next_read));
            }
            sooner(element.room(end).map(Instant::as_nanos).filter(|_| !station.send.is_empty()));
        }
        match next {
            Some(next) if next <= until => now = now.max(next),
            _ => return now,
        }
    }
}

const NO_READER: Option<(usize, u64)> = Some((0, 1 << 60));

#[test]
fn without_flow_control_it_is_a_plain_serial_line() {
    let sent = Content::Random(3).bytes(3000);
    for (flow, plain) in [
        ("9600", "9600"),
        ("19200,parity=even", "19200,parity=even"),
        ("2400,bits=11,buffer=1", "2400,bits=11,buffer=1"),
        ("57600,rtscts", "57600"),
    ] {
        let mut ours = [Station::new(&sent, None), Station::new(b"back", None)];
        run(&mut line(flow), &mut ours, u64::MAX);
        let model: LineModel = plain.parse().expect("a good line");
        let mut theirs = [Station::new(&sent, None), Station::new(b"back", None)];
        run(&mut Serial::new(&model), &mut theirs, u64::MAX);
        for (ours, theirs) in ours.iter().zip(&theirs) {
            assert_eq!(ours.got, theirs.got, "{flow}");
        }
    }
}

#[test]
fn rts_stops_exactly_after_its_reaction() {
    // A character takes 1 ms. Nothing reads: the driver stops the sender at 192 of 256.
    for (reaction, taken) in [("0s", 192), ("1ns", 193), ("1ms", 193), ("64ms", 256)] {
        let mut element = line(&format!("10000,rtscts,reaction={reaction}"));
        let mut stations = [Station::new(&[7; 1000], None), Station::new(&[], NO_READER)];
        run(&mut element, &mut stations, 5_000_000_000);
        let usage = element.usage(End::A);
        assert_eq!((usage.bits / 10, usage.dropped_bytes), (taken, 0), "{reaction}");
        assert_eq!(element.stops(End::A).count, 1);
    }
    // 70 more characters begin, and there is room for 64.
    let mut element = line("10000,rtscts,reaction=70ms");
    let mut stations = [Station::new(&[7; 1000], None), Station::new(&[], NO_READER)];
    run(&mut element, &mut stations, 5_000_000_000);
    assert_eq!(element.usage(End::A).bits / 10, 262);
    assert_eq!(element.usage(End::A).dropped_bytes, 6);
}

#[test]
fn xoff_is_a_character_that_has_to_get_through() {
    // It takes a character's time to arrive, in which one more begins.
    let mut element = line("10000,xonxoff");
    let mut stations = [Station::new(&[7; 1000], None), Station::new(&[], NO_READER)];
    run(&mut element, &mut stations, 5_000_000_000);
    assert_eq!(element.usage(End::A).bits / 10, 193);
    // The other direction carried only the XOFF.
    assert_eq!(element.usage(End::B).bits, 10);
    assert!(stations[0].got.is_empty());
    // When the other direction is busy, XOFF waits for the end of the character under way, not
    // for those behind it. Both begin at the same time, so the character under way has just ended.
    let mut element = line("10000,xonxoff");
    let mut stations = [Station::new(&[7; 1000], None), Station::new(&[9; 1000], NO_READER)];
    run(&mut element, &mut stations, 5_000_000_000);
    assert_eq!(element.usage(End::A).bits / 10, 193);
    assert_eq!(element.usage(End::B).bits / 10, 1001);
    assert_eq!(stations[0].bytes(), [9; 1000]);
}

#[test]
fn a_slow_reader_gets_everything_and_the_sender_waits() {
    // Go at 100, or the reader would find less than that now and then.
    for flow in ["rtscts", "rtscts,reaction=2ms", "xonxoff,reaction=2ms"] {
        let text = format!("57600,low=100,{flow}");
        let sent: Vec<u8> = Content::Random(4).bytes(20_000).iter().map(|b| b | 0x40).collect();
        let mut element = line(&text);
        // 100 characters every 50 ms: 2000 per second of 5760.
        let read = Some((100, 50_000_000));
        let mut stations = [Station::new(&sent, None), Station::new(&sent, read)];
        let ended = run(&mut element, &mut stations, 60_000_000_000);
        assert_eq!(stations[1].bytes(), sent, "{text}");
        assert_eq!(stations[0].bytes(), sent, "{text}");
        assert_eq!(element.usage(End::A).dropped_bytes, 0);
        assert_eq!(ended, 10_000_000_000, "{text}: 200 reads of 50 ms");
        let stop = element.stops(End::A);
        assert!(stop.count > 50 && stop.ns > 5_000_000_000, "{text}: {stop:?}");
        assert_eq!(element.stops(End::B).count, 0);
    }
}

#[test]
fn without_flow_control_a_slow_reader_loses_what_does_not_fit() {
    let mut element = line("10000");
    let mut stations = [Station::new(&[7; 1000], None), Station::new(&[], NO_READER)];
    run(&mut element, &mut stations, 5_000_000_000);
    let mut into = [0; 2000];
    let mut cx = Cx { now: Instant(5_000_000_000), trace: &mut NoTrace };
    assert_eq!(element.emit(&mut cx, End::B, &mut into), 256);
    assert_eq!(element.usage(End::A).dropped_bytes, 1000 - 256);
}

#[test]
fn xon_and_xoff_in_the_data_disappear_and_act() {
    // End B sends an XOFF as data: A stops, and continues at the XON half a second later.
    let mut element = line("10000,xonxoff");
    let mut cx = Cx { now: Instant(0), trace: &mut NoTrace };
    element.offer(&mut cx, End::B, b"a\x13b");
    element.offer(&mut cx, End::A, &[7; 10]);
    let mut into = [0; 100];
    let mut late = NoTrace;
    let mut cx = Cx { now: Instant(500_000_000), trace: &mut late };
    // Two characters until the XOFF has arrived, so two of A's have begun.
    assert_eq!(element.emit(&mut cx, End::B, &mut into), 2);
    assert_eq!(element.emit(&mut cx, End::A, &mut into), 2);
    assert_eq!(&into[..2], b"ab");
    assert_eq!(element.next(End::B), None);
    element.offer(&mut cx, End::B, b"\x11c");
    let mut cx = Cx { now: Instant(600_000_000), trace: &mut late };
    assert_eq!(element.emit(&mut cx, End::B, &mut into), 8);
    assert_eq!(element.emit(&mut cx, End::A, &mut into), 1);
    assert_eq!(element.stops(End::A).ns, 499_000_000);
    // Seven bits with parity: the eighth does not count.
    let mut element = line("10000,xonxoff,parity=odd");
    element.offer(&mut cx, End::A, b"\x11\x13x");
    let mut cx = Cx { now: Instant(700_000_000), trace: &mut late };
    assert_eq!(element.emit(&mut cx, End::B, &mut into), 1);
}

#[test]
fn a_fifo_that_is_served_late_overruns() {
    // One character of FIFO, served 1.5 characters after the interrupt: every second one is lost.
    let sent: Vec<u8> = (0..100).collect();
    let mut element = line("10000,fifo=1,latency=1500us");
    let mut stations = [Station::new(&sent, None), Station::new(&[], None)];
    run(&mut element, &mut stations, u64::MAX);
    let wanted: Vec<u8> = (0..100).step_by(2).collect();
    assert_eq!(stations[1].bytes(), wanted);
    assert_eq!(element.usage(End::A).dropped_bytes, 50);
    assert_eq!(stations[1].got[0].0, 2_500_000);
    // Sixteen of them bridge 15 ms.
    let mut element = line("10000,latency=15ms");
    let mut stations = [Station::new(&sent, None), Station::new(&[], None)];
    run(&mut element, &mut stations, u64::MAX);
    assert_eq!(stations[1].bytes(), sent);
    assert_eq!(stations[1].got[0].0, 16_000_000);
}

#[test]
fn anything_goes_through_whatever_the_readers_and_the_chunks() {
    for seed in 0..150 {
        let mut random = Random::stream(seed, "flow", "swarm");
        let flow = random.pick(&["rtscts", "xonxoff"]);
        let rate = random.pick(&[1200, 9600, 57_600, 115_200]);
        let rxbuf = random.between(64, 300);
        // Room for what comes after the stop: reaction, two characters of XOFF, the FIFO's time.
        let room_ns = (rxbuf / 4 - 4) * 10_000_000_000 / rate;
        let latency =
            if random.one_in(3) { room_ns.min(10_000_000_000 / rate * 10) / 4 } else { 0 };
        let reaction = random.below(room_ns / 4);
        let text = format!(
            "{rate},{flow},rxbuf={rxbuf},reaction={reaction}ns,latency={latency}ns,buffer={}",
            random.between(1, 200)
        );
        let clean: fn(&u8) -> u8 = |byte| byte | 0x40;
        let sent: Vec<u8> = Content::Random(seed).bytes(3000).iter().map(clean).collect();
        let mut reader = || match random.below(3) {
            0 => None,
            _ => Some((random.between(1, 400) as usize, random.between(1_000_000, 90_000_000))),
        };
        let readers = [reader(), reader()];
        let mut outs = Vec::new();
        for chunk in [1000, 1, random.between(2, 50) as usize] {
            let mut element = line(&text);
            let mut stations = readers.map(|read| Station::new(&sent, read));
            for station in &mut stations {
                station.chunk = chunk;
            }
            run(&mut element, &mut stations, 3_600_000_000_000);
            for end in End::BOTH {
                let usage = element.usage(end);
                assert_eq!(usage.dropped_bytes, 0, "seed {seed}: {text}");
                assert_eq!(usage.bytes_out, 3000, "seed {seed}: {text}");
                assert_eq!(stations[end.index()].bytes(), sent, "seed {seed}: {text}");
            }
            outs.push(stations.map(|station| station.got));
        }
        assert!(outs.iter().all(|out| *out == outs[0]), "seed {seed}: chunks matter: {text}");
    }
}

#[test]
fn descriptions_read_and_show_themselves() {
    for text in [
        "9600",
        "19200,xonxoff,reaction=2ms,rxbuf=1024,buffer=16,high=900,low=100,parity=even",
        "57600,rtscts,latency=500us,fifo=1,bits=11,7bit",
    ] {
        let model: FlowModel = text.parse().expect(text);
        assert_eq!(model.to_string().parse(), Ok(model), "{text}");
    }
    for (text, error) in [
        (
            "",
            "line: rate: expected a rate in bit/s first, 1 to 100000000000, such as 19200, got ``",
        ),
        (
            "9600,rts",
            "line: rts: expected one of rate, none, rtscts, xonxoff, reaction, rxbuf, high, \
                      low, fifo, latency, buffer, bits, 7bit, parity, got `rts`",
        ),
        ("9600,rtscts,xonxoff", "line: flow: expected it once, got `xonxoff`"),
        ("9600,rxbuf=10,high=11", "line: high: expected at most rxbuf, got `11`"),
        ("9600,high=10,low=10", "line: low: expected less than high, got `10`"),
        ("9600,parity=big", "line: parity: expected none, even, odd, mark or space, got `big`"),
        (
            "9600,reaction=-1ms",
            "line: reaction: expected a time such as 250ms (s, ms, us, ns), got `-1ms`",
        ),
    ] {
        assert_eq!(
            text.parse::<FlowModel>().map_err(|e| e.to_string()),
            Err(error.into()),
            "{text}"
        );
    }
}
