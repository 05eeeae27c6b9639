//! The first bytes of a transfer among those of a session.
//!
//! A peer that starts a transfer sends its first packet and then waits; text that only contains such bytes, a log
//! or a binary file on the screen, is followed by more of it. So a start is a whole first packet with a good check
//! and then silence:
//!
//! ```text
//! rz CR **^XB00000000000000 CR LF XON  (silence)     ZMODEM: sz sends
//! **^XB0100000023be50 CR LF XON  (silence)           ZMODEM: rz receives
//! ^A, S~/ @-#Y1~  CR  (silence)                      Kermit: sends
//! (ymodem) download to 0x... CR LF  C  (silence)     known prompts of X- and YMODEM and of Kermit's loadb
//! ESC 7 ::TRZSZ:TRANSFER:S:1.1.7:0123456789000:40123 CR LF  (silence)     trzsz: tsz sends; R or D: trz receives
//! ::TRZSZ:TRANSFER:S:1.1.7:0123456789020:40123  (drawing, silence)        the same in tmux; 10 for 20: on Windows
//! ```
//!
//! trzsz is looked for only if [`StartDetector::and_trzsz`] says so: it has no engine.
//!
//! Bytes that may be a start are held back until that is decided, everything else shows at once. That is so for the
//! line of trzsz in tmux, too: tmux draws it, with anything around it, and draws all again in the end.

mod drawn;

use std::ops::Add;
use std::time::Duration;

use wetstring_proto::kermit::check::Check;
use wetstring_proto::kermit::packet::{LONG_HEADER, finish, kind};
use wetstring_proto::peer::{self, Host, Part, PeerProtocol};

/// Silence after a first packet.
const QUIET: Duration = Duration::from_millis(100);
/// Silence after a prompt of X- and YMODEM.
const QUIET_AFTER_PROMPT: Duration = Duration::from_millis(300);
/// Time for the rest of what may be a start.
const REST: Duration = Duration::from_millis(300);
/// Text that is kept to find a prompt in.
const PROMPT: usize = 1000;
/// Longer than any first packet.
const LONGEST: usize = 120;

/// A command line for any POSIX shell: the receiver that there is. The blank keeps it out of some histories.
pub const START_RECEIVER: &[u8] =
    b" if command -v rz >/dev/null; then rz; elif command -v wst >/dev/null; then \
wst receive -q -; elif command -v kermit >/dev/null; then kermit -r; elif command -v gkermit \
>/dev/null; then gkermit -r; else echo no-receiver'-'here; fi\r";
/// What the shell says then if there is none. Its echo has other characters in it.
pub const NO_RECEIVER: &[u8] = b"no-receiver-here";

const SOH: u8 = 1;
const NAK: u8 = 0x15;
const ZDLE: u8 = 0x18;
const ESC: u8 = 0x1B;
/// Saves the cursor, for a program that erases below it at its end.
const SAVE_CURSOR: &[u8] = b"\x1b7";
/// What `trz` and `tsz` print first.
const TRZSZ: &[u8] = b"::TRZSZ:TRANSFER:";
/// `{"confirm":false}` as trzsz has it: base64 of zlib.
const TRZSZ_REFUSED: &[u8] = b"#ACT:eJyrVkrOz0vLLMpVskpLzClOrQUAOKQGcA==";

/// As the last two digits of the number of a run of trzsz tell.
fn host_of(run: &[u8]) -> Host {
    match run {
        [.., b'1', b'0'] => Host::Windows,
        [.., b'2', b'0'] => Host::Tmux,
        _ => Host::Plain,
    }
}

/// A peer that has started.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Start {
    /// Its protocol.
    pub protocol: PeerProtocol,
    /// What the peer does.
    pub part: Part,
    /// Its first bytes, for the engine; those that show already are not among them.
    pub bytes: Vec<u8>,
    /// What its bytes pass.
    pub host: Host,
}

impl Start {
    /// The name of the protocol of our engine; `None` for trzsz, which has no engine.
    pub fn engine(&self) -> Option<&'static str> {
        let name = match (self.protocol, self.part) {
            (PeerProtocol::Trzsz, _) => return None,
            (PeerProtocol::Kermit, _) => "kermit",
            (PeerProtocol::Xmodem, Part::Sender) => "xmodem-crc",
            (PeerProtocol::Xmodem, _) => "xmodem",
            (PeerProtocol::YmodemG, _) => "ymodem-g",
            (PeerProtocol::Ymodem | PeerProtocol::Xymodem, _) => "ymodem",
            _ => "zmodem",
        };
        Some(name)
    }

    /// What ends the peer's program.
    pub fn refusal(&self) -> Vec<u8> {
        if self.protocol == PeerProtocol::Kermit {
            // Boot loaders know Ctrl-C and no Error packet.
            return if self.bytes.is_empty() { vec![3] } else { error_packet() };
        }
        if self.protocol == PeerProtocol::Trzsz {
            return [TRZSZ_REFUSED, self.host.line_end()].concat();
        }
        // Five CAN are enough; backspaces rub them out of a command line.
        [[0x18; 8], [8; 8]].concat()
    }
}

/// Kermit's Error packet number 0.
fn error_packet() -> Vec<u8> {
    let text = b"refused by the user";
    let mut packet = [0; 64];
    packet[LONG_HEADER..][..text.len()].copy_from_slice(text);
    let (from, to) = finish(&mut packet, text.len(), 0, kind::ERROR, Check::Sum6, SOH, false);
    [&packet[from..to], b"\r"].concat()
}

/// What becomes of held bytes.
#[derive(PartialEq, Eq, Debug)]
enum Fate {
    /// They may be the beginning of a start.
    Open,
    /// A start, if nothing follows.
    Start(Found),
    /// None.
    Text,
}

/// What has started, as far as its bytes tell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Found {
    protocol: PeerProtocol,
    part: Part,
    host: Host,
}

impl Found {
    const fn new(protocol: PeerProtocol, part: Part) -> Self {
        Self { protocol, part, host: Host::Plain }
    }

    fn with(self, bytes: Vec<u8>) -> Start {
        let Self { protocol, part, host } = self;
        Start { protocol, part, bytes, host }
    }
}

/// Finds starts. `T` is the time, of any clock.
#[derive(Debug)]
pub struct StartDetector<T> {
    held: Vec<u8>,
    /// Asterisks that were shown already, before a ZDLE.
    stars: usize,
    since: Option<T>,
    /// The last text.
    text: Vec<u8>,
    /// A prompt was in the text, and only requests for the first block after it.
    prompted: Option<Found>,
    /// Starts of trzsz count.
    trzsz: bool,
    /// The run of trzsz that was drawn last: tmux may draw its line once more.
    run: Vec<u8>,
}

/// Whether a byte may begin a first packet, on lines with parity too.
const fn begins(byte: u8) -> bool {
    matches!(byte & 0x7F, SOH | ZDLE)
}

impl<T> Default for StartDetector<T> {
    fn default() -> Self {
        Self {
            held: Vec::new(),
            stars: 0,
            since: None,
            text: Vec::new(),
            prompted: None,
            trzsz: false,
            run: Vec::new(),
        }
    }
}

impl<T: Copy + Ord + Add<Duration, Output = T>> StartDetector<T> {
    /// Starts of trzsz count, too.
    pub fn and_trzsz(self) -> Self {
        Self { trzsz: true, ..self }
    }

    /// Whether these received bytes are no part of a start, as most are: nothing of them is held back.
    pub fn passes(&mut self, now: T, bytes: &[u8]) -> bool {
        // Without branches: the processor compares many bytes at once.
        let any = bytes.iter().fold(0, |any, byte| any | u8::from(begins(*byte)));
        let passes = self.held.is_empty() && any == 0 && self.saved_cursor(bytes).is_none();
        if passes {
            self.since = Some(now);
            self.note(bytes);
        }
        passes
    }

    /// Received bytes; `show` gets those that are no part of a start.
    pub fn feed(&mut self, now: T, bytes: &[u8], show: &mut Vec<u8>) {
        if self.passes(now, bytes) {
            return show.extend_from_slice(bytes);
        }
        self.since = Some(now);
        self.held.extend_from_slice(bytes);
        self.sift(show);
    }

    /// Whether bytes are held back.
    #[cfg(test)]
    fn holds(&self) -> bool {
        !self.held.is_empty()
    }

    /// When [`StartDetector::decide`] is due.
    pub fn deadline(&self) -> Option<T> {
        let wait = match (self.held.is_empty(), self.prompted) {
            (false, _) if matches!(self.fate(), Fate::Start(..)) => QUIET,
            (false, _) => REST,
            (true, Some(_)) => QUIET_AFTER_PROMPT,
            (true, None) => return None,
        };
        Some(self.since? + wait)
    }

    /// After silence: the start, if there is one. Otherwise `show` gets what was held back.
    pub fn decide(&mut self, now: T, show: &mut Vec<u8>) -> Option<Start> {
        self.deadline().filter(|at| now >= *at)?;
        if self.held.is_empty() {
            let found = self.prompted.take()?;
            if let Some(drawn) = self.drawn() {
                self.run = drawn.run.to_vec();
            }
            self.text.clear();
            return Some(found.with(Vec::new()));
        }
        let fate = self.fate();
        let held = std::mem::take(&mut self.held);
        if let Fate::Start(found) = fate {
            let bytes = [&b"**"[..self.stars], &held].concat();
            self.stars = 0;
            return Some(found.with(bytes));
        }
        self.note(&held);
        show.extend_from_slice(&held);
        None
    }

    /// Whether the last line is that of a shell which waits for a command.
    pub fn is_at_prompt(&self) -> bool {
        let line = self.text.rsplit(|byte| matches!(byte, b'\r' | b'\n')).next();
        let line = line.unwrap_or_default().trim_ascii_end();
        // What a shell sets after its prompt, such as bracketed paste, is no part of it.
        let end = line.iter().rposition(|byte| b"$#%>".contains(byte));
        self.held.is_empty()
            && end.is_some_and(|at| !line[at + 1..].iter().any(u8::is_ascii_alphanumeric))
    }

    /// The text so far is not that of what follows.
    pub fn forget(&mut self) {
        self.text.clear();
    }

    /// Whether a whole line of the last text is this.
    pub fn has_line(&self, line: &[u8]) -> bool {
        self.text.split(|byte| matches!(byte, b'\r' | b'\n')).any(|one| one == line)
    }

    /// What is held back, if it is not to be looked at any more.
    pub fn release(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.held)
    }

    /// Shows what cannot be a start.
    fn sift(&mut self, show: &mut Vec<u8>) {
        loop {
            let at = self.beginning();
            if at > 0 {
                let text: Vec<u8> = self.held.drain(..at).collect();
                self.note(&text);
                show.extend_from_slice(&text);
            }
            if self.held.is_empty() || self.fate() != Fate::Text {
                return;
            }
            let text: Vec<u8> = self.held.drain(..1).collect();
            self.note(&text);
            show.extend_from_slice(&text);
        }
    }

    /// Where trzsz may begin in these bytes.
    fn saved_cursor(&self, bytes: &[u8]) -> Option<usize> {
        // The processor compares many bytes at once here, too.
        if !self.trzsz || !bytes.contains(&ESC) {
            return None;
        }
        let at = bytes.windows(2).position(|two| two == SAVE_CURSOR);
        at.or_else(|| bytes.ends_with(&[ESC]).then(|| bytes.len() - 1))
    }

    /// Where the held bytes may begin a start: at a saved cursor, at a mark, or at the asterisks before a ZDLE.
    fn beginning(&self) -> usize {
        let cursor = self.saved_cursor(&self.held).unwrap_or(self.held.len());
        let Some(mark) = self.held[..cursor].iter().position(|byte| begins(*byte)) else {
            return cursor;
        };
        if self.held[mark] & 0x7F == SOH {
            return mark;
        }
        let stars = self.held[..mark].iter().rev().take(2).take_while(|byte| **byte & 0x7F == b'*');
        mark - stars.count()
    }

    fn fate(&self) -> Fate {
        let whole = [&b"**"[..self.stars], &self.held].concat();
        let plain: Vec<u8> = whole.iter().map(|byte| byte & 0x7F).collect();
        if plain.len() > LONGEST {
            return Fate::Text;
        }
        match plain[0] {
            SOH => kermit(&plain),
            ESC => trzsz(&plain),
            _ => zmodem(&plain),
        }
    }

    /// Text that shows: is a prompt in it?
    fn note(&mut self, bytes: &[u8]) {
        let Some(last) = bytes.last() else { return };
        self.stars = if *last & 0x7F == b'*' {
            bytes.iter().rev().take(2).take_while(|byte| **byte & 0x7F == b'*').count()
        } else {
            0
        };
        let asks = |byte: &u8| matches!(*byte, b'C' | b'G' | NAK);
        if self.prompted.is_some() && bytes.iter().all(asks) {
            return;
        }
        let kept = &bytes[bytes.len().saturating_sub(PROMPT)..];
        self.text.extend_from_slice(kept);
        let surplus = self.text.len().saturating_sub(PROMPT);
        self.text.drain(..surplus);
        self.prompted = self.drawn().map(|drawn| drawn.found).or_else(|| prompt(&self.text));
    }

    /// A line of trzsz that was drawn, and is that of no earlier run.
    fn drawn(&self) -> Option<drawn::Drawn<'_>> {
        let drawn = drawn::start(&self.text).filter(|_| self.trzsz)?;
        (drawn.run != self.run).then_some(drawn)
    }
}

/// The prompt that a text ends with, apart from requests for the first block.
fn prompt(text: &[u8]) -> Option<Found> {
    let asks = text.iter().rev().take_while(|byte| matches!(**byte, b'C' | b'G' | NAK)).count();
    let text = &text[..text.len() - asks];
    let trimmed = text.trim_ascii_end();
    let line = trimmed.rsplit(|byte| matches!(byte, b'\r' | b'\n')).next().unwrap_or_default();
    let has = |words: &[u8]| line.windows(words.len()).any(|at| at == words);
    let receives = |protocol| Some(Found::new(protocol, Part::Receiver));
    // U-Boot: "## Ready for binary (kermit) download to 0x40000000 at 115200 bps...".
    let boots = line.starts_with(b"## Ready for binary (") && line.ends_with(b" bps...");
    if boots && has(b"(kermit) download") {
        return receives(PeerProtocol::Kermit);
    }
    if boots && has(b"(ymodem) download") {
        return receives(PeerProtocol::Ymodem);
    }
    if boots && has(b"(xmodem) download") {
        return receives(PeerProtocol::Xmodem);
    }
    // lrzsz: "rx: ready to receive NAME", "rb waiting to receive.", and of senders what is to be done.
    if asks > 0 && line.starts_with(b"rb waiting to receive.") {
        return receives(PeerProtocol::Ymodem);
    }
    if asks > 0 && line.starts_with(b"rx: ready to receive ") {
        return receives(PeerProtocol::Xmodem);
    }
    let sends = |words: &[u8]| trimmed.ends_with(words);
    if sends(b"Give your local XMODEM receive command now.") {
        return Some(Found::new(PeerProtocol::Xmodem, Part::Sender));
    }
    None
}

/// A Send-Init, or the NAK of a receiver that waits for one.
fn kermit(plain: &[u8]) -> Fate {
    let is_open =
        |at: usize, fits: &dyn Fn(u8) -> bool| plain.get(at).is_none_or(|byte| fits(*byte));
    let fits = is_open(1, &|len| (b'#'..=b'~').contains(&len))
        && is_open(2, &|number| number == b' ')
        && is_open(3, &|kind| kind == b'S' || kind == b'N');
    if !fits {
        return Fate::Text;
    }
    let Some(len) = plain.get(1) else { return Fate::Open };
    // MARK, LEN, and what LEN counts. Nothing in a packet is a control character.
    let whole = usize::from(len - 32) + 2;
    if plain[1..plain.len().min(whole)].iter().any(|byte| *byte < b' ') {
        return Fate::Text;
    }
    if plain.len() < whole {
        return Fate::Open;
    }
    let rest_is_end = plain[whole..].iter().all(|byte| matches!(byte, b'\r' | b'\n'));
    match peer::recognise(&plain[..whole], 0) {
        Some(found) if found.at == 0 && rest_is_end && found.part != Part::Client => {
            Fate::Start(Found::new(PeerProtocol::Kermit, found.part))
        }
        _ => Fate::Text,
    }
}

/// The line of `trz` or `tsz`, with BEL before it or without. Its version, a number of the run, and the port of a
/// tunnel, which older ones do not have.
fn trzsz(plain: &[u8]) -> Fate {
    let (cursor, rest) = plain.split_at(plain.len().min(2));
    let rest = rest.strip_prefix(b"\x07").unwrap_or(rest);
    let (magic, rest) = rest.split_at(rest.len().min(TRZSZ.len()));
    if !SAVE_CURSOR.starts_with(cursor) || !TRZSZ.starts_with(magic) {
        return Fate::Text;
    }
    let mut fields = rest.trim_ascii_end().split(|byte| *byte == b':');
    let part = match fields.next() {
        Some(b"") => return Fate::Open,
        letter => match letter.and_then(part_of) {
            Some(part) => part,
            None => return Fate::Text,
        },
    };
    let numbers: Vec<&[u8]> = fields.collect();
    let is_number = |field: &&[u8]| field.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.');
    if numbers.len() > 3 || !numbers.iter().all(is_number) {
        return Fate::Text;
    }
    match numbers.get(1) {
        Some(run) if rest.ends_with(b"\n") => {
            let host = if run.len() == RUN { host_of(run) } else { Host::Plain };
            Fate::Start(Found { host, ..Found::new(PeerProtocol::Trzsz, part) })
        }
        _ => Fate::Open,
    }
}

/// Digits of the number of a run of trzsz.
const RUN: usize = 13;

/// What a program of trzsz does, by its letter.
fn part_of(letter: &[u8]) -> Option<Part> {
    match letter {
        b"S" => Some(Part::Sender),
        b"R" | b"D" => Some(Part::Receiver),
        _ => None,
    }
}

/// ZRQINIT or ZRINIT in hexadecimal, as both ends begin.
fn zmodem(plain: &[u8]) -> Fate {
    let stars = plain.iter().take_while(|byte| **byte == b'*').count();
    // One asterisk is enough for some.
    if stars == 0 || stars > 2 {
        return Fate::Text;
    }
    let (mark, digits) = plain[stars..].split_at(plain[stars..].len().min(2));
    if !b"\x18B".starts_with(mark) {
        return Fate::Text;
    }
    let header = &digits[..digits.len().min(14)];
    let hex = |byte: &u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte);
    let kind = &header[..header.len().min(2)];
    if !header.iter().all(hex) || !(b"00".starts_with(kind) || b"01".starts_with(kind)) {
        return Fate::Text;
    }
    let end = &digits[header.len()..];
    // CR, LF (with the parity bit of lrzsz), XON.
    let ends = end.len() <= 3 && end.iter().all(|byte| matches!(byte, b'\r' | b'\n' | 0x11));
    if !ends {
        return Fate::Text;
    }
    if header.len() < 14 {
        return Fate::Open;
    }
    match peer::recognise(&[plain, b"\r\n\x11"].concat(), 0) {
        Some(found) if found.at == 0 && found.protocol == PeerProtocol::Zmodem => {
            Fate::Start(Found::new(PeerProtocol::Zmodem, found.part))
        }
        _ => Fate::Text,
    }
}

#[cfg(test)]
mod tests;
