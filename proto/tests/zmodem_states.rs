//! Each header in each state, for both ends: what is said to it. A header that a state does not know
//! leaves two programs waiting for each other, so every cell of the two tables is written down.

use crate::common;
use crate::zmodem_exchange;

use common::{File, Sink, Source};
use std::fmt::Write as _;
use wetstring_proto::zmodem::Attention;
use wetstring_proto::zmodem::packet::{Form, end, kind};
use wetstring_proto::{
    Cx, Duration, Engine, Instant, Outcome, Refusal, Reply, Request, Status, Store,
};
use wetstring_testkit::Edges;
use zmodem_exchange::{Exchange, config, data, file, flags, header, receiver, sender};

/// One engine on a line without delay.
struct Desk<'a> {
    engine: &'a mut dyn Engine,
    store: &'a mut dyn Store,
    now: Instant,
}

impl Desk<'_> {
    /// Gives the engine `bytes`, and returns what it says within 100 ms.
    fn give(&mut self, bytes: &[u8]) -> Vec<u8> {
        let (mut rest, mut said) = (bytes, Vec::new());
        for _ in 0..6 {
            let cx = &mut Cx { now: self.now, trace: &mut Edges::new() };
            for _ in 0..50 {
                let used = self.engine.receive(cx, rest);
                rest = &rest[used..];
                while let Some(request) = self.engine.request() {
                    let reply = self.store.answer(request);
                    if matches!(reply, Reply::TellCheck) {
                        // The store of these tests has not answered yet.
                        break;
                    }
                    self.engine.reply(cx, reply);
                }
                let out = self.engine.transmit(cx).to_vec();
                self.engine.transmitted(cx, out.len());
                said.extend(out);
            }
            self.engine.tick(cx);
            self.now = self.now + Duration::from_millis(20);
        }
        said
    }

    fn wait(&mut self, time: Duration) -> Vec<u8> {
        let (end, mut said) = (self.now + time, Vec::new());
        while self.now < end {
            said.extend(self.give(b""));
        }
        said
    }

    /// What is said to this header, in words; with how it ends, if it does.
    fn cell(&mut self, bytes: &[u8]) -> String {
        let said = self.give(bytes);
        let exchange = Exchange { sent: said, events: vec![], took: Duration::ZERO };
        let mut words: Vec<String> = exchange
            .headers()
            .iter()
            .map(|(kind, _)| kind::NAMES[usize::from(*kind)].into())
            .collect();
        self.wait(Duration::from_millis(1500));
        match self.engine.status() {
            Status::Over(Outcome::Done) => words.push("done".into()),
            Status::Over(Outcome::Failed(_)) => words.push("failed".into()),
            _ => {}
        }
        if words.is_empty() { "-".into() } else { words.join("+") }
    }
}

/// A header of this kind, with the data that follows it.
fn whole(kind: u8) -> Vec<u8> {
    match kind {
        kind::ZFILE => file(b"g\x004 0 0 0 1 4\0"),
        kind::ZSINIT => [header(Form::Hex, kind, 0), data(Form::Hex, b"\0", end::ZCRCW)].concat(),
        kind::ZCOMMAND => {
            [header(Form::Hex, kind, 0), data(Form::Hex, b"ls\0", end::ZCRCW)].concat()
        }
        kind::ZSTDERR => {
            [header(Form::Hex, kind, 0), data(Form::Hex, b"hello", end::ZCRCW)].concat()
        }
        // Of the data only the header: what follows belongs to it.
        kind::ZCHALLENGE | kind::ZACK => header(Form::Hex, kind, 77),
        kind::ZRINIT => flags(Form::Hex, kind, [0, 0, 0, 0x23]),
        _ => header(Form::Hex, kind, 0),
    }
}

/// Compares with the table: a line for each header, a word for each state.
fn compare(table: &str, states: &[&str], mut cell: impl FnMut(&str, u8) -> String) {
    let mut real = String::new();
    for (number, name) in kind::NAMES.iter().enumerate() {
        if *name == "ZCAN" {
            continue;
        }
        write!(real, "{name:11}").expect("a String takes all");
        for state in states {
            write!(real, "{:15}", cell(state, number as u8)).expect("a String takes all");
        }
        real = format!("{}\n", real.trim_end());
    }
    let lines = |text: &str| -> Vec<String> {
        text.lines().map(|l| l.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
    };
    let wanted: Vec<_> = lines(table).into_iter().filter(|line| !line.is_empty()).collect();
    assert_eq!(lines(&real), wanted, "the table as it is:\n{real}");
}

/// Columns: nothing said yet; challenged; ZCRC is out; ZRPOS is out; data has come; ZSKIP is out,
/// from a store that refuses everything.
const RECEIVER: &str = "
ZRQINIT    ZRINIT         ZCHALLENGE     ZRINIT         ZRINIT         ZRINIT         ZRINIT
ZRINIT     -              -              -              -              -              -
ZSINIT     ZACK           ZACK           ZACK           ZACK           ZACK           ZACK
ZACK       -              ZRINIT         -              -              -              -
ZFILE      ZRPOS          ZCHALLENGE     ZCRC           ZNAK           ZNAK           ZSKIP
ZSKIP      ZRINIT         ZCHALLENGE     ZRINIT         ZRINIT         ZRINIT         ZRINIT
ZNAK       ZRINIT         ZCHALLENGE     ZCRC           ZRPOS          ZRPOS          ZSKIP
ZABORT     ZFIN+failed    ZFIN+failed    ZFIN+failed    ZFIN+failed    ZFIN+failed    ZFIN+failed
ZFIN       ZFIN+done      ZFIN+done      ZFIN+failed    ZFIN+failed    ZFIN+failed    ZFIN+done
ZRPOS      -              -              -              -              -              -
ZDATA      -              -              -              -              ZRPOS          ZSKIP
ZEOF       -              -              -              ZRPOS          -              ZSKIP
ZFERR      ZFIN+failed    ZFIN+failed    ZFIN+failed    ZFIN+failed    ZFIN+failed    ZFIN+failed
ZCRC       -              -              ZRPOS          -              -              -
ZCHALLENGE -              -              -              -              -              -
ZCOMPL     -              -              -              -              -              -
ZFREECNT   ZACK           ZACK           ZACK           ZACK           ZACK           ZACK
ZCOMMAND   ZCOMPL         ZCHALLENGE     ZNAK           ZNAK           ZNAK           ZCOMPL
ZSTDERR    -              -              -              -              -              -
";

#[test]
pub(crate) fn every_header_in_every_state_of_a_receiver() {
    let states = ["init", "unproved", "check", "data", "moving", "skip"];
    compare(RECEIVER, &states, |state, kind| {
        let challenge = if state == "unproved" { "77" } else { "0" };
        let set = config(&[("challenge", challenge), ("resume", "on")]);
        let mut receiver = receiver(&set);
        let mut sink = Sink {
            refuse: (state == "skip").then_some(Refusal::Exists),
            partial: if state == "check" { vec![b'a'; 3] } else { vec![] },
            digests: true,
            ..Sink::new()
        };
        let mut desk = Desk { engine: &mut receiver, store: &mut sink, now: Instant(1) };
        desk.give(b"");
        let offer = file(b"f\x0010 0 0 0 2 14\0");
        let before = match state {
            "init" | "unproved" => vec![],
            "moving" => {
                let subpacket = data(Form::Bin32, b"abc", end::ZCRCE);
                desk.give(&offer);
                [header(Form::Bin32, kind::ZDATA, 0), subpacket].concat()
            }
            _ => offer,
        };
        desk.give(&before);
        desk.wait(Duration::from_millis(1500));
        desk.cell(&whole(kind))
    });
}

/// Columns: ZRQINIT is out; ZSINIT; the store is asked for a file, and slow; ZFILE; data, up to the
/// window; ZEOF; ZSKIP; ZCOMMAND; the store closes a file, and is slow; ZFIN.
const SENDER: &str = "
ZRQINIT    -              -              -              -              -              -              -              -              -              -
ZRINIT     ZFILE          -              -              -              ZFIN           ZFIN           ZFIN           -              -              ZFIN
ZSINIT     -              -              -              -              -              -              -              -              -              -
ZACK       -              ZFILE          -              -              -              -              -              -              -              -
ZFILE      -              -              -              -              -              -              -              -              -              -
ZSKIP      -              -              -              ZFIN           ZFIN           ZFIN           ZFIN           ZFIN+failed    -              -
ZNAK       ZRQINIT        ZSINIT         -              ZFILE          ZDATA          ZEOF           ZSKIP          ZCOMMAND       -              ZFIN
ZABORT     ZFIN+failed    ZFIN+failed    ZFIN+failed    ZFIN+failed    ZFIN+failed    ZFIN+failed    ZFIN+failed    ZFIN+failed    ZFIN           done
ZFIN       -              ZFIN+failed    ZFIN+failed    ZFIN+failed    ZFIN+failed    ZFIN+failed    ZFIN+failed    ZFIN+failed    ZFIN           done
ZRPOS      -              -              -              ZDATA+ZEOF     ZDATA          ZDATA+ZEOF     ZSKIP          -              -              -
ZDATA      -              -              -              -              -              -              -              -              -              -
ZEOF       -              -              -              -              -              -              -              -              -              -
ZFERR      ZFIN+failed    ZFIN+failed    ZFIN+failed    ZFIN+failed    ZFIN+failed    ZFIN+failed    ZFIN+failed    ZFIN+failed    ZFIN           done
ZCRC       -              -              -              ZCRC           -              ZCRC           -              -              -              -
ZCHALLENGE ZACK           ZACK           -              ZACK           ZACK           ZACK           ZACK           ZACK           -              ZACK
ZCOMPL     -              -              -              -              -              -              -              ZFIN           -              -
ZFREECNT   -              -              -              -              -              -              -              -              -              -
ZCOMMAND   -              -              -              -              -              -              -              -              -              -
ZSTDERR    -              -              -              -              -              -              -              -              -              -
";

/// A store that is slow with one request.
struct Slow<'a>(Source, &'a str);

impl Store for Slow<'_> {
    fn answer<'s>(&'s mut self, request: Request<'_>) -> Reply<'s> {
        match (&request, self.1) {
            (Request::Next, "next") | (Request::Close { .. }, "close") => Reply::TellCheck,
            _ => self.0.answer(request),
        }
    }
}

#[test]
pub(crate) fn every_header_in_every_state_of_a_sender() {
    let states =
        ["init", "attention", "next", "file", "data", "eof", "skip", "command", "close", "finish"];
    compare(SENDER, &states, |state, kind| {
        // A window that fills: the data is not over before its time.
        let mut set =
            config(&[("window", if matches!(state, "data" | "skip") { "1024" } else { "0" })]);
        if state == "attention" {
            set.attention = Attention::new(&[3]);
        }
        let mut sender = sender(&set);
        if state == "command" {
            sender = sender.with_command(b"ls", false).unwrap();
        }
        let long = matches!(state, "data" | "skip");
        let size = if long { 5000 } else { 10 };
        let files =
            if state == "finish" { vec![] } else { vec![File::new("f", &vec![b'x'; size])] };
        let mut store = Slow(Source::new(files), state);
        let mut desk = Desk { engine: &mut sender, store: &mut store, now: Instant(1) };
        desk.give(b"");
        if state != "init" {
            desk.give(&whole(kind::ZRINIT));
        }
        if matches!(state, "data" | "eof" | "skip" | "close") {
            desk.give(&header(Form::Hex, kind::ZRPOS, 0));
        }
        match state {
            "skip" => desk.engine.command(
                &mut Cx { now: desk.now, trace: &mut Edges::new() },
                wetstring_proto::Command::CancelFile,
            ),
            "close" => drop(desk.give(&whole(kind::ZRINIT))),
            _ => {}
        }
        desk.wait(Duration::from_millis(1500));
        assert!(!matches!(desk.engine.status(), Status::Over(_)), "{state}");
        desk.cell(&whole(kind))
    });
}
