//! The file of a receiver.

use crate::sys;
use crate::turn::{self, End, Files};
use wetstring_proto::engine::Engine;
use wetstring_proto::file::{Refusal, Reply, Request, StoreError};

/// The file.
#[derive(Default)]
struct File {
    offered: bool,
    complete: bool,
    /// Position after what is written.
    at: u64,
    failed: bool,
}

impl Files for File {
    fn answer(&mut self, request: Request<'_>) -> Reply<'static> {
        match request {
            Request::Offer { .. } if !self.complete && self.at == 0 => {
                self.offered = true;
                Reply::Accept { offset: 0 }
            }
            Request::Offer { .. } => Reply::Refuse(Refusal::NotPermitted),
            Request::Write { offset, bytes } if offset == self.at => self.write(bytes),
            Request::Close { complete, .. } => {
                self.complete |= complete && self.offered;
                Reply::Done
            }
            _ => Reply::Failed(StoreError::Unsupported),
        }
    }
}

impl File {
    fn write(&mut self, bytes: &[u8]) -> Reply<'static> {
        let mut written = 0;
        while written < bytes.len() {
            match sys::write(sys::FILE, &bytes[written..]) {
                Some(len) if len > 0 => written += len,
                _ => {
                    self.failed = true;
                    return Reply::Failed(StoreError::Io);
                }
            }
        }
        self.at += bytes.len() as u64;
        Reply::Done
    }
}

/// Runs the engine to its end; returns the exit code.
pub fn run(engine: &mut dyn Engine) -> u8 {
    let mut file = File::default();
    match turn::run(engine, &mut file) {
        End::Line => 2,
        End::Done if file.complete => 0,
        _ if file.failed => 2,
        _ => 1,
    }
}
