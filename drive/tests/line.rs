//! The LINE argument: every form, and the errors for others.

use proptest::prelude::*;
use wetstring_drive::line::{
    BadLine, Flow, HostPort, LineSpec, Parity, Pin, Rs485, SerialSpec, TlsSpec,
};

fn parse(text: &str) -> LineSpec {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn error(text: &str) -> String {
    text.parse::<LineSpec>().unwrap_err().to_string()
}

#[test]
fn every_form_parses() {
    assert_eq!(parse("/dev/ttyUSB0"), LineSpec::Serial(SerialSpec::new("/dev/ttyUSB0")));
    assert_eq!(parse("COM3"), LineSpec::Serial(SerialSpec::new("COM3")));
    for text in ["/dev/ttyUSB0?baud=9600", "COM3?baud=9600"] {
        assert_eq!(parse(text), parse(&format!("serial:{text}")));
    }
    let wrong = "/dev/ttyUSB0?bawd=9600";
    assert_eq!(error(wrong), error(&format!("serial:{wrong}")));
    assert_eq!(
        parse("serial:/dev/ttyS1?baud=9600&parity=even&flow=rtscts&databits=7&stopbits=2&dtr=on"),
        LineSpec::Serial(SerialSpec {
            path: "/dev/ttyS1".into(),
            baud: Some(9600),
            parity: Parity::Even,
            flow: Flow::RtsCts,
            data_bits: 7,
            stop_bits: 2,
            dtr: Pin::On,
            rts: Pin::Keep,
            break_ms: 0,
            rs485: None,
        })
    );
    let host = |host: &str, port| HostPort { host: host.into(), port };
    assert_eq!(parse("tcp://example.org:1649"), LineSpec::Tcp(host("example.org", 1649)));
    assert_eq!(parse("tcp://[::1]:1649"), LineSpec::Tcp(host("::1", 1649)));
    assert_eq!(parse("tcp-listen://127.0.0.1:0"), LineSpec::TcpListen(host("127.0.0.1", 0)));
    assert_eq!(parse("telnet://box"), LineSpec::Telnet(host("box", 23)));
    assert_eq!(parse("telnet://[::1]"), LineSpec::Telnet(host("::1", 23)));
    assert_eq!(parse("telnet://[::1]:1649"), LineSpec::Telnet(host("::1", 1649)));
    assert_eq!(parse("telnet-listen://0.0.0.0:0"), LineSpec::TelnetListen(host("0.0.0.0", 0)));
    let serial = SerialSpec { baud: Some(9600), ..SerialSpec::new("box:2217") };
    let spec = LineSpec::Rfc2217(host("box", 2217), serial);
    assert_eq!(parse("rfc2217://box:2217?baud=9600"), spec);
    let tls = |to| TlsSpec { to, ca: None, fingerprint: None, cert: None, key: None };
    assert_eq!(parse("tls://box:1650"), LineSpec::Tls(tls(host("box", 1650))));
    let spec = TlsSpec { ca: Some("ca.pem".into()), ..tls(host("box", 1650)) };
    assert_eq!(parse("tls://box:1650?ca=ca.pem"), LineSpec::Tls(spec));
    let print = "AB:".repeat(31) + "ab";
    let spec = TlsSpec { fingerprint: Some("ab".repeat(32)), ..tls(host("box", 1650)) };
    assert_eq!(parse(&format!("tls://box:1650?fingerprint={print}")), LineSpec::Tls(spec));
    let spec = TlsSpec { cert: Some("c".into()), key: Some("k".into()), ..tls(host("0.0.0.0", 0)) };
    assert_eq!(parse("tls-listen://0.0.0.0:0?cert=c&key=k"), LineSpec::TlsListen(spec));
    assert_eq!(parse("udp://box:998"), LineSpec::Udp(host("box", 998)));
    assert_eq!(parse("udp-listen://[::]:0"), LineSpec::UdpListen(host("::", 0)));
    assert_eq!(parse("ip://10.0.0.2"), LineSpec::Ip("10.0.0.2".into()));
    assert_eq!(parse("ip-listen://[::1]"), LineSpec::IpListen("::1".into()));
    assert_eq!(parse("tun:"), LineSpec::Tun(None));
    assert_eq!(parse("tun:wet0"), LineSpec::Tun(Some("wet0".into())));
    assert_eq!(parse("exec:ssh box wst receive -"), LineSpec::Exec("ssh box wst receive -".into()));
    assert_eq!(parse("exec-pty:kermit -r"), LineSpec::ExecPty("kermit -r".into()));
    assert_eq!(parse("pty:"), LineSpec::Pty(None));
    assert_eq!(parse("pty:/tmp/modem"), LineSpec::Pty(Some("/tmp/modem".into())));
    assert_eq!(parse("-"), LineSpec::Stdio);
    assert_eq!(parse("stdio:"), LineSpec::Stdio);
}

#[test]
fn defaults_are_115200_8n1_without_flow_control_and_with_the_pins_kept() {
    let spec = SerialSpec::new("/dev/x");
    assert_eq!((spec.rate_bps(), spec.data_bits, spec.stop_bits), (115_200, 8, 1));
    assert_eq!((spec.parity, spec.flow), (Parity::None, Flow::None));
    assert_eq!((spec.dtr, spec.rts), (Pin::Keep, Pin::Keep));
}

#[test]
fn planned_forms_are_reported() {
    let text = "lab:wet?seed=1";
    assert!(error(text).starts_with("not supported yet: "), "{text}: {}", error(text));
    assert!(LineSpec::looks_like(text));
}

#[test]
fn unknown_forms_report_what_is_expected() {
    for text in ["", "ttyUSB0", "http://host:80", "COM", "COM0", "COMX", "readme.txt", "tcp:host"] {
        let said = error(text);
        assert!(said.starts_with("expected a line") && !said.contains('\n'), "{said}");
        // The error echoes only a line of the user's input, not a page.
        assert!(said.len() < 150, "{said}");
        assert!(!LineSpec::looks_like(text));
    }
    for (text, meant) in [
        ("tcp:host", "tcp://host"),
        ("tcp:/host:1", "tcp://host:1"),
        ("ttyUSB0", "/dev/ttyUSB0"),
        ("udp:box:998", "udp://box:998"),
        ("ip:10.0.0.2", "ip://10.0.0.2"),
        ("ssh:", "ssh://HOST"),
        ("box:", "ssh://box"),
        ("anna@box:in/a.bin", "ssh://anna@box/in/a.bin"),
        ("box:/var/log/messages", "ssh://box//var/log/messages"),
    ] {
        assert_eq!(error(text), format!("expected a line, got {text:?}: did you mean {meant}?"));
    }
    let missing = "no such device: ./ttyV0; wst ports lists the serial ports of this machine";
    assert_eq!(error("./ttyV0"), missing);
    assert_eq!(error("./ttyV0?baud=9600"), missing);
    assert!(!LineSpec::looks_like("./ttyV0"));
}

#[test]
fn lines_without_a_scheme_parse() {
    let host = |host: &str, port| HostPort { host: host.into(), port };
    assert_eq!(parse("box:1649"), LineSpec::Tcp(host("box", 1649)));
    assert_eq!(parse("[::1]:1649"), LineSpec::Tcp(host("::1", 1649)));
    assert_eq!(parse("ssh://anna@box:22"), LineSpec::Exec("ssh -p 22 anna@box".into()));
    assert!(error("ssh://-oProxyCommand=x").starts_with("ssh: expected ssh://"));
}

/// As socat and tty0tty make them.
#[test]
#[cfg_attr(windows, ignore = "Windows has no PTYs")]
fn a_symlink_to_a_terminal_is_a_line() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let mut notes = |_: &str| {};
    let link = here.join("modem");
    let port = wetstring_drive::open(&LineSpec::Pty(Some(link.clone())), None, &mut notes).unwrap();
    let text = link.to_str().unwrap();
    assert_eq!(parse(text), LineSpec::Serial(SerialSpec::new(text)));
    assert!(LineSpec::looks_like(text));
    let queried = format!("{text}?baud=9600");
    assert_eq!(parse(&queried), parse(&format!("serial:{queried}")));
    // A PTY has no parity, and no bus to switch.
    for (query, opens) in [("break=20", true), ("parity=mark", false), ("rs485=on", false)] {
        let spec = parse(&format!("serial:{text}?{query}"));
        let opened = wetstring_drive::open(&spec, None, &mut notes);
        assert_eq!(opened.is_ok(), opens, "{query}: {:?}", opened.err());
    }
    // What is a file there is none.
    let file = here.join("file");
    std::fs::write(&file, "x").unwrap();
    assert!(error(file.to_str().unwrap()).starts_with("expected a line such as "));
    drop(port);
}

#[test]
fn parity_break_and_rs485_use_tios_notation() {
    for text in [
        "serial:/dev/x?parity=mark",
        "serial:/dev/x?parity=space&databits=7",
        "serial:/dev/x?break=250",
        "serial:/dev/x?rs485=on",
        "serial:/dev/x?rs485=RTS_ON_SEND=0,RTS_AFTER_SEND=1,RTS_DELAY_BEFORE_SEND=60,RX_DURING_TX",
    ] {
        let LineSpec::Serial(spec) = parse(text) else { panic!("{text}") };
        assert_eq!(parse(&spec.to_string()), LineSpec::Serial(spec));
    }
    let LineSpec::Serial(spec) = parse("serial:/dev/x?break=40ms&rs485=rts_on_send=0") else {
        panic!("a serial port")
    };
    assert_eq!(spec.break_ms, 40);
    let rs485 = Rs485 { inverted: true, ..Rs485::default() };
    assert_eq!(spec.rs485, Some(rs485));
    assert!(error("rfc2217://host:1?break=9").starts_with("rfc2217: expected no break"));
}

#[test]
fn wrong_parts_are_named() {
    for (text, part) in [
        ("serial:", "serial: expected a device"),
        ("serial:/dev/x?baud=fast", "baud: expected a whole number"),
        ("serial:/dev/x?baud=0", "baud: "),
        (
            "serial:/dev/x?parity=sticky",
            "parity: expected none|even|odd|mark|space, got \"sticky\"",
        ),
        ("serial:/dev/x?break=0", "break: expected 1..5000 milliseconds"),
        ("serial:/dev/x?rs485=RTS_ON_SEND=1,RTS_AFTER_SEND=1", "rs485: expected on, or RTS_ON"),
        ("serial:/dev/x?rs485=on&flow=rtscts", "rs485: expected no flow=rtscts"),
        ("serial:/dev/x?flow=hard", "flow: "),
        ("serial:/dev/x?databits=9", "databits: "),
        ("serial:/dev/x?stopbits=3", "stopbits: "),
        ("serial:/dev/x?dtr=up", "dtr: expected on|off|keep"),
        ("serial:/dev/x?flow=rtscts&rts=on", "rts: "),
        ("serial:/dev/x?speed=9600", "serial setting: expected baud|"),
        ("tcp://host", "address: expected HOST:PORT"),
        ("tcp://:1649", "address: "),
        ("tcp://::1:1649", "address: "),
        ("tcp://host:99999", "port: "),
        ("tcp://host:0", "port: "),
        ("telnet://", "address: "),
        ("telnet://host:0", "port: "),
        ("telnet://::1", "address: "),
        ("telnet-listen://:23", "address: "),
        ("rfc2217://host", "address: "),
        ("rfc2217://host:1?baud=fast", "baud: "),
        ("tls://host", "address: "),
        ("tls://host:1?cert=c", "tls setting: expected ca|fingerprint"),
        ("tls://host:1?ca", "tls setting: expected NAME=VALUE"),
        ("tls://host:1?fingerprint=12", "fingerprint: expected the SHA-256"),
        ("tls-listen://host:1", "tls-listen: expected HOST:PORT?cert=FILE&key=FILE"),
        ("tls-listen://host:1?cert=c&key=k&ca=a", "tls-listen setting: "),
        ("udp://host:0", "port: "),
        ("udp://host", "address: "),
        ("ip://", "host: expected HOST without a port"),
        ("ip://host:7", "host: "),
        ("tun:a-name-that-is-too-long", "tun: "),
        ("exec: ", "exec: expected a command"),
        ("unix:", "unix: expected the path of a socket"),
    ] {
        let said = error(text);
        assert!(said.starts_with(part), "{text}: {said}");
        assert!(matches!(text.parse::<LineSpec>(), Err(BadLine::Part { .. })));
    }
}

proptest! {
    #[test]
    fn what_is_printed_parses_to_the_same(
        baud in 1_u32..4_000_000, even in any::<bool>(), xon in any::<bool>(), stop in 1_u8..3,
        bits in 5_u8..9, dtr in any::<bool>(), host in "[a-z][a-z0-9.-]{0,20}", port in 1_u16..,
        command in "[a-z][ -~]{0,30}",
    ) {
        let mut serial = SerialSpec::new("/dev/ttyUSB0");
        serial.baud = Some(baud);
        serial.parity = if even { Parity::Even } else { Parity::Odd };
        serial.flow = if xon { Flow::XonXoff } else { Flow::None };
        serial.stop_bits = stop;
        serial.data_bits = bits;
        serial.dtr = if dtr { Pin::On } else { Pin::Off };
        let to = HostPort { host: host.clone(), port };
        for spec in [
            LineSpec::Serial(serial.clone()),
            LineSpec::Tcp(HostPort { host: host.clone(), port }),
            LineSpec::TcpListen(HostPort { host: "::1".into(), port }),
            LineSpec::Telnet(HostPort { host: host.clone(), port }),
            LineSpec::TelnetListen(HostPort { host: "::1".into(), port }),
            LineSpec::Rfc2217(to.clone(), SerialSpec { path: to.to_string().into(), ..serial.clone() }),
            LineSpec::Tls(TlsSpec {
                to: to.clone(),
                ca: even.then(|| "/tmp/a".into()),
                fingerprint: xon.then(|| "0a".repeat(32)),
                cert: None,
                key: None,
            }),
            LineSpec::Udp(HostPort { host: host.clone(), port }),
            LineSpec::UdpListen(HostPort { host: "::1".into(), port }),
            LineSpec::Ip("::1".into()),
            LineSpec::IpListen(host.clone()),
            LineSpec::Tun(Some("wet0".into())),
            LineSpec::Exec(command.clone()),
            LineSpec::ExecPty(command),
            LineSpec::Unix("/tmp/a b?".into()),
            LineSpec::Pty(Some("/tmp/a b".into())),
        ] {
            prop_assert_eq!(spec.to_string().parse::<LineSpec>(), Ok(spec));
        }
    }

    #[test]
    fn no_text_panics(text in ".{0,60}") {
        let _ = text.parse::<LineSpec>();
    }
}
