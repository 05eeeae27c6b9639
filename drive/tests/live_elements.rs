//! Elements other than lines in real time: what they are in virtual time, within what a scheduler needs.

use std::io::{Read as _, Write as _};
use std::time::{Duration, Instant};
use wetstring_drive::live::{self, Until};
use wetstring_drive::os::stream::{self, Stream};
use wetstring_drive::{Port, Signals};
use wetstring_lab::element::Unit;
use wetstring_lab::scenario::{Outside, elements};
use wetstring_lab::tcp::Bulk;
use wetstring_proto::NoTrace;

/// An end for a test: what is written to the stream goes into the port.
fn end() -> (Box<dyn Port>, Stream) {
    let (ours, theirs) = stream::pair().expect("a pair");
    theirs.set_read_timeout(Some(Duration::from_secs(30))).expect("a time limit");
    (Box::new(live::stream(ours).expect("a port")), theirs)
}

/// Seconds until the last of these bytes has come, in real and in virtual time.
fn both(spec: &str, bytes: usize) -> [f64; 2] {
    let specs = [spec.to_owned()];
    let build = || {
        let stretch = elements::stretch(&specs, 1, &[None; 2], Unit::Bytes, &Outside::default());
        stretch.unwrap_or_else(|bad| panic!("{bad}")).element
    };
    let virtually = Bulk::new(bytes as u64).run(&mut *build(), &mut NoTrace).elapsed;
    let ((a, mut near), (b, mut far)) = (end(), end());
    let signals = Signals::detached().expect("signals");
    let told = signals.clone();
    let spec = specs[0].clone();
    let line = std::thread::spawn(move || {
        let specs = [spec];
        let stretch = elements::stretch(&specs, 1, &[None; 2], Unit::Bytes, &Outside::default());
        let mut stretch = stretch.unwrap_or_else(|bad| panic!("{bad}"));
        let limits = [stretch.limit_millicps; 2];
        let until = Until { signals: Some(&told), ..Until::default() };
        live::run_element(&mut *stretch.element, [a, b], limits, until, &mut NoTrace)
            .expect("it runs")
    });
    let began = Instant::now();
    let writer = std::thread::spawn(move || near.write_all(&vec![7; bytes]).map(|()| near));
    far.read_exact(&mut vec![0; bytes]).expect("all arrive");
    let really = began.elapsed();
    drop(writer.join().expect("the writer ends").expect("all is written"));
    signals.raise(2);
    line.join().expect("the line ends");
    [really.as_secs_f64(), virtually.as_secs_f64()]
}

#[test]
#[cfg_attr(windows, ignore = "under Wine a wait ends when it likes")]
fn elements_of_today_take_the_time_of_the_laboratory() {
    for (spec, bytes) in [
        ("115200,usb=16ms", 8_000),
        ("usb:cdc,out=4096", 200_000),
        ("ble:interval=15ms,mtu=247,pdu=251", 20_000),
        ("lora:sf=7,duty=100%", 600),
        ("tcp:window=64K over path:1M,rtt=40ms,queue=rtt", 60_000),
    ] {
        // A busy machine takes longer now and then, but none takes less time than the model.
        let mut took = Vec::new();
        let is_right = (0..4).any(|_| {
            let [really, virtually] = both(spec, bytes);
            took.push([really, virtually]);
            let slack = 0.03 + virtually * 0.05;
            assert!(virtually - really < slack, "{spec}: {really} s, {virtually} s expected");
            really - virtually < slack
        });
        assert!(is_right, "{spec}: really and virtually {took:?} s");
    }
}
