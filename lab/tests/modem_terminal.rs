//! The IBM 7171 and the terminal server with its Telnet path.

use wetstring_lab::terminal::{Ibm7171, Ibm7171Model, TelnetModel, TelnetPath};
use wetstring_lab::{Element, End};
use wetstring_proto::{Cx, Instant, NoTrace};

const MS: u64 = 1_000_000;

/// An element and its time.
struct Rig<E> {
    element: E,
    now: u64,
}

impl<E: Element> Rig<E> {
    /// Offers everything at once.
    fn send(&mut self, end: End, bytes: &[u8]) {
        let mut cx = Cx { now: Instant(self.now), trace: &mut NoTrace };
        assert_eq!(self.element.offer(&mut cx, end, bytes), bytes.len());
    }

    /// What comes out at `end` until nothing more does: (ns, byte).
    fn hear(&mut self, end: End) -> Vec<(u64, u8)> {
        self.hear_until(end, u64::MAX)
    }

    fn hear_until(&mut self, end: End, until: u64) -> Vec<(u64, u8)> {
        let mut out = Vec::new();
        loop {
            let mut cx = Cx { now: Instant(self.now), trace: &mut NoTrace };
            let mut into = [0; 7];
            let len = self.element.emit(&mut cx, end, &mut into);
            out.extend(into[..len].iter().map(|byte| (self.now, *byte)));
            if len > 0 {
                continue;
            }
            let next = self.element.next(end).map(Instant::as_nanos);
            match next.filter(|next| *next <= until) {
                Some(next) => self.now = self.now.max(next),
                None => return out,
            }
        }
    }
}

fn bytes(out: &[(u64, u8)]) -> Vec<u8> {
    out.iter().map(|(_, byte)| *byte).collect()
}

fn host(text: &str) -> Rig<Ibm7171> {
    let model: Ibm7171Model = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
    Rig { element: Ibm7171::new(&model), now: 0 }
}

fn server(text: &str) -> Rig<TelnetPath> {
    let model: TelnetModel = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
    Rig { element: TelnetPath::new(&model), now: 0 }
}

/// When this many characters at 19200 are over.
const fn chars(count: u64) -> u64 {
    count * 10_000_000_000 / 19_200
}

#[test]
fn a_packet_reaches_the_host_whole_and_in_its_turn() {
    let mut desk = host("7171:");
    desk.send(End::A, b"\x01 packet\r");
    let out = desk.hear(End::B);
    assert_eq!(bytes(&out), b"\x01 packet\r");
    assert!(out.iter().all(|(at, _)| *at == chars(9) + 85 * MS), "{out:?}");
    // The host's answer goes out with even parity, as an 8-bit reader sees it.
    desk.send(End::B, b"\x01#a\r");
    let begin = desk.now;
    let out = desk.hear(End::A);
    assert_eq!(bytes(&out), [0x81, 0xa3, 0xe1, 0x8d]);
    assert_eq!(out[3].0, begin + chars(4));
    assert_eq!(desk.now, begin + chars(4) + MS, "the next read is posted");
    assert!(desk.element.is_posted());
    assert_eq!(desk.element.usage(End::A).turnarounds, 1);
    assert_eq!(desk.element.usage(End::B).turnarounds, 1);
}

#[test]
fn a_cycle_of_1920_characters_takes_what_the_table_says() {
    // Seed 001, table 6: characters at 1920 per second and 80 to 90 ms for each packet.
    let mut desk = host("7171:");
    let packet = [&b"\x01"[..], &[b'x'; 1918], b"\r"].concat();
    for _ in 0..10 {
        let mut left = &packet[..];
        let mut got = Vec::<u8>::new();
        while got.len() < packet.len() {
            let mut cx = Cx { now: Instant(desk.now), trace: &mut NoTrace };
            let taken = desk.element.offer(&mut cx, End::A, &left[..left.len().min(64)]);
            left = &left[taken..];
            let mut into = [0; 64];
            let len = desk.element.emit(&mut cx, End::B, &mut into);
            got.extend(&into[..len]);
            if got.len() == packet.len() {
                break;
            }
            let room = desk.element.room(End::A).filter(|_| !left.is_empty());
            let next = desk.element.next(End::B).into_iter().chain(room).min();
            desk.now = next.map_or(desk.now, |at| at.as_nanos().max(desk.now));
        }
        assert_eq!(got, packet);
        desk.send(End::B, b"\x01%Y~~~\r");
        desk.hear(End::A);
    }
    let expected = 10 * (chars(1920) + 85 * MS + chars(7) + MS);
    assert!(desk.now.abs_diff(expected) < 100_000, "{} and {expected}", desk.now);
}

#[test]
fn early_input_waits_or_is_lost() {
    for (text, second) in [("7171:", &b"two\r"[..]), ("7171:early=lose", b"")] {
        let mut desk = host(text);
        desk.send(End::A, b"one\rtwo\r");
        // The read takes one line; the next is posted when the host has answered.
        assert_eq!(bytes(&desk.hear_until(End::B, 88 * MS)), b"one\r");
        desk.send(End::B, b"yes\r");
        desk.hear(End::A);
        assert_eq!(bytes(&desk.hear(End::B)), second, "{text}");
        assert_eq!(desk.element.usage(End::A).dropped_bytes, 4 - second.len() as u64);
    }
}

#[test]
fn a_long_line_too_early_is_stopped_by_xoff_and_nothing_is_lost() {
    let mut desk = host("7171:");
    let line = [&[b'a'; 1500][..], b"\r"].concat();
    let sent = [&b"first\r"[..], &line].concat();
    let mut left = &sent[..];
    let mut got = Vec::new();
    let mut answered = 0;
    while desk.now < 3_000 * MS {
        let mut cx = Cx { now: Instant(desk.now), trace: &mut NoTrace };
        let taken = desk.element.offer(&mut cx, End::A, left);
        left = &left[taken..];
        let mut into = [0; 2000];
        let len = desk.element.emit(&mut cx, End::B, &mut into);
        got.extend(&into[..len]);
        desk.element.emit(&mut cx, End::A, &mut into);
        if len > 0 {
            // A long answer, so that the second line runs into the type-ahead meanwhile.
            answered += 1;
            assert_eq!(desk.element.offer(&mut cx, End::B, &[b'z'; 900]), 900);
        }
        let times = [desk.element.next(End::A), desk.element.next(End::B)];
        let room = desk.element.room(End::A).filter(|_| !left.is_empty());
        let next = times.into_iter().chain([room]).flatten().min();
        desk.now = next.map_or(3_000 * MS, |at| at.as_nanos().max(desk.now));
    }
    assert_eq!((got, answered), (sent, 2));
    assert_eq!(desk.element.usage(End::A).dropped_bytes, 0);
}

#[test]
fn a_host_without_an_answer_reads_on() {
    let mut desk = host("7171:prompt=on");
    desk.send(End::A, b"one\r");
    assert_eq!(bytes(&desk.hear(End::B)), b"one\r");
    // 1 ms later the next read is posted, and the prompt says so; XON has two ones.
    let out = desk.hear(End::A);
    assert_eq!(out, [(chars(4) + 86 * MS + chars(1), 0x11)]);
    desk.send(End::A, b"two\r");
    assert_eq!(bytes(&desk.hear(End::B)), b"two\r");
}

#[test]
fn the_host_sees_seven_bits_and_few_controls() {
    let mut desk = host("7171:");
    desk.send(End::A, b"\x01a\x02\x1a\xe9\n\x18b\r");
    assert_eq!(bytes(&desk.hear(End::B)), b"\x01aib\r");
    assert_eq!(desk.element.usage(End::A).dropped_bytes, 4);
}

#[test]
fn a_terminal_server_is_transparent_when_both_ends_do_as_they_should() {
    let all: Vec<u8> = (0..=255).chain([13, 0, 13, 10, 13, 13, 255, 255, 0]).collect();
    for text in ["telnet:escape=none", "telnet:escape=none,iac=none,cr=none,segment=7"] {
        for end in End::BOTH {
            let mut desk = server(text);
            desk.send(end, &all);
            assert_eq!(bytes(&desk.hear(end.other())), all, "{text}");
        }
    }
    // Each 0xff and each CR costs an octet on the network.
    let mut desk = server("telnet:escape=none");
    desk.send(End::A, &all);
    desk.hear(End::B);
    assert_eq!(desk.element.network_bytes(End::A), all.len() as u64 + 3 + 5);
}

#[test]
fn one_end_alone_does_harm() {
    for (text, sent, got) in [
        ("iac=sender", &b"a\xffb"[..], &b"a\xff\xffb"[..]),
        ("iac=receiver", b"a\xffbc\xff\xfd\x01d\xff\xffe", b"acd\xffe"),
        ("cr=sender", b"a\rb", b"a\r\0b"),
        ("cr=receiver", b"a\r\0b\r\nc\rd", b"a\rb\rc\rd"),
        ("eat=11+13", b"a\x11\x13b\x93", b"ab\x93"),
    ] {
        let mut desk = server(&format!("telnet:{text}"));
        desk.send(End::A, sent);
        assert_eq!(bytes(&desk.hear(End::B)), got, "{text}");
    }
}

#[test]
fn the_escape_disappears_and_acts() {
    for (sent, got, suspended) in [
        (&b"a\x1e1b"[..], &b"a1b"[..], false),
        (b"a\x1e\x1eb", b"a\x1eb", false),
        (b"a\x1eBb", b"ab", false),
        (b"a\x1exb\x1e1c", b"a", true),
    ] {
        let mut desk = server("telnet:");
        desk.send(End::A, sent);
        assert_eq!(bytes(&desk.hear(End::B)), got, "{sent:02x?}");
        assert_eq!(desk.element.is_suspended(), suspended);
        let usage = desk.element.usage(End::A);
        assert_eq!(usage.dropped_bytes, (sent.len() - got.len()) as u64);
        // Only the line's side has an escape.
        let mut desk = server("telnet:");
        desk.send(End::B, sent);
        assert_eq!(bytes(&desk.hear(End::A)), sent);
    }
}

#[test]
fn segments_wait_for_the_timer_or_are_full() {
    let mut desk = server("telnet:timer=10ms,segment=4,delay=3ms");
    desk.send(End::A, b"ab");
    desk.now = 5 * MS;
    desk.send(End::A, b"c");
    let out = desk.hear(End::B);
    assert_eq!(out, [(13 * MS, b'a'), (13 * MS, b'b'), (13 * MS, b'c')]);
    desk.send(End::A, b"defgh");
    let out = desk.hear(End::B);
    assert_eq!(bytes(&out), b"defgh");
    assert_eq!((out[3].0, out[4].0), (16 * MS, 26 * MS));
    // The host's writes go at once.
    desk.now = 100 * MS;
    desk.send(End::B, b"x");
    assert_eq!(desk.hear(End::A), [(103 * MS, b'x')]);
}

#[test]
fn a_full_path_is_back_pressure() {
    let mut desk = server("telnet:buffer=100");
    let mut cx = Cx { now: Instant(0), trace: &mut NoTrace };
    let taken = desk.element.offer(&mut cx, End::A, &[b'a'; 500]);
    assert_eq!(taken, 99);
    assert_eq!(desk.hear(End::B).len(), 99);
    // The acknowledgement takes 2 ms too.
    desk.now += 2 * MS;
    desk.send(End::A, &[b'a'; 50]);
}

#[test]
fn descriptions_read_show_and_complain() {
    for text in [
        "7171:rate=19200",
        "7171:rate=9600,parity=odd,turn=80ms,post=0s,reaction=5ms,ahead=100,\
                                    buffer=3000,early=lose,prompt=on",
    ] {
        let model: Ibm7171Model = text.parse().expect(text);
        assert_eq!(model.to_string(), text);
    }
    for text in [
        "telnet:escape=1e",
        "telnet:escape=none,eat=11+13,iac=sender,cr=receiver,timer=0s,\
                                      delay=150ms,segment=1460,buffer=9999",
    ] {
        let model: TelnetModel = text.parse().expect(text);
        assert_eq!(model.to_string(), text);
    }
    for (text, error) in [
        (
            "7171:speed=1",
            "7171: speed: expected one of rate, parity, turn, post, ahead, early, \
                          prompt, reaction, buffer, got `speed=1`",
        ),
        ("7171:turn=80", "7171: turn: expected a time such as 250ms (s, ms, us, ns), got `80`"),
        ("7171:early=maybe", "7171: early: expected hold or lose, got `early=maybe`"),
    ] {
        assert_eq!(text.parse::<Ibm7171Model>().map_err(|e| e.to_string()), Err(error.into()));
    }
    for (text, error) in [
        (
            "telnet:escape=0x1e",
            "telnet: escape: expected a character in hex such as 1e, or none, \
                                got `escape=0x1e`",
        ),
        ("telnet:eat=", "telnet: eat: expected characters in hex such as 11+13, got `eat=`"),
        ("telnet:iac=host", "telnet: iac: expected both, none, sender or receiver, got `iac=host`"),
        ("telnet:delay=1s,delay=2s", "telnet: delay: expected it once, got `delay=2s`"),
    ] {
        assert_eq!(text.parse::<TelnetModel>().map_err(|e| e.to_string()), Err(error.into()));
    }
}

/// Two kilobytes in each round trip, as the window of a TCP connection has it: at 250 ms each way 4096 octets a
/// second, whatever the host offers.
#[test]
fn a_telnet_buffer_limits_each_round_trip() {
    let mut path = TelnetPath::new(&"telnet:delay=250ms,buffer=2048".parse().unwrap());
    let (mut now, mut came, mut into) = (Instant::ZERO, 0, [0; 4096]);
    while now < Instant(20_000_000_000) {
        let mut cx = Cx { now, trace: &mut NoTrace };
        path.offer(&mut cx, End::B, &[b'a'; 4096]);
        came += path.emit(&mut cx, End::A, &mut into);
        let next = [path.next(End::A), path.next(End::B), path.room(End::B)];
        now = next.into_iter().flatten().min().unwrap().max(Instant(now.as_nanos() + 1));
    }
    let per_second = came / 20;
    assert!((3900..=4096).contains(&per_second), "{per_second} octets a second");
}
