//! QUIC over networks of packets: rates, repairs, and runs that are the same every time.

use crate::tcp_run;

use tcp_run::{bulk, network};
use wetstring_lab::tcp::{Bulk, StopBulk};
use wetstring_lab::window::Window;
use wetstring_lab::{End, Recorder};
use wetstring_proto::Duration;

const CONTROLS: [&str; 3] = ["reno", "cubic", "bbr"];

/// Bytes per second of a transfer of this many bytes.
fn rate(text: &str, bytes: u64) -> u64 {
    let report = bulk(text, bytes);
    assert_eq!((report.stop, report.bytes), (StopBulk::Done, bytes), "{text}");
    report.bytes_per_s()
}

#[test]
fn a_clean_path_is_filled() {
    for cc in CONTROLS {
        // 1250000 bytes/s, of which 1441 of 1500 are data.
        let text = format!("quic:cc={cc},window=8M over path:10M,rtt=20ms,queue=rtt");
        let rate = rate(&text, 20_000_000);
        assert!((1_100_000..1_202_000).contains(&rate), "{cc}: {rate}");
    }
}

#[test]
fn a_connection_takes_a_round_trip_before_the_first_byte() {
    let report = bulk("quic: over path:rate=0,delay=50ms", 1);
    // Hello and its answer, then the byte.
    assert_eq!(report.stop, StopBulk::Done);
    assert_eq!(report.elapsed, Duration::from_millis(150));
}

#[test]
fn the_window_is_the_limit_where_there_is_no_other() {
    let report = bulk("quic:window=64K over path:rate=0,delay=50ms", 4_000_000);
    let rate = report.bytes_per_s();
    assert!((500_000..656_000).contains(&rate), "{rate}");
}

#[test]
fn losses_are_repaired_and_bbr_does_not_mind_them() {
    let over = "path:10M,rtt=100ms,queue=rtt,loss=1%";
    let [reno, cubic, bbr] =
        CONTROLS.map(|cc| rate(&format!("quic:cc={cc},window=8M over {over}"), 8_000_000));
    assert!(reno < 500_000 && cubic < 500_000, "{reno} {cubic}");
    assert!(bbr > 900_000, "{bbr}");
}

#[test]
fn bursts_and_reordering_are_survived() {
    for cc in CONTROLS {
        let over = "path:10M,rtt=40ms,queue=rtt,loss=2%,lossrun=8,reorder=2%@rtt/4,dup=1%";
        assert!(rate(&format!("quic:cc={cc},window=4M over {over}"), 2_000_000) > 10_000, "{cc}");
    }
}

#[test]
fn a_run_is_the_same_every_time_whatever_the_machines_clock_says() {
    for cc in CONTROLS {
        let text = format!(
            "quic:cc={cc},window=4M over path:20M,rtt=30ms,queue=40p,loss=0.5%,reorder=1%@3ms"
        );
        let run = |seed: u64| {
            let mut recorder = Recorder::digest_only();
            let mut element = network(&text).seeded(seed).build();
            let report = Bulk::new(6_000_000).run(element.as_mut(), &mut recorder.of("line"));
            let (out, back) = (element.usage(End::A), element.usage(End::B));
            (report, out, back, recorder.digest())
        };
        let first = run(7);
        assert_eq!(first, run(7), "{cc}");
        assert_ne!(first, run(8), "{cc}");
    }
}

#[test]
fn a_window_of_time_measures_what_arrives_in_it() {
    let window = Window { from: Duration::from_secs(2), to: Duration::from_secs(6) };
    let bulk = Bulk { window: Some(window), ..Bulk::new(u64::MAX) };
    let mut element = network("quic:window=8M over path:8M,rtt=20ms,queue=rtt").build();
    let report = bulk.run(element.as_mut(), &mut wetstring_proto::NoTrace);
    assert_eq!(report.stop, StopBulk::Measured);
    let bytes = report.window_bytes.expect("measured");
    // 1 MB/s on the wire for 4 s.
    assert!((3_700_000..3_850_000).contains(&bytes), "{bytes}");
}
