//! A pair of modems as an element: exact times from the bits of the line, nothing lost, and what a
//! description may say.

use wetstring_lab::modem::{ModemModel, ModemPair, ModemStats, hdlc};
use wetstring_lab::store::Content;
use wetstring_lab::{Element, End, Random, Recorder};
use wetstring_proto::{Cx, Instant, NoTrace};

const SECOND: u64 = 1_000_000_000;

fn model(text: &str) -> ModemModel {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// What a host at an end does.
#[derive(Clone)]
struct Host {
    send: Vec<u8>,
    chunk: usize,
    /// Reads this many characters per interval in ns, or everything at once.
    read: Option<(usize, u64)>,
    got: Vec<u8>,
    times: Vec<u64>,
    next_read: u64,
}

fn host(send: &[u8]) -> Host {
    let send = send.to_vec();
    Host { send, chunk: 64, read: None, got: Vec::new(), times: Vec::new(), next_read: 0 }
}

fn reads(send: &[u8], count: usize, every: u64) -> Host {
    Host { read: Some((count, every)), next_read: every, ..host(send) }
}

/// Runs until nothing happens any more or until the time; gives the time of the last event.
fn run(pair: &mut ModemPair, hosts: &mut [Host; 2], until: u64) -> u64 {
    let mut now = 0;
    loop {
        let mut cx = Cx { now: Instant(now), trace: &mut NoTrace };
        let mut next = u64::MAX;
        for end in End::BOTH {
            let host = &mut hosts[end.index()];
            while !host.send.is_empty() {
                let chunk = host.chunk.min(host.send.len());
                let taken = pair.offer(&mut cx, end, &host.send[..chunk]);
                host.send.drain(..taken);
                if taken < chunk {
                    break;
                }
            }
            let mut into = [0; 64];
            match host.read {
                None => loop {
                    let len = pair.emit(&mut cx, end, &mut into);
                    host.got.extend(&into[..len]);
                    host.times.extend([now].repeat(len));
                    if len < into.len() {
                        break;
                    }
                },
                Some((count, every)) if host.next_read <= now => {
                    let mut into = vec![0; count];
                    let len = pair.emit(&mut cx, end, &mut into);
                    host.got.extend(&into[..len]);
                    host.next_read = now + every;
                }
                Some(_) => {}
            }
        }
        for end in End::BOTH {
            let host = &hosts[end.index()];
            let inner = pair.next(end).map(Instant::as_nanos);
            let inner = inner.map(|at| if at <= now { host.next_read.max(at) } else { at });
            let room = pair.room(end).map(Instant::as_nanos).filter(|_| !host.send.is_empty());
            assert!(room.is_none_or(|at| at > now), "room at {room:?}, now {now}");
            next = inner.into_iter().chain(room).fold(next, u64::min);
        }
        if next == u64::MAX || next > until {
            return now;
        }
        now = now.max(next);
    }
}

/// Sends from A to B and the same number of other octets back; checks that both arrived.
fn both_ways(text: &str, len: usize) -> (ModemPair, u64) {
    let mut pair = ModemPair::new(&model(text));
    let sent = [Content::Random(1).bytes(len), Content::Random(2).bytes(len)];
    let mut hosts = [host(&sent[0]), host(&sent[1])];
    let ended = run(&mut pair, &mut hosts, 36_000 * SECOND);
    assert!(hosts[1].got == sent[0], "{text}: A to B: {} of {len}", hosts[1].got.len());
    assert!(hosts[0].got == sent[1], "{text}: B to A: {} of {len}", hosts[0].got.len());
    for end in End::BOTH {
        let usage = pair.usage(end);
        assert_eq!((usage.bytes_in, usage.bytes_out), (len as u64, len as u64), "{text}");
        assert_eq!(usage.dropped_bytes, 0, "{text}");
    }
    (pair, ended)
}

/// The bits of a frame, made one by one and counted: a judge that knows no table.
fn slow_bits(octets: &[u8]) -> u64 {
    let mut check = 0xffffu16;
    for octet in octets {
        check ^= u16::from(*octet);
        for _ in 0..8 {
            check = if check & 1 == 1 { check >> 1 ^ 0x8408 } else { check >> 1 };
        }
    }
    let all = octets.iter().copied().chain((!check).to_le_bytes());
    let (mut bits, mut run) = (0, 0);
    for octet in all {
        for bit in 0..8 {
            bits += 1;
            run = if octet >> bit & 1 == 1 { run + 1 } else { 0 };
            if run == 5 {
                bits += 1;
                run = 0;
            }
        }
    }
    bits
}

#[test]
fn every_character_comes_when_the_bits_of_its_frame_say() {
    for (text, line) in [
        ("modem:dte=115200,line=14400,v42,delay=30ms,buffer=100000", 14_400),
        ("modem:dte=115200,line=31200,v42,delay=12345ns,buffer=100000", 31_200),
        ("modem:dte=115200,line=2400,v42,delay=1s,buffer=100000,t401=9s", 2400),
    ] {
        let sent = Content::Random(7).bytes(128 * 60);
        let model = model(text);
        let mut pair = ModemPair::new(&model);
        let mut hosts = [host(&sent), host(&[])];
        run(&mut pair, &mut hosts, u64::MAX);
        // The first frame is full when 128 characters have arrived; then the flag under way ends.
        let full = 128 * 10 * SECOND / 115_200;
        let mut bit = (full * line / SECOND + 1).next_multiple_of(8);
        for (number, octets) in sent.chunks(128).enumerate() {
            let mut frame = vec![3, (number as u8 & 0x7f) << 1, 0];
            frame.extend(octets);
            bit += slow_bits(&frame) + 8;
            let arrived = (bit * SECOND).div_ceil(line) + model.latency_ns(End::A);
            for place in 0..128 {
                let at = arrived + (place as u64 + 1) * 10 * SECOND / 115_200;
                // The host's line is idle before each frame, so nothing is left over.
                let got = hosts[1].times[number * 128 + place];
                assert_eq!(got, at, "{text}: frame {number}, character {place}");
            }
        }
        assert_eq!(hosts[1].got, sent);
        let stats = pair.stats(End::A);
        assert_eq!((stats.lapm.i_frames, stats.lapm.again, stats.octets), (60, 0, 128 * 60));
    }
}

#[test]
fn incompressible_data_runs_at_128_octets_per_1089_bits() {
    // Digest of the published runs: 1693 characters/s at 14400, 3667 at 31200, 1128 at 9600.
    for (line, rate) in [(14_400u64, 1693u64), (31_200, 3667), (9600, 1128)] {
        let (_, ended) = both_ways(&format!("modem:dte=57600,line={line},v42"), 100_000);
        let ours = 100_000 * SECOND / ended;
        // Start and end of the transfer cost a little, and piggybacked numbers are free.
        assert!(ours * 1000 >= rate * 995 && ours <= rate + 1, "{line}: {ours} of {rate}");
    }
}

#[test]
fn a_single_character_takes_its_seven_octets() {
    let model = model("modem:dte=57600,line=14400,v42,delay=0s,wait=0s");
    let mut pair = ModemPair::new(&model);
    let mut hosts = [host(b"a"), host(&[])];
    run(&mut pair, &mut hosts, u64::MAX);
    let came = 10 * SECOND / 57_600;
    let start = (came * 14_400 / SECOND + 1).next_multiple_of(8);
    let end = start + slow_bits(&[3, 0, 0, b'a']) + 8;
    // Two symbols of V.32bis are the grouping of its bits.
    assert_eq!(model.latency_ns(End::A), (2 * SECOND).div_ceil(2400));
    let arrived = (end * SECOND).div_ceil(14_400) + model.latency_ns(End::A);
    assert_eq!(hosts[1].times, [arrived + 10 * SECOND / 57_600]);
    assert_eq!(hdlc::body_bits(&[3, 0, 0, b'a']) + 8, slow_bits(&[3, 0, 0, b'a']) + 8);
    // The other modem has acknowledged it with an RR: 5 octets and a flag.
    let back = pair.stats(End::B);
    assert_eq!((back.lapm.rr, back.bits), (1, slow_bits(&[3, 1, 2]) + 8));
}

#[test]
fn a_frame_waits_for_more_but_not_for_long() {
    // Without waiting the first character of each goes alone, and the others after it.
    for (wait, frames) in [("0s", 4), ("5ms", 2), ("20ms", 1)] {
        let mut pair = ModemPair::new(&model(&format!("modem:line=14400,v42,wait={wait}")));
        let mut cx = Cx { now: Instant(0), trace: &mut NoTrace };
        pair.offer(&mut cx, End::A, b"one");
        let mut cx = Cx { now: Instant(15_000_000), trace: &mut NoTrace };
        pair.offer(&mut cx, End::A, b"two");
        let mut hosts = [host(&[]), host(&[])];
        run(&mut pair, &mut hosts, u64::MAX);
        assert_eq!(hosts[1].got, b"onetwo");
        assert_eq!(pair.stats(End::A).lapm.i_frames, frames, "{wait}");
    }
}

#[test]
fn a_round_trip_takes_about_what_was_measured() {
    // Cheshire: 156 ms there and back between modems of 33600, beside the hosts' lines.
    let mut pair = ModemPair::new(&model("modem:dte=921600,line=33600,v42"));
    let mut hosts = [host(&[b'x'; 100]), host(&[])];
    run(&mut pair, &mut hosts, u64::MAX);
    let there = *hosts[1].times.last().expect("it arrived");
    let both = 2 * there;
    assert!((150_000_000..165_000_000).contains(&both), "{both}");
}

/// A page of words, over and over with other words.
fn text(len: usize) -> Vec<u8> {
    let words = ["the", "modem", "sends", "carrier", "data", "over", "line", "window", "packet"];
    let mut random = Random::stream(5, "modem", "text");
    let mut text = Vec::new();
    while text.len() < len {
        text.extend(random.pick(&words).bytes());
        text.push(if random.one_in(8) { b'\n' } else { b' ' });
    }
    text.truncate(len);
    text
}

fn send_text(description: &str, text: &[u8]) -> (ModemStats, u64) {
    let mut pair = ModemPair::new(&model(description));
    let mut hosts = [host(text), host(&[])];
    let ended = run(&mut pair, &mut hosts, 36_000 * SECOND);
    assert_eq!(hosts[1].got, text, "{description}");
    (pair.stats(End::A), ended)
}

#[test]
fn compression_comes_out_of_the_bits_and_the_host_line_is_its_limit() {
    let text = text(60_000);
    let (plain, slow) = send_text("modem:dte=57600,line=14400,v42", &text);
    let (squeezed, fast) = send_text("modem:dte=57600,line=14400,v42bis", &text);
    assert_eq!((plain.characters, plain.octets), (60_000, 60_000));
    assert!(squeezed.octets * 2 < squeezed.characters, "{squeezed:?}");
    assert!(fast * 2 < slow, "{fast} and {slow}");
    // At 31200 the line could carry more than the host gives: 5760 characters per second.
    let (_, limited) = send_text("modem:dte=57600,line=31200,v42bis", &text);
    let rate = 60_000 * SECOND / limited;
    assert!((5600..=5760).contains(&rate), "{rate}");
    // A larger dictionary finds more.
    let (small, _) = send_text("modem:dte=57600,line=14400,v42bis=512/6", &text);
    assert!(small.octets > squeezed.octets);
    // What cannot be compressed goes as it is: one escape in 256 octets.
    let random = Content::Random(3).bytes(60_000);
    let (stats, _) = send_text("modem:dte=57600,line=14400,v42bis", &random);
    assert!(stats.octets > 60_000 && stats.octets < 60_000 + 60_000 / 256 + 100, "{stats:?}");
}

#[test]
fn without_error_control_a_character_is_ten_bits_of_the_line() {
    let text = "modem:dte=9600,line=9600,mod=v32,delay=40ms,flow=none";
    let model = model(text);
    let mut pair = ModemPair::new(&model);
    let sent = Content::Random(1).bytes(2000);
    let mut hosts = [host(&sent), host(&[])];
    run(&mut pair, &mut hosts, u64::MAX);
    assert_eq!(hosts[1].got, sent);
    // Into the modem, over the line, out of the other modem: a character's time each.
    let char_ns = 10 * SECOND / 9600;
    let first = 3 * char_ns + model.latency_ns(End::A);
    assert_eq!(hosts[1].times[0], first);
    let last = first + 1999 * 10 * SECOND / 9600;
    let got = hosts[1].times[1999];
    // Each of three clocks begins a new run with its remainder at zero.
    assert!(got >= last && got - last < 10_000, "{got} and {last}");
    assert_eq!(pair.usage(End::A).bits, 20_000);
}

#[test]
fn without_flow_control_a_fast_host_overruns_its_modem() {
    let mut pair = ModemPair::new(&model("modem:dte=19200,line=9600,mod=v32,flow=none,buffer=500"));
    let mut hosts = [host(&Content::Random(1).bytes(10_000)), host(&[])];
    run(&mut pair, &mut hosts, u64::MAX);
    let stats = pair.stats(End::A);
    // Half of it finds the buffer full, less what the buffer holds at the end.
    assert_eq!(stats.overruns + hosts[1].got.len() as u64, 10_000);
    assert!((4450..4510).contains(&stats.overruns), "{stats:?}");
}

#[test]
fn flow_control_never_loses_whatever_the_readers() {
    for seed in 0..60 {
        let mut random = Random::stream(seed, "modem", "flow");
        let options = [
            random.pick(&["flow=rtscts", "flow=xonxoff"]).to_owned(),
            random.pick(&["v42", "v42bis", "v42,srej", "v42,k=3,n401=64"]).to_owned(),
            format!("dte={}", random.pick(&["57600", "19200/57600", "9600/115200", "2400"])),
            format!("line={}", random.pick(&[2400, 14_400, 33_600])),
            format!("reaction={}us", random.below(3000)),
            format!("buffer={}", random.between(256, 3000)),
            format!("rxbuf={}", random.between(200, 5000)),
            format!("wait={}ms", random.below(40)),
            format!("ber={}", random.pick(&["0", "0", "1e-5", "3e-4"])),
            format!("n400=100,seed={seed}"),
        ];
        let description = format!("modem:{}", options.join(","));
        // Not XON and XOFF, which would disappear.
        let clean = |bytes: Vec<u8>| bytes.iter().map(|byte| byte | 0x20).collect::<Vec<u8>>();
        let sent = [clean(Content::Random(seed).bytes(5000)), text(4000)];
        let mut reader = |send: &[u8]| match random.below(3) {
            0 => host(send),
            _ => reads(send, random.between(1, 200) as usize, random.between(1, 60) * 1_000_000),
        };
        let mut hosts = [reader(&sent[0]), reader(&sent[1])];
        let mut pair = ModemPair::new(&model(&description));
        run(&mut pair, &mut hosts, 36_000 * SECOND);
        assert!(!pair.is_down(), "{description}");
        for end in End::BOTH {
            assert_eq!(pair.stats(end).overruns, 0, "{description}");
            let got = &hosts[end.other().index()].got;
            assert!(*got == sent[end.index()], "{description}: {} characters", got.len());
        }
    }
}

#[test]
fn a_reader_that_stops_stops_the_other_host() {
    let sent = Content::Random(1).bytes(100_000);
    let mut pair = ModemPair::new(&model("modem:dte=57600,line=14400,v42bis"));
    let mut hosts = [host(&sent), reads(&[], 0, 1 << 60)];
    run(&mut pair, &mut hosts, 100 * SECOND);
    let stats = pair.stats(End::A);
    // What is under way: the buffers of host, modem, window, modem and driver, and no more.
    let under_way = pair.usage(End::A).bytes_in;
    assert!(under_way < 4096 + 2048 + 15 * 128 + 2048 + 1000, "{under_way}");
    assert!(pair.stats(End::B).lapm.rnr > 0);
    assert_eq!((stats.modem_stops.count, stats.overruns), (1, 0));
    assert!(stats.host_stops.count > 0 && stats.host_stops.ns > 80 * SECOND);
}

#[test]
fn noise_costs_time_and_nothing_else() {
    let clean = both_ways("modem:line=14400,v42", 50_000).1;
    for (text, most) in [
        ("modem:line=14400,v42,ber=1e-5", 2),
        ("modem:line=14400,v42,ber=1e-4,seed=3", 4),
        ("modem:line=14400,v42bis,burst=8@2s", 2),
        ("modem:line=14400,v42,burst=40@1s,srej", 3),
        ("modem:line=28800,mod=v34,v42bis,ber=1e-4,dir=rev", 2),
    ] {
        let (pair, ended) = both_ways(text, 50_000);
        let stats = End::BOTH.map(|end| pair.stats(end));
        assert!(stats.iter().any(|stats| stats.damaged > 0), "{text}: {stats:?}");
        assert!(stats.iter().any(|stats| stats.lapm.again > 0), "{text}: {stats:?}");
        assert!(ended < clean * most, "{text}: {ended} of {clean}");
    }
    let [rej, srej] = ["", ",srej"].map(|option| {
        let (pair, _) = both_ways(&format!("modem:line=14400,v42,ber=5e-5{option}"), 50_000);
        pair.stats(End::A).lapm.again
    });
    assert!(srej < rej, "{srej} and {rej}");
}

#[test]
fn characters_are_damaged_without_error_control() {
    let text = "modem:dte=9600,line=9600,mod=v32,flow=none,burst=8@2s,dir=fwd";
    let mut pair = ModemPair::new(&model(text));
    let sent = Content::Random(1).bytes(19_200);
    let mut hosts = [host(&sent), host(&sent)];
    run(&mut pair, &mut hosts, u64::MAX);
    // 20 s of characters: ten bursts of eight.
    let wrong = hosts[1].got.iter().zip(&sent).filter(|(got, sent)| got != sent).count();
    assert_eq!((wrong, hosts[1].got.len()), (80, sent.len()));
    assert_eq!(pair.usage(End::A).damaged_bytes, 80);
    assert_eq!(hosts[0].got, sent);
}

#[test]
fn a_dead_line_ends_the_connection() {
    let mut pair = ModemPair::new(&model("modem:line=14400,v42,ber=0.5"));
    let mut hosts = [host(&[1; 1000]), host(&[])];
    run(&mut pair, &mut hosts, 1000 * SECOND);
    assert!(pair.is_down());
    assert_eq!(pair.stats(End::A).lapm.timeouts, 6);
    assert!(hosts[1].got.is_empty());
    // When the noise stops in time, all is well.
    let mut pair = ModemPair::new(&model("modem:line=14400,v42,ber=0.5"));
    let mut hosts = [host(&[1; 1000]), host(&[])];
    run(&mut pair, &mut hosts, 3 * SECOND);
    pair.calm();
    let mut late = [host(&hosts[0].send), hosts[1].clone()];
    run_on(&mut pair, &mut late, 3 * SECOND);
    assert_eq!(late[1].got, [1; 1000]);
}

/// Continues a run at this time.
fn run_on(pair: &mut ModemPair, hosts: &mut [Host; 2], now: u64) {
    let mut cx = Cx { now: Instant(now), trace: &mut NoTrace };
    pair.emit(&mut cx, End::B, &mut []);
    run(pair, hosts, u64::MAX);
}

#[test]
fn chunks_and_late_calls_do_not_matter() {
    for text in [
        "modem:line=14400,v42bis,ber=1e-5",
        "modem:line=33600/31200,v42,flow=xonxoff",
        "modem:line=9600,mod=v32,dte=9600,ber=1e-4",
    ] {
        let clean: Vec<u8> = Content::Random(9).bytes(6000).iter().map(|b| b | 0x20).collect();
        let mut outs = Vec::new();
        for chunk in [64, 1, 7, 5000] {
            let mut pair = ModemPair::new(&model(text));
            let mut hosts = [host(&clean), host(&clean[..3000])];
            for host in &mut hosts {
                host.chunk = chunk;
            }
            run(&mut pair, &mut hosts, u64::MAX);
            let stats = End::BOTH.map(|end| pair.stats(end));
            outs.push((hosts.map(|host| (host.got, host.times)), stats));
        }
        assert!(outs.iter().all(|out| *out == outs[0]), "{text}");
        // One call at the end finds what many calls would have found.
        let mut pair = ModemPair::new(&model(text));
        let mut cx = Cx { now: Instant(0), trace: &mut NoTrace };
        let taken = pair.offer(&mut cx, End::A, &clean);
        let mut late = pair.clone();
        let mut hosts = [host(&[]), host(&[])];
        run(&mut pair, &mut hosts, u64::MAX);
        let mut into = [0; 100];
        let mut cx = Cx { now: Instant(60 * SECOND), trace: &mut NoTrace };
        assert_eq!(late.emit(&mut cx, End::B, &mut into), taken, "{text}");
        assert_eq!(into[..taken], hosts[1].got);
        assert_eq!(late.stats(End::A), pair.stats(End::A));
    }
}

#[test]
fn a_run_is_the_same_twice_and_its_trace_names_what_went_wrong() {
    let play = || {
        let mut recorder = Recorder::keep();
        let mut pair = ModemPair::new(&model("modem:line=14400,v42,ber=2e-4"));
        let sent = Content::Random(1).bytes(3000);
        let (mut now, mut left, mut got) = (0, &sent[..], 0);
        while got < sent.len() {
            let mut trace = recorder.of("line");
            let mut cx = Cx { now: Instant(now), trace: &mut trace };
            let taken = pair.offer(&mut cx, End::A, left);
            left = &left[taken..];
            got += pair.emit(&mut cx, End::B, &mut [0; 64]);
            let next = pair.next(End::B).into_iter().chain(pair.room(End::A)).min();
            now = next.map_or(now, |at| at.as_nanos().max(now));
        }
        recorder.lines().join("\n")
    };
    let trace = play();
    assert_eq!(trace, play());
    assert!(trace.contains("damaged len=1 why=frame check"), "{trace}");
}

#[test]
fn descriptions_read_and_show_themselves() {
    for text in [
        "modem:dte=57600,line=14400",
        "modem:dte=57600,line=14400,v42",
        "modem:dte=57600/38400,line=33600/31200,v42bis",
        "modem:dte=9600,line=9600,mod=v32,delay=100ms,flow=none",
        "modem:dte=57600,line=28800,symbols=3200,v42bis=512/6,wait=0s,reaction=2ms,t402=50ms,\
         buffer=512,rxbuf=256,n401=64,k=7,n400=10,seed=4,flow=xonxoff,srej,t401=2s,ber=1e-5,\
         burst=8@2s,dir=rev",
    ] {
        assert_eq!(model(text).to_string(), text);
        assert_eq!(model(&model(text).to_string()), model(text));
    }
    assert_eq!(model("modem:"), ModemModel::default());
    assert_eq!(model("v42bis,v42"), model("v42bis=2048/32"));
    let v34 = model("modem:line=33600");
    assert_eq!(v34.symbol_rate(End::A).map(|rate| rate.nominal), Some(3429));
    // Two mapping frames of eight symbols at 24000/7 per second.
    assert_eq!(v34.latency_ns(End::A) - 30_000_000, (16 * 7 * SECOND).div_ceil(24_000));
}

#[test]
fn bad_descriptions_are_named() {
    for (text, error) in [
        (
            "modem:speed=9",
            "modem: speed: expected one of dte, line, mod, symbols, v42, v42bis, \
                           delay, wait, flow, reaction, buffer, rxbuf, n401, k, srej, t401, t402, \
                           n400, ber, burst, dir, seed, got `speed=9`",
        ),
        ("modem:line=14400,line=9600", "modem: line: expected it once, got `line=9600`"),
        (
            "modem:line=14401",
            "modem: line: expected a rate of V.22, V.22bis, V.32bis or V.34, got \
                              `line=14401`",
        ),
        (
            "modem:line=14400,mod=v32",
            "modem: line: expected 4800 or 9600 bit/s (v32), got \
                                      `line=14400`",
        ),
        (
            "modem:line=9600/4800",
            "modem: line: expected one rate for both directions, except with \
                                  v34, got `line=9600/4800`",
        ),
        (
            "modem:line=33600,symbols=3200",
            "modem: symbols: expected a symbol rate of the modulation \
                                           that carries the line's rate, got `symbols=3200`",
        ),
        ("modem:v42=yes", "modem: v42: expected a flag without a value, got `v42=yes`"),
        (
            "modem:v42bis=511/6",
            "modem: v42bis: expected 512 to 32768 codewords and strings of 6 to \
                                250, such as 2048/32, got `v42bis=511/6`",
        ),
        (
            "modem:v42bis=2048",
            "modem: v42bis: expected 512 to 32768 codewords and strings of 6 to \
                               250, such as 2048/32, got `v42bis=2048`",
        ),
        (
            "modem:dte=fast",
            "modem: dte: expected bit/s from 300 to 921600, such as 57600 or \
                            57600/38400, got `fast`",
        ),
        ("modem:delay=5", "modem: delay: expected a time such as 250ms (s, ms, us, ns), got `5`"),
        ("modem:k=64", "modem: k: expected 1 to 63 frames, got `64`"),
        ("modem:flow=rts", "modem: flow: expected none, rtscts or xonxoff, got `flow=rts`"),
        ("modem:t401=0s", "modem: t401: expected more than no time, got `t401=0s`"),
        (
            "modem:burst=8@8",
            "modem: burst: expected a period longer than the burst, got `burst=8@8`",
        ),
    ] {
        let got = text.parse::<ModemModel>().map_err(|error| error.to_string());
        assert_eq!(got, Err(error.to_owned()), "{text}");
    }
}
