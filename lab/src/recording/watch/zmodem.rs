//! ZMODEM.

use super::Watch;
use super::notes::{Cargo, Notes, Span};
use wetstring_proto::zmodem::escape::{Dropping, Unescaper, ZDLE};
use wetstring_proto::zmodem::frame::{Found, FrameReader};
use wetstring_proto::zmodem::packet::{Form, Header, ZPAD, end, kind, letter};
use wetstring_proto::{Again, Outcome, TraceEvent, Wait};

/// Room for a subpacket: the longest of ours.
const ROOM: usize = 64 * 1024;
/// Characters of a subpacket besides its data and the check: ZDLE and its end.
const END: usize = 2;

pub(super) struct Zmodem {
    /// Readers of the received and of the sent bytes.
    readers: [FrameReader; 2],
    rooms: [Vec<u8>; 2],
    /// The bytes of each since its last item, and the position after that.
    open: [Vec<u8>; 2],
    after: [u64; 2],
    /// Whether this end sent the last ZRQINIT, ZFILE or ZDATA.
    sends: Option<bool>,
    /// What the last header of the sender was, and its form.
    header: u8,
    form: Form,
    /// Offset of the next subpacket, and the highest offset that was sent or received.
    position: u64,
    highest: u64,
    /// A ZRPOS arrived since the last data, so the next data is a retransmission.
    repositioned: bool,
    /// The sender has said ZFIN.
    is_over: bool,
}

impl Zmodem {
    pub(super) fn new() -> Self {
        let reader = || FrameReader::new(Dropping::default());
        Self {
            readers: [reader(), reader()],
            rooms: [vec![0; ROOM], vec![0; ROOM]],
            open: [Vec::new(), Vec::new()],
            after: [0; 2],
            sends: None,
            header: kind::ZRQINIT,
            form: Form::Hex,
            position: 0,
            highest: 0,
            repositioned: false,
            is_over: false,
        }
    }

    fn header(&mut self, notes: &mut Notes, sent: bool, header: Header, span: Span) {
        notes.good += span.len();
        let of_sender = match header.kind {
            kind::ZRQINIT | kind::ZFILE | kind::ZDATA | kind::ZEOF | kind::ZSINIT => {
                self.sends = Some(sent);
                true
            }
            _ => self.sends == Some(sent),
        };
        if of_sender {
            self.of_sender(notes, sent, header, span);
        } else {
            self.of_receiver(notes, sent, header, span);
        }
    }

    fn of_sender(&mut self, notes: &mut Notes, sent: bool, header: Header, span: Span) {
        let number = u64::from(header.number());
        self.header = header.kind;
        self.form = header.form;
        let has_data = matches!(
            header.kind,
            kind::ZFILE | kind::ZDATA | kind::ZSINIT | kind::ZCOMMAND | kind::ZSTDERR
        );
        if has_data {
            self.readers[usize::from(sent)].expect_data();
        }
        match header.kind {
            kind::ZDATA => self.position = number,
            kind::ZFILE => {
                self.highest = 0;
                self.repositioned = false;
            }
            kind::ZFIN => self.is_over = true,
            _ => {}
        }
        if sent {
            let at = notes.sent(letter(header.kind), number, span, Cargo::default());
            if header.kind == kind::ZDATA {
                notes.may_go_on(span);
            } else {
                notes.waits(at, Wait::Answer);
            }
        } else {
            let at = notes.got(letter(header.kind), number, span, 0);
            notes.waits(at, if header.kind == kind::ZDATA { Wait::Peer } else { Wait::Store });
        }
    }

    fn of_receiver(&mut self, notes: &mut Notes, sent: bool, header: Header, span: Span) {
        let number = u64::from(header.number());
        if header.kind == kind::ZRPOS {
            self.repositioned = self.highest > number;
            // What could be resumed is not sent.
            self.highest = self.highest.max(number);
        }
        let at = notes.answer(sent, letter(header.kind), number, span);
        match header.kind {
            kind::ZFIN if self.is_over => notes.settled(at, Outcome::Done),
            kind::ZABORT | kind::ZFERR => notes.gave_up(at, sent),
            _ => {}
        }
    }

    fn data(&mut self, notes: &mut Notes, sent: bool, ending: u8, len: usize, span: Span) {
        notes.good += span.len();
        let which = usize::from(sent);
        if matches!(ending, end::ZCRCG | end::ZCRCQ) {
            self.readers[which].expect_data();
        }
        if self.header != kind::ZDATA {
            return self.named(notes, sent, len, span);
        }
        let data = span.len().saturating_sub(END + self.form.check_len());
        if sent {
            return self.sent_data(notes, ending, len, data, span);
        }
        let old = self.advance(len);
        let at = notes.got(char::from(ending), self.position, span, data);
        notes.stored(len - old, data);
        if old == len {
            notes.duplicate(at, self.position);
        }
        notes.waits(at, if ending == end::ZCRCG { Wait::Peer } else { Wait::Store });
    }

    /// The position moves on; how many of the bytes were before the end of what was sent.
    fn advance(&mut self, len: usize) -> usize {
        let begins = self.position;
        self.position += len as u64;
        let old = self.highest.clamp(begins, self.position) - begins;
        self.highest = self.highest.max(self.position);
        old as usize
    }

    /// A subpacket with bytes of a file was sent, with this many of them in `data` characters.
    fn sent_data(&mut self, notes: &mut Notes, ending: u8, len: usize, data: usize, span: Span) {
        let old = self.advance(len);
        let why = (old > 0).then_some(if self.repositioned { Again::Nak } else { Again::GoBack });
        self.repositioned &= old == 0;
        let again = u32::from(old > 0);
        let cargo = Cargo { data, file: len, old, again, why };
        let at = notes.sent(char::from(ending), self.position, span, cargo);
        if ending == end::ZCRCW { notes.waits(at, Wait::Window) } else { notes.may_go_on(span) }
    }

    /// The subpacket after ZFILE, and after others that carry no data of a file.
    fn named(&mut self, notes: &mut Notes, sent: bool, len: usize, span: Span) {
        let at = notes.time(sent, span);
        let data = &self.rooms[usize::from(sent)][..len];
        let name = data.split(|byte| *byte == 0).next().unwrap_or_default();
        if self.header == kind::ZFILE {
            notes.note(at, &TraceEvent::Text { name: "file", text: name });
        }
        notes.waits(at, if sent { Wait::Answer } else { Wait::Store });
    }

    fn found(&mut self, notes: &mut Notes, sent: bool, found: Found, span: Span) {
        match found {
            Found::Header(header) => self.header(notes, sent, header, span),
            Found::Data { end, len } => self.data(notes, sent, end, len, span),
            Found::BadHeader { why } | Found::BadData { why, .. } if !sent => {
                notes.damaged(why.as_str(), span);
            }
            Found::BadHeader { .. } | Found::BadData { .. } => {}
            Found::Cancel if self.sends.is_some() => {
                notes.gave_up(notes.time(sent, span), sent);
            }
            Found::Cancel => {}
        }
    }

    /// A sender that is told to go back leaves its subpacket unfinished, so the next header was read as data. Returns
    /// the bytes to read again.
    fn unfinished(&mut self, which: usize) -> Vec<u8> {
        let open = &self.open[which];
        let header = |bytes: &[u8]| matches!(bytes, [ZPAD, ZDLE, b'A'..=b'C']);
        let begins = open.windows(3).skip(1).position(header).map(|at| at + 1);
        let Some(begins) = begins else { return Vec::new() };
        self.readers[which].hunt();
        self.open[which].split_off(begins)
    }
}

impl Watch for Zmodem {
    fn take(&mut self, notes: &mut Notes, sent: bool, bytes: &[u8]) {
        let which = usize::from(sent);
        let mut rest = bytes;
        while !rest.is_empty() {
            let (used, found) = self.readers[which].next(&mut self.rooms[which], rest);
            self.open[which].extend_from_slice(&rest[..used]);
            rest = &rest[used..];
            let Some(found) = found else {
                if !self.readers[which].is_reading() {
                    self.after[which] += self.open[which].len() as u64;
                    self.open[which].clear();
                }
                continue;
            };
            let is_bad = matches!(found, Found::BadData { .. });
            let again = if is_bad { self.unfinished(which) } else { Vec::new() };
            let begins = self.after[which];
            let span = Span { begins, ends: begins + self.open[which].len() as u64 };
            self.after[which] = span.ends;
            let open = std::mem::take(&mut self.open[which]);
            if is_bad && sent && self.header == kind::ZDATA {
                // The receiver dropped the file's bytes in it, but they were on the line.
                let made =
                    Unescaper::new(Dropping::default()).take(&open, &mut self.rooms[which]).made;
                self.sent_data(notes, end::ZCRCG, made, open.len(), span);
            }
            self.found(notes, sent, found, span);
            // Shorter than what it was part of, so that this ends.
            self.take(notes, sent, &again);
        }
    }

    fn protocol(&self) -> &'static str {
        "zmodem"
    }

    fn sends(&self) -> bool {
        self.sends == Some(true)
    }
}
