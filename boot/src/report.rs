//! What the loader says, and how much stack it has used.

use crate::machine;

/// What the unused stack is painted with.
const PAINT: u32 = 0xA5A5_5A5A;

/// What the digits of a number count. A Cortex-M0 cannot divide; a function for it takes 400 bytes.
static POWERS: [usize; 10] =
    [1_000_000_000, 100_000_000, 10_000_000, 1_000_000, 100_000, 10_000, 1000, 100, 10, 1];

/// Says a name and a number.
pub fn say(name: &str, number: usize) {
    name.bytes().for_each(machine::put);
    let mut rest = number;
    let mut begun = false;
    for power in &POWERS {
        let mut digit = b'0';
        while rest >= *power {
            rest -= *power;
            digit += 1;
        }
        begun |= digit != b'0' || *power == 1;
        if begun {
            machine::put(digit);
        }
    }
    b"\r\n".iter().copied().for_each(machine::put);
}

/// Paints the stack below the caller.
#[inline(never)]
pub fn paint() {
    let (mut at, _) = machine::stack();
    let end = machine::stack_pointer();
    while at < end {
        // SAFETY: between the end of what is static and the stack pointer there is nothing.
        unsafe { at.write_volatile(PAINT) };
        at = at.wrapping_add(1);
    }
}

/// The most bytes of the stack that were in use since it was painted.
pub fn used() -> usize {
    let (bottom, top) = machine::stack();
    let mut at = bottom;
    // SAFETY: as above, and it is only read.
    while at < top && unsafe { at.read_volatile() } == PAINT {
        at = at.wrapping_add(1);
    }
    top as usize - at as usize
}
