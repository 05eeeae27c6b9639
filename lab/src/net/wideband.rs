//! Where the numbers of the Wideband network come from: RFC 1030 §7 and its appendix I.
//!
//! ```text
//! frame          32768 symbols, 2 bits each, one every 21.22 ms     3.088 Mb/s raw
//!   control      10 stations x (200 + 1263 of padding)              14630
//!   data         the rest                                           18138
//!     limit      a size of 14 bits                                  16384
//!     usable     after headers                                      16036
//!       coded    x 2 bits x 3/4                                     24054 bits = 3006 bytes
//! ```
//!
//! The source prints 3.081 Mb/s for the raw channel; 65536 bits in 21.22 ms are 3.088. Two packets
//! of an Ethernet go into a frame; the authors took 22 ms instead of 21.22 so as not to overflow the
//! channel, and got 2 x 1438 bytes / 22 ms = 1.05 Mb/s as the best that a transfer can have.
//!
//! A datagram crosses the satellite twice: its request for room, and itself. The delays come in
//! steps of 600 ms and the round trip is 1.8 s, so 300 ms are left for each way; 270 ms is one hop
//! of a geostationary satellite, and the frames are the rest.
//!
//! Not stated, and therefore words of [`super::slotted`] that a table has to assume: how often a
//! request is missed (`miss`), what a station can hold (`queue`), how long it is down after it
//! was overrun (`collapse`). At 5 packets of 1432 bytes per 50 ms "four of the ten" stations crashed.

use wetstring_proto::Duration;

/// Length of a frame.
pub const FRAME: Duration = Duration::from_micros(21_220);
/// Channel symbols in a frame.
pub const FRAME_SYMBOLS: u64 = 32_768;
/// Bits in a symbol.
pub const SYMBOL_BITS: u64 = 2;
/// Stations that share the channel.
pub const STATIONS: u64 = 10;
/// Symbols of control information for each station, and of padding behind it, for the interface
/// between station and earth station runs at 2 Mb/s only.
pub const CONTROL_SYMBOLS: (u64, u64) = (200, 1263);
/// Most symbols that the size of a datagram can express: it has 14 bits.
pub const SIZE_LIMIT_SYMBOLS: u64 = 1 << 14;
/// What headers take of that.
pub const HEADER_SYMBOLS: u64 = 348;
/// Data bits of this many coded ones: 3 of 4.
pub const CODE_RATE: (u64, u64) = (3, 4);
/// From a request to the first frame that may carry it: "delays tend to occur in multiples of 600
/// milliseconds".
pub const RESERVE: Duration = Duration::from_millis(600);
/// One way over the satellite.
pub const HOP: Duration = Duration::from_millis(270);
/// What the authors paced two packets to, so as to stay below the channel.
pub const SAFE_FRAME: Duration = Duration::from_millis(22);

/// Symbols of a frame that are left when every station has had its control slot.
pub const fn data_symbols() -> u64 {
    FRAME_SYMBOLS - STATIONS * (CONTROL_SYMBOLS.0 + CONTROL_SYMBOLS.1)
}

/// Symbols of a frame that datagrams can use.
pub const fn usable_symbols() -> u64 {
    let data = data_symbols();
    let limited = if data < SIZE_LIMIT_SYMBOLS { data } else { SIZE_LIMIT_SYMBOLS };
    limited - HEADER_SYMBOLS
}

/// Bits of datagrams that a frame carries.
pub const fn frame_bits() -> u64 {
    usable_symbols() * SYMBOL_BITS * CODE_RATE.0 / CODE_RATE.1
}

/// Whole bytes of datagrams that a frame carries.
pub const fn frame_bytes() -> u64 {
    frame_bits() / 8
}

/// This many bits per interval, in bit/s, rounded down.
pub const fn rate_bps(bits: u64, every: Duration) -> u64 {
    (bits as u128 * 1_000_000_000 / every.as_nanos()) as u64
}
