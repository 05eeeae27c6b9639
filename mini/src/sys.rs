//! The start of a process and the calls of Linux, without libc: all that is `unsafe` here.
//!
//! Seven instructions for each processor. A call of Linux takes numbers and pointers to memory that lives as long as
//! the call: each function below takes references, and passes the length that they have.

use core::time::Duration;

/// Standard input, standard output, and the file that is written.
pub const IN: usize = 0;
/// Standard output.
pub const OUT: usize = 1;
/// The file that is written: the shell opens it.
pub const FILE: usize = 3;

/// Numbers of calls.
struct Numbers {
    read: usize,
    write: usize,
    ppoll: usize,
    clock_gettime: usize,
    exit_group: usize,
}

/// What Linux calls `long`, in the structures of time of these calls.
type Long = isize;

/// A point or length of time.
#[repr(C)]
struct Time {
    seconds: Long,
    nanos: Long,
}

/// What is waited for.
#[repr(C)]
struct Poll {
    descriptor: i32,
    events: i16,
    came: i16,
}

const POLLIN: i16 = 1;
const MONOTONIC: usize = 1;
const EINTR: isize = -4;

#[cfg(target_arch = "x86_64")]
mod arch {
    use super::Numbers;
    pub(super) const NUMBERS: Numbers =
        Numbers { read: 0, write: 1, ppoll: 271, clock_gettime: 228, exit_group: 231 };
    core::arch::global_asm!(
        ".globl _start", "_start:", "xor ebp, ebp", "mov rdi, rsp", "and rsp, -16", "call {begin}", "ud2",
        begin = sym super::begin
    );
    /// # Safety
    ///
    /// As the kernel's manual says of the call of this number.
    pub(super) unsafe fn call(number: usize, arguments: [usize; 5]) -> isize {
        let [a, b, c, d, e] = arguments;
        let result;
        // SAFETY: the instruction changes these registers, and memory that the caller answers for.
        unsafe {
            core::arch::asm!("syscall", inlateout("rax") number => result, in("rdi") a, in("rsi") b,
                in("rdx") c, in("r10") d, in("r8") e, lateout("rcx") _, lateout("r11") _,
                options(nostack));
        }
        result
    }
}

#[cfg(target_arch = "aarch64")]
mod arch {
    use super::Numbers;
    pub(super) const NUMBERS: Numbers =
        Numbers { read: 63, write: 64, ppoll: 73, clock_gettime: 113, exit_group: 94 };
    core::arch::global_asm!(
        ".globl _start", "_start:", "mov x29, xzr", "mov x30, xzr", "mov x0, sp", "b {begin}",
        begin = sym super::begin
    );
    /// # Safety
    ///
    /// As the kernel's manual says of the call of this number.
    pub(super) unsafe fn call(number: usize, arguments: [usize; 5]) -> isize {
        let [a, b, c, d, e] = arguments;
        let result;
        // SAFETY: the instruction changes x0, and memory that the caller answers for.
        unsafe {
            core::arch::asm!("svc 0", in("x8") number, inlateout("x0") a => result, in("x1") b,
                in("x2") c, in("x3") d, in("x4") e, options(nostack));
        }
        result
    }
}

#[cfg(target_arch = "riscv64")]
mod arch {
    use super::Numbers;
    pub(super) const NUMBERS: Numbers =
        Numbers { read: 63, write: 64, ppoll: 73, clock_gettime: 113, exit_group: 94 };
    core::arch::global_asm!(
        ".globl _start", "_start:", "mv a0, sp", "tail {begin}",
        begin = sym super::begin
    );
    /// # Safety
    ///
    /// As the kernel's manual says of the call of this number.
    pub(super) unsafe fn call(number: usize, arguments: [usize; 5]) -> isize {
        let [a, b, c, d, e] = arguments;
        let result;
        // SAFETY: the instruction changes a0, and memory that the caller answers for.
        unsafe {
            core::arch::asm!("ecall", in("a7") number, inlateout("a0") a => result, in("a1") b,
                in("a2") c, in("a3") d, in("a4") e, options(nostack));
        }
        result
    }
}

#[cfg(target_arch = "arm")]
mod arch {
    use super::Numbers;
    pub(super) const NUMBERS: Numbers =
        Numbers { read: 3, write: 4, ppoll: 336, clock_gettime: 263, exit_group: 248 };
    core::arch::global_asm!(
        ".arm", ".globl _start", ".type _start, %function", "_start:", "mov r0, sp",
        "bic sp, sp, #7", "bl {begin}", "udf #0",
        begin = sym super::begin
    );
    /// # Safety
    ///
    /// As the kernel's manual says of the call of this number.
    pub(super) unsafe fn call(number: usize, arguments: [usize; 5]) -> isize {
        let [a, b, c, d, e] = arguments;
        let result;
        // SAFETY: the instruction changes r0, and memory that the caller answers for.
        unsafe {
            // r7 is the compiler's own in Thumb.
            core::arch::asm!("mov r5, r7", "mov r7, {number}", "svc #0", "mov r7, r5",
                number = in(reg) number, inlateout("r0") a => result, in("r1") b, in("r2") c,
                in("r3") d, in("r4") e, out("r5") _, options(nostack));
        }
        result
    }
}

#[cfg(target_arch = "mips")]
mod arch {
    use super::Numbers;
    pub(super) const NUMBERS: Numbers =
        Numbers { read: 4003, write: 4004, ppoll: 4302, clock_gettime: 4263, exit_group: 4246 };
    core::arch::global_asm!(
        ".set noreorder", ".set noat", ".globl _start", ".globl __start", "__start:", "_start:", "move $a0, $sp",
        "addiu $at, $zero, -8", "and $sp, $sp, $at", "addiu $sp, $sp, -32", "jal {begin}", "nop",
        ".set at", ".set reorder",
        begin = sym super::begin
    );
    /// # Safety
    ///
    /// As the kernel's manual says of the call of this number.
    pub(super) unsafe fn call(number: usize, arguments: [usize; 5]) -> isize {
        let [a, b, c, d, e] = arguments;
        let (result, failed): (isize, usize);
        // SAFETY: the instruction changes these registers, and memory that the caller answers for; the fifth
        // argument is on the stack behind room for four.
        unsafe {
            core::arch::asm!(".set noreorder", "addiu $sp, $sp, -32", "sw $8, 16($sp)", "syscall",
                "addiu $sp, $sp, 32", ".set reorder",
                inlateout("$2") number => result, in("$4") a, in("$5") b, in("$6") c,
                inlateout("$7") d => failed, inlateout("$8") e => _, lateout("$3") _,
                lateout("$9") _, lateout("$10") _, lateout("$11") _, lateout("$12") _,
                lateout("$13") _, lateout("$14") _, lateout("$15") _, lateout("$24") _,
                lateout("$25") _);
        }
        if failed == 0 { result } else { -result }
    }
}

use arch::{NUMBERS, call};

/// Where a process begins: at the top of its stack are the number of its arguments and pointers to them.
extern "C" fn begin(stack: *const usize) -> ! {
    // SAFETY: Linux has put the number, that many pointers to strings that end with NUL, and a zero there.
    let letter = unsafe { if *stack > 1 { *(*stack.add(2) as *const u8) } else { 0 } };
    exit(crate::main(letter))
}

/// A call that was interrupted by a signal is made again.
fn again(mut act: impl FnMut() -> isize) -> Option<usize> {
    loop {
        match act() {
            EINTR => {}
            result => return usize::try_from(result).ok(),
        }
    }
}

/// Reads what there is, at least one byte; 0 at the end, `None` if it failed.
pub fn read(descriptor: usize, into: &mut [u8]) -> Option<usize> {
    // SAFETY: the kernel writes at most that many bytes to memory that is borrowed for writing.
    again(|| unsafe {
        call(NUMBERS.read, [descriptor, into.as_mut_ptr() as usize, into.len(), 0, 0])
    })
}

/// Writes a part, at least one byte; `None` if it failed.
pub fn write(descriptor: usize, bytes: &[u8]) -> Option<usize> {
    // SAFETY: the kernel reads at most that many bytes of memory that is borrowed.
    again(|| unsafe {
        call(NUMBERS.write, [descriptor, bytes.as_ptr() as usize, bytes.len(), 0, 0])
    })
}

/// Waits for input, at most `timeout`; returns true if readable.
pub fn readable(descriptor: usize, timeout: Duration) -> bool {
    let mut poll = Poll { descriptor: descriptor as i32, events: POLLIN, came: 0 };
    // A week is as good as longer.
    let seconds = timeout.as_secs().min(600_000) as Long;
    let time = Time { seconds, nanos: timeout.subsec_nanos() as Long };
    // SAFETY: one structure that is borrowed for writing, one that is read, no set of signals.
    let came =
        unsafe { call(NUMBERS.ppoll, [&raw mut poll as usize, 1, &raw const time as usize, 0, 8]) };
    came > 0
}

/// Time since some moment, in nanoseconds.
pub fn now() -> u64 {
    let mut time = Time { seconds: 0, nanos: 0 };
    // SAFETY: one structure that is borrowed for writing.
    unsafe { call(NUMBERS.clock_gettime, [MONOTONIC, &raw mut time as usize, 0, 0, 0]) };
    time.seconds as u64 * 1_000_000_000 + time.nanos as u64
}

/// Ends the process.
pub fn exit(code: u8) -> ! {
    loop {
        // SAFETY: nothing of this process is used after it.
        unsafe { call(NUMBERS.exit_group, [usize::from(code), 0, 0, 0, 0]) };
    }
}
