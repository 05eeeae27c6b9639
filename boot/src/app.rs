//! The program that the boot loader receives: it says so, again and again. Its bulk are bytes that are checked.
#![no_std]
#![no_main]

/// Makes the image longer than a few blocks.
static BULK: [u8; 6000] = {
    let (mut bytes, mut state, mut at) = ([0; 6000], 1_u32, 0);
    while at < bytes.len() {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        bytes[at] = (state >> 24) as u8;
        at += 1;
    }
    bytes
};

#[cfg(target_arch = "arm")]
core::arch::global_asm!(
    ".section .start, \"a\"", ".word _stack", ".word {main} + 0", main = sym main);
#[cfg(target_arch = "riscv32")]
core::arch::global_asm!(
    ".section .start, \"ax\"", ".globl _start", "_start:", "la sp, _stack", "j {main}", main = sym main);

#[cfg(target_arch = "arm")]
fn put(byte: u8) {
    // SAFETY: registers of the UART of the nRF51.
    unsafe {
        (0x4000_211C as *mut u32).write_volatile(0);
        (0x4000_251C as *mut u32).write_volatile(u32::from(byte));
        while (0x4000_211C as *const u32).read_volatile() == 0 {}
    }
}

#[cfg(target_arch = "riscv32")]
fn put(byte: u8) {
    // SAFETY: registers of the 16550.
    unsafe {
        while (0x1000_0005 as *const u8).read_volatile() & 0x20 == 0 {}
        (0x1000_0000 as *mut u8).write_volatile(byte);
    }
}

#[unsafe(export_name = "reset")]
extern "C" fn main() -> ! {
    loop {
        let mut sum = 0_u32;
        for byte in &BULK {
            // SAFETY: a reference; volatile, so that the sum is of what is in the memory.
            sum = sum.wrapping_add(u32::from(unsafe { core::ptr::from_ref(byte).read_volatile() }));
        }
        let _ = sum;
        b"app: runs\r\n".iter().copied().for_each(put);
        for _ in 0..400_000 {
            core::hint::spin_loop();
        }
    }
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {
        core::hint::spin_loop();
    }
}
