//! Run-length coded data (header form D, Omen; xyzmodem.md §4.4).
//!
//! ```text
//! 7e 40     a literal 7e
//! 7e n      n in 20..3f: n - 1d blanks, 3 to 34
//! 7e n c    n in 41..bf: n - 40 times c, 1 to 127
//! ```
//!
//! The check of a subpacket covers the coded bytes.

const MARK: u8 = 0x7E;
const BLANK: u8 = b' ';

/// Codes as many bytes of `data` as are sure to fit in `out`; returns bytes used and made.
pub fn encode(data: &[u8], out: &mut [u8]) -> (usize, usize) {
    let (mut used, mut made) = (0, 0);
    while used < data.len() && made + 3 <= out.len() {
        let byte = data[used];
        let most = if byte == BLANK { 34 } else { 127 };
        let run = data[used..].iter().take(most).take_while(|next| **next == byte).count();
        let code = |n: usize| 0x40 + n as u8;
        match (byte, run) {
            (BLANK, 3..) => {
                out[made..made + 2].copy_from_slice(&[MARK, run as u8 + 0x1D]);
                made += 2;
            }
            (MARK, 1) => {
                out[made..made + 2].copy_from_slice(&[MARK, 0x40]);
                made += 2;
            }
            (MARK, _) | (_, 4..) => {
                out[made..made + 3].copy_from_slice(&[MARK, code(run), byte]);
                made += 3;
            }
            _ => {
                out[made..made + run].fill(byte);
                made += run;
            }
        }
        used += run;
    }
    (used, made)
}

/// Decodes as much of `coded` as fits in `out`; returns bytes used and made, or `None` at an
/// invalid code. A code truncated at the end of `coded` is invalid too.
pub fn decode(coded: &[u8], out: &mut [u8]) -> Option<(usize, usize)> {
    let (mut used, mut made) = (0, 0);
    while used < coded.len() {
        let (len, byte, run) = match coded[used] {
            MARK => match (*coded.get(used + 1)?, coded.get(used + 2)) {
                (0x40, _) => (2, MARK, 1),
                (n @ 0x20..=0x3F, _) => (2, BLANK, usize::from(n - 0x1D)),
                (n @ 0x41..=0xBF, Some(byte)) => (3, *byte, usize::from(n - 0x40)),
                _ => return None,
            },
            byte => (1, byte, 1),
        };
        if made + run > out.len() {
            break;
        }
        out[made..made + run].fill(byte);
        used += len;
        made += run;
    }
    Some((used, made))
}
