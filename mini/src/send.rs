//! `wst-mini-send`: a Kermit sender for systems that have none, which `wst get --shell` sends to their shell first.
//!
//! ```text
//! stty raw -echo; ./wst-mini-send [n] 3< FILE
//! ```
//!
//! One file without a name is sent, from where descriptor 3 stands. With an argument that begins with `n` control
//! characters have no prefix but where the protocol itself needs one: for a line on which each byte was seen to
//! pass. Exit codes are those of `wst-mini`.

#![no_std]
#![no_main]
#![cfg_attr(target_arch = "mips", feature(asm_experimental_arch))]

mod sys;
mod turn;

use turn::{End, Files};
use wetstring_proto::file::{FileInfo, Reply, Request, StoreError};
use wetstring_proto::kermit::prefix::PrefixTable;
use wetstring_proto::kermit::{Config, Prefixing, Sender};

/// Memory for the engine: its window of long packets is the most of it.
const MEMORY: usize = 384 * 1024;
/// File data between the engine and the file.
const BUFFER: usize = 16 * 1024;

/// The file.
#[derive(Default)]
struct File {
    named: bool,
    /// Position after what was read.
    at: u64,
    failed: bool,
}

impl Files for File {
    fn answer(&mut self, request: Request<'_>) -> Reply<'static> {
        match request {
            Request::Next if self.named => Reply::NoMoreFiles,
            Request::Next => {
                self.named = true;
                Reply::File(FileInfo { name: b"f", ..FileInfo::default() })
            }
            Request::Read { offset, into } if offset == self.at => {
                match sys::read(sys::FILE, into) {
                    Some(len) => {
                        self.at += len as u64;
                        Reply::Read(len)
                    }
                    None => {
                        self.failed = true;
                        Reply::Failed(StoreError::Io)
                    }
                }
            }
            Request::Close { .. } => Reply::Done,
            _ => Reply::Failed(StoreError::Unsupported),
        }
    }
}

/// What the process does; returns its exit code.
fn main(letter: u8) -> u8 {
    let mut memory = [0; MEMORY];
    let mut config = Config {
        buffer_len: BUFFER,
        // The shell's digest compares both files.
        digest: false,
        ..Config::default()
    };
    if letter == b'n' {
        config.prefixing = Prefixing::None;
        config.unprefixed = PrefixTable::NOTHING.with(0).with(255);
    }
    let mut file = File::default();
    let Ok(mut engine) = Sender::new(config, &mut memory[..]) else { return 3 };
    match turn::run(&mut engine, &mut file) {
        End::Done => 0,
        End::Line => 2,
        End::Failed if file.failed => 2,
        End::Failed => 1,
    }
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    sys::exit(3)
}
