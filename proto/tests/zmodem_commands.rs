//! ZMODEM's commands for the peer's system, and the questions of either end.

use crate::common;
use crate::zmodem_exchange;

use common::{File, Sink, Source};
use wetstring_proto::zmodem::packet::{Form, end, kind};
use wetstring_proto::zmodem::{Attention, Config};
use wetstring_proto::{
    Blame, Engine, FailureKind, Outcome, Remote, RemoteReply, Reply, Request, Store, StoreError,
};
use zmodem_exchange::{
    config, data, failure, file, flags, header, receiver, script, sender, turn_against,
};

#[test]
fn commands_are_refused() {
    for (setting, status) in [("refuse", 1), ("announce", 0)] {
        let mut r = receiver(&config(&[("commands", setting)]));
        let command =
            [header(Form::Bin32, kind::ZCOMMAND, 0), data(Form::Bin32, b"rm -rf /\0", end::ZCRCW)];
        let parts = vec![
            flags(Form::Hex, kind::ZRQINIT, [0, 0, 0, kind::ZCOMMAND]),
            command.concat(),
            header(Form::Hex, kind::ZFIN, 0),
            b"OO".to_vec(),
        ];
        let exchange = turn_against(&mut r, &mut Sink::new(), script(parts));
        assert_eq!(r.status().outcome(), Some(Outcome::Done));
        assert!(exchange.headers().contains(&(kind::ZCOMPL, status)), "{:?}", exchange.headers());
        assert!(exchange.events.iter().any(|event| event.starts_with("Message")));
    }
}

/// Remembers what it was asked to run.
struct Runner(Vec<Vec<u8>>);

impl Store for Runner {
    fn answer<'s>(&'s mut self, request: Request<'_>) -> Reply<'s> {
        match request {
            Request::Remote(Remote::Run { command }) => {
                self.0.push(command.to_vec());
                Reply::Remote(RemoteReply::Ran(7))
            }
            _ => Reply::Failed(StoreError::Unsupported),
        }
    }
}

/// Once, although the sender repeats it; at once, or when the session is over.
#[test]
fn a_command_that_is_allowed_is_run_once() {
    for (immediate, status) in [(0, 7), (1, 0)] {
        let mut r = receiver(&config(&[("commands", "run")]));
        let command = [
            flags(Form::Bin32, kind::ZCOMMAND, [0, 0, 0, immediate]),
            data(Form::Bin32, b"date\0", end::ZCRCW),
        ];
        let command = command.concat();
        let finish = [header(Form::Hex, kind::ZFIN, 0), b"OO".to_vec()];
        let parts = [&[command.clone(), command][..], &finish].concat();
        let mut store = Runner(Vec::new());
        let exchange = turn_against(&mut r, &mut store, script(parts));
        assert_eq!(r.status().outcome(), Some(Outcome::Done));
        assert_eq!(store.0, [b"date".to_vec()]);
        let told = exchange.headers().iter().filter(|h| **h == (kind::ZCOMPL, status)).count();
        assert_eq!(told, 2, "{:?}", exchange.headers());
    }
    // A session that fails runs nothing of what was to wait for its end.
    let mut r = receiver(&config(&[("commands", "run"), ("patience", "3")]));
    let command = [
        flags(Form::Bin32, kind::ZCOMMAND, [0, 0, 0, 1]),
        data(Form::Bin32, b"date\0", end::ZCRCW),
    ];
    let mut store = Runner(Vec::new());
    turn_against(&mut r, &mut store, script(vec![command.concat()]));
    assert!(store.0.is_empty());
    assert_eq!(failure(&r), (Blame::Peer, FailureKind::Silence));
}

/// Words for interrupting the sender go before the command.
#[test]
pub(crate) fn command_follows_the_attention_string() {
    let set = Config { attention: Attention::new(&[3]), ..config(&[]) };
    let mut s = sender(&set).with_command(b"ls", false).unwrap();
    let parts = vec![
        flags(Form::Hex, kind::ZRINIT, [0, 0, 0, 0x23]),
        header(Form::Hex, kind::ZACK, 0),
        header(Form::Hex, kind::ZCOMPL, 7),
        header(Form::Hex, kind::ZFIN, 0),
    ];
    let exchange = turn_against(&mut s, &mut Source::new(vec![]), script(parts));
    assert_eq!(s.status().outcome(), Some(Outcome::Done));
    let kinds: Vec<u8> = exchange.headers().into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(kinds, [kind::ZRQINIT, kind::ZSINIT, kind::ZCOMMAND, kind::ZFIN]);
    assert!(
        exchange.events.contains(&"Completed { status: 7 }".to_owned()),
        "{:?}",
        exchange.events
    );
}

#[test]
fn questions_are_answered() {
    let mut r = receiver(&config(&[("free", "123456"), ("challenge", "77")]));
    let parts = vec![
        header(Form::Hex, kind::ZRQINIT, 0),
        // Before the number comes back, no file.
        file(b"f\x000 0 0\0"),
        header(Form::Hex, kind::ZACK, 76),
        header(Form::Hex, kind::ZACK, 77),
        header(Form::Hex, kind::ZFREECNT, 0),
        header(Form::Hex, kind::ZFIN, 0),
        b"OO".to_vec(),
    ];
    let mut sink = Sink::new();
    let exchange = turn_against(&mut r, &mut sink, script(parts));
    assert_eq!(r.status().outcome(), Some(Outcome::Done));
    assert!(exchange.headers().contains(&(kind::ZACK, 123_456)));
    assert_eq!(exchange.count(kind::ZRINIT), 1);
    assert!(sink.files.is_empty());
    // A sender gives a number back, and tells the CRC of its file.
    let mut s = sender(&config(&[]));
    let mut source = Source::new(vec![File::new("f", b"hello")]);
    let begin = header(Form::Hex, kind::ZRINIT, 0x2300_0000);
    let parts = vec![
        header(Form::Hex, kind::ZCHALLENGE, 0xDEAD_BEEF),
        begin.clone(),
        header(Form::Hex, kind::ZCRC, 0),
        header(Form::Hex, kind::ZRPOS, 0),
        begin,
        header(Form::Hex, kind::ZFIN, 0),
    ];
    let exchange = turn_against(&mut s, &mut source, script(parts));
    assert_eq!(s.status().outcome(), Some(Outcome::Done));
    let digest = common::digest(b"hello");
    let crc = u32::from_be_bytes([digest[0], digest[1], digest[2], digest[3]]);
    assert!(exchange.headers().contains(&(kind::ZACK, 0xDEAD_BEEF)));
    assert!(exchange.headers().contains(&(kind::ZCRC, crc)), "{:?}", exchange.headers());
}
