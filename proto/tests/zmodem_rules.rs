//! What a peer may retransmit, too late, or of another file.

use crate::bench::Bench;
use crate::common;
use crate::zmodem_exchange;

use common::{File, Pair, Sink, Source};
use std::cell::RefCell;
use wetstring_proto::zmodem::packet::{Form, end, kind};
use wetstring_proto::zmodem::{Config, Receiver};
use wetstring_proto::{
    Cx, Duration, Engine, FailureKind, FileInfo, Instant, Outcome, Refusal, Reply, Request, Store,
    StoreError,
};
use wetstring_testkit::{Edges, Picky, Shrinking};
use zmodem_exchange::{
    Exchange, config, data, failure, file, flags, header, receiver, script, sender, turn_against,
};

fn ready() -> Vec<u8> {
    flags(Form::Hex, kind::ZRINIT, [0, 0, 0, 0x23])
}

fn impatient() -> Config {
    config(&[("patience", "5"), ("retries", "5"), ("timeout", "1")])
}

/// One frame after the other, each 20 ms, made by its number.
fn by_number(mut make: impl FnMut(usize) -> Vec<u8>) -> impl FnMut(Duration) -> Vec<u8> {
    let mut number = 0;
    move |_| {
        number += 1;
        make(number)
    }
}

#[test]
fn receiver_rejecting_everything_ends_the_sender() {
    let mut sender = sender(&impatient());
    let mut source = Source::new(vec![File::new("f", b"hello")]);
    let exchange = turn_against(
        &mut sender,
        &mut source,
        by_number(|number| match number {
            1 => vec![],
            2 => ready(),
            _ => header(Form::Hex, kind::ZNAK, 0),
        }),
    );
    assert_eq!(failure(&sender).1, FailureKind::TooManyRetries);
    assert!(exchange.count(kind::ZFILE) <= 7, "{}", exchange.count(kind::ZFILE));
}

/// The sender may be gone before our ZFIN has left: it has said that this is all.
#[test]
fn line_closing_before_the_last_zfin_is_success() {
    let mut receiver = receiver(&config(&[]));
    let mut sink = Sink::new();
    let mut bench = Bench::new(&mut receiver, &mut sink);
    bench.give(&header(Form::Hex, kind::ZRQINIT, 0));
    bench.give(&file(b"f\x005 0 0 0 1 5\0"));
    let frame = [header(Form::Bin32, kind::ZDATA, 0), data(Form::Bin32, b"hello", end::ZCRCE)];
    bench.give(&frame.concat());
    bench.give(&header(Form::Hex, kind::ZEOF, 5));
    assert_eq!(bench.engine.if_closed(), None, "ZFIN has not come");
    let mut cx = Cx { now: bench.now, trace: &mut Edges::new() };
    let last = header(Form::Hex, kind::ZFIN, 0);
    assert_eq!(bench.engine.receive(&mut cx, &last), last.len());
    assert!(!bench.engine.transmit(&mut cx).is_empty(), "ZFIN waits to be sent");
    assert_eq!(bench.engine.if_closed(), Some(Outcome::Done), "it was never sent");
    assert!(sink.files[0].complete);
}

#[test]
fn endless_challenges_end_the_sender() {
    let mut sender = sender(&impatient());
    let mut source = Source::new(vec![File::new("f", b"hello")]);
    turn_against(
        &mut sender,
        &mut source,
        by_number(|number| header(Form::Hex, kind::ZCHALLENGE, number as u32)),
    );
    assert_eq!(failure(&sender).1, FailureKind::TooManyRetries);
}

#[test]
fn positions_back_and_forth_are_no_progress() {
    let mut sender = sender(&impatient());
    let mut source = Source::new(vec![File::new("f", &[b'x'; 3000])]);
    let exchange = turn_against(
        &mut sender,
        &mut source,
        by_number(|number| match number {
            1 => vec![],
            2 => ready(),
            _ => header(Form::Hex, kind::ZRPOS, if number % 2 == 0 { 1000 } else { 0 }),
        }),
    );
    assert_eq!(failure(&sender).1, FailureKind::TooManyRetries);
    assert!(exchange.count(kind::ZDATA) <= 9, "{}", exchange.count(kind::ZDATA));
}

/// The same frames, indefinitely, to a receiver.
fn words_without_end(words: &[u8], first: &[u8]) -> (Exchange, FailureKind) {
    let mut receiver = receiver(&impatient());
    let mut sink = Sink::new();
    let exchange = turn_against(
        &mut receiver,
        &mut sink,
        by_number(|number| match number {
            1 => first.to_vec(),
            2 => vec![],
            _ => words.to_vec(),
        }),
    );
    (exchange, failure(&receiver).1)
}

#[test]
fn endlessly_repeating_sender_ends_the_receiver() {
    let attention =
        [header(Form::Hex, kind::ZSINIT, 0), data(Form::Hex, b"\0", end::ZCRCW)].concat();
    let nothing =
        [header(Form::Bin32, kind::ZDATA, 0), data(Form::Bin32, b"", end::ZCRCW)].concat();
    for (label, words, first) in [
        ("a file without a name", file(b"\0"), vec![]),
        ("a file that is here", file(b"f\x003000\0"), file(b"f\x003000\0")),
        ("a start", header(Form::Hex, kind::ZRQINIT, 0), vec![]),
        ("garbled", header(Form::Hex, kind::ZNAK, 0), vec![]),
        ("how much is free", header(Form::Hex, kind::ZFREECNT, 0), vec![]),
        ("attention", attention, vec![]),
        ("data of no length", nothing, file(b"f\x003000\0")),
    ] {
        let (exchange, kind) = words_without_end(&words, &first);
        assert_eq!(kind, FailureKind::TooManyRetries, "{label}");
        assert!(exchange.took < Duration::from_secs(100), "{label}: {:?}", exchange.took);
    }
}

/// A CR at the end of a subpacket, and a write that is answered while the next one comes in.
#[test]
fn line_end_across_writes_is_converted() {
    // Room for another subpacket while the store is asked to take the first.
    let mut set = Config { buffer_len: 32_768, ..config(&[]) };
    set.line.rate_bps = 9600;
    let mut receiver = receiver(&set);
    let mut sink = Sink::new();
    let mut step = |receiver: &mut Receiver<Vec<u8>>, bytes: &[u8], answer: bool| {
        let cx = &mut Cx { now: Instant(1), trace: &mut Edges::new() };
        let mut used = 0;
        let mut take = |receiver: &mut Receiver<Vec<u8>>, cx: &mut Cx<'_>| loop {
            match receiver.receive(cx, &bytes[used..]) {
                0 => return used,
                more => used += more,
            }
        };
        // An offer is taken up to its end; the XON after it waits.
        take(receiver, cx);
        while let Some(request) = receiver.request().filter(|_| answer) {
            let reply = sink.answer(request);
            receiver.reply(cx, reply);
        }
        assert_eq!(take(receiver, cx), bytes.len());
        let len = receiver.transmit(cx).len();
        receiver.transmitted(cx, len);
    };
    let info = data(Form::Bin32, b"t\0", end::ZCRCW);
    let offer = [flags(Form::Bin32, kind::ZFILE, [0, 0, 0, 2]), info].concat();
    step(&mut receiver, &offer, true);
    let mut first = vec![b'a'; 5000];
    first.push(b'\r');
    let first = data(Form::Bin32, &first, end::ZCRCG);
    step(&mut receiver, &[header(Form::Bin32, kind::ZDATA, 0), first].concat(), false);
    let second = data(Form::Bin32, b"\nsecond line 12345", end::ZCRCE);
    step(&mut receiver, &second[..10], false);
    assert!(receiver.request().is_some(), "a write is wanted");
    step(&mut receiver, &[], true);
    step(&mut receiver, &second[10..], true);
    assert_eq!(receiver.stats().damaged, 0);
    step(&mut receiver, &header(Form::Bin32, kind::ZEOF, 5019), true);
    let expected = [&[b'a'; 5000][..], b"\nsecond line 12345"].concat();
    assert_eq!(sink.files[0].bytes, expected);
    assert!(sink.files[0].complete);
}

/// Refuses files of 3000 bytes, and notes all offers.
fn refuses_3000(
    offers: &RefCell<Vec<String>>,
) -> Picky<Sink, impl FnMut(&FileInfo<'_>, &mut Sink) -> Option<Refusal>> {
    let choose = move |info: &FileInfo<'_>, _: &mut Sink| {
        let name = String::from_utf8_lossy(info.name);
        offers.borrow_mut().push(format!("{name} {:?}", info.size));
        (info.size == Some(3000)).then_some(Refusal::Exists)
    };
    Picky { inner: Sink::new(), choose }
}

/// a/x is refused, b/x is not: both are called x on the wire.
#[test]
fn second_file_of_same_name_is_another_file() {
    let mut receiver = receiver(&config(&[]));
    let offers = RefCell::new(Vec::new());
    let mut sink = refuses_3000(&offers);
    let mut parts = vec![file(b"x\x003000 0 0 0 2\0")];
    parts.resize(60, vec![]);
    // Again, because the ZSKIP was lost.
    parts.push(file(b"x\x003000 0 0 0 2\0"));
    parts.resize(120, vec![]);
    parts.push(file(b"x\x005 0 0 0 1\0"));
    parts.resize(130, vec![]);
    parts.push(
        [header(Form::Bin32, kind::ZDATA, 0), data(Form::Bin32, b"hello", end::ZCRCE)].concat(),
    );
    parts.push(header(Form::Hex, kind::ZEOF, 5));
    parts.resize(140, vec![]);
    parts.push([header(Form::Hex, kind::ZFIN, 0), b"OO".to_vec()].concat());
    let exchange = turn_against(&mut receiver, &mut sink, script(parts));
    assert_eq!(*offers.borrow(), ["x Some(3000)", "x Some(5)"]);
    assert_eq!((exchange.count(kind::ZSKIP), receiver.stats().files_done), (2, 1));
    assert_eq!(receiver.stats().files_skipped, 1);
}

/// Wants the sender's CRC before it decides.
struct Doubting;

impl Store for Doubting {
    fn answer<'s>(&'s mut self, request: Request<'_>) -> Reply<'s> {
        if let Request::Offer { .. } = request { Reply::TellCheck } else { Reply::Done }
    }
}

/// The store has not opened it, so there is nothing to close.
#[test]
pub(crate) fn file_left_while_its_check_is_awaited() {
    let mut receiver = receiver(&config(&[]));
    let parts = vec![
        file(b"x\x005 0 0 0 1\0"),
        header(Form::Hex, kind::ZSKIP, 0),
        [header(Form::Hex, kind::ZFIN, 0), b"OO".to_vec()].concat(),
    ];
    let exchange = turn_against(&mut receiver, &mut Doubting, script(parts));
    assert_eq!(receiver.status().outcome(), Some(Outcome::Done));
    let kinds: Vec<u8> = exchange.headers().into_iter().map(|(kind, _)| kind).collect();
    assert!(kinds.ends_with(&[kind::ZCRC, kind::ZRINIT, kind::ZFIN]), "{:?}", exchange.headers());
    assert_eq!((receiver.stats().files_done, receiver.stats().files_skipped), (0, 1));
}

/// Our ZSKIP says which file it is about.
#[test]
fn a_late_zskip_is_about_the_file_before() {
    let files = ["a", "b"].map(|name| File::new(name, b"12345"));
    let mut receiver = receiver(&config(&[]));
    let mut sink = Sink { refuse: Some(Refusal::Exists), ..Sink::new() };
    // What our receiver says to the first of the two.
    let offer = file(b"a\x005 0 0 0 0 0\0");
    let end = header(Form::Hex, kind::ZFIN, 0);
    let exchange = turn_against(&mut receiver, &mut sink, script(vec![offer, vec![], end]));
    let (_, tag) = exchange.headers().into_iter().find(|(kind, _)| *kind == kind::ZSKIP).unwrap();
    assert_ne!(tag, 0);
    // What our sender takes for it, by trial: the tag follows from the bytes of its ZFILE.
    for late in [true, false] {
        let mut sender = sender(&config(&[]));
        let mut source = Source::new(files.to_vec());
        let skip = header(Form::Hex, kind::ZSKIP, if late { source_tag(0) } else { 0x23 });
        let mut parts = vec![vec![], ready(), vec![], skip.clone()];
        parts.resize(120, vec![]);
        parts.push(skip);
        parts.resize(125, vec![]);
        parts.push(header(Form::Hex, kind::ZRPOS, 0));
        parts.resize(130, vec![]);
        parts.push(ready());
        parts.resize(135, vec![]);
        parts.push(header(Form::Hex, kind::ZFIN, 0));
        turn_against(&mut sender, &mut source, script(parts));
        let done = sender.stats().files_done;
        // From anybody else a second one has to be believed.
        assert_eq!(done, u64::from(late), "late {late}");
    }
}

/// What our receivers call a file of `Source`: the check of what ZFILE says of it.
fn source_tag(index: usize) -> u32 {
    let mut sender = sender(&config(&[]));
    let mut source = Source::new(vec![File::new("a", b"12345"), File::new("b", b"12345")]);
    let mut receiver = receiver(&config(&[]));
    let mut sink = Sink { refuse: Some(Refusal::Exists), ..Sink::new() };
    let ends = Pair::new(&mut sender, &mut receiver, &mut source, &mut sink).run();
    let exchange = Exchange { sent: ends.to_sender, events: vec![], took: Duration::ZERO };
    let skips = exchange.headers().into_iter().filter(|(kind, _)| *kind == kind::ZSKIP);
    skips.map(|(_, tag)| tag).nth(index).unwrap()
}

/// Other programs' senders skip a file for each ZSKIP, requested or not.
#[test]
fn a_zskip_is_not_repeated_in_haste() {
    let mut receiver = receiver(&config(&[]));
    let offers = RefCell::new(Vec::new());
    let mut sink = refuses_3000(&offers);
    let mut parts = vec![vec![], vec![], file(b"x\x003000\0")];
    // 9.9 seconds.
    parts.resize(498, vec![]);
    parts.push([header(Form::Hex, kind::ZFIN, 0), b"OO".to_vec()].concat());
    let exchange = turn_against(&mut receiver, &mut sink, script(parts));
    assert_eq!(exchange.count(kind::ZSKIP), 1);
}

/// As senders in browsers do: ZSINIT before each ZFILE, and dead at a ZSKIP that nothing asked for.
#[test]
fn sender_with_zsinit_before_each_file_is_served() {
    let attention =
        [header(Form::Hex, kind::ZSINIT, 0), data(Form::Hex, b"\0", end::ZCRCW)].concat();
    let mut receiver = receiver(&config(&[]));
    let offers = RefCell::new(Vec::new());
    let mut sink = refuses_3000(&offers);
    let mut parts = vec![
        header(Form::Hex, kind::ZRQINIT, 0),
        attention.clone(),
        file(b"x\x003000 0 0 0 3\0"),
        attention.clone(),
    ];
    parts.extend([
        file(b"y\x003000 0 0 0 2\0"),
        attention.clone(),
        file(b"z\x005 0 0 0 1\0"),
        [header(Form::Bin32, kind::ZDATA, 0), data(Form::Bin32, b"hello", end::ZCRCE)].concat(),
        header(Form::Hex, kind::ZEOF, 5),
        [header(Form::Hex, kind::ZFIN, 0), b"OO".to_vec()].concat(),
    ]);
    let exchange = turn_against(&mut receiver, &mut sink, script(parts));
    assert_eq!(*offers.borrow(), ["x Some(3000)", "y Some(3000)", "z Some(5)"]);
    assert_eq!((exchange.count(kind::ZSKIP), exchange.count(kind::ZACK)), (2, 3), "{exchange:?}");
    assert_eq!(receiver.status().outcome(), Some(Outcome::Done));
    assert_eq!(receiver.stats().files_done, 1);
}

/// sz was killed in the middle of a file, and is started again.
#[test]
fn restarted_sender_is_served() {
    let mut receiver = receiver(&config(&[]));
    let mut sink = Sink::new();
    let half = [header(Form::Bin32, kind::ZDATA, 0), data(Form::Bin32, b"hel", end::ZCRCE)];
    let whole = [header(Form::Bin32, kind::ZDATA, 0), data(Form::Bin32, b"hello", end::ZCRCE)];
    let mut parts = vec![vec![], file(b"z\x005 0 0 0 1\0"), half.concat(), vec![]];
    parts.extend([
        header(Form::Hex, kind::ZRQINIT, 0),
        file(b"z\x005 0 0 0 1\0"),
        whole.concat(),
        header(Form::Hex, kind::ZEOF, 5),
        [header(Form::Hex, kind::ZFIN, 0), b"OO".to_vec()].concat(),
    ]);
    turn_against(&mut receiver, &mut sink, script(parts));
    assert_eq!(receiver.status().outcome(), Some(Outcome::Done));
    let got: Vec<_> = sink.files.iter().map(|file| (&file.bytes[..], file.complete)).collect();
    assert_eq!(got, [(&b"hel"[..], false), (&b"hello"[..], true)]);
}

/// ZFILE of the next file comes in byte by byte, over more than ten seconds.
#[test]
fn incoming_packet_is_read_to_its_end() {
    let mut receiver = receiver(&config(&[]));
    let offers = RefCell::new(Vec::new());
    let mut sink = refuses_3000(&offers);
    let next = file(b"y\x005 0 0 0 1\0");
    let (start, gap) = (10, 20);
    let exchange = turn_against(
        &mut receiver,
        &mut sink,
        by_number(|number| match number {
            3 => file(b"x\x003000\0"),
            n if n >= start && n % gap == 0 => {
                next.get(n / gap - 1).map(|byte| vec![*byte]).unwrap_or_default()
            }
            n if n == start + gap * (next.len() + 40) => header(Form::Hex, kind::ZFIN, 0),
            _ => vec![],
        }),
    );
    assert_eq!(*offers.borrow(), ["x Some(3000)", "y Some(5)"]);
    assert_eq!((exchange.count(kind::ZSKIP), exchange.count(kind::ZNAK)), (1, 0));
}

/// A pipe: gives each byte once.
struct Pipe {
    at: Option<u64>,
}

impl Store for Pipe {
    fn answer<'s>(&'s mut self, request: Request<'_>) -> Reply<'s> {
        match request {
            Request::Next if self.at.is_none() => {
                self.at = Some(0);
                Reply::File(FileInfo { name: b"p", ..FileInfo::default() })
            }
            Request::Next => Reply::NoMoreFiles,
            Request::Read { offset, .. } if Some(offset) != self.at => {
                Reply::Failed(StoreError::Unsupported)
            }
            Request::Read { offset, into } => {
                let len = into.len().min(200_000 - offset as usize);
                for (byte, position) in into[..len].iter_mut().zip(offset..) {
                    *byte = (position / 7) as u8;
                }
                self.at = Some(offset + len as u64);
                Reply::Read(len)
            }
            _ => Reply::Done,
        }
    }
}

#[test]
fn a_pipe_survives_errors() {
    let mut set = Config { buffer_len: 128 * 1024, ..config(&[]) };
    set.line.rate_bps = 115_200;
    let (mut sender, mut receiver) = (sender(&set), receiver(&set));
    let (mut source, mut sink) = (Pipe { at: None }, Sink::new());
    let mut pair = Pair::new(&mut sender, &mut receiver, &mut source, &mut sink);
    let (mut total, mut hits) = (0, 0);
    pair.chunk = 512;
    pair.meddle = Box::new(move |to_receiver, bytes| {
        total += if to_receiver { bytes.len() } else { 0 };
        if to_receiver && total > 9000 + 30_000 * hits && bytes.len() > 5 {
            bytes[5] ^= 0x55;
            hits += 1;
        }
    });
    let ends = pair.run();
    assert_eq!((ends.sender, ends.receiver), (Outcome::Done, Outcome::Done));
    let whole: Vec<u8> = (0..200_000u64).map(|position| (position / 7) as u8).collect();
    assert!(sink.files[0].bytes == whole);
    assert!(sender.stats().retransmissions > 2);
}

/// Events are read late, as a host does that reads them after the store.
#[test]
fn refused_file_is_reported_by_its_own_name() {
    let set = config(&[]);
    let mut sender = sender(&set);
    let mut source = Source::new(vec![File::new("f1", b"one"), File::new("f2", b"two")]);
    let mut parts = vec![vec![], ready(), vec![], header(Form::Hex, kind::ZSKIP, 0)];
    parts.resize(60, vec![]);
    parts.push(header(Form::Hex, kind::ZRPOS, 0));
    parts.push(vec![]);
    parts.push(ready());
    parts.push(header(Form::Hex, kind::ZFIN, 0));
    let exchange = turn_against(&mut sender, &mut source, script(parts));
    let of_files: Vec<_> = exchange.events.iter().filter(|event| event.contains("File")).collect();
    let name = |name: &str| format!("{:?}", name.as_bytes());
    assert!(
        of_files[0].contains("FileRefused") && of_files[0].contains(&name("f1")),
        "{of_files:?}"
    );
    assert!(
        of_files[1].contains("FileStarted") && of_files[1].contains(&name("f2")),
        "{of_files:?}"
    );
}

#[test]
fn file_truncated_while_sent_is_failure() {
    let set = config(&[]);
    for len in [0, 13_000] {
        let (mut sender, mut receiver) = (sender(&set), receiver(&set));
        let mut source =
            Shrinking { inner: Source::new(vec![File::new("f", &[b'x'; 30_000])]), left: len };
        let mut sink = Sink::new();
        let ends = Pair::new(&mut sender, &mut receiver, &mut source, &mut sink).run();
        assert!(!sink.files.iter().any(|file| file.complete), "{len}");
        assert!(matches!(ends.receiver, Outcome::Failed(_)), "{len}");
        assert_eq!(failure(&sender).1, FailureKind::Store(StoreError::Changed), "{len}");
    }
}

/// Noise hits the end of the last subpacket: the receiver would take one ZEOF after the other for
/// data until its own timer ends. What the sender repeats brings it out at once.
#[test]
fn a_repeated_zeof_ends_the_data_it_would_be_taken_for() {
    for form in [Form::Bin16, Form::Bin32] {
        let mut sender = sender(&impatient());
        let can = if form == Form::Bin32 { 0x20 } else { 0 };
        let init = flags(Form::Hex, kind::ZRINIT, [0, 0, 0, 0x03 | can]);
        let mut source = Source::new(vec![File::new("a.bin", &[b'x'; 100])]);
        let answers = vec![init, header(Form::Hex, kind::ZRPOS, 0)];
        let sent = turn_against(&mut sender, &mut source, script(answers)).sent;
        let last = [0x18, end::ZCRCE];
        let at = sent.windows(2).position(|pair| pair == last).expect("the data end");
        let eof = header(form, kind::ZEOF, 100);
        let first = sent.windows(eof.len()).position(|w| w == eof).expect("a ZEOF") + eof.len();
        assert!(at < first, "the data end in front of ZEOF");
        let mut before = sent[..first].to_vec();
        before[at] = b'?';
        let second = sent[first..].windows(eof.len()).position(|w| w == eof).expect("once more");
        let again = sent[first..first + second + eof.len()].to_vec();

        let mut receiver = receiver(&config(&[("timeout", "60")]));
        let (mut sink, mut said_again) = (Sink::new(), false);
        let mut started = false;
        let exchange = turn_against(&mut receiver, &mut sink, |at| {
            if !core::mem::replace(&mut started, true) {
                return before.clone();
            }
            match at {
                at if at < Duration::from_secs(1) => Vec::new(),
                _ if !core::mem::replace(&mut said_again, true) => again.clone(),
                at if at < Duration::from_secs(2) => Vec::new(),
                _ => vec![0x18; 8],
            }
        });
        let asked = exchange.headers().iter().filter(|h| **h == (kind::ZRPOS, 0)).count();
        assert_eq!(asked, 2, "{form:?}: the first ZRPOS, and one for the data: {exchange:?}");
    }
}
