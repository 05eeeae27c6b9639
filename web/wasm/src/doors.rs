//! The doors of an engine, for JavaScript: what each number means.

use wetstring_proto::{
    Command, Cx, DigestKind, Event, FileInfo, LineFacts, NoTrace, Outcome, Refusal, Reply, Request,
    Status, StoreError,
};

#[cfg(feature = "extended")]
use crate::extended;
use crate::{Session, instant, is_for, milliseconds, protocols};

/// Both ends of a file's name and size in numbers: see [`Session::describe`].
const NONE: f64 = -1.0;
/// Bytes of a signature of a block.
const SIGNATURE: usize = 12;

/// Refusals, by number; `web/src/engine.ts` has the same list.
const REFUSALS: [Refusal; 5] =
    [Refusal::Declined, Refusal::Name, Refusal::Exists, Refusal::NoSpace, Refusal::NotStored];

/// Failures of the store, by number.
const STORE_ERRORS: [StoreError; 6] = [
    StoreError::Io,
    StoreError::NoSpace,
    StoreError::Permission,
    StoreError::NotFound,
    StoreError::Changed,
    StoreError::Unsupported,
];

impl Session {
    /// Makes an engine. The first line of `text` is the protocol; each other is a setting, `name=value`, or a
    /// fact of the line: `line.reliable=true`, `line.clear=true`, `line.rate=9600`.
    pub(crate) fn create(&mut self, sends: bool, len: usize) -> Result<(), String> {
        let text = String::from_utf8_lossy(&self.input[..len]).into_owned();
        let mut lines = text.lines();
        let name = lines.next().unwrap_or_default();
        let Some((family, entry, make)) = protocols().find(|(_, entry, _)| entry.name == name)
        else {
            let names: Vec<_> = protocols().map(|(_, entry, _)| entry.name).collect();
            return Err(format!("expected one of {}, got {name}", names.join(", ")));
        };
        let mut facts = LineFacts::default();
        let mut settings = Vec::new();
        for line in lines {
            let Some((name, value)) = line.split_once('=') else {
                return Err(format!("expected NAME=VALUE, got {line}"));
            };
            match name {
                "line.reliable" => facts.reliable = value.parse().ok(),
                "line.clear" => facts.clear = value == "true",
                "line.rate" => facts.rate_bps = value.parse().unwrap_or(0),
                // Those of other families are for other transfers.
                _ if !is_for(family, name) => {}
                _ => settings.push((name, value)),
            }
        }
        self.engine = Some(make(entry, &settings, facts, sends)?);
        Ok(())
    }

    /// Bytes `from..to` of the input; returns how many were taken.
    pub(crate) fn receive(&mut self, now_ms: f64, from: usize, to: usize) -> usize {
        self.now = instant(now_ms);
        let Self { engine: Some(engine), input, .. } = self else { return 0 };
        let Some(bytes) = input.get(from..to) else { return 0 };
        engine.receive(&mut Cx { now: instant(now_ms), trace: &mut NoTrace }, bytes)
    }

    /// Lends the bytes to send next: their address and length.
    pub(crate) fn transmit(&mut self, now_ms: f64) -> usize {
        let Some(engine) = &mut self.engine else { return 0 };
        let bytes = engine.transmit(&mut Cx { now: instant(now_ms), trace: &mut NoTrace });
        let (address, len) = (bytes.as_ptr(), bytes.len());
        self.lend(0, address, len);
        len
    }

    /// This many of them have left.
    pub(crate) fn transmitted(&mut self, now_ms: f64, len: usize) {
        if let Some(engine) = &mut self.engine {
            engine.transmitted(&mut Cx { now: instant(now_ms), trace: &mut NoTrace }, len);
        }
    }

    /// When a timer runs out.
    pub(crate) fn deadline(&self) -> f64 {
        milliseconds(self.engine.as_ref().and_then(|engine| engine.deadline()))
    }

    /// Runs timers.
    pub(crate) fn tick(&mut self, now_ms: f64) {
        self.now = instant(now_ms);
        if let Some(engine) = &mut self.engine {
            engine.tick(&mut Cx { now: instant(now_ms), trace: &mut NoTrace });
        }
    }

    /// The engine's request: 0 none, 1 the next file, 2 read (numbers 0, 1: where to put it; 2: the position),
    /// 3 an offer ([`Session::describe`]), 4 write (0, 1: the bytes; 2: the position), 5 what is held, 6 a digest
    /// (2: CRC-32 or not, 3: the length), 7 of another kind, 8 close (2: complete, 3: compared), 9 signatures (2: the
    /// position, 3: the length of a block, 4: how many), 10 put aside, 11 settled, 12 passed over.
    pub(crate) fn request(&mut self) -> u32 {
        self.answer();
        let Self { engine: Some(engine), numbers, second, .. } = self else { return 0 };
        let Some(request) = engine.request() else { return 0 };
        match request {
            Request::Next => 1,
            Request::Read { offset, into } => {
                numbers[..3].copy_from_slice(&[
                    into.as_mut_ptr() as usize as f64,
                    into.len() as f64,
                    offset as f64,
                ]);
                2
            }
            Request::Offer { info } => {
                describe(&info, numbers, second);
                3
            }
            Request::Write { offset, bytes } => {
                numbers[..3].copy_from_slice(&[
                    bytes.as_ptr() as usize as f64,
                    bytes.len() as f64,
                    offset as f64,
                ]);
                4
            }
            Request::Held { .. } => 5,
            Request::Digest { kind, len } => {
                numbers[2] = f64::from(u8::from(kind == DigestKind::Crc32));
                numbers[3] = len as f64;
                6
            }
            Request::Close { complete, verified } => {
                numbers[2] = f64::from(u8::from(complete));
                numbers[3] = f64::from(u8::from(verified));
                8
            }
            Request::Signatures { from, block, into } => {
                numbers[2] = from as f64;
                numbers[3] = f64::from(block);
                numbers[4] = (into.len() / SIGNATURE) as f64;
                9
            }
            Request::Aside => 10,
            Request::Settle { .. } => 11,
            Request::PassOver => 12,
            _ => 7,
        }
    }

    /// Answers requests that need no store.
    fn answer(&mut self) {
        #[cfg(feature = "extended")]
        if let Self { engine: Some(engine), extended, now, .. } = self {
            while let Some(Ok(reply)) = engine.request().map(|request| extended.answer(request)) {
                engine.reply(&mut Cx { now: *now, trace: &mut NoTrace }, reply);
            }
        }
    }

    /// Answers it: 0 done, 1 no more files, 2 a file (the name is the first `len` bytes of the input, numbers 0
    /// size and 1 modification time, 2 and 3 files and bytes left), 3 that much was read (0), 4 accepted from the
    /// position (0), 5 refused (0: why), 6 failed (0: why), 7 the digest of what was hashed, 8 the first `len` bytes of
    /// the input are the blocks whose signatures are wanted.
    pub(crate) fn reply(&mut self, now_ms: f64, kind: u32, len: usize) {
        self.now = instant(now_ms);
        let arguments = [0, 1, 2, 3].map(|at| self.argument(at));
        let Self { engine: Some(engine), input, numbers, .. } = self else { return };
        let number = arguments[0].unwrap_or(0);
        #[cfg(feature = "extended")]
        match kind {
            0 | 3 => self.extended.pass(engine.request().as_ref(), number as usize),
            2 | 4 => self.extended.begin(),
            _ => {}
        }
        let reply = match kind {
            #[cfg(feature = "extended")]
            7 => self.extended.digest(),
            #[cfg(feature = "extended")]
            8 => {
                let bytes = input.get(..len).unwrap_or_default();
                extended::Extended::sign(bytes, engine.request())
            }
            0 => Reply::Done,
            1 => Reply::NoMoreFiles,
            2 => Reply::File(FileInfo {
                name: input.get(..len).unwrap_or_default(),
                size: arguments[0],
                modified: (numbers[1] > NONE).then_some(numbers[1] as i64),
                left: arguments[2].zip(arguments[3]).map(|(files, bytes)| wetstring_proto::Left {
                    files: u32::try_from(files).unwrap_or(0),
                    bytes,
                }),
                ..FileInfo::default()
            }),
            3 => Reply::Read(number as usize),
            4 => Reply::Accept { offset: number },
            5 => Reply::Refuse(*REFUSALS.get(number as usize).unwrap_or(&Refusal::NotStored)),
            _ => Reply::Failed(*STORE_ERRORS.get(number as usize).unwrap_or(&StoreError::Io)),
        };
        engine.reply(&mut Cx { now: instant(now_ms), trace: &mut NoTrace }, reply);
    }

    /// Bytes of a file that is read for its digest: the first `len` of the input, number 0 the position.
    pub(crate) fn hash(&mut self, len: usize) {
        #[cfg(feature = "extended")]
        {
            let at = self.argument(0).unwrap_or(0);
            self.extended.hash(at, self.input.get(..len).unwrap_or_default());
        }
        #[cfg(not(feature = "extended"))]
        let _ = len;
    }

    /// The next event: 0 none, 1 negotiated (text), 2 a file starts ([`Session::describe`]; 6: the position), 3 a
    /// file is done (2: size, 3: compared), 4 refused (name; 2: by the peer; the reason in 3 and 4), 5 cancelled
    /// (2: by the peer), 6 a message (text), 7 another.
    pub(crate) fn event(&mut self) -> u32 {
        let Self { engine: Some(engine), numbers, output, second, .. } = self else { return 0 };
        let Some(event) = engine.event() else { return 0 };
        let mut text: &[u8] = b"";
        let kind = match event {
            Event::Negotiated(words) => {
                text = words.as_bytes();
                1
            }
            Event::FileStarted { info, offset } => {
                describe(&info, numbers, second);
                numbers[6] = offset as f64;
                return 2;
            }
            Event::FileDone { size, verified } => {
                numbers[2] = size as f64;
                numbers[3] = f64::from(u8::from(verified));
                3
            }
            Event::FileRefused { name, why, by_peer } => {
                text = name;
                numbers[2] = f64::from(u8::from(by_peer));
                let why = why.map_or("", Refusal::as_str);
                numbers[3] = why.as_ptr() as usize as f64;
                numbers[4] = why.len() as f64;
                4
            }
            Event::FileCancelled { by_peer } => {
                numbers[2] = f64::from(u8::from(by_peer));
                5
            }
            Event::Message(words) => {
                text = words;
                6
            }
            _ => 7,
        };
        output.clear();
        output.extend_from_slice(text);
        let (address, len) = (output.as_ptr(), output.len());
        self.lend(0, address, len);
        kind
    }

    /// A command: 0 the current file, 1 this file and all that follow, 2 abort.
    pub(crate) fn command(&mut self, now_ms: f64, which: u32) {
        let Some(engine) = &mut self.engine else { return };
        let command = match which {
            0 => Command::CancelFile,
            1 => Command::CancelBatch,
            _ => Command::Abort,
        };
        engine.command(&mut Cx { now: instant(now_ms), trace: &mut NoTrace }, command);
    }

    /// 0 running, 1 lingering, 2 over; with `closed`, as if the line closed now. With an outcome, numbers 0 and 1 are
    /// words for it, empty if it is done; 2, 3: `peer`, `line`, `store` or `local`; 4, 5: the kind in one word.
    pub(crate) fn status(&mut self, closed: bool) -> u32 {
        let Some(engine) = &self.engine else { return 2 };
        let status = engine.status();
        let code = match status {
            Status::Running => 0,
            Status::Lingering(_) => 1,
            Status::Over(_) => 2,
        };
        let outcome = if closed { engine.if_closed() } else { status.outcome() };
        let (text, blame, kind) = match outcome {
            Some(Outcome::Failed(failure)) => {
                (failure.kind.to_string(), failure.blame.name(), failure.kind.name())
            }
            Some(Outcome::Done) => Default::default(),
            None => ("the line closed".to_owned(), "line", "closed"),
        };
        self.say(&text);
        self.lend(2, blame.as_ptr(), blame.len());
        self.lend(4, kind.as_ptr(), kind.len());
        code
    }

    /// Counters: file bytes, bytes of the current file, bytes to and from the line, packets out and in,
    /// retransmissions, damaged packets, files done and skipped.
    pub(crate) fn stats(&mut self) {
        let Some(engine) = &self.engine else { return };
        let stats = engine.stats();
        let all = [
            stats.file_bytes,
            stats.current_file_bytes,
            stats.wire_out_bytes,
            stats.wire_in_bytes,
            stats.packets_out,
            stats.packets_in,
            stats.retransmissions,
            stats.damaged,
            stats.files_done,
            stats.files_skipped,
        ];
        for (number, count) in self.numbers.iter_mut().zip(all) {
            *number = count as f64;
        }
    }
}

/// A file in numbers: 0 and 1 its name, 2 its size, 3 its modification time, 4 and 5 files and bytes that are left;
/// negative where nothing is known.
fn describe(info: &FileInfo<'_>, numbers: &mut [f64], name: &mut Vec<u8>) {
    name.clear();
    name.extend_from_slice(info.name);
    let known = |number: Option<u64>| number.map_or(NONE, |number| number as f64);
    let all = [
        name.as_ptr() as usize as f64,
        name.len() as f64,
        known(info.size),
        info.modified.map_or(NONE, |time| time as f64),
        known(info.left.map(|left| u64::from(left.files))),
        known(info.left.map(|left| left.bytes)),
    ];
    numbers[..all.len()].copy_from_slice(&all);
}
