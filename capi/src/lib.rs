//! The engines for C: `wetstring.h`. No memory is allocated and no libc is needed.
//!
//! Everything that is `unsafe` is in this file: C's pointers become references once, at the beginning of a call, and its
//! functions are called in four places. What a caller has to promise is in the header.
#![no_std]
// The names are those of the header, which cbindgen makes of this file: `cargo xtask api --write`.
#![allow(non_camel_case_types)]

use wst_protocol::*;
use wst_result::*;

use core::ffi::c_void;
use core::slice::{from_raw_parts, from_raw_parts_mut};
use wetstring_proto::blocking::{Incoming, Piece, Wire, run};
#[cfg(feature = "kermit")]
use wetstring_proto::kermit;
use wetstring_proto::xymodem::{self, Variant};
#[cfg(feature = "zmodem")]
use wetstring_proto::zmodem;
use wetstring_proto::{
    Blame, Duration, Engine, FailureKind, FileInfo, Instant, NoTrace, Outcome, Reply, Request,
    Span, Store, StoreError,
};

/// A protocol. ZMODEM and Kermit are there unless the library was built without.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum wst_protocol {
    /// With checksums.
    WST_XMODEM = 0,
    /// With CRC-16.
    WST_XMODEM_CRC = 1,
    /// With blocks of 1024 bytes.
    WST_XMODEM_1K = 2,
    /// Batches, with CRC-16.
    WST_YMODEM = 3,
    /// For lines without errors.
    WST_YMODEM_G = 4,
    /// Batches, with CRC-32.
    WST_ZMODEM = 5,
    /// Batches, for lines that do not carry every byte.
    WST_KERMIT = 6,
}

impl wst_protocol {
    /// The one of this number: C may pass any.
    fn of(number: u32) -> Option<Self> {
        Some(match number {
            0 => WST_XMODEM,
            1 => WST_XMODEM_CRC,
            2 => WST_XMODEM_1K,
            3 => WST_YMODEM,
            4 => WST_YMODEM_G,
            5 if cfg!(feature = "zmodem") => WST_ZMODEM,
            6 if cfg!(feature = "kermit") => WST_KERMIT,
            _ => return None,
        })
    }
}

/// How a transfer ended.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum wst_result {
    /// All is transferred.
    WST_DONE = 0,
    /// An argument is wrong: memory too small or NULL, no function, a protocol that the library was built without.
    WST_USAGE = 2,
    /// A function of the port failed, or the line damages too much.
    WST_LINE = 3,
    /// The peer failed, fell silent, or broke its protocol.
    WST_PEER = 4,
    /// A function of the files failed.
    WST_STORE = 5,
}

/// What may be chosen; zeros are the defaults, and so is NULL instead of this.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct wst_options {
    /// Bytes of file data between the engine and the functions: XMODEM 128 or more, others 1024; 0 is 4096.
    pub buffer: usize,
    /// Kermit's longest packet, 94 to 9024; 0 is 1000.
    pub packet: u16,
    /// The line delivers every byte: a receiver does not stay to repeat its last answer.
    pub reliable: bool,
}

/// A line of bytes and a clock.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct wst_port {
    /// Passed to the functions.
    pub context: *mut c_void,
    /// Reads what there is, and waits at most patience_ms for the first byte. Returns how many bytes, 0 if none came in
    /// time, a negative number if it failed.
    pub read: Option<
        extern "C" fn(context: *mut c_void, into: *mut u8, len: usize, patience_ms: u32) -> i32,
    >,
    /// Writes at least one byte. Returns how many, or a negative number if it failed.
    pub write: Option<extern "C" fn(context: *mut c_void, bytes: *const u8, len: usize) -> i32>,
    /// Milliseconds since some moment; they never go back.
    pub now_ms: Option<extern "C" fn(context: *mut c_void) -> u64>,
    /// Lets at most this time pass, in a pause of the protocol; NULL: now_ms is called until it has passed.
    pub rest: Option<extern "C" fn(context: *mut c_void, at_most_ms: u32)>,
}

/// What takes files. Each function returns 0, or anything else if it failed.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct wst_files {
    /// Passed to the functions.
    pub context: *mut c_void,
    /// A file begins. The name is the peer's: no safe path, no NUL behind it, empty with XMODEM. size is -1 if it is
    /// not known. If this fails the file is refused.
    pub begin: Option<
        extern "C" fn(context: *mut c_void, name: *const u8, name_len: usize, size: i64) -> i32,
    >,
    /// Its bytes, in order.
    pub data: Option<extern "C" fn(context: *mut c_void, bytes: *const u8, len: usize) -> i32>,
    /// It ends: whole, or cut short.
    pub end: Option<extern "C" fn(context: *mut c_void, complete: bool) -> i32>,
}

/// A file to send.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct wst_source {
    /// Passed to the function.
    pub context: *mut c_void,
    /// Its name, which needs no NUL behind it.
    pub name: *const u8,
    /// How many bytes the name has.
    pub name_len: usize,
    /// How many bytes the file has.
    pub size: u64,
    /// Reads at most len bytes from offset. Returns how many, 0 at the end, a negative number if it failed.
    pub read:
        Option<extern "C" fn(context: *mut c_void, offset: u64, into: *mut u8, len: usize) -> i32>,
}

/// A function of C failed.
pub struct Failed;

/// A time for a function of C: a timer that is less than a millisecond away is waited for.
fn milliseconds(time: Duration) -> u32 {
    time.as_millis().saturating_add(1).min(60_000) as u32
}

impl wst_port {
    /// Whether it has the functions that are needed.
    fn is_complete(&self) -> bool {
        self.read.is_some() && self.write.is_some() && self.now_ms.is_some()
    }
}

impl Wire for wst_port {
    type Error = Failed;

    fn read(&mut self, into: &mut [u8], patience: Duration) -> Result<usize, Failed> {
        let read = self.read.ok_or(Failed)?;
        let len = read(self.context, into.as_mut_ptr(), into.len(), milliseconds(patience));
        usize::try_from(len).map(|len| len.min(into.len())).map_err(|_| Failed)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<usize, Failed> {
        let write = self.write.ok_or(Failed)?;
        let len = write(self.context, bytes.as_ptr(), bytes.len());
        usize::try_from(len).map(|len| len.min(bytes.len())).map_err(|_| Failed)
    }

    fn rest(&mut self, time: Duration) {
        if let Some(rest) = self.rest {
            rest(self.context, milliseconds(time));
        }
    }

    fn now(&mut self) -> Instant {
        let ms = self.now_ms.map_or(0, |now| now(self.context));
        Instant(ms.saturating_mul(1_000_000))
    }
}

fn stored(result: i32) -> Result<(), StoreError> {
    if result == 0 { Ok(()) } else { Err(StoreError::Io) }
}

impl wst_files {
    fn take(&mut self, piece: Piece<'_>) -> Result<(), StoreError> {
        match (piece, self.begin, self.data, self.end) {
            (Piece::Begin(info), Some(begin), ..) => {
                let size = info.size.and_then(|size| i64::try_from(size).ok()).unwrap_or(-1);
                stored(begin(self.context, info.name.as_ptr(), info.name.len(), size))
            }
            (Piece::Data(bytes), _, Some(data), _) => {
                stored(data(self.context, bytes.as_ptr(), bytes.len()))
            }
            (Piece::End { complete }, .., Some(end)) => stored(end(self.context, complete)),
            _ => Ok(()),
        }
    }
}

/// The one file that is sent.
struct Sending<'a> {
    source: &'a wst_source,
    name: &'a [u8],
    begun: bool,
}

impl Store for Sending<'_> {
    fn answer<'s>(&'s mut self, request: Request<'_>) -> Reply<'s> {
        match request {
            Request::Next if core::mem::replace(&mut self.begun, true) => Reply::NoMoreFiles,
            Request::Next => Reply::File(FileInfo {
                name: self.name,
                size: Some(self.source.size),
                ..FileInfo::default()
            }),
            Request::Read { offset, into } => {
                let Some(read) = self.source.read else { return Reply::Failed(StoreError::Io) };
                let len = read(self.source.context, offset, into.as_mut_ptr(), into.len());
                match usize::try_from(len) {
                    Ok(len) => Reply::Read(len.min(into.len())),
                    Err(_) => Reply::Failed(StoreError::Io),
                }
            }
            Request::Close { .. } => Reply::Done,
            _ => Reply::Failed(StoreError::Unsupported),
        }
    }
}

fn ended(outcome: Result<Outcome, Failed>) -> wst_result {
    match outcome {
        Ok(Outcome::Done) => WST_DONE,
        Ok(Outcome::Failed(failure)) => match failure.blame {
            Blame::Peer => WST_PEER,
            Blame::Line => WST_LINE,
            Blame::Store => WST_STORE,
            // A protocol that cannot skip a file has cancelled, since `begin` refused it.
            Blame::Local if failure.kind == FailureKind::Refused => WST_STORE,
            Blame::Local => WST_USAGE,
        },
        Err(Failed) => WST_LINE,
    }
}

fn buffer(options: &wst_options) -> usize {
    if options.buffer == 0 { 4096 } else { options.buffer.clamp(128, 1 << 20) }
}

/// What the line is, for every protocol.
fn line(options: &wst_options) -> wetstring_proto::LineFacts {
    wetstring_proto::LineFacts { reliable: Some(options.reliable), ..Default::default() }
}

fn xymodem(variant: Variant, options: &wst_options) -> xymodem::Config {
    let linger = if options.reliable { Span::ZERO } else { Span::from_millis(4000) };
    let buffer_len = buffer(options);
    xymodem::Config { variant, buffer_len, linger, line: line(options), ..Default::default() }
}

#[cfg(feature = "zmodem")]
fn zmodem(options: &wst_options) -> zmodem::Config {
    zmodem::Config { buffer_len: buffer(options), line: line(options), ..Default::default() }
}

#[cfg(feature = "kermit")]
fn kermit(options: &wst_options) -> kermit::Config {
    let packet = if options.packet == 0 { 1000 } else { options.packet.clamp(94, 9024) };
    kermit::Config {
        buffer_len: buffer(options),
        receive_length: packet,
        send_length: packet,
        window: 1,
        digest: false,
        line: line(options),
        ..Default::default()
    }
}

fn variant(protocol: wst_protocol) -> Option<Variant> {
    #[allow(unreachable_patterns)] // with neither of the other protocols
    Some(match protocol {
        WST_XMODEM => Variant::Xmodem,
        WST_XMODEM_CRC => Variant::XmodemCrc,
        WST_XMODEM_1K => Variant::Xmodem1k,
        WST_YMODEM => Variant::Ymodem,
        WST_YMODEM_G => Variant::YmodemG,
        _ => return None,
    })
}

fn memory_of(protocol: wst_protocol, options: &wst_options, sends: bool) -> usize {
    if let Some(variant) = variant(protocol) {
        let config = xymodem(variant, options);
        return if sends { config.sender_memory() } else { config.receiver_memory() };
    }
    match protocol {
        #[cfg(feature = "zmodem")]
        WST_ZMODEM if sends => zmodem(options).sender_memory(),
        #[cfg(feature = "zmodem")]
        WST_ZMODEM => zmodem(options).receiver_memory(),
        #[cfg(feature = "kermit")]
        WST_KERMIT if sends => kermit(options).sender_memory(),
        #[cfg(feature = "kermit")]
        WST_KERMIT => kermit(options).receiver_memory(),
        _ => 0,
    }
}

/// Runs the engine of a protocol in this memory.
fn turn(
    protocol: wst_protocol,
    options: &wst_options,
    sends: bool,
    memory: &mut [u8],
    port: &mut wst_port,
    store: &mut dyn Store,
) -> wst_result {
    let mut go = |engine: &mut dyn Engine| ended(run(engine, port, store, &mut NoTrace));
    macro_rules! engine {
        ($engine:ty, $config:expr) => {
            match <$engine>::new($config, memory) {
                Ok(mut engine) => go(&mut engine),
                Err(_) => WST_USAGE,
            }
        };
    }
    if let Some(variant) = variant(protocol) {
        let config = xymodem(variant, options);
        if sends {
            return engine!(xymodem::Sender<_>, config);
        }
        return engine!(xymodem::Receiver<_>, config);
    }
    match protocol {
        #[cfg(feature = "zmodem")]
        WST_ZMODEM if sends => engine!(zmodem::Sender<_>, zmodem(options)),
        #[cfg(feature = "zmodem")]
        WST_ZMODEM => engine!(zmodem::Receiver<_>, zmodem(options)),
        #[cfg(feature = "kermit")]
        WST_KERMIT if sends => engine!(kermit::Sender<_>, kermit(options)),
        #[cfg(feature = "kermit")]
        WST_KERMIT => engine!(kermit::Receiver<_>, kermit(options)),
        _ => WST_USAGE,
    }
}

/// The options, or the defaults for a null pointer.
///
/// # Safety
///
/// `options` is null or points to options.
unsafe fn chosen(options: *const wst_options) -> wst_options {
    // SAFETY: as above.
    let given = unsafe { options.as_ref() };
    given.copied().unwrap_or(wst_options { buffer: 0, packet: 0, reliable: false })
}

/// Bytes of memory that `wst_receive` needs; 0 if the library was built without the protocol.
///
/// # Safety
///
/// `options` is null or points to options.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wst_receive_memory(protocol: u32, options: *const wst_options) -> usize {
    // SAFETY: the caller's promise.
    let options = unsafe { chosen(options) };
    wst_protocol::of(protocol).map_or(0, |protocol| memory_of(protocol, &options, false))
}

/// Bytes of memory that `wst_send` needs; 0 if the library was built without the protocol.
///
/// # Safety
///
/// `options` is null or points to options.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wst_send_memory(protocol: u32, options: *const wst_options) -> usize {
    // SAFETY: the caller's promise.
    let options = unsafe { chosen(options) };
    wst_protocol::of(protocol).map_or(0, |protocol| memory_of(protocol, &options, true))
}

/// Receives files, until the peer has no more or the transfer has failed.
///
/// # Safety
///
/// `options` is null or points to options; `memory` points to `memory_len` bytes that nothing else uses meanwhile;
/// `port` and `files` point to structures whose functions are safe to call with their contexts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wst_receive(
    protocol: u32,
    options: *const wst_options,
    memory: *mut u8,
    memory_len: usize,
    port: *const wst_port,
    files: *const wst_files,
) -> wst_result {
    let (Some(protocol), false) = (wst_protocol::of(protocol), memory.is_null()) else {
        return WST_USAGE;
    };
    // SAFETY: the caller's promises; the pointer is not null.
    let (options, memory, port, files) = unsafe {
        let memory = from_raw_parts_mut(memory, memory_len);
        (chosen(options), memory, port.as_ref(), files.as_ref())
    };
    let (Some(mut port), Some(mut files)) = (port.copied(), files.copied()) else {
        return WST_USAGE;
    };
    if !port.is_complete() || files.begin.is_none() || files.data.is_none() || files.end.is_none() {
        return WST_USAGE;
    }
    let mut store = Incoming::new(|piece: Piece<'_>| files.take(piece));
    turn(protocol, &options, false, memory, &mut port, &mut store)
}

/// Sends a file.
///
/// # Safety
///
/// As `wst_receive`; `source` points to a structure whose `name` points to `name_len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wst_send(
    protocol: u32,
    options: *const wst_options,
    memory: *mut u8,
    memory_len: usize,
    port: *const wst_port,
    source: *const wst_source,
) -> wst_result {
    let (Some(protocol), false) = (wst_protocol::of(protocol), memory.is_null()) else {
        return WST_USAGE;
    };
    // SAFETY: the caller's promises; the pointer is not null.
    let (options, memory, port, source) = unsafe {
        let memory = from_raw_parts_mut(memory, memory_len);
        (chosen(options), memory, port.as_ref(), source.as_ref())
    };
    let (Some(mut port), Some(source)) = (port.copied(), source) else {
        return WST_USAGE;
    };
    if !port.is_complete() || source.read.is_none() || source.name.is_null() {
        return WST_USAGE;
    }
    // SAFETY: the caller's promise; the pointer is not null.
    let name = unsafe { from_raw_parts(source.name, source.name_len) };
    let mut store = Sending { source, name, begun: false };
    turn(protocol, &options, true, memory, &mut port, &mut store)
}

/// The engines do not panic; if one did, the processor stops here, since there may be no system to tell.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {
        core::hint::spin_loop();
    }
}
