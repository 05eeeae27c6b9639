//! What a picture of a transfer shows: packets by the bytes of the file that they carry, answers, rates.

use super::Account;
use super::Part;
use super::log::Side;
use super::sending::why;
use std::collections::BTreeMap;
use wetstring_proto::registry::Numbers;
use wetstring_protocols::Protocol;

/// Parts of the time into which a rate is divided.
const BINS: u64 = 80;

/// A packet: its time in nanoseconds, the bytes of the files that it carries, and for a retransmission the part of
/// the time that it counts to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Packet {
    pub(crate) ns: u64,
    pub(crate) bytes: (u64, u64),
    pub(crate) again: Option<Part>,
}

/// Bytes in a time: its middle in nanoseconds, and bytes per 1000 s.
pub(crate) type Rates = Vec<(u64, u64)>;

/// The picture.
#[derive(Clone, Debug, Default)]
pub(crate) struct Picture {
    /// The data packets that the sender sent; in a receiver's trace, those that arrived.
    pub(crate) packets: Vec<Packet>,
    /// Up to which byte the sender knows of the receiver, or the receiver has all, by time.
    pub(crate) known: Vec<(u64, u64)>,
    /// When timers ran out at the traced ends.
    pub(crate) timeouts: Vec<u64>,
    /// File bytes for the first time, and again.
    pub(crate) rates: [Rates; 2],
}

impl Account {
    /// The picture of the transfer.
    pub(crate) fn picture(&self) -> Picture {
        let log = &self.log;
        let mut picture = match (&log.sender, &log.receiver) {
            (Some(sender), receiver) => of_sender(sender, receiver.as_ref(), self.numbers()),
            (None, Some(receiver)) => of_receiver(receiver),
            (None, None) => Picture::default(),
        };
        let sides = log.sender.iter().chain(&log.receiver);
        picture.timeouts = sides.flat_map(|side| &side.timeouts).copied().collect();
        picture.timeouts.sort_unstable();
        let rates = |again: bool| {
            let packets = picture.packets.iter().filter(|packet| packet.again.is_some() == again);
            rates(packets, self.elapsed_ns)
        };
        picture.rates = [rates(false), rates(true)];
        picture
    }

    /// How packets and the answers to them are numbered.
    fn numbers(&self) -> Numbers {
        let protocol = self.protocol.as_deref().and_then(Protocol::of);
        protocol.map_or(Numbers::Modulo(256), |protocol| protocol.numbers)
    }
}

fn of_sender(sender: &Side, receiver: Option<&Side>, numbers: Numbers) -> Picture {
    let mut packets: Vec<Packet> = Vec::new();
    // Where each number was sent first, the last time that it was used.
    let mut places: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    // Where packets end, for the answers to them.
    let mut ends: Vec<(u64, u64, u64)> = Vec::new();
    let (mut fresh, mut files, mut base) = (0, sender.files.iter().skip(1).peekable(), 0);
    for sent in sender.sent.iter().filter(|sent| sent.file > 0) {
        while files.next_if(|begins| **begins <= sent.time).is_some() {
            base = fresh;
        }
        let is_new = sent.old < sent.file;
        let at = match places.get(&sent.number) {
            // A subpacket is traced with the position behind it.
            _ if numbers == Numbers::Position => base + sent.number.saturating_sub(sent.file),
            Some((at, _)) if !is_new => *at,
            _ => fresh,
        };
        if is_new {
            fresh = fresh.max(at + sent.file);
        }
        places.insert(sent.number, (at, sent.file));
        ends.push((sent.time, sent.number, at + sent.file));
        let again = (!is_new).then(|| why(sender, receiver, sent));
        packets.push(Packet { ns: sent.time, bytes: (at, at + sent.file), again });
    }
    Picture { known: acknowledged(sender, &ends, numbers), packets, ..Picture::default() }
}

/// What the answers acknowledge: all up to the end of the packet with their number.
fn acknowledged(sender: &Side, ends: &[(u64, u64, u64)], numbers: Numbers) -> Vec<(u64, u64)> {
    let key = |number: u64| match numbers {
        Numbers::Position => number,
        Numbers::Modulo(all) => number % u64::from(all),
    };
    let mut known = Vec::new();
    let (mut sent, mut most, mut limit) = (0, 0, 0);
    let mut places: BTreeMap<u64, u64> = BTreeMap::new();
    for got in sender.got.iter().filter(|got| got.kind != 'N') {
        while let Some((_, number, end)) = ends.get(sent).filter(|end| end.0 <= got.time) {
            places.insert(key(*number), *end);
            limit = limit.max(*end);
            sent += 1;
        }
        let end = match numbers {
            Numbers::Position => Some(got.number),
            Numbers::Modulo(_) => places.get(&key(got.number)).copied(),
        };
        if let Some(end) = end.filter(|end| *end > most && *end <= limit) {
            most = end;
            known.push((got.time, end));
        }
    }
    known
}

fn of_receiver(receiver: &Side) -> Picture {
    let mut picture = Picture::default();
    let mut had = 0;
    for got in receiver.got.iter().filter(|got| got.data > 0) {
        let again = got.duplicate.then_some(Part::Timeout);
        let from = if got.duplicate { had - got.data.min(had) } else { had };
        picture.packets.push(Packet { ns: got.time, bytes: (from, from + got.data), again });
        if !got.duplicate {
            had += got.data;
            picture.known.push((got.time, had));
        }
    }
    picture
}

fn rates<'a>(packets: impl Iterator<Item = &'a Packet>, elapsed: u64) -> Rates {
    let width = (elapsed / BINS).max(1);
    let mut bytes = vec![0_u64; BINS as usize + 1];
    for packet in packets {
        bytes[((packet.ns / width) as usize).min(BINS as usize)] += packet.bytes.1 - packet.bytes.0;
    }
    let rate = |bytes: u64| {
        u64::try_from(u128::from(bytes) * 1_000_000_000_000 / u128::from(width)).unwrap_or(u64::MAX)
    };
    bytes.into_iter().zip(0..).map(|(bytes, bin)| (bin * width + width / 2, rate(bytes))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Recorder;
    use crate::explain::header;
    use crate::scenario::{Scenario, no_files};

    /// On a line that loses nothing, the packets of every protocol stand end to end, from the first byte of the file.
    #[test]
    fn packets_stand_where_their_bytes_are() {
        for protocol in ["zmodem", "kermit", "ymodem", "uucp-g"] {
            let text = format!("line = '9600'\nprotocol = '{protocol}'\n[file]\nbytes = 20000\n");
            let scenario = Scenario::parse("test", &text, &no_files).unwrap();
            let mut lines = header("test", &text, &[], &scenario).unwrap();
            let mut recorder = Recorder::keep();
            scenario.run(&mut recorder);
            lines.extend(recorder.lines().iter().cloned());
            let account = Account::read(lines.iter().map(String::as_str), None).unwrap();
            let picture = account.picture();
            let mut end = 0;
            for packet in picture.packets.iter().filter(|packet| packet.again.is_none()) {
                assert_eq!(packet.bytes.0, end, "{protocol}: {packet:?}");
                end = packet.bytes.1;
            }
            assert_eq!(end, 20_000, "{protocol}");
        }
    }
}
