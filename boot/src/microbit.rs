//! The micro:bit: a Cortex-M0 (nRF51822) with its UART, timer and flash controller. nRF51 Series Reference Manual 3.0.
//! What drives these is in a section of its own, so that it can be told from the rest of the loader.

use crate::chosen::MEMORY;
use core::arch::global_asm;

const UART: usize = 0x4000_2000;
const TIMER: usize = 0x4000_8000;
const NVMC: usize = 0x4001_E000;
/// Where the image is.
const FLASH: usize = 0x1_0000;
const FLASH_LEN: usize = 0x1_8000;
const PAGE: usize = 1024;

unsafe extern "C" {
    static mut _bss: u32;
    static mut _bss_end: u32;
    static mut _stack: u32;
}

// The vectors: the stack and where to begin; every fault stops.
global_asm!(
    ".section .start, \"a\"",
    ".word _stack",
    ".word {reset} + 0",
    ".rept 14",
    ".word {stop} + 0",
    ".endr",
    reset = sym reset,
    stop = sym stop,
);

/// The memory of the engine.
static mut ENGINE: [u8; MEMORY] = [0; MEMORY];

/// The processor begins here, on the stack of the vectors.
#[unsafe(no_mangle)]
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
    init();
    crate::main(memory)
}

extern "C" fn stop() -> ! {
    halt()
}

/// Starts the UART and the timer.
#[inline(never)]
#[unsafe(link_section = ".driver")]
fn init() {
    write(UART + 0x524, 0x01D7_E000); // 115200 bit/s
    write(UART + 0x500, 4);
    write(UART, 1);
    write(UART + 0x008, 1);
    write(TIMER + 0x504, 0);
    write(TIMER + 0x508, 3); // 32 bits
    write(TIMER + 0x510, 4); // 1 MHz
    write(TIMER, 1);
}

#[inline(always)]
fn write(at: usize, value: u32) {
    // SAFETY: the addresses above are registers, or the flash while it is programmed.
    unsafe { (at as *mut u32).write_volatile(value) }
}

#[inline(always)]
fn read(at: usize) -> u32 {
    // SAFETY: the addresses above are registers or flash.
    unsafe { (at as *const u32).read_volatile() }
}

/// The next byte of the UART, if there is one.
#[inline(never)]
#[unsafe(link_section = ".driver")]
pub fn get() -> Option<u8> {
    if read(UART + 0x108) == 0 {
        return None;
    }
    write(UART + 0x108, 0);
    Some(read(UART + 0x518) as u8)
}

/// Sends a byte.
#[inline(never)]
#[unsafe(link_section = ".driver")]
pub fn put(byte: u8) {
    write(UART + 0x11C, 0);
    write(UART + 0x51C, u32::from(byte));
    while read(UART + 0x11C) == 0 {}
}

/// Microseconds since the start. Called at least once in 71 minutes.
#[allow(dead_code, reason = "the small loader counts milliseconds")]
#[inline(never)]
#[unsafe(link_section = ".driver")]
pub fn now_us() -> u64 {
    static mut LAST: u32 = 0;
    static mut TURNS: u32 = 0;
    write(TIMER + 0x040, 1);
    let now = read(TIMER + 0x540);
    // SAFETY: nothing interrupts.
    unsafe {
        if now < LAST {
            TURNS += 1;
        }
        LAST = now;
        u64::from(TURNS) << 32 | u64::from(now)
    }
}

/// Milliseconds since the start. Called at least once in 71 minutes.
#[allow(dead_code, reason = "the loader of the engines counts microseconds")]
#[inline(never)]
#[unsafe(link_section = ".driver")]
pub fn now_ms() -> u32 {
    static mut MS: u32 = 0;
    static mut AT: u32 = 0;
    write(TIMER + 0x040, 1);
    let now = read(TIMER + 0x540);
    // SAFETY: nothing interrupts.
    unsafe {
        // A compiler that sees through it would make a division of this, which takes more code than all else here.
        while now.wrapping_sub((&raw const AT).read_volatile()) >= 1000 {
            AT = AT.wrapping_add(1000);
            MS = MS.wrapping_add(1);
        }
        MS
    }
}

/// Erases what an image may take.
#[inline(never)]
#[unsafe(link_section = ".driver")]
pub fn erase() {
    write(NVMC + 0x504, 2);
    let mut page = FLASH;
    while page < FLASH + FLASH_LEN {
        write(NVMC + 0x508, page as u32);
        while read(NVMC + 0x400) & 1 == 0 {}
        page += PAGE;
    }
    write(NVMC + 0x504, 0);
}

/// Programs a word of the image; whether there is room.
#[inline(never)]
#[unsafe(link_section = ".driver")]
pub fn program(at: usize, value: u32) -> bool {
    if at >= FLASH_LEN {
        return false;
    }
    write(NVMC + 0x504, 1);
    write(FLASH + at, value);
    while read(NVMC + 0x400) & 1 == 0 {}
    write(NVMC + 0x504, 0);
    true
}

/// A word of the image.
#[inline(never)]
#[unsafe(link_section = ".driver")]
pub fn word(at: usize) -> Option<u32> {
    (at < FLASH_LEN).then(|| read(FLASH + at))
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
        core::arch::asm!("mov {0}, sp", out(reg) at, options(nomem, nostack, preserves_flags))
    };
    at
}

/// Starts the program at this place of the image, which begins with its vectors.
pub fn start(at: usize) -> ! {
    let vectors = FLASH + at;
    // SAFETY: the digest of the program was right; it never returns.
    unsafe {
        core::arch::asm!(
            "mov sp, {stack}", "bx {entry}",
            stack = in(reg) read(vectors), entry = in(reg) read(vectors + 4),
            options(noreturn)
        )
    }
}

/// Does nothing any more.
pub fn halt() -> ! {
    loop {
        core::hint::spin_loop();
    }
}
