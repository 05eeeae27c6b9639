//! Modems: two of them, the line between, and the serial lines to their hosts, as one element.
//!
//! ```text
//! end A                                                                          end B
//! host = UART, flow control = [buffer] -> V.42bis -> LAPM -> bit clock ----+
//!      dte=                    buffer=    v42bis     v42     line=         | delay=
//! host = driver's buffer = UART <- V.42bis <- LAPM, in order <- deframer <-+
//!      rxbuf=
//! ```
//!
//! Nothing here has a preset throughput; it follows from the bits. A character takes ten bits at the host's
//! rate. Frames are filled with octets (of V.42bis, if it is on), get their address, numbers and check, and
//! take as many bits of the line as they have after zero insertion, including flags. The other modem has a
//! frame when its last flag has arrived, and delivers its characters at its own host's rate. Flow control
//! between the stages is RTS/CTS or XON/XOFF to the hosts, and RNR between the modems. Without error control a
//! character is ten bits of the line [V.14].
//!
//! The description as text, [`ModemModel`], such as `modem:dte=57600,line=14400,v42bis`:
//!
//! | parameter | meaning | default | source |
//! |---|---|---|---|
//! | `dte=57600` | bit/s between host and modem; `57600/9600` at A and B | 57600 | Kermit News 5 (1993): "57600, RTS/CTS" |
//! | `line=14400` | bit/s of the line; with V.34 `33600/31200` for A to B and back | 14400 | |
//! | `mod=v32bis` | [`modulation`] | the usual one of the rate | |
//! | `symbols=3429` | nominal symbols per second (V.34) | the lowest that carries the rate | V.34 table 8 |
//! | `v42` | error control, [`lapm`] | none | |
//! | `v42bis=2048/32` | compression, [`v42bis`], with this many codewords and maximum string length; implies `v42` | none; 2048/32 without a value | Supra's manual |
//! | `delay=30ms` | from one modem to the other, beside [`modulation`] | 30 ms | with `wait`, the 50 ms per modem that S. Cheshire measured |
//! | `wait=20ms` | how long a frame that is not full waits for more | 20 ms | assumed: the rest of those 50 ms |
//! | `flow=rtscts` | `rtscts`, `xonxoff` or `none`, at both ends, both ways | `rtscts` | Kermit News 5 (1993) |
//! | `reaction=1ms` | from such a signal to its effect | 1 ms | assumed: 6 characters at 57600 |
//! | `buffer=2048` | characters that a modem holds from its host, and half as many octets for it before RNR | 2048 | assumed |
//! | `rxbuf=4096` | characters that the host's driver holds | 4096 | assumed |
//! | `n401`, `k`, `t401`, `t402`, `n400`, `srej` | of LAPM | see [`lapm`] | |
//! | `ber=1e-5`, `burst=8@2s`, `dir=fwd`, `seed=7` | noise, as on a [`crate::serial`] line; with LAPM it counts all bits of the line, idle flags too, and a bit of a burst is wrong as often as right | none | |
//!
//! A hundred characters there and back at 33600 take about 156 ms beside the hosts' lines, which is
//! what Cheshire measured for a small packet; the parameter for a table to calibrate is `delay`.
//!
//! Not modelled: training, retrains and fall-back of rates, the error multiplication of descramblers (`ber` is
//! the rate after them), MNP and HST; PEP is in [`pep`].

mod direct;
pub mod hdlc;
pub mod lapm;
mod line;
mod link;
mod model;
pub mod modulation;
mod pair;
pub(crate) mod parse;
pub mod pep;
pub mod v42bis;

pub use model::ModemModel;
pub use pair::{ModemPair, ModemStats};
pub use parse::BadWord;
