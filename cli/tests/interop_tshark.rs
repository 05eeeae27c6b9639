//! Captures of `--pcap`, read by Wireshark's `tshark`.

use crate::{common, peers};

use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use common::{Desk, run, wst};
use peers::peer;

/// The fields of each packet of a capture, as `tshark` prints them.
fn fields(capture: &str, filter: &str, names: &[&str]) -> Option<Vec<Vec<String>>> {
    let tshark = peer("tshark", "tshark")?;
    let mut command = Command::new(tshark);
    command.args(["-n", "-r", capture, "-Y", filter, "-T", "fields", "-E", "separator=;"]);
    for name in names {
        command.args(["-e", name]);
    }
    let out = command.output().expect("tshark runs");
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{said}");
    let text = String::from_utf8(out.stdout).expect("text");
    Some(text.lines().map(|line| line.split(';').map(str::to_owned).collect()).collect())
}

fn captured(desk: &Desk, text: &str) -> String {
    let (scenario, capture) = (desk.path("x.toml"), desk.path("x.pcapng"));
    std::fs::write(&scenario, text).unwrap();
    run(wst(["lab", "run", &scenario, "--pcap", &capture])).expect(0);
    capture
}

#[test]
fn serial_bytes_are_read_with_their_direction() {
    let desk = Desk::new(60);
    let text = "protocol = 'kermit'\nline = '9600,delay=50ms'\nfile.bytes = 2000";
    let capture = captured(&desk, text);
    let names = ["frame.interface_name", "rtacser.eventtype", "frame.len", "frame.time_epoch"];
    let Some(packets) = fields(&capture, "rtacser", &names) else { return };
    let sum = |at: &str, event: &str| -> usize {
        let of = packets.iter().filter(|p| p[0] == at && p[1].trim_start_matches("0x0") == event);
        of.map(|p| p[2].parse::<usize>().unwrap() - 12).sum()
    };
    // What A sent is what B received, and back.
    assert!(sum("A", "1") > 2000, "{packets:?}");
    assert_eq!(sum("A", "1"), sum("B", "2"));
    assert_eq!(sum("B", "1"), sum("A", "2"));
}

#[test]
fn packets_of_tcp_over_a_path_and_over_slip_are_read() {
    let desk = Desk::new(60);
    for (line, filter) in [
        ("tcp:handshake over path:10M,rtt=20ms,queue=rtt", "tcp"),
        ("tcp:mss=256,handshake over slip:vj,mtu=296 over 57600", "tcp"),
    ] {
        let text = format!("protocol = 'kermit'\nline = '{line}'\nfile.bytes = 20000");
        let capture = captured(&desk, &text);
        let names = ["ip.src", "tcp.flags.syn", "tcp.len", "frame.interface_name", "_ws.malformed"];
        let Some(packets) = fields(&capture, filter, &names) else { return };
        let sent: u64 = packets
            .iter()
            .filter(|p| p[0] == "192.0.2.1" && p[3] == "A")
            .map(|p| p[2].parse::<u64>().unwrap())
            .sum();
        assert!(sent > 20_000, "{line}: {sent} in {} packets", packets.len());
        assert!(packets.iter().any(|p| p[1] == "1" || p[1] == "True"), "{line}: no SYN");
        assert!(packets.iter().all(|p| p[4].is_empty()), "{line}");
    }
}

#[test]
fn datagrams_of_netblt_and_quic_have_headers_that_are_read() {
    let desk = Desk::new(60);
    for protocol in ["netblt", "quic-cubic"] {
        let line = "udp over trace:lte,down,delay=20ms,queue=200p";
        let text = format!("protocol = '{protocol}'\nline = '{line}'\nfile.bytes = 100000");
        let capture = captured(&desk, &text);
        let Some(packets) = fields(&capture, "udp", &["udp.dstport", "udp.length", "ip.len"])
        else {
            return;
        };
        assert!(packets.len() > 100, "{protocol}: {}", packets.len());
        for packet in &packets {
            let [udp, ip] = [1, 2].map(|at| packet[at].parse::<u64>().unwrap());
            assert_eq!((packet[0].as_str(), udp + 20), ("1649", ip), "{protocol}");
        }
    }
}

#[test]
fn a_live_transfer_writes_what_passes_its_line() {
    let desk = Desk::new(60);
    let (file, capture) = (desk.path("a.bin"), desk.path("live.pcapng"));
    std::fs::write(&file, vec![7; 5000]).unwrap();
    let into = desk.path("in");
    let peer = format!("exec:{} receive -o {into} stdio:", env!("CARGO_BIN_EXE_wst"));
    run(wst(["send", &file, &peer, "--pcap", &capture])).expect(0);
    assert_eq!(std::fs::read(desk.path("in/a.bin")).unwrap(), vec![7; 5000]);
    let frames = wetstring_lab::capture::read(&std::fs::read(&capture).unwrap()).expect("pcapng");
    assert!(frames.iter().any(|frame| frame.sent == Some(false)));
    let Some(packets) = fields(&capture, "rtacser", &["rtacser.eventtype"]) else { return };
    assert_eq!(packets.len(), frames.len());
    let refused = run(wst(["send", &file, "udp://127.0.0.1:1", "--pcap", &capture]));
    refused.expect(2);
    assert!(refused.stderr.contains("expected a line of bytes with --pcap"), "{}", refused.stderr);
}

#[test]
fn what_passes_an_emulated_line_has_the_time_of_day() {
    let desk = Desk::new(60);
    let (spec, capture) = ("115200", desk.path("line.pcapng"));
    let began = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    let ends = ["-a", "exec:printf hello; sleep 1", "-b", "exec:head -c5"];
    let mut args = vec!["line", spec, "--pcap", &capture];
    args.extend(ends);
    run(wst(args));
    let ended = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    let frames = wetstring_lab::capture::read(&std::fs::read(&capture).unwrap()).expect("pcapng");
    let at = frames.iter().map(|frame| Duration::from_nanos(frame.at_ns));
    let at: Vec<Duration> = at.collect();
    assert!(at.len() > 1 && at.iter().all(|at| (began..=ended).contains(at)), "{at:?}");
}
