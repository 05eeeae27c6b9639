//! QEMU's `virt` for RISC-V: a 16550, the clock of the CLINT, and RAM that stands for flash. What drives these
//! is in a section of its own, so that it can be told from the rest of the loader.

use crate::chosen::MEMORY;
use core::arch::global_asm;

const UART: usize = 0x1000_0000;
const CLOCK: usize = 0x0200_BFF8;
/// Where the image is.
const FLASH: usize = 0x8020_0000;
const FLASH_LEN: usize = 0x10_0000;

unsafe extern "C" {
    static mut _bss: u32;
    static mut _bss_end: u32;
    static mut _stack: u32;
}

global_asm!(
    ".section .start, \"ax\"",
    ".globl _start",
    "_start:",
    "la sp, _stack",
    "j {reset}",
    reset = sym reset,
);

/// The memory of the engine.
static mut ENGINE: [u8; MEMORY] = [0; MEMORY];

extern "C" fn reset() -> ! {
    // SAFETY: before `main` nothing else runs; the linker says where the zeros are.
    let memory = unsafe {
        let (mut at, end) = (&raw mut _bss, &raw const _bss_end);
        while at.cast_const() < end {
            at.write_volatile(0);
            at = at.add(1);
        }
        let engine = &raw mut ENGINE;
        &mut *engine
    };
    crate::main(memory)
}

/// The next byte of the UART, if there is one.
#[inline(never)]
#[unsafe(link_section = ".driver")]
pub fn get() -> Option<u8> {
    // SAFETY: registers of the 16550.
    unsafe {
        let ready = ((UART + 5) as *const u8).read_volatile() & 1 == 1;
        ready.then(|| (UART as *const u8).read_volatile())
    }
}

/// Sends a byte.
#[inline(never)]
#[unsafe(link_section = ".driver")]
pub fn put(byte: u8) {
    // SAFETY: registers of the 16550.
    unsafe {
        while ((UART + 5) as *const u8).read_volatile() & 0x20 == 0 {}
        (UART as *mut u8).write_volatile(byte);
    }
}

/// Microseconds since the start: the clock has 10 MHz.
#[allow(dead_code, reason = "the small loader counts milliseconds")]
#[inline(never)]
#[unsafe(link_section = ".driver")]
pub fn now_us() -> u64 {
    // SAFETY: the two halves of mtime.
    let half = |at: usize| unsafe { ((CLOCK + at) as *const u32).read_volatile() };
    loop {
        let (high, low) = (half(4), half(0));
        if half(4) == high {
            return (u64::from(high) << 32 | u64::from(low)) / 10;
        }
    }
}

/// Milliseconds since the start. Called at least once in 7 minutes.
#[allow(dead_code, reason = "the loader of the engines counts microseconds")]
#[inline(never)]
#[unsafe(link_section = ".driver")]
pub fn now_ms() -> u32 {
    static mut MS: u32 = 0;
    static mut AT: u32 = 0;
    // SAFETY: the lower half of mtime; nothing interrupts.
    unsafe {
        let now = (CLOCK as *const u32).read_volatile();
        // A compiler that sees through it would make a division of this, which takes more code than all else here.
        while now.wrapping_sub((&raw const AT).read_volatile()) >= 10_000 {
            AT = AT.wrapping_add(10_000);
            MS = MS.wrapping_add(1);
        }
        MS
    }
}

/// Erases what an image may take: the header is enough here.
#[inline(never)]
#[unsafe(link_section = ".driver")]
pub fn erase() {
    program(0, u32::MAX);
}

/// Programs a word of the image; whether there is room.
#[inline(never)]
#[unsafe(link_section = ".driver")]
pub fn program(at: usize, value: u32) -> bool {
    if at >= FLASH_LEN {
        return false;
    }
    // SAFETY: RAM that nothing else uses.
    unsafe { ((FLASH + at) as *mut u32).write_volatile(value) };
    true
}

/// A word of the image.
#[inline(never)]
#[unsafe(link_section = ".driver")]
pub fn word(at: usize) -> Option<u32> {
    // SAFETY: RAM that nothing else uses.
    (at < FLASH_LEN).then(|| unsafe { ((FLASH + at) as *const u32).read_volatile() })
}

/// The lowest word of the stack, and the one above its highest.
pub fn stack() -> (*mut u32, *mut u32) {
    (&raw mut _bss_end, &raw mut _stack)
}

/// The lowest word of the stack that is in use.
#[inline(always)]
pub fn stack_pointer() -> *mut u32 {
    let at: *mut u32;
    // SAFETY: it only reads the register.
    unsafe {
        core::arch::asm!("mv {0}, sp", out(reg) at, options(nomem, nostack, preserves_flags))
    };
    at
}

/// Starts the program at this place of the image.
pub fn start(at: usize) -> ! {
    // SAFETY: the digest of the program was right; it never returns.
    unsafe { core::arch::asm!("fence.i", "jr {0}", in(reg) FLASH + at, options(noreturn)) }
}

/// Does nothing any more.
pub fn halt() -> ! {
    loop {
        core::hint::spin_loop();
    }
}
