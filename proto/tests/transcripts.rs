//! Recorded sessions, played against one engine: `vectors/transcripts/*.txt`.
//!
//! ```text
//! # a comment: who spoke, which version, what it shows
//! engine receiver                 the engine under test: sender, receiver or server, or a client
//! engine client GC$/srv           of a server: type of its packet, and the words in it
//! said "text"                     what a server's store answers to the next command
//! denied "text"                   the same, and it says no
//! follow                          the same: the files follow; or `follow screen`
//! told "text"                     the client was told this
//! set kermit.check 1              a setting
//! file ls.bin "bytes"             a sender's file; repeated for a batch
//! resumed ls.bin "bytes"          the same, and the sender offers to continue it
//! refuse exists                   a receiver's store refuses what it is offered; or not-newer
//! has ls.bin "bytes"              what a receiver's store holds of it already
//! > %"Y.5!                        bytes that the peer sends: MARK and CR are added
//! < %"Y.5!                        the packet that the engine has to send now
//! <? S                            a packet of this type; its content is the engine's own affair
//! + 3s                            this much time passes
//! >| raw bytes\r                  bytes exactly as they stand
//! end done                        how it ends: done, or a word of the failure's message
//! got ls.bin "bytes"              what a receiver's store holds in the end, whole
//! ```
//!
//! In bytes `\r`, `\n`, `\t`, `\\`, `\"` and `\xHH` stand for what they stand for in Rust.

use crate::common;

use common::{File, Sink, Source};
use std::path::Path;
use std::time::Duration;
use wetstring_proto::kermit::{Config, Receiver, Sender};
use wetstring_proto::settings::Settings;
use wetstring_proto::{Cx, Engine, Instant, Outcome, Refusal, Store};
use wetstring_testkit::Edges;

/// The bytes that a text with escapes stands for.
fn unescape(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        bytes.push(match rest.next() {
            Some(b'r') => b'\r',
            Some(b'n') => b'\n',
            Some(b't') => b'\t',
            Some(b'x') => {
                let digits = [rest.next(), rest.next()].map(|d| d.unwrap_or(b'?'));
                let digits = String::from_utf8_lossy(&digits).into_owned();
                u8::from_str_radix(&digits, 16).unwrap_or_else(|_| panic!("{digits}: not hex"))
            }
            Some(other) => other,
            None => panic!("a lone backslash ends {text:?}"),
        });
    }
    bytes
}

/// A name and the quoted bytes after it.
fn named(rest: &str) -> File {
    let (name, bytes) = rest.split_once(' ').expect("NAME \"BYTES\"");
    let bytes = bytes.strip_prefix('"').and_then(|b| b.strip_suffix('"')).expect("quoted bytes");
    File::new(name, &unescape(bytes))
}

/// One session.
struct Play {
    place: String,
    config: Config,
    files: Vec<File>,
    partial: Vec<u8>,
    engine: Option<Box<dyn Engine>>,
    is_sender: bool,
    source: Source,
    sink: Sink,
    now: Instant,
    /// What the engine has sent and the transcript has not matched yet.
    sent: Vec<u8>,
}

impl Play {
    fn new() -> Self {
        let mut config = Config::default();
        // A transcript is about the wire; the waiting at the end is not.
        config.set("kermit.linger", "0").expect("a setting");
        Self {
            place: String::new(),
            config,
            files: Vec::new(),
            partial: Vec::new(),
            engine: None,
            is_sender: false,
            source: Source::new(Vec::new()),
            sink: Sink::new(),
            now: Instant(1_000_000_000),
            sent: Vec::new(),
        }
    }

    /// The engine, made when it is first needed.
    fn engine(&mut self) -> &mut dyn Engine {
        if self.engine.is_none() {
            self.source = Source::new(std::mem::take(&mut self.files));
            self.sink.partial = std::mem::take(&mut self.partial);
            let config = self.config.clone();
            self.engine = Some(if self.is_sender {
                let memory = vec![0; config.sender_memory()];
                Box::new(Sender::new(config, memory).expect("enough memory"))
            } else {
                let memory = vec![0; config.receiver_memory()];
                Box::new(Receiver::new(config, memory).expect("enough memory"))
            });
        }
        self.engine.as_deref_mut().expect("made above")
    }

    /// Turns the engine until it has nothing to do.
    fn settle(&mut self) {
        let now = self.now;
        self.engine();
        let engine = self.engine.as_deref_mut().expect("made above");
        loop {
            let mut moved = false;
            if let Some(request) = engine.request() {
                let store: &mut dyn Store =
                    if self.is_sender { &mut self.source } else { &mut self.sink };
                let reply = store.answer(request);
                engine.reply(&mut Cx { now, trace: &mut Edges::new() }, reply);
                moved = true;
            }
            let bytes = engine.transmit(&mut Cx { now, trace: &mut Edges::new() }).to_vec();
            if !bytes.is_empty() {
                engine.transmitted(&mut Cx { now, trace: &mut Edges::new() }, bytes.len());
                self.sent.extend_from_slice(&bytes);
                moved = true;
            }
            while engine.event().is_some() {
                moved = true;
            }
            if !moved {
                return;
            }
        }
    }

    fn hear(&mut self, bytes: &[u8]) {
        self.settle();
        let now = self.now;
        let mut at = 0;
        while at < bytes.len() {
            let cx = &mut Cx { now, trace: &mut Edges::new() };
            let used = self.engine().receive(cx, &bytes[at..]);
            at += used;
            self.settle();
            if used == 0 {
                break;
            }
        }
    }

    /// Lets time pass, stopping at each deadline.
    fn wait(&mut self, time: Duration) {
        self.settle();
        let until = self.now + time;
        while let Some(next) = self.engine().deadline().filter(|next| *next <= until) {
            self.now = self.now.max(next);
            let now = self.now;
            self.engine().tick(&mut Cx { now, trace: &mut Edges::new() });
            self.settle();
        }
        self.now = until;
    }

    /// The next packet the engine has sent, without MARK and CR.
    fn packet(&mut self) -> Vec<u8> {
        self.settle();
        let end = self.sent.iter().position(|byte| *byte == b'\r');
        let Some(end) = end else {
            panic!("{}: the engine has sent no packet: {}", self.place, self.sent.escape_ascii())
        };
        let packet: Vec<u8> = self.sent.drain(..=end).collect();
        let mark = packet.iter().position(|byte| *byte == 1).expect("a MARK");
        packet[mark + 1..packet.len() - 1].to_vec()
    }

    fn line(&mut self, line: &str) {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "engine" => self.is_sender = rest == "sender",
            "set" => {
                let (name, value) = rest.split_once(' ').expect("set NAME VALUE");
                self.config.set(name, value).unwrap_or_else(|e| panic!("{}: {e}", self.place));
            }
            "file" => self.files.push(named(rest)),
            "refuse" => {
                self.sink.refuse = Some(match rest {
                    "exists" => Refusal::Exists,
                    "not-newer" => Refusal::NotNewer,
                    _ => panic!("{}: expected a known refusal, got {rest:?}", self.place),
                });
            }
            "resumed" => {
                self.files.push(File { resume: true, ..named(rest) });
            }
            "has" => self.partial = named(rest).bytes,
            ">" => self.hear(&[b"\x01", &unescape(rest)[..], b"\r"].concat()),
            ">|" => self.hear(&unescape(rest)),
            "<" => {
                let (packet, place) = (self.packet(), self.place.clone());
                let (ours, theirs) = (packet.escape_ascii(), unescape(rest));
                assert_eq!(ours.to_string(), theirs.escape_ascii().to_string(), "{place}");
            }
            "<?" => {
                let packet = self.packet();
                let kind = packet.get(2).copied().map(char::from);
                assert_eq!(kind.map(String::from).as_deref(), Some(rest), "{}", self.place);
            }
            "+" => {
                let number = rest.strip_suffix('s').and_then(|n| n.parse().ok());
                self.wait(Duration::from_secs(number.expect("SECONDSs")));
            }
            "end" => self.ended(rest),
            "got" => {
                let wanted = named(rest);
                let found = self.sink.files.iter().find(|file| file.name == wanted.name);
                let found = found.unwrap_or_else(|| panic!("{}: no such file", self.place));
                assert!(found.complete, "{}: not whole", self.place);
                let (ours, theirs) = (found.bytes.escape_ascii(), wanted.bytes.escape_ascii());
                assert_eq!(ours.to_string(), theirs.to_string(), "{}", self.place);
            }
            _ => panic!("{}: expected a known word, got {word:?}", self.place),
        }
    }

    fn ended(&mut self, wanted: &str) {
        self.wait(Duration::ZERO);
        assert!(self.sent.is_empty(), "{}: left {}", self.place, self.sent.escape_ascii());
        let place = self.place.clone();
        match self.engine().status().outcome() {
            Some(Outcome::Done) => assert_eq!(wanted, "done", "{place}"),
            Some(Outcome::Failed(failure)) => {
                assert!(failure.to_string().contains(wanted), "{place}: {failure}");
            }
            None => panic!("{place}: it has not ended"),
        }
    }
}

fn play(path: &Path) {
    let text = std::fs::read_to_string(path).expect("a transcript");
    let mut play = Play::new();
    let mut ended = false;
    for (number, line) in text.lines().enumerate() {
        play.place = format!("{}:{}", path.display(), number + 1);
        if !line.trim().is_empty() && !line.starts_with('#') {
            play.line(line);
            ended |= line.starts_with("end ");
        }
    }
    assert!(ended, "{}: a transcript says how it ends", path.display());
}

#[test]
fn every_transcript() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../vectors/transcripts");
    let mut paths: Vec<_> = std::fs::read_dir(dir)
        .expect("vectors/transcripts")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|ext| ext == "txt"))
        .collect();
    paths.sort();
    assert!(paths.len() >= 8, "all transcripts are there: {paths:?}");
    for path in paths {
        play(&path);
    }
}

#[test]
#[should_panic(expected = "left")]
fn wrong_answer_is_detected() {
    let mut play = Play::new();
    play.line("engine receiver");
    play.line("> 9 S~/ @-#Y3~^>J)0___J\"U1@C");
    play.line("< %!Y,\\\\I");
}
