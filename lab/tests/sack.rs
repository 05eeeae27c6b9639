//! TCP with SACK: rates that are known, repairs, and the same run every time.

use crate::tcp_run;

use tcp_run::{bulk, network};
use wetstring_lab::tcp::{Bulk, StopBulk};
use wetstring_lab::{End, Recorder};

fn rate(text: &str, bytes: u64) -> u64 {
    let report = bulk(text, bytes);
    assert_eq!((report.stop, report.bytes), (StopBulk::Done, bytes), "{text}");
    report.bytes_per_s()
}

#[test]
fn a_clean_path_is_filled_and_a_window_is_a_limit() {
    for cc in ["reno", "cubic"] {
        // 1448 of 1500 bytes of 1.25 MB/s.
        let filled =
            rate(&format!("sack:cc={cc},window=1M over path:10M,rtt=20ms,queue=rtt"), 20_000_000);
        assert!((1_150_000..1_206_700).contains(&filled), "{cc}: {filled}");
    }
    // 64 KB in 100 ms.
    let window = rate("sack:window=64K over path:rate=0,delay=50ms", 4_000_000);
    assert!((560_000..656_000).contains(&window), "{window}");
}

#[test]
fn the_handshake_takes_a_round_trip() {
    let report = bulk("sack: over path:rate=0,delay=50ms", 1);
    assert_eq!(report.elapsed, wetstring_proto::Duration::from_millis(150));
}

#[test]
fn reno_with_losses_has_the_rate_of_the_formula() {
    // Mathis et al. 1997: MSS / RTT x sqrt(3 / (2 p)); bytes are counted, so delayed acknowledgements cost nothing.
    for (loss, p) in [("0.1%", 0.001_f64), ("0.4%", 0.004)] {
        let text = format!("sack:cc=reno,window=16M over path:1G,rtt=100ms,loss={loss},dir=fwd");
        let measured = rate(&text, 40_000_000) as f64;
        let formula = 1448.0 / 0.1 * (1.5 / p).sqrt();
        let ratio = measured / formula;
        println!("{loss}: {measured:.0} of {formula:.0}, {ratio:.2}");
        assert!((0.75..1.25).contains(&ratio), "{loss}: {ratio:.2}");
    }
}

#[test]
fn many_losses_are_repaired_in_a_round_trip_each_where_one_hole_was() {
    let over = "path:20M,rtt=60ms,queue=rtt,loss=1%,lossrun=8";
    let holes = rate(&format!("tcp:window=400K,sendbuf=400K,handshake over {over}"), 10_000_000);
    let sack = rate(&format!("sack:cc=reno,window=400K over {over}"), 10_000_000);
    println!("one hole a round trip {holes}, with SACK {sack}");
    assert!(sack > holes * 3 / 2, "{sack} {holes}");
}

#[test]
fn a_run_is_the_same_every_time() {
    for cc in ["reno", "cubic"] {
        let text = format!(
            "sack:cc={cc} over path:20M,rtt=30ms,queue=40p,loss=0.5%,reorder=1%@3ms,dup=1%"
        );
        let run = |seed: u64| {
            let mut recorder = Recorder::digest_only();
            let mut element = network(&text).seeded(seed).build();
            let report = Bulk::new(6_000_000).run(element.as_mut(), &mut recorder.of("line"));
            (report, element.usage(End::A), recorder.digest())
        };
        let first = run(7);
        assert_eq!(first.0.stop, StopBulk::Done, "{cc}");
        assert_eq!(first, run(7), "{cc}");
        assert_ne!(first, run(8), "{cc}");
    }
}
