//! Two ends of a SLIP line, and what happens between them.

use crate::Script;
use wetstring_proto::checksum::checksum;
use wetstring_proto::slip::packet::LONGEST_HEADER;
use wetstring_proto::slip::{Compression, Config, Link, Rate};
use wetstring_proto::{Duration, Instant};

/// What was seen, so that a test can tell whether anything was reached.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Seen {
    /// Packets that arrived.
    pub came: u64,
    /// Of them, those that came after the line had done damage.
    pub after_damage: u64,
    /// Packets with compressed headers.
    pub compressed: u64,
    /// Frames that gave no packet.
    pub refused: u64,
}

const MTU: u16 = 296;

fn end(script: &mut Script<'_>) -> Link<Vec<u8>> {
    let config = Config {
        compression: script.pick(&[Compression::On, Compression::Auto, Compression::Off]),
        slots: script.pick(&[16, 3, 256]),
        omit_slot: script.one_in(2),
        rate: script.pick(&[None, Some(Rate::serial(9600))]),
        queue_bytes: script.pick(&[8192, 600]),
        ..Config::new(MTU)
    };
    Link::new(config, config.parts(|len| vec![0xEE; len])).expect("settings that may be")
}

/// A packet: TCP that continues from what the script sent before, or any bytes.
fn packet(script: &mut Script<'_>, numbers: &mut [u32; 2], id: &mut u16) -> Vec<u8> {
    if script.one_in(8) {
        return script.bytes().to_vec();
    }
    *id = id.wrapping_add(script.pick(&[1, 1, 1, 0, 300]));
    for number in numbers.iter_mut() {
        *number = number.wrapping_add(u32::from(script.pick(&[0_u8, 0, 1, 100])));
    }
    let (port, flags) = (script.byte() % 4, script.pick(&[0x10, 0x10, 0x18, 0x30, 0x50, 2, 0x11]));
    let data = script.bytes();
    let mut tcp = vec![4, port, 0, 23];
    tcp.extend(numbers.iter().flat_map(|number| number.to_be_bytes()));
    tcp.extend([0x50, flags, script.byte(), 0, 0, 0, 0, script.byte() % 2]);
    tcp.extend(data);
    let mut ip = vec![0x45, script.pick(&[0, 0, 0x10])];
    ip.extend((20 + tcp.len() as u16).to_be_bytes());
    ip.extend(id.to_be_bytes());
    ip.extend([script.pick(&[0x40, 0x40, 0x20]), 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    let sum = checksum(&ip);
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    let mut pseudo = ip[12..20].to_vec();
    pseudo.extend([0, 6]);
    pseudo.extend((tcp.len() as u16).to_be_bytes());
    pseudo.extend(&tcp);
    let sum = checksum(&pseudo);
    tcp[16..18].copy_from_slice(&sum.to_be_bytes());
    ip.extend(tcp);
    ip
}

/// Both ends, packets of one, and a line that the script controls.
pub fn link(bytes: &[u8]) -> Seen {
    let mut script = Script::new(bytes);
    let (mut from, mut to) = (end(&mut script), end(&mut script));
    // Ends with different settings may not understand each other.
    let mut damaged = script.one_in(4);
    if !damaged {
        to = from.clone();
    }
    let (mut now, mut numbers, mut id) = (Instant(1), [1000, 2000], 0);
    let (mut put, mut seen) = (Vec::new(), Seen::default());
    while !script.is_over() {
        match script.byte() % 16 {
            0 => now = now + Duration::from_millis(u64::from(script.byte()) * 8),
            1 => from.line_error(),
            2 => {
                to.line_error();
                damaged = true;
            }
            3 => {
                from.reopened();
                damaged = true;
            }
            4 => to.clear(),
            _ => {
                let packet = packet(&mut script, &mut numbers, &mut id);
                if from.put(now, &packet).is_ok() {
                    put.push(packet);
                }
            }
        }
        carry(&mut script, now, (&mut from, &mut to), &mut damaged, &put, &mut seen);
    }
    seen.compressed = from.compressor_stats().map_or(0, |stats| stats.compressed);
    seen.refused = to.stats().refused + to.decoder_stats().dropped();
    seen
}

/// Lets the line carry what it is given now.
fn carry(
    script: &mut Script<'_>,
    now: Instant,
    (from, to): (&mut Link<Vec<u8>>, &mut Link<Vec<u8>>),
    damaged: &mut bool,
    put: &[Vec<u8>],
    seen: &mut Seen,
) {
    // Each turn takes a byte at least of a bounded queue.
    for _ in 0..40_000 {
        let lent = from.transmit(now).to_vec();
        if lent.is_empty() {
            return;
        }
        assert_eq!(from.transmit(now), lent, "what is lent stays");
        let len = (1 + usize::from(script.byte()) * 4).min(lent.len());
        from.transmitted(now, len);
        let mut bytes = lent[..len].to_vec();
        if script.byte() == 7 {
            *damaged = true;
            let at = usize::from(script.byte()) % bytes.len();
            match script.byte() % 3 {
                0 => bytes[at] ^= script.byte() | 1,
                1 => drop(bytes.remove(at)),
                _ => bytes.insert(at, script.byte()),
            }
        }
        let mut at = 0;
        while at < bytes.len() {
            let (used, packet) = to.receive(&bytes[at..]);
            assert!(used > 0, "bytes are taken");
            at += used;
            let Some(packet) = packet else { continue };
            seen.came += 1;
            assert!(packet.len() <= 1500 + LONGEST_HEADER);
            seen.after_damage += u64::from(*damaged);
            let known = *damaged || put.iter().any(|put| put == packet);
            assert!(known, "a good line gives what was given: {packet:02x?}");
        }
    }
    panic!("a line that is never done");
}
