//! Protocols over what carries characters today: USB, Bluetooth Low Energy, LoRa.

use wetstring_lab::scenario::{Outcome, Scenario, no_files};
use wetstring_lab::trace::twice;
use wetstring_proto::Duration;

fn run(protocol: &str, line: &str, bytes: u64, more: &str) -> Outcome {
    let text = format!(
        "protocol = '{protocol}'\nline = {line}\n[file]\nmade = 'random'\nbytes = {bytes}\n{more}"
    );
    let scenario =
        Scenario::parse("x.toml", &text, &no_files).unwrap_or_else(|bad| panic!("{bad}"));
    let (outcome, _) =
        twice(|recorder| scenario.run(recorder)).unwrap_or_else(|bad| panic!("{bad}"));
    outcome
}

fn done(protocol: &str, line: &str, bytes: u64, more: &str) -> Duration {
    let outcome = run(protocol, line, bytes, more);
    assert!(outcome.is_done(), "{protocol} over {line}: {}", outcome.ending);
    outcome.elapsed
}

const PROTOCOLS: [&str; 8] =
    ["kermit", "xmodem", "xmodem-crc", "xmodem-1k", "ymodem", "ymodem-g", "zmodem", "uucp-g"];

#[test]
fn every_protocol_moves_a_file_over_usb_and_ble() {
    for protocol in PROTOCOLS {
        for line in
            ["'115200,usb=16ms'", "['usb:cdc', '9600']", "'ble:interval=30ms,mtu=247,pdu=251'"]
        {
            done(protocol, line, 8_000, "");
        }
    }
}

#[test]
fn a_latency_timer_costs_a_stop_and_wait_protocol_its_speed() {
    let xmodem =
        |latency| done("xmodem", &format!("'115200,usb={latency}'"), 12_800, "").as_secs_f64();
    let (slow, fast) = (xmodem("16ms"), xmodem("1ms"));
    // 100 blocks: each waits once for a beat of the timer at the receiver, whose 132 characters are two full
    // packets and 8 more, and once at the sender.
    assert!((2.4..4.0).contains(&slow), "{slow}");
    assert!((1.2..1.8).contains(&fast), "{fast}");
    // ZMODEM streams, and does not mind.
    let zmodem =
        |latency| done("zmodem", &format!("'115200,usb={latency}'"), 115_200, "").as_secs_f64();
    assert!(zmodem("16ms") < zmodem("1ms") * 1.05, "{} {}", zmodem("16ms"), zmodem("1ms"));
}

#[test]
fn ble_lets_a_packet_through_per_event_and_streaming_fills_the_events() {
    // 20 characters x 4 in 30 ms are 2667 a second.
    let zmodem = done("zmodem", "'ble:'", 26_000, "").as_secs_f64();
    assert!((9.7..11.5).contains(&zmodem), "{zmodem}");
    let lossy = done("zmodem", "'ble:loss=2%'", 26_000, "").as_secs_f64();
    assert!(lossy > zmodem, "{lossy} {zmodem}");
}

#[test]
fn kermit_and_zmodem_live_with_lora() {
    // At 10 % each may send a full packet of 222 in 3.48 s: 64 characters a second.
    let patient = "[both]\ntimeout = 60\n";
    let line = "'lora:sf=7,duty=10%'";
    let kermit = done("kermit", line, 2_000, patient).as_secs_f64();
    assert!((31.0..200.0).contains(&kermit), "{kermit}");
    let free = done("zmodem", "'lora:sf=7,duty=100%'", 6_000, "").as_secs_f64();
    // 222 in 0.348 s are 637 a second; half duplex, for the answers of the receiver wait for the channel.
    assert!((9.4..30.0).contains(&free), "{free}");
}

#[test]
fn a_lost_lora_packet_is_a_gap_that_the_protocol_repairs() {
    let patient = "[both]\ntimeout = 20\n";
    done("kermit", "'lora:sf=7,duty=100%,loss=5%'", 4_000, patient);
}

#[test]
fn elements_of_today_go_into_rows_and_are_refused_where_they_are_wrong() {
    done(
        "kermit",
        "['usb:ftdi,rate=57600', '57600,ber=1e-6', 'flip usb:ftdi,latency=1ms']",
        4_000,
        "",
    );
    for (line, wanted) in [
        ("'usb:pl2303'", "usb: device: expected ftdi or cdc first"),
        ("'ble:interval=8ms'", "ble: interval: expected 7.5ms to 4s"),
        ("'lora:sf=13'", "lora: sf: expected 6 to 12"),
        ("'9600,usb=1'", "usb: latency: expected a time"),
    ] {
        let bad = Scenario::parse("x.toml", &format!("line = {line}"), &no_files).unwrap_err();
        assert!(bad.to_string().contains(wanted), "{bad}");
    }
}

/// Bytes per second of a transfer over this network of packets.
fn rate(protocol: &str, network: &str, bytes: u64) -> f64 {
    let outcome = run(protocol, &format!("'{network}'"), bytes, "");
    assert!(outcome.is_done(), "{protocol} over {network}: {}", outcome.ending);
    bytes as f64 / outcome.elapsed.as_secs_f64()
}

#[test]
fn netblt_tcp_and_quic_work_over_made_traces_and_wifi() {
    for network in [
        "udp over trace:lte,down,delay=25ms,queue=500p",
        "udp over trace:5g,down,delay=10ms,queue=1000p,mtu=1500",
        "udp over trace:starlink,down,delay=20ms,queue=400p,aqm=codel",
        "udp over wifi:13M-130M@500ms,per=5%",
        "udp over wifi:65M + path:100M,rtt=20ms,queue=rtt",
    ] {
        for protocol in ["netblt", "tcp-cubic", "quic-cubic"] {
            assert!(rate(protocol, network, 2_000_000) > 50_000.0, "{protocol} {network}");
        }
    }
    for line in ["tcp: over trace:lte,delay=25ms", "tcp: over wifi:65M"] {
        done("kermit", &format!("'{line}'"), 50_000, "");
        done("zmodem", &format!("'{line}'"), 50_000, "");
    }
}

#[test]
fn a_trace_file_is_read_through_the_scenario_and_its_absence_named() {
    let text = "protocol = 'tcp-reno'\nline = 'udp over trace:up=a.trace,delay=5ms,queue=100p'\nfile.bytes = 400000";
    let load = |name: &str| match name {
        "a.trace" => {
            Ok((1..=100).map(|ms: u32| ms.to_string()).collect::<Vec<_>>().join("\n").into_bytes())
        }
        other => Err(format!("{other}: no such file")),
    };
    let outcome =
        Scenario::parse("x.toml", text, &load).unwrap().run(&mut wetstring_lab::Recorder::off());
    // 1504 bytes a millisecond, of which 1460 of 1500 are data.
    let rate = 400_000.0 / outcome.elapsed.as_secs_f64();
    assert!(outcome.is_done() && (1_000_000.0..1_464_000.0).contains(&rate), "{rate}");
    let bad = Scenario::parse("x.toml", &text.replace("a.trace", "b"), &load).unwrap_err();
    assert!(bad.to_string().contains("b: no such file"), "{bad}");
}

#[test]
fn codel_keeps_the_delay_of_a_bloated_queue_down() {
    let delay = |aqm: &str| {
        let line = format!("'udp over trace:12032k,delay=20ms,queue=1000p{aqm}'");
        let outcome = run("tcp-cubic", &line, 8_000_000, "");
        assert!(outcome.is_done(), "{aqm}: {}", outcome.ending);
        let usage = outcome.report.sides[0].usage;
        (usage.mean_queueing().as_secs_f64(), 8e6 / outcome.elapsed.as_secs_f64())
    };
    let [tail, codel, fq] = ["", ",aqm=codel", ",aqm=fq"].map(delay);
    // A window of what fits into the queue: 1000 packets are a second; CoDel leaves a few milliseconds on average.
    assert!(tail.0 > 0.3, "{tail:?}");
    assert!(codel.0 < 0.03 && fq.0 < 0.03, "{codel:?} {fq:?}");
    assert!(codel.1 > tail.1 * 0.8, "{codel:?} {tail:?}");
}

#[test]
fn flows_over_one_link_share_it_with_fq_whatever_they_are() {
    use wetstring_lab::share::{Flow, Sharing};
    let shares = |aqm: &str| {
        let names = ["tcp-reno", "tcp-cubic-v2", "quic-cubic", "quic-bbr"];
        let flows = names.map(|name| Flow::of(name).expect("a name"));
        let path = "rate=20M,rtt=40ms,queue=100K".parse().expect("a path");
        let link = format!("20M,delay=20ms,queue=200p,aqm={aqm}").parse().expect("a link");
        let sharing = Sharing { path, flows: flows.into() };
        let periods = sharing.run_over(&link, Duration::from_secs(5), 4);
        let sum = |flow: usize| periods[1..].iter().map(|period| period[flow]).sum::<u64>();
        (0..names.len()).map(sum).collect::<Vec<u64>>()
    };
    let fq = shares("fq");
    println!("tail {:?} fq {fq:?}", shares("tail"));
    let all: u64 = fq.iter().sum();
    // 15 s of 20 Mb/s are 37.5 MB, less headers; each flow has a quarter of it within a third.
    assert!(all > 30_000_000, "{fq:?}");
    assert!(fq.iter().all(|bytes| *bytes * 4 * 3 > all * 2), "{fq:?}");
}
