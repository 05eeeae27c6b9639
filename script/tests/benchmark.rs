//! The benchmark of Kermit streaming (1998), Appendix I, as printed (`bench.ksc`; only its blanks are converted), in a
//! world in memory whose clock is turned by a model of the line.

use std::time::Duration;

use wetstring_proto::kermit::Config;
use wetstring_script::world::{Done, Fault, Report, Task};
use wetstring_script::{Call, End, Interp, Limits, Memory};

const SCRIPT: &str = include_str!("bench.ksc");
/// Bytes of the file that the script sends.
const SIZE: usize = 5000;

/// A line of 1 000 000 bytes per second with 10 ms each way: streaming wins where the window is short.
fn moved(task: &Task, config: &Config, length: u64) -> Done {
    let Task::Send(sending) = task else { return Done::default() };
    assert_eq!(sending.files, [b"x".to_vec()]);
    let bytes = SIZE as u64;
    let streams = format!("{:?}", config.streaming) == "On";
    let packets = bytes.div_ceil(length);
    let rounds = if streams { 1 } else { packets.div_ceil(u64::from(config.window)) };
    let elapsed = Duration::from_micros(bytes + rounds * 20_000);
    let report =
        Report { done: true, files: 1, bytes, last_bytes: bytes, elapsed, ..Report::default() };
    Done { report: Some(report), ..Done::default() }
}

/// Runs it; `refuse` is a REMOTE SET that the server refuses.
fn run(refuse: Option<&'static str>) -> (Memory, End) {
    let mut world = Memory::default();
    world.put("bench.ksc", SCRIPT.as_bytes());
    world.put("x", &[7; SIZE]);
    world.put("bench.log", b"old\n");
    world.answers.push_back(b"a comment  ".to_vec());
    let mut length = 4000;
    world.transfer_handler = Some(Box::new(move |task, config| {
        if let Task::Remote(remote) = task
            && let [what, value] = remote.arguments.as_slice()
        {
            let what = String::from_utf8_lossy(what).into_owned();
            if refuse == Some(what.as_str()) {
                return Err(Fault::new("the server refuses"));
            }
            if what == "receive packet-length" {
                length = String::from_utf8_lossy(value).parse().expect("a number");
            }
        }
        Ok(moved(task, config, length))
    }));
    let end = Interp::new(&mut world, Limits::default(), Vec::new()).file("bench.ksc", &[]);
    (world, end)
}

#[test]
fn the_benchmark_runs_as_printed() {
    let (world, end) = run(None);
    assert_eq!(String::from_utf8_lossy(&world.errors), "");
    assert_eq!(end, End::Over { status: 0 });
    let sends =
        world.calls.iter().filter(|call| matches!(call, Call::Perform(Task::Send(_)))).count();
    assert_eq!(sends, 168);
    assert_eq!(world.contents("bench.log.20010909.6400").as_deref(), Some(&b"old\n"[..]));
    let log = String::from_utf8(world.contents("bench.log").expect("a log")).expect("text");
    let lines: Vec<&str> = log.lines().collect();
    assert_eq!(lines[0], "; BEGIN: 9 Sep 2001 01:46:40. a comment");
    assert_eq!(lines[1], "; FILE=/x, SIZE=5000");
    assert_eq!(lines.len(), 2 + 168 + 2);
    // Ten packets of 1450 bytes need one round anyway: both ways are equal.
    assert_eq!(lines[2], "  200000 off 10 1450  14500");
    assert_eq!(lines[3], "  200000 on  10 1450  14500");
    assert_eq!(lines[169], "  200000 on  32 9010 288320");
    assert_eq!(lines[170], "; FINISH: 9 Sep 2001 01:46:40 - transfers: 168, max cps: 200000.");
    assert_eq!(lines[171], "; STREAMING win ratio: 0/84.");
    let screen = String::from_utf8_lossy(&world.screen);
    assert!(screen.contains(" Log comment: S=off W=10 P=1450\nNEW RECORD: 200000\n"), "{screen}");
}

#[test]
fn the_benchmark_sets_its_parameters() {
    let (world, _) = run(None);
    let set = |name: &str, value: &str| {
        let wanted = Call::Set(name.to_owned(), value.to_owned());
        world.calls.iter().filter(|call| **call == wanted).count()
    };
    assert_eq!(set("kermit.window", "10"), 1);
    // The protocol has windows up to 31; the script asks for 32 once, and once for 30.
    assert_eq!((set("kermit.window", "31"), set("kermit.window", "30")), (1, 1));
    assert_eq!((set("kermit.streaming", "off"), set("kermit.streaming", "on")), (84, 84));
    let prefixed = Call::Set("kermit.prefixed".into(), "0,1,255".into());
    assert!(world.calls.contains(&prefixed));
}

#[test]
fn a_server_that_refuses_stops_the_benchmark() {
    let (world, end) = run(Some("file collision"));
    assert_eq!(end, End::Stopped { status: 1 });
    let screen = String::from_utf8_lossy(&world.screen);
    assert!(screen.contains("REMOTE SET FILE COLLISION FAILED:"), "{screen}");
    assert_eq!(world.contents("bench.log").as_deref(), Some(&b"old\n"[..]));
    let (world, end) = run(Some("receive packet-length"));
    assert_eq!(end, End::Stopped { status: 1 });
    let screen = String::from_utf8_lossy(&world.screen);
    assert!(screen.contains("REMOTE SET PACKET LENGTH FAILED: off 10"), "{screen}");
}
