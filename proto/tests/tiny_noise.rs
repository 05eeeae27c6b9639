//! The small receivers and the engines that send, over lines that damage, drop and insert bytes: no file is ever taken for whole that
//! is not.

use crate::common::{Dice, Edges, File, Source, random};
use crate::tiny_exchange::{Loader, Tiny};
use std::collections::VecDeque;
use wetstring_proto::tiny::{Kermit, Limits, Xmodem, Ymodem};
use wetstring_proto::{Cx, Engine, Instant, LineFacts, Outcome, Status, Store, kermit, xymodem};

/// Milliseconds of a turn, and the bytes that a line at 115200 bit/s takes in it.
const TURN: u32 = 5;
const TURN_BYTES: usize = 57;
/// What noise makes is often something that means something.
const SIGNS: [u8; 8] = [0x01, 0x02, 0x04, 0x06, 0x15, 0x18, b'C', b'\r'];

/// One direction of a line.
struct Wire {
    dice: Dice,
    /// One byte of this many meets noise; 0 is none.
    one_in: usize,
    /// Bytes that come through before there is noise: the first packet of Kermit has a check of six bits.
    clean: usize,
    bytes: VecDeque<u8>,
}

impl Wire {
    fn send(&mut self, bytes: &[u8]) {
        for byte in bytes {
            if self.clean > 0 || self.one_in == 0 || !self.dice.one_in(self.one_in) {
                self.clean = self.clean.saturating_sub(1);
                self.bytes.push_back(*byte);
                continue;
            }
            let other = if self.dice.one_in(2) { self.dice.byte() } else { self.dice.pick(&SIGNS) };
            match self.dice.roll(4) {
                0 => self.bytes.push_back(byte ^ 1 << self.dice.roll(8)),
                1 => self.bytes.push_back(other),
                2 => {}
                _ => self.bytes.extend([*byte, other]),
            }
        }
    }
}

/// Runs both until the receiver has ended, and the sender; what it ended with.
fn exchange(
    sender: &mut dyn Engine,
    source: &mut Source,
    loader: &mut Loader<'_>,
    [mut there, mut back]: [Wire; 2],
) -> Outcome {
    let mut now = Instant(1_000_000);
    let mut idle = 0;
    for _ in 0..2_000_000 {
        let cx = &mut Cx { now, trace: &mut Edges::of(true) };
        while let Some(request) = sender.request() {
            let reply = source.answer(request);
            sender.reply(cx, reply);
        }
        while sender.event().is_some() {}
        let input: Vec<u8> = back.bytes.drain(..back.bytes.len().min(TURN_BYTES)).collect();
        let mut rest = &input[..];
        while !rest.is_empty() && !matches!(sender.status(), Status::Over(_)) {
            let used = sender.receive(cx, rest);
            rest = &rest[used..];
            while let Some(request) = sender.request() {
                let reply = source.answer(request);
                sender.reply(cx, reply);
            }
            if used == 0 {
                back.bytes.extend(rest);
                break;
            }
        }
        sender.tick(cx);
        while there.bytes.len() < TURN_BYTES {
            let bytes = sender.transmit(cx);
            let len = bytes.len().min(TURN_BYTES);
            if len == 0 {
                break;
            }
            there.send(&bytes[..len]);
            sender.transmitted(cx, len);
        }
        let arrived: Vec<u8> = there.bytes.drain(..there.bytes.len().min(TURN_BYTES)).collect();
        loader.now_ms = loader.now_ms.wrapping_add(TURN);
        let sent = loader.give(&arrived);
        back.send(&sent);
        now = now + std::time::Duration::from_millis(u64::from(TURN));
        idle = if arrived.is_empty() && sent.is_empty() && input.is_empty() { idle + 1 } else { 0 };
        if let Status::Over(outcome) = sender.status()
            && loader.end.is_some()
        {
            return outcome;
        }
    }
    panic!("no end: {:?}, {:?}, silent for {idle} turns", sender.status(), loader.end)
}

/// What came of many transfers.
#[derive(Debug, Default)]
struct Tally {
    runs: usize,
    /// Both said that it was done, and neither did.
    both: usize,
    neither: usize,
}

/// Sends files of these seeds; `is_whole` compares what came.
fn tally(
    seeds: std::ops::Range<u64>,
    (one_in, clean): (usize, usize),
    mut sender: impl FnMut(&mut Dice) -> Box<dyn Engine>,
    mut receive: impl FnMut(&mut dyn FnMut(&mut dyn Tiny)),
    is_whole: fn(&[u8], &[u8]) -> bool,
) -> Tally {
    let mut tally = Tally::default();
    for seed in seeds {
        let mut dice = Dice(seed);
        let bytes = random(dice.roll(9000), seed + 1);
        let mut engine = sender(&mut dice);
        let mut wire = || {
            let dice = Dice(dice.next());
            Wire { dice, one_in, clean, bytes: VecDeque::new() }
        };
        let wires = [wire(), wire()];
        receive(&mut |receiver| {
            let mut loader = Loader::new(receiver);
            let mut source = Source::new(vec![File::new("boot.bin", &bytes)]);
            let outcome = exchange(&mut *engine, &mut source, &mut loader, wires_of(&wires));
            let whole = loader.files.last().is_some_and(|file| is_whole(&file.bytes, &bytes));
            let done = loader.end == Some(Ok(()));
            let ended = loader.files.last().is_some_and(|file| file.complete == Some(true));
            let label = format!("seed {seed}: {outcome:?}, {:?}", loader.end);
            assert!(whole || !done, "{label}");
            assert!(whole || !ended, "{label}");
            assert!(whole || outcome != Outcome::Done, "{label}");
            assert!(loader.files.len() < 2, "{label}");
            tally.runs += 1;
            tally.both += usize::from(done && outcome == Outcome::Done);
            tally.neither += usize::from(!done && outcome != Outcome::Done);
        });
    }
    tally
}

fn wires_of(wires: &[Wire; 2]) -> [Wire; 2] {
    [0, 1].map(|index| {
        let Wire { dice, one_in, clean, .. } = &wires[index];
        Wire { dice: dice.clone(), one_in: *one_in, clean: *clean, bytes: VecDeque::new() }
    })
}

fn exact(got: &[u8], want: &[u8]) -> bool {
    got == want
}

/// XMODEM fills its last block.
fn padded(got: &[u8], want: &[u8]) -> bool {
    let (file, rest) = got.split_at(want.len().min(got.len()));
    file == want && rest.len() < 1024 && rest.iter().all(|byte| *byte == 0x1a)
}

fn xy_sender(variants: &'static [&'static str]) -> impl FnMut(&mut Dice) -> Box<dyn Engine> {
    move |dice| {
        let config = xy_config(&[("variant", dice.pick(variants))]);
        Box::new(xymodem::Sender::new(config.clone(), vec![0; config.sender_memory()]).unwrap())
    }
}

fn xy_config(settings: &[(&str, &str)]) -> xymodem::Config {
    let mut config = xymodem::Config::default();
    for (name, value) in settings {
        let name = format!("xymodem.{name}");
        wetstring_proto::settings::Settings::set(&mut config, &name, value).unwrap();
    }
    config
}

fn kermit_sender(dice: &mut Dice) -> Box<dyn Engine> {
    let config = kermit::Config {
        send_length: dice.pick(&[90, 500, 2000]),
        line: LineFacts { reliable: Some(false), ..LineFacts::default() },
        digest: dice.one_in(2),
        ..kermit::Config::default()
    };
    Box::new(kermit::Sender::new(config.clone(), vec![0; config.sender_memory()]).unwrap())
}

fn with_xmodem(body: &mut dyn FnMut(&mut dyn Tiny)) {
    body(&mut Xmodem::new(&mut [0; 1024], Limits::default()));
}

fn with_ymodem(body: &mut dyn FnMut(&mut dyn Tiny)) {
    body(&mut Ymodem::new(&mut [0; 1024], Limits::default()));
}

fn with_kermit(body: &mut dyn FnMut(&mut dyn Tiny)) {
    body(&mut Kermit::new(&mut [0; 1040], Limits::default()));
}

/// Of how many bytes noise meets one, and how many transfers in a hundred have to succeed.
fn assert_shares(least: [usize; 4], run: impl Fn(std::ops::Range<u64>, usize) -> Tally) {
    for (index, (one_in, least)) in [0, 3000, 1000, 300].iter().zip(least).enumerate() {
        let from = 10_000 * index as u64;
        let tally = run(from..from + 1000, *one_in);
        assert!(tally.both * 100 >= tally.runs * least, "one in {one_in}: {tally:?}");
    }
}

#[test]
fn xmodem_over_noise() {
    assert_shares([100, 100, 98, 60], |seeds, one_in| {
        tally(seeds, (one_in, 0), xy_sender(&["xmodem-crc", "xmodem-1k"]), with_xmodem, padded)
    });
}

#[test]
fn ymodem_over_noise() {
    assert_shares([100, 100, 98, 25], |seeds, one_in| {
        tally(seeds, (one_in, 0), xy_sender(&["ymodem"]), with_ymodem, exact)
    });
}

#[test]
fn kermit_over_noise() {
    assert_shares([100; 4], |seeds, one_in| {
        // Its first packet has a check of six bits alone.
        tally(seeds, (one_in, 40), kermit_sender, with_kermit, exact)
    });
}
