//! The files that are sent.

use crate::Star;

/// Random bytes; the same for the same seed.
pub fn random(len: usize, seed: u64) -> Vec<u8> {
    let mut dice = Star(seed ^ 0x9e37_79b9_7f4a_7c15);
    let mut bytes = Vec::with_capacity(len + 8);
    while bytes.len() < len {
        bytes.extend_from_slice(&dice.next().to_le_bytes());
    }
    bytes.truncate(len);
    bytes
}

/// Every byte value in runs of 1, 2, 3, 93, 94 and 95: the boundaries of repeat counts.
pub fn runs() -> Vec<u8> {
    let mut bytes = Vec::new();
    for value in 0..=255u8 {
        for len in [1, 2, 3, 93, 94, 95] {
            bytes.resize(bytes.len() + len, value);
            // Something between equal runs, and it takes every value too.
            bytes.push(value.wrapping_mul(7).wrapping_add(len as u8));
        }
    }
    bytes
}

/// [`runs`] shortened to what crosses a slow or lossy line in a test.
pub fn every_byte() -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..=255).collect();
    bytes.extend((0..=255u8).rev().flat_map(|value| [value, value, value]));
    bytes
}

/// C source text with LF line ends, of about `len` bytes.
pub fn c_source(len: usize) -> Vec<u8> {
    let mut dice = Star(0x5eed);
    let mut text = Vec::with_capacity(len + 1000);
    while text.len() < len {
        let n = dice.next() % 1000;
        let types = ["int", "char *", "unsigned long", "struct packet *"];
        let kind = types[(n % 4) as usize];
        let head = format!("static {kind}\nfunction_{n}(int argument, char **names)\n{{\n");
        text.extend_from_slice(b"/* what follows is source, and it is not run */\n");
        text.extend_from_slice(head.as_bytes());
        for line in 0..n % 9 {
            let deep = "    ".repeat(1 + (line % 4) as usize);
            let condition = format!("{deep}if (names[{line}] != NULL && argument > {n})\n");
            let body = format!("{deep}    total += table[{line}] << {}; /* ~#& */\n", n % 8);
            text.extend_from_slice(condition.as_bytes());
            text.extend_from_slice(body.as_bytes());
        }
        text.extend_from_slice(b"\n    return 0;\n}\n\n");
    }
    text
}

/// Text in ISO 8859-1 with long stretches of letters that have bit 7: for locking shifts.
pub fn latin1() -> Vec<u8> {
    let mut text = Vec::new();
    for round in 0..40u8 {
        text.extend_from_slice(b"plain and then \n");
        text.extend((0xC0..=0xFF).map(|c: u8| c ^ (round & 7)));
        text.extend_from_slice(b" back x\xE9y #&~ \xA3\xA6\xFE\n");
    }
    text
}
