//! Blocks of a pcapng file [draft-ietf-opsawg-pcapng].
//!
//! ```text
//! type 4 | length 4 | body, a multiple of 4 | length 4        all in the order of this machine: here little endian
//! option: code 2 | length 2 | value, filled up to 4
//! ```

use super::{Medium, Packet};
use crate::element::End;

/// Types of blocks.
pub(super) const SECTION: u32 = 0x0A0D_0D0A;
pub(super) const INTERFACE: u32 = 1;
pub(super) const ENHANCED: u32 = 6;
/// What tells the byte order.
pub(super) const ORDER: u32 = 0x1A2B_3C4D;
/// Options.
const IF_NAME: u16 = 2;
pub(super) const IF_TSRESOL: u16 = 9;
pub(super) const EPB_FLAGS: u16 = 2;
const SHB_USERAPPL: u16 = 4;
/// Bits of the flags.
pub(super) const INBOUND: u32 = 1;
pub(super) const OUTBOUND: u32 = 2;

fn block(kind: u32, body: &[u8]) -> Vec<u8> {
    let len = (body.len() as u32 + 12).to_le_bytes();
    [&kind.to_le_bytes()[..], &len, body, &len].concat()
}

fn option(code: u16, value: &[u8]) -> Vec<u8> {
    let len = (value.len() as u16).to_le_bytes();
    let filled = value.len().next_multiple_of(4) - value.len();
    [&code.to_le_bytes()[..], &len, value, &[0; 3][..filled]].concat()
}

/// The end of options.
const NO_MORE: [u8; 4] = [0; 4];

/// The section, and an interface for each end.
pub(super) fn header(medium: Medium) -> Vec<u8> {
    let program = option(SHB_USERAPPL, b"wetstring");
    let section = [
        &ORDER.to_le_bytes()[..],
        &1u16.to_le_bytes(),
        &0u16.to_le_bytes(),
        // The length of the section is not said.
        &u64::MAX.to_le_bytes(),
        &program,
        &NO_MORE,
    ];
    let mut file = block(SECTION, &section.concat());
    for name in ["A", "B"] {
        let (name, nanoseconds) = (option(IF_NAME, name.as_bytes()), option(IF_TSRESOL, &[9]));
        let link = u32::from(medium.link_type()).to_le_bytes();
        let body = [&link[..], &0u32.to_le_bytes(), &name, &nanoseconds, &NO_MORE];
        file.extend(block(INTERFACE, &body.concat()));
    }
    file
}

/// One packet.
pub(super) fn packet(medium: Medium, packet: &Packet) -> Vec<u8> {
    let data = [&before(medium, packet)[..], &packet.bytes].concat();
    let len = (data.len() as u32).to_le_bytes();
    let filled = data.len().next_multiple_of(4) - data.len();
    let flags = if packet.sent { OUTBOUND } else { INBOUND };
    let body = [
        &u32::from(packet.at == End::B).to_le_bytes()[..],
        &((packet.at_ns >> 32) as u32).to_le_bytes(),
        &(packet.at_ns as u32).to_le_bytes(),
        &len,
        &len,
        &data,
        &[0; 3][..filled],
        &option(EPB_FLAGS, &flags.to_le_bytes()),
        &NO_MORE,
    ];
    block(ENHANCED, &body.concat())
}

/// What the link type has before the bytes.
fn before(medium: Medium, packet: &Packet) -> Vec<u8> {
    match medium {
        Medium::Ip | Medium::Bare => Vec::new(),
        Medium::Serial => {
            let (secs, rest) = (packet.at_ns / 1_000_000_000, packet.at_ns % 1_000_000_000);
            let times = [secs as u32, (rest / 1000) as u32].map(u32::to_be_bytes).concat();
            // Transmit data start, receive data start; no lines of the UART are known.
            let event = if packet.sent { 1 } else { 2 };
            [&times[..], &[event, 0, 0, 0]].concat()
        }
    }
}
