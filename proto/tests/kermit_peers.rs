//! Small Kermits that agree to a window and cannot hold one: those of devices, which answer every
//! packet of it with a NAK for the same number.

use crate::common;

use common::{File, Source};
use wetstring_proto::kermit::Config;
use wetstring_proto::{Cx, Duration, Engine, Instant, Outcome, Status, Store};
use wetstring_testkit::Edges;

common::protocol!(kermit, Config { buffer_len: 4096, ..Config::default() });

/// What the device does with packets that come too fast for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Habit {
    /// It takes them in sequence, whatever the window, and asks for the next one at each other.
    InSequence,
    /// It hears nothing of packets that come together, but that there were some.
    OneAtATime,
    /// It takes the first of those that come together.
    FirstOnly,
    /// It asks for the first packet of data at each packet, until there has been silence.
    Deaf,
}

/// A receiver of short packets with the one-character check.
struct Device {
    habit: Habit,
    window: u8,
    input: Vec<u8>,
    expected: u8,
    file: Vec<u8>,
    naks: u32,
    over: bool,
    heard: Duration,
}

fn check(bytes: &[u8]) -> u8 {
    let sum: u32 = bytes.iter().map(|byte| u32::from(*byte)).sum();
    ((sum + (sum >> 6 & 3)) & 63) as u8 + b' '
}

fn packet(kind: u8, seq: u8, data: &[u8]) -> Vec<u8> {
    let mut packet = vec![1, data.len() as u8 + 3 + b' ', seq + b' ', kind];
    packet.extend_from_slice(data);
    packet.push(check(&packet[1..]));
    packet.push(b'\r');
    packet
}

impl Device {
    fn new(habit: Habit, window: u8) -> Self {
        let heard = Duration::ZERO;
        Self {
            habit,
            window,
            input: vec![],
            expected: 0,
            file: vec![],
            naks: 0,
            over: false,
            heard,
        }
    }

    fn nak(&mut self) -> Vec<u8> {
        self.naks += 1;
        packet(b'N', self.expected, b"")
    }

    fn hear(&mut self, now: Duration, bytes: &[u8]) -> Vec<u8> {
        self.input.extend_from_slice(bytes);
        let Some(end) = self.input.iter().rposition(|byte| *byte == b'\r') else { return vec![] };
        let whole: Vec<u8> = self.input.drain(..=end).collect();
        let lines: Vec<&[u8]> =
            whole.split(|byte| *byte == b'\r').filter(|l| l.len() > 4).collect();
        let silence = now.checked_sub(self.heard).unwrap();
        self.heard = now;
        let mut said = Vec::new();
        for (index, line) in lines.iter().enumerate() {
            let at = line.iter().position(|byte| *byte == 1).expect("a packet");
            let (body, sum) = line[at + 1..].split_at(line.len() - at - 2);
            assert_eq!(check(body), sum[0], "{body:?}");
            let lost = self.expected > 1
                && match self.habit {
                    Habit::InSequence => false,
                    Habit::OneAtATime => lines.len() > 1,
                    Habit::FirstOnly => index > 0,
                    Habit::Deaf => silence < Duration::from_millis(150),
                };
            said.extend(if lost {
                self.nak()
            } else {
                self.take(body[1] - b' ', body[2], &body[3..])
            });
        }
        said
    }

    fn take(&mut self, seq: u8, kind: u8, data: &[u8]) -> Vec<u8> {
        if seq == (self.expected + 63) % 64 {
            return packet(b'Y', seq, b"");
        }
        if seq != self.expected {
            return self.nak();
        }
        self.expected = (self.expected + 1) % 64;
        let mut quoted = false;
        for byte in data.iter().filter(|_| kind == b'D') {
            match (*byte, quoted) {
                (b'#', false) => quoted = true,
                (byte, false) => self.file.push(byte),
                (byte, true) => {
                    let control = matches!(byte & 0x7F, b'?'..=b'_');
                    self.file.push(if control { byte ^ 64 } else { byte });
                    quoted = false;
                }
            }
        }
        self.over |= kind == b'B';
        let parameters = [b"~* @-#N1 $".as_slice(), &[self.window + b' ']].concat();
        packet(b'Y', seq, if kind == b'S' { &parameters } else { b"" })
    }
}

/// Sends to the device over a line of this delay; how long it took, if it came through.
fn send(habit: Habit, window: u8, delay: usize) -> Result<(Duration, u32), (Outcome, Duration)> {
    let bytes: Vec<u8> = common::random(6000, 3).iter().map(|byte| byte & 0x7F).collect();
    let mut sender = sender(&config(&[("window", &window.to_string())]));
    let mut source = Source::new(vec![File::new("f", &bytes)]);
    let mut device = Device::new(habit, window);
    let mut now = Instant::ZERO;
    let mut line = vec![Vec::new(); delay];
    let mut back = vec![Vec::new(); delay];
    for _ in 0..600_000 {
        let cx = &mut Cx { now, trace: &mut Edges::new() };
        let input = back.remove(0);
        assert_eq!(sender.receive(cx, &input), input.len());
        let mut sent = Vec::new();
        for _ in 0..10 {
            while let Some(request) = sender.request() {
                let reply = source.answer(request);
                sender.reply(cx, reply);
            }
            let bytes = sender.transmit(cx).to_vec();
            sender.transmitted(cx, bytes.len());
            sent.extend(bytes);
        }
        sender.tick(cx);
        while sender.event().is_some() {}
        let took = now - Instant::ZERO;
        match sender.status() {
            Status::Over(Outcome::Done) => {
                assert!(device.file == bytes && device.over, "{habit:?} {window}");
                return Ok((took, device.naks));
            }
            Status::Over(outcome) => return Err((outcome, took)),
            _ => {}
        }
        line.push(sent);
        let arrives = line.remove(0);
        back.push(device.hear(took, &arrives));
        now = now + Duration::from_millis(1);
    }
    panic!("no end: {habit:?} {window} {:?}", sender.stats());
}

#[test]
fn device_with_small_window_gets_the_file() {
    for habit in [Habit::InSequence, Habit::OneAtATime, Habit::FirstOnly, Habit::Deaf] {
        for window in [1, 2, 3, 4, 8, 31] {
            for delay in [1, 20] {
                let (took, naks) = send(habit, window, delay).unwrap_or_else(|(outcome, after)| {
                    panic!("{habit:?}, window {window}, delay {delay}: {outcome:?} after {after:?}")
                });
                println!("{habit:?} {window} {delay}: {took:?} {naks}");
                // 70 packets, and a round trip of 40 ms at most.
                let limit = if habit == Habit::Deaf { 90 } else { 10 };
                assert!(took < Duration::from_secs(limit), "{habit:?} {window} {delay}: {took:?}");
            }
        }
    }
}

/// A NAK that a waiting receiver said before it can have had our first packet is not answered by a copy at once:
/// a peer that streams may take that for an error of the line. Without an answer the copy follows.
#[test]
fn a_nak_that_crosses_the_first_packet_is_not_answered_at_once() {
    let mut sender = sender(&config(&[]));
    let mut source = Source::new(vec![File::new("f", b"text")]);
    let waiting = packet(b'N', 0, b"");
    let mut copies = Vec::new();
    for millis in 0..300 {
        let cx = &mut Cx { now: Instant(millis * 1_000_000), trace: &mut Edges::new() };
        // Two of them were in the port's buffer.
        if millis == 5 {
            let stale = [waiting.clone(), waiting.clone()].concat();
            assert_eq!(sender.receive(cx, &stale), stale.len());
        }
        while let Some(request) = sender.request() {
            let reply = source.answer(request);
            sender.reply(cx, reply);
        }
        let said = sender.transmit(cx).to_vec();
        sender.transmitted(cx, said.len());
        sender.tick(cx);
        if said.windows(3).any(|at| at[0] == 1 && at[2] == b' ') {
            copies.push(millis);
        }
    }
    assert!(matches!(copies[..], [0, 200..=201]), "{copies:?}");
}
