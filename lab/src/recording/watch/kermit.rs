//! Kermit.

use super::Watch;
use super::notes::{Cargo, Notes, Span};
use std::collections::BTreeMap;
use wetstring_proto::kermit::check::Check;
use wetstring_proto::kermit::decode::Decoder;
use wetstring_proto::kermit::frame::{Found, FrameReader, FrameSettings};
use wetstring_proto::kermit::packet::{MAX_LONG, Packet, kind, parse};
use wetstring_proto::kermit::params::{Agreed, Params, agree};
use wetstring_proto::{Again, Outcome, TraceEvent, Wait};

/// Numbers of packets are modulo this.
const NUMBERS: u64 = 64;
/// Room for what a data field decodes to at a time.
const ROOM: usize = 4096;

/// What is known of a packet that was sent.
#[derive(Clone, Copy, Default)]
struct Packets {
    copies: u32,
    /// A NAK for it came since it was sent last.
    refused: bool,
    acknowledged: bool,
    /// It carries data, which are this many bytes of the file.
    is_data: bool,
    file: usize,
}

pub(super) struct Kermit {
    /// Readers of the received and of the sent bytes.
    readers: [FrameReader; 2],
    rooms: [Vec<u8>; 2],
    /// Whether this end sent the last S.
    sends: Option<bool>,
    proposal: Option<Params>,
    agreed: Option<Agreed>,
    decoder: Decoder,
    /// The last number of the sender of files.
    last: u64,
    packets: BTreeMap<u64, Packets>,
    /// Data packets that wait for an acknowledgement.
    under_way: u64,
    has_bundles: bool,
    /// The last packet was the B that ends a session.
    is_over: bool,
}

impl Kermit {
    pub(super) fn new() -> Self {
        let settings = FrameSettings { max_len: MAX_LONG, ..FrameSettings::default() };
        let room = || vec![0; settings.buffer_len()];
        Self {
            readers: [FrameReader::new(settings), FrameReader::new(settings)],
            rooms: [room(), room()],
            sends: None,
            proposal: None,
            agreed: None,
            decoder: decoder(&Params::default(), None),
            last: 0,
            packets: BTreeMap::new(),
            under_way: 0,
            has_bundles: false,
            is_over: false,
        }
    }

    /// The absolute number of a packet.
    fn number(&self, seq: u8) -> u64 {
        let ahead = (u64::from(seq) + NUMBERS - self.last % NUMBERS) % NUMBERS;
        if ahead < NUMBERS / 2 {
            self.last + ahead
        } else {
            (self.last + ahead).saturating_sub(NUMBERS)
        }
    }

    fn packet(&mut self, notes: &mut Notes, sent: bool, packet: Packet<'_>, span: Span) {
        notes.good += span.len();
        match packet.kind {
            kind::SEND_INIT => {
                self.sends = Some(sent);
                self.proposal = Some(Params::parse(packet.data));
                self.last = 0;
                self.packets.clear();
                self.under_way = 0;
            }
            kind::ACK if self.agreed.is_none() || self.last == 0 && packet.seq == 0 => {
                self.negotiate(notes, sent, packet.data, span);
            }
            _ => {}
        }
        if self.sends.is_some_and(|sends| sends == sent) || self.sends.is_none() && sent {
            self.of_sender(notes, sent, packet, span);
        } else {
            self.of_receiver(notes, sent, packet, span);
        }
        if packet.kind == kind::ERROR {
            let at = notes.time(sent, span);
            notes.note(at, &TraceEvent::Text { name: "error", text: packet.data });
            notes.gave_up(at, sent);
        }
    }

    /// The answer to S.
    fn negotiate(&mut self, notes: &mut Notes, sent: bool, data: &[u8], span: Span) {
        let Some(proposal) = self.proposal else { return };
        let answer = Params::parse(data);
        let agreed = agree(&proposal, &answer, true, false);
        self.has_bundles |= agreed.bundle;
        for reader in &mut self.readers {
            reader.settings.transparent = agreed.clear;
        }
        self.decoder = decoder(&proposal, Some(&agreed));
        let at = notes.time(sent, span);
        let packet = agreed.send_long.map_or(u64::from(answer.max_short), u64::from);
        let values = [
            ("window", u64::from(agreed.window)),
            ("packet", packet),
            ("streaming", u64::from(agreed.streaming)),
        ];
        for (name, value) in values {
            notes.note(at, &TraceEvent::Value { name, value });
        }
        self.agreed = Some(agreed);
    }

    fn of_sender(&mut self, notes: &mut Notes, sent: bool, packet: Packet<'_>, span: Span) {
        let number = self.number(packet.seq);
        self.last = self.last.max(number);
        let is_data = packet.kind == kind::DATA;
        let known = self.packets.entry(number).or_default();
        let again = known.copies;
        let why = (again > 0).then_some(if known.refused { Again::Nak } else { Again::Timeout });
        known.copies = again + 1;
        known.refused = false;
        known.is_data = is_data;
        if is_data && again == 0 {
            known.file = decoded(&mut self.decoder, packet.data);
        }
        let file = known.file;
        if packet.kind == kind::FILE {
            self.decoder.reset();
        }
        self.is_over = packet.kind == kind::BREAK;
        let (kind, data) = (char::from(packet.kind), if is_data { packet.data.len() } else { 0 });
        let at = if sent {
            let old = if again > 0 { file } else { 0 };
            if is_data && again == 0 {
                self.under_way += 1;
            }
            let at = notes.sent(kind, number, span, Cargo { data, file, old, again, why });
            self.sent_on(notes, at, span, is_data);
            at
        } else {
            let at = notes.got(kind, number, span, data);
            if again > 0 {
                notes.duplicate(at, number);
            } else {
                notes.stored(file, data);
            }
            let streams = self.agreed.is_some_and(|agreed| agreed.streaming) && is_data;
            notes.waits(at, if streams { Wait::Peer } else { Wait::Store });
            at
        };
        if packet.kind == kind::FILE {
            notes.note(at, &TraceEvent::Text { name: "file", text: packet.data });
        }
    }

    /// What the sender waits for after a packet.
    fn sent_on(&self, notes: &mut Notes, at: u64, span: Span, is_data: bool) {
        let (window, streams) =
            self.agreed.map_or((1, false), |agreed| (u64::from(agreed.window), agreed.streaming));
        match is_data {
            true if streams || self.under_way < window => notes.may_go_on(span),
            true => notes.waits(at, Wait::Window),
            false => notes.waits(at, Wait::Answer),
        }
    }

    fn of_receiver(&mut self, notes: &mut Notes, sent: bool, packet: Packet<'_>, span: Span) {
        let number = self.number(packet.seq);
        let kind = char::from(packet.kind);
        let known = self.packets.entry(number).or_default();
        if packet.kind == kind::NAK {
            known.refused = true;
        } else if packet.kind == kind::ACK && !known.acknowledged {
            known.acknowledged = true;
            self.under_way = self.under_way.saturating_sub(u64::from(known.is_data));
        }
        let was_last = number == self.last && known.copies > 0;
        let at = notes.answer(sent, kind, number, span);
        if packet.kind == kind::ACK && was_last && self.is_over {
            notes.settled(at, Outcome::Done);
        }
    }
}

/// A decoder of what the sender of files says, which proposed this.
fn decoder(proposal: &Params, agreed: Option<&Agreed>) -> Decoder {
    let (qbin, rept) = agreed.map_or((None, None), |agreed| (agreed.qbin, agreed.rept));
    let shift = agreed.map_or_else(Default::default, |agreed| agreed.shift);
    Decoder::new(proposal.qctl, qbin, rept, shift, false)
}

/// The bytes of the file in a data field.
fn decoded(decoder: &mut Decoder, mut data: &[u8]) -> usize {
    let (mut room, mut file) = ([0; ROOM], 0);
    while !data.is_empty() {
        let (used, made) = decoder.decode(data, &mut room);
        file += made;
        if used == 0 {
            break;
        }
        data = &data[used..];
    }
    file
}

impl Watch for Kermit {
    fn take(&mut self, notes: &mut Notes, sent: bool, bytes: &[u8]) {
        let mut position = notes.total(sent) - bytes.len() as u64;
        let mut rest = bytes;
        let which = usize::from(sent);
        let mut room = std::mem::take(&mut self.rooms[which]);
        while !rest.is_empty() {
            let (used, found) = self.readers[which].next(&mut room, rest);
            rest = &rest[used..];
            position += used as u64;
            let span =
                |len: usize| Span { begins: position.saturating_sub(len as u64), ends: position };
            match found {
                Some(Found::Packet(body)) => {
                    let (check, forced) = self
                        .agreed
                        .map_or((Check::Sum6, false), |agreed| (agreed.check, agreed.forced_check));
                    let span = span(body.len() + 1);
                    match parse(body, check, forced)
                        .or_else(|why| parse(body, Check::Sum6, false).map_err(|_| why))
                    {
                        Ok(packet) => self.packet(notes, sent, packet, span),
                        Err(why) if !sent && self.sends.is_some() => {
                            notes.damaged(why.as_str(), span);
                        }
                        Err(_) => {}
                    }
                }
                Some(Found::Damaged { why, len }) if !sent && self.sends.is_some() => {
                    notes.damaged(why.as_str(), span(len));
                }
                _ => {}
            }
        }
        self.rooms[which] = room;
    }

    fn protocol(&self) -> &'static str {
        "kermit"
    }

    fn sends(&self) -> bool {
        self.sends == Some(true)
    }

    fn problem(&self) -> Option<&'static str> {
        self.has_bundles.then_some(
            "expected packets of Kermit, got those of a bundle between two wst, which says more itself: record it by --trace FILE",
        )
    }
}
