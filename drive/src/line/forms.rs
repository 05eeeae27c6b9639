//! Every form of a line and its options, as data: the reference page is written from it, and tests hold the parser to it.

/// A form of a line.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Form {
    /// How it is written; options follow a `?`, joined with `&`.
    pub written: &'static [&'static str],
    /// What it is.
    pub meaning: &'static str,
    /// What may stand behind a `?`.
    pub options: &'static [LineOption],
    /// Lines of this form.
    pub examples: &'static [&'static str],
}

/// `NAME=VALUE` behind a line.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct LineOption {
    /// Its name.
    pub name: &'static str,
    /// The values that it takes.
    pub values: &'static str,
    /// What holds without it.
    pub default: &'static str,
    /// What it does.
    pub meaning: &'static str,
}

const fn option(
    name: &'static str,
    values: &'static str,
    default: &'static str,
    meaning: &'static str,
) -> LineOption {
    LineOption { name, values, default, meaning }
}

/// Of a serial port.
const SERIAL: &[LineOption] = &[
    option("baud", "bit/s", "115200; a PTY keeps its own", "Rate, any that the device supports"),
    option("parity", "none, even, odd, mark, space", "none", "Parity made and checked by the UART"),
    option("flow", "none, rtscts, xonxoff", "none", "Flow control"),
    option("databits", "5, 6, 7, 8", "8", "Data bits of a character"),
    option("stopbits", "1, 2", "1", "Stop bits of a character"),
    option("dtr", "on, off, keep", "keep", "Data Terminal Ready, when the port is opened"),
    option(
        "rts",
        "on, off, keep",
        "keep",
        "Request To Send, when the port is opened; not with flow=rtscts, which uses the pin",
    ),
    option("break", "1 to 5000 ms", "no break", "Length of a break after the port is opened"),
    option(
        "rs485",
        "on, or with commas and no blanks: RTS_ON_SEND=0|1, RTS_AFTER_SEND=0|1, RTS_DELAY_BEFORE_SEND=MS, RTS_DELAY_AFTER_SEND=MS, RX_DURING_TX",
        "off",
        "Half duplex by RTS, switched by the driver",
    ),
];

/// Of a TLS client.
const TLS: &[LineOption] = &[
    option("ca", "a file", "the system's authorities", "Trusted authorities, in PEM"),
    option(
        "fingerprint",
        "64 hexadecimal digits",
        "none",
        "SHA-256 of the only certificate that is trusted",
    ),
];

/// Of a TLS server.
const TLS_LISTEN: &[LineOption] = &[
    option("cert", "a file", "required", "The certificate with its chain, in PEM"),
    option("key", "a file", "required", "The key of the certificate, in PEM"),
];

/// Of a host of the ARPANET.
const NCP: &[LineOption] = &[
    option("imp", "HOST:PORT", "this or host", "Where the IMP receives datagrams"),
    option(
        "host",
        "HOST:PORT",
        "this or imp",
        "Where the peer receives datagrams, if this end plays the IMP for it",
    ),
    option("port", "0 to 65535", "0: any", "UDP port of this end"),
    option("me", "HOST.IMP", "0.2", "Number of this host, if this end plays the IMP"),
    option("leader", "old, new", "old", "Leaders of 32 or of 96 bits"),
];

const fn form(
    written: &'static [&'static str],
    meaning: &'static str,
    options: &'static [LineOption],
    examples: &'static [&'static str],
) -> Form {
    Form { written, meaning, options, examples }
}

/// Every form, by kinds: serial ports; streams; datagrams; programs, sockets and terminals of this machine.
pub const FORMS: &[(&str, &[Form])] = &[
    (
        "Serial ports",
        &[
            form(
                &["DEVICE", "serial:DEVICE"],
                "A serial port: below /dev, COM1 to COM256, or any path that leads to a terminal. `wst ports` lists them",
                SERIAL,
                &["/dev/ttyUSB0", "serial:/dev/ttyUSB0?baud=9600&parity=even&flow=rtscts", "COM3"],
            ),
            form(
                &["usb:NAME"],
                "The serial port whose adapter has this serial number, or this place in the USB tree",
                SERIAL,
                &["usb:FT4ABCDE?baud=9600"],
            ),
            form(
                &["@latest", "@new"],
                "The serial port that was plugged in last; the one that is plugged in next",
                SERIAL,
                &["@latest", "@new?baud=9600"],
            ),
            form(
                &["rfc2217://HOST:PORT"],
                "A serial port behind a Telnet server, set from here (RFC 2217); without break and rs485",
                SERIAL,
                &["rfc2217://box:2217?baud=9600"],
            ),
        ],
    ),
    (
        "Streams over a network",
        &[
            form(&["tcp://HOST:PORT", "HOST:PORT"], "Connects by TCP", &[], &["tcp://box:1649"]),
            form(
                &["tcp-listen://ADDRESS:PORT"],
                "Accepts the first TCP connection; port 0 lets the system choose",
                &[],
                &["tcp-listen://0.0.0.0:1649"],
            ),
            form(
                &["telnet://HOST[:PORT]"],
                "Connects by TCP, and speaks Telnet; port 23 unless given",
                &[],
                &["telnet://box"],
            ),
            form(
                &["telnet-listen://ADDRESS:PORT"],
                "Accepts the first TCP connection, and speaks Telnet",
                &[],
                &["telnet-listen://0.0.0.0:2323"],
            ),
            form(&["tls://HOST:PORT"], "Connects by TCP, and speaks TLS", TLS, &["tls://box:1650"]),
            form(
                &["tls-listen://ADDRESS:PORT"],
                "Accepts the first TCP connection, and speaks TLS",
                TLS_LISTEN,
                &["tls-listen://0.0.0.0:1650?cert=cert.pem&key=key.pem"],
            ),
            form(
                &["ssh://[USER@]HOST[:PORT][/PATH]"],
                "Runs `wst` at another host by `ssh`, for `wst connect` a shell. PATH, the directory or file there, \
                 begins at the user's directory, or with a second `/` at the root",
                &[],
                &["ssh://box"],
            ),
        ],
    ),
    (
        "Datagrams",
        &[
            form(&["udp://HOST:PORT"], "NETBLT with a UDP port", &[], &["udp://box:9980"]),
            form(
                &["udp-listen://ADDRESS:PORT"],
                "NETBLT at a UDP port; one below 1024, such as its own 998, needs root; port 0 lets the system choose",
                &[],
                &["udp-listen://0.0.0.0:9980"],
            ),
            form(&["ip://HOST"], "NETBLT on IP protocol 30, without UDP", &[], &["ip://10.0.0.2"]),
            form(
                &["ip-listen://ADDRESS"],
                "NETBLT at an address, on IP protocol 30",
                &[],
                &["ip-listen://0.0.0.0"],
            ),
            form(
                &["ncp://HOST.IMP[/PATH]"],
                "A host of the ARPANET, behind an IMP that takes UDP datagrams",
                NCP,
                &["ncp://0.6/notes.txt?imp=127.0.0.1:7001"],
            ),
            form(
                &["tun:[NAME]"],
                "A TUN device, as an end of the emulated network of `wst line`",
                &[],
                &["tun:wet0"],
            ),
        ],
    ),
    (
        "Programs, sockets and terminals of this machine",
        &[
            form(
                &["exec:COMMAND"],
                "Runs a command by `sh -c`; its stdin and stdout are the line",
                &[],
                &["exec:ssh box wst receive -"],
            ),
            form(
                &["exec-pty:COMMAND"],
                "The same in a PTY, which is raw once the transfer begins, for commands that need a terminal",
                &[],
                &["exec-pty:kermit -r"],
            ),
            form(
                &["unix:PATH"],
                "A Unix-domain socket, such as that of QEMU's `-serial unix:PATH,server`",
                &[],
                &["unix:board.sock"],
            ),
            form(
                &["pty:[NAME]"],
                "Makes a PTY and prints its name, or makes NAME a link to it",
                &[],
                &["pty:", "pty:modem"],
            ),
            form(&["-", "stdio:"], "stdin and stdout of this process", &[], &["-"]),
            form(
                &["fd:N"],
                "A socket or terminal that this process inherited open, by its number",
                &[],
                &["fd:3"],
            ),
        ],
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::{BadLine, LineSpec};
    use std::collections::BTreeSet;

    fn all() -> impl Iterator<Item = &'static Form> {
        FORMS.iter().flat_map(|(_, forms)| *forms)
    }

    /// A new kind of line does not compile here until it has a number, and fails until it has a form.
    fn kind(spec: &LineSpec) -> u8 {
        match spec {
            LineSpec::Serial(_) => 0,
            LineSpec::Tcp(_) => 1,
            LineSpec::TcpListen(_) => 2,
            LineSpec::Telnet(_) => 3,
            LineSpec::TelnetListen(_) => 4,
            LineSpec::Rfc2217(..) => 5,
            LineSpec::Tls(_) => 6,
            LineSpec::TlsListen(_) => 7,
            LineSpec::Udp(_) => 8,
            LineSpec::UdpListen(_) => 9,
            LineSpec::Ip(_) => 10,
            LineSpec::IpListen(_) => 11,
            LineSpec::Ncp(_) => 12,
            LineSpec::Tun(_) => 13,
            LineSpec::Exec(_) => 14,
            LineSpec::ExecPty(_) => 15,
            LineSpec::Unix(_) => 16,
            LineSpec::Pty(_) => 17,
            LineSpec::Stdio => 18,
            LineSpec::Descriptor(_) => 19,
        }
    }

    #[test]
    fn every_kind_of_line_has_a_form_and_every_example_parses() {
        let examples = all().flat_map(|form| form.examples);
        let parsed = examples.map(|text| text.parse::<LineSpec>().expect(text));
        let kinds: BTreeSet<u8> = parsed.map(|spec| kind(&spec)).collect();
        assert_eq!(kinds, (0..=19).collect());
        assert!(all().all(|form| !form.examples.is_empty()));
    }

    /// The parser says which options it knows; those are the ones of the table.
    #[test]
    fn every_option_is_listed_and_no_other() {
        for form in all().filter(|form| !form.options.is_empty()) {
            let bare = form.examples[0].split('?').next().unwrap();
            let wrong = format!("{bare}?nonsense=1").parse::<LineSpec>();
            let Err(BadLine::Part { expected, .. }) = wrong else { panic!("{bare}: {wrong:?}") };
            let names: Vec<&str> = form.options.iter().map(|option| option.name).collect();
            assert_eq!(names.join("|"), expected, "{bare}");
        }
        let without =
            all().filter(|form| form.options.is_empty() && form.examples[0].contains("//"));
        for form in without.filter(|form| !form.examples[0].starts_with("ssh:")) {
            let wrong = format!("{}?nonsense=1", form.examples[0]);
            assert!(wrong.parse::<LineSpec>().is_err(), "{wrong}");
        }
    }
}
