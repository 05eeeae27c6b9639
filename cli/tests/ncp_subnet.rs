//! Two hosts of the ARPANET as whole programs, with the laboratory's IMPs between them in real time.

use crate::common;

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
    assert!(ran.stderr.contains("2 of 2 echoes answered"), "{}", ran.stderr);
    let (bytes, file) = (noise(11, 20_000), dir.path().join("tape.bin"));
    fs::write(&file, &bytes).unwrap();
    let begin = Instant::now();
    let sent = run(wst(["send", file.to_str().unwrap(), &at_a, "--set", "ncp.byte=36", "--json"]));
    sent.expect(0);
    let took = begin.elapsed();
    // What has its RFNM, not what was read from the file.
    let mut seen = 0;
    for event in sent.events().iter().filter(|event| event["event"] == "progress") {
        let number = |name: &str| event[name].as_f64().unwrap();
        let most = number("elapsed_s") * 25_000.0 * 1.1 + 1500.0;
        assert!(number("bytes") <= most, "{event} with at most {most}");
        seen += usize::from(number("bytes") > 0.0);
    }
    assert!(seen > 2, "{seen} with anything");
    assert!(fs::read(root.join("tape.bin")).unwrap() == bytes, "the file came as another");
    // 160,000 bits at 50 kb/s, four times as fast.
    assert!(took >= Duration::from_millis(800), "{took:?}");
    // A host that there is not is dead, says its IMP.
    let absent = format!("ncp://0.7/?imp=127.0.0.1:{imp_a}&port={host_a}");
    let ran = run(wst(["ncp", "echo", &absent, "--count", "1"]));
    assert_ne!(ran.code(), 0);
    assert!(ran.stderr.contains("its IMP cannot be reached"), "{}", ran.stderr);
    for running in [server, imps] {
        running.signal(rustix::process::Signal::TERM);
        running.end();
    }
}

/// The IMP says which of the two is down, and so does the echo.
#[test]
fn an_echo_to_a_host_that_is_down_says_what_the_imp_said() {
    let [host_a, imp_a, host_b, imp_b] = free();
    let line = |number: &str, host: u16, imp: u16| {
        format!("ncp://{number}?host=127.0.0.1:{host}&port={imp}")
    };
    let (a, b) = (line("0.44", host_a, imp_a), line("0.6", host_b, imp_b));
    let imps = Running::start(wst(["line", "imp:1", "-a", &a, "-b", &b]));
    imps.says("line imp:1 is up");
    for (number, why, subtype) in
        [("0.6", "the host is not up", 1), ("0.7", "its IMP cannot be reached", 0)]
    {
        let at = format!("ncp://{number}?imp=127.0.0.1:{imp_a}&port={host_a}");
        let ran = run(wst(["ncp", "echo", &at, "--count", "2"]));
        ran.expect(7);
        let said = format!("the IMP says that {why} (destination dead, subtype {subtype})");
        assert_eq!(ran.stderr.matches(&said).count(), 2, "{}", ran.stderr);
        let end = format!("0 of 2 echoes answered: {why}");
        assert!(ran.stderr.contains(&end), "{}", ran.stderr);
    }
    imps.signal(rustix::process::Signal::TERM);
    imps.end();
}

/// An IMP that says nothing at all: who loses patience is told of the echo that was under way.
#[test]
fn an_echo_that_is_interrupted_is_counted() {
    let imp = UdpSocket::bind("127.0.0.1:0").unwrap();
    let [host] = free();
    let at = format!("ncp://0.6?imp={}&port={host}", imp.local_addr().unwrap());
    let echo = Running::start(wst(["ncp", "echo", &at]));
    echo.says("host up at UDP port");
    // Its first datagram: it has begun.
    imp.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    imp.recv(&mut [0; 2048]).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    echo.signal(rustix::process::Signal::TERM);
    let ran = echo.end();
    ran.expect(130);
    assert!(ran.stderr.contains("0 of 1 echoes answered"), "{}", ran.stderr);
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
