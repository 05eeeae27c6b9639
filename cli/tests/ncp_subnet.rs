//! Two hosts of the ARPANET as whole programs, with the laboratory's IMPs between them in real time.

mod common;

use common::{Running, noise, run, wst};
use std::fs;
use std::net::UdpSocket;
use std::time::{Duration, Instant};

/// UDP ports that are free now, each another.
fn free<const N: usize>() -> [u16; N] {
    let sockets = [(); N].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap());
    sockets.map(|socket| socket.local_addr().unwrap().port())
}

#[test]
fn a_file_goes_through_the_imps_and_takes_its_time() {
    let [host_a, imp_a, host_b, imp_b] = free();
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("root");
    fs::create_dir(&root).unwrap();
    let line = |number: &str, host: u16, imp: u16| {
        format!("ncp://{number}?host=127.0.0.1:{host}&port={imp}")
    };
    let (a, b) = (line("0.44", host_a, imp_a), line("0.6", host_b, imp_b));
    let imps = Running::start(wst(["line", "imp:1", "-a", &a, "-b", &b, "--faster", "4"]));
    imps.says("line imp:1 is up");
    let at_b = format!("ncp://0.44?imp=127.0.0.1:{imp_b}&port={host_b}");
    let root_text = root.display().to_string();
    let server = Running::start(wst(["ncp", "serve", &at_b, "--root", &root_text, "--write"]));
    server.says("host up at UDP port");
    let at_a = format!("ncp://0.6/?imp=127.0.0.1:{imp_a}&port={host_a}");
    let ran = run(wst(["ncp", "echo", &at_a, "--count", "2"]));
    ran.expect(0);
    assert!(ran.stderr.contains("2 of 2 echoes came back"), "{}", ran.stderr);
    let (bytes, file) = (noise(11, 20_000), dir.path().join("tape.bin"));
    fs::write(&file, &bytes).unwrap();
    let begin = Instant::now();
    run(wst(["send", file.to_str().unwrap(), &at_a, "--set", "ncp.byte=36"])).expect(0);
    let took = begin.elapsed();
    assert!(fs::read(root.join("tape.bin")).unwrap() == bytes, "the file came as another");
    // 160,000 bits at 50 kb/s, four times as fast.
    assert!(took >= Duration::from_millis(800), "{took:?}");
    // A host that there is not is dead, says its IMP.
    let nobody = format!("ncp://0.7/?imp=127.0.0.1:{imp_a}&port={host_a}");
    let ran = run(wst(["ncp", "echo", &nobody, "--count", "1"]));
    assert_ne!(ran.code(), 0);
    assert!(ran.stderr.contains("its IMP cannot be reached"), "{}", ran.stderr);
    for running in [server, imps] {
        running.signal(rustix::process::Signal::TERM);
        running.end();
    }
}

#[test]
fn what_is_no_subnet_is_a_usage_error() {
    let host = "ncp://0.6?host=127.0.0.1:9&port=0";
    for (spec, a, b, expected) in [
        ("imp:99", host, host, "expected 0 to 16 lines"),
        ("imp:1", "pty:", host, "expected hosts at both ends"),
    ] {
        let ran = run(wst(["line", spec, "-a", a, "-b", b]));
        assert_eq!(ran.code(), 2, "{}", ran.stderr);
        assert!(ran.stderr.contains(expected), "{}", ran.stderr);
    }
    for (a, expected) in [
        (host, "expected two numbers"),
        ("ncp://0.7?imp=127.0.0.1:9&port=0", "expected host=HOST:PORT"),
        ("ncp://0.7?host=127.0.0.1:9&port=0&leader=new", "expected old leaders"),
    ] {
        let ran = run(wst(["line", "imp:1", "-a", a, "-b", host]));
        assert_ne!(ran.code(), 0, "{}", ran.stderr);
        assert!(ran.stderr.contains(expected), "{}", ran.stderr);
    }
}
