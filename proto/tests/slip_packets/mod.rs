//! What the SLIP tests share: packets of TCP, conversations, and two ends of header compression.
#![allow(dead_code, unreachable_pub)]

use crate::common::Dice;
use wetstring_proto::checksum::{Sum, checksum};
use wetstring_proto::slip::packet::{Kind, flag};
use wetstring_proto::slip::{Compressor, Decompressor, HEADROOM, Refused};

pub fn from_hex(hex: &str) -> Vec<u8> {
    let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    (0..hex.len()).step_by(2).map(byte).collect()
}

/// A packet of TCP over IPv4.
#[derive(Clone, Debug)]
pub struct Tcp {
    pub source: [u8; 4],
    pub destination: [u8; 4],
    pub ports: [u16; 2],
    pub sequence: u32,
    pub ack: u32,
    pub flags: u8,
    pub window: u16,
    pub urgent: u16,
    pub id: u16,
    pub tos: u8,
    pub ttl: u8,
    /// The word of DF, MF and the fragment offset.
    pub fragment: u16,
    /// The reserved bits after the data offset.
    pub reserved: u8,
    pub ip_options: Vec<u8>,
    pub options: Vec<u8>,
    pub data: Vec<u8>,
}

impl Tcp {
    /// An acknowledgement of connection A of the vectors.
    pub fn new() -> Self {
        Self {
            source: [192, 0, 2, 1],
            destination: [192, 0, 2, 2],
            ports: [1025, 23],
            sequence: 0x1000,
            ack: 0x2000,
            flags: flag::ACK,
            window: 4096,
            urgent: 0,
            id: 100,
            tos: 0,
            ttl: 64,
            fragment: 0x4000,
            reserved: 0,
            ip_options: Vec::new(),
            options: Vec::new(),
            data: Vec::new(),
        }
    }

    pub fn bytes(&self) -> Vec<u8> {
        let ip_len = 20 + self.ip_options.len();
        let tcp_len = 20 + self.options.len();
        let total = ip_len + tcp_len + self.data.len();
        let mut ip = vec![0x40 | (ip_len / 4) as u8, self.tos];
        ip.extend((total as u16).to_be_bytes());
        ip.extend(self.id.to_be_bytes());
        ip.extend(self.fragment.to_be_bytes());
        ip.extend([self.ttl, 6, 0, 0]);
        ip.extend(self.source);
        ip.extend(self.destination);
        ip.extend(&self.ip_options);
        let sum = checksum(&ip);
        ip[10..12].copy_from_slice(&sum.to_be_bytes());
        let mut tcp = Vec::new();
        tcp.extend(self.ports[0].to_be_bytes());
        tcp.extend(self.ports[1].to_be_bytes());
        tcp.extend(self.sequence.to_be_bytes());
        tcp.extend(self.ack.to_be_bytes());
        tcp.extend([((tcp_len / 4) as u8 * 16) | self.reserved, self.flags]);
        tcp.extend(self.window.to_be_bytes());
        tcp.extend([0, 0]);
        tcp.extend(self.urgent.to_be_bytes());
        tcp.extend(&self.options);
        tcp.extend(&self.data);
        let sum = !tcp_sum(&ip, &tcp);
        tcp[16..18].copy_from_slice(&sum.to_be_bytes());
        ip.extend(tcp);
        ip
    }
}

/// The sum of TCP with its pseudo header, folded.
fn tcp_sum(ip: &[u8], tcp: &[u8]) -> u16 {
    let len = (tcp.len() as u32).to_be_bytes();
    Sum::default().with(&ip[12..20]).with(&[0, 6]).with(&len).with(tcp).folded()
}

/// Whether the end of the connection would take this packet: lengths, header checksum, and TCP's.
pub fn is_taken(packet: &[u8]) -> bool {
    if packet.len() < 40 || packet[0] >> 4 != 4 || packet[9] != 6 {
        return false;
    }
    let ip_len = usize::from(packet[0] & 15) * 4;
    let total = usize::from(u16::from_be_bytes([packet[2], packet[3]]));
    ip_len >= 20
        && total <= packet.len()
        && total >= ip_len + 20
        && Sum::default().with(&packet[..ip_len]).folded() == 0xFFFF
        && tcp_sum(&packet[..ip_len], &packet[ip_len..total]) == 0xFFFF
}

/// Both ends of the compression, without a line.
pub struct Ends {
    pub compressor: Compressor<Vec<u8>>,
    pub decompressor: Decompressor<Vec<u8>>,
}

impl Ends {
    pub fn new(slots: u16, omit_slot: bool) -> Self {
        let memory = || vec![0xEE; Compressor::memory(slots)];
        Self {
            compressor: Compressor::new(slots, omit_slot, memory()).unwrap(),
            decompressor: Decompressor::new(slots, memory()).unwrap(),
        }
    }

    pub fn frame(&mut self, packet: &[u8]) -> (Kind, Vec<u8>) {
        let mut bytes = packet.to_vec();
        let framed = self.compressor.compress(&mut bytes).unwrap();
        (framed.kind, bytes.split_off(framed.start))
    }

    pub fn packet(&mut self, frame: &[u8]) -> Result<Vec<u8>, Refused> {
        let mut buffer = vec![0xEE; HEADROOM];
        buffer.extend(frame);
        let start = self.decompressor.restore(&mut buffer, HEADROOM)?;
        Ok(buffer.split_off(start))
    }

    /// The packet goes through both, unchanged; says as what.
    pub fn pass(&mut self, packet: &[u8]) -> Kind {
        let (kind, frame) = self.frame(packet);
        assert!(frame.len() <= packet.len());
        assert_eq!(self.packet(&frame).as_deref(), Ok(packet), "{kind:?} {frame:02x?}");
        kind
    }
}

/// Some connections that talk; each packet is a plausible next one of one of them.
pub struct Conversation {
    pub dice: Dice,
    ends: Vec<Tcp>,
    /// The next IP id of the host.
    id: u16,
}

impl Conversation {
    pub fn new(seed: u64, connections: usize) -> Self {
        let mut dice = Dice(seed);
        let ends = (0..connections).map(|index| end(&mut dice, index)).collect();
        Self { dice, ends, id: 0xFF00 }
    }

    /// A packet as hosts send them: data, acknowledgements, echo, windows that open and close,
    /// retransmissions, and now and then something else.
    pub fn next(&mut self) -> Tcp {
        let dice = &mut self.dice;
        let at = dice.roll(self.ends.len());
        let end = &mut self.ends[at];
        if dice.roll(12) > 0 {
            end.sequence = end.sequence.wrapping_add(end.data.len() as u32);
        }
        end.flags = flag::ACK;
        end.urgent = 0;
        end.data.clear();
        match dice.roll(10) {
            0..3 => end.data = data(dice, 1),
            3..6 => {
                let len = 1 + dice.roll(600);
                end.data = data(dice, len);
            }
            _ => end.ack = end.ack.wrapping_add(dice.roll(1200) as u32),
        }
        if dice.roll(3) == 0 {
            end.ack = end.ack.wrapping_add(end.data.len() as u32);
        }
        if !end.data.is_empty() && dice.roll(2) == 0 {
            end.flags |= flag::PSH;
        }
        if dice.roll(20) == 0 {
            end.flags |= flag::URG;
            end.urgent = dice.roll(70_000) as u16;
        }
        if dice.roll(5) == 0 {
            end.window = [0, 65535, dice.roll(65536) as u16, 4096][dice.roll(4)];
        }
        self.id = self.id.wrapping_add(if dice.roll(8) == 0 { dice.roll(300) as u16 } else { 1 });
        end.id = self.id;
        end.clone()
    }
}

fn end(dice: &mut Dice, index: usize) -> Tcp {
    let mut end = Tcp::new();
    end.ports = [1025 + index as u16, [23, 80, 20][dice.roll(3)]];
    end.sequence = 0xFFFF_FC00_u32.wrapping_add(dice.roll(1 << 16) as u32);
    end.ack = dice.roll(1 << 32) as u32;
    if dice.roll(8) == 0 {
        end.ip_options = vec![1; 4 * dice.roll(11)];
    }
    if dice.roll(4) == 0 {
        end.options = vec![1; 4 * dice.roll(11)];
    }
    end
}

pub fn data(dice: &mut Dice, len: usize) -> Vec<u8> {
    (0..len).map(|_| dice.roll(256) as u8).collect()
}

/// Changes a packet so that it is no plain segment: another field, a flag, a length that lies, garbage.
pub fn twist(dice: &mut Dice, tcp: &mut Tcp) -> Vec<u8> {
    match dice.roll(16) {
        0 => tcp.flags = dice.roll(256) as u8,
        1 => tcp.flags |= [flag::SYN, flag::FIN, flag::RST, 0x40, 0x80, 0xC0][dice.roll(6)],
        2 => tcp.tos ^= 0x10,
        3 => tcp.ttl -= 1,
        4 => tcp.fragment = [0, 0x2000, 0x2001, 0x8000, 5][dice.roll(5)],
        5 => tcp.reserved = dice.roll(16) as u8,
        6 => tcp.ip_options = vec![0; 4 * dice.roll(11)],
        7 => tcp.options = data(dice, 12),
        8 => tcp.urgent = dice.roll(65536) as u16,
        9 => tcp.sequence = dice.roll(1 << 32) as u32,
        10 => tcp.id = dice.roll(65536) as u16,
        _ => return twist_bytes(dice, &tcp.bytes()),
    }
    tcp.bytes()
}

fn twist_bytes(dice: &mut Dice, packet: &[u8]) -> Vec<u8> {
    let mut bytes = packet.to_vec();
    match dice.roll(6) {
        0 => bytes.truncate(1 + dice.roll(bytes.len() - 1)),
        1 => {
            let more = 1 + dice.roll(9);
            bytes.extend(data(dice, more));
        }
        2 => {
            let at = dice.roll(bytes.len());
            bytes[at] ^= 1 << dice.roll(8);
        }
        3 => {
            let len = 1 + dice.roll(90);
            bytes = data(dice, len);
        }
        4 => bytes[9] = 17,
        _ => {
            bytes = data(dice, 40);
            bytes[4..6].fill(0);
            bytes[0] = 0x60;
        }
    }
    // What is no IP has no place on the line; an IPv6 packet has its length.
    bytes[0] &= 0x6F;
    if bytes[0] & 0x60 == 0x60 || bytes[0] & 0x40 == 0 {
        let len = bytes.len().max(40);
        bytes.resize(len, 0);
        bytes[0] |= 0x60;
        bytes[4..6].copy_from_slice(&((len - 40) as u16).to_be_bytes());
    }
    bytes
}
