//! A small receiver and what drives it: the loop of a boot loader, in virtual time.
#![allow(unreachable_pub)]

use std::collections::VecDeque;
use wetstring_proto::tiny::{Failure, Kermit, Step, XyReceiver};

/// Any of the small receivers.
pub trait Tiny {
    fn next(&mut self, now_ms: u32, read: &mut dyn FnMut() -> Option<u8>) -> Step<'_>;
    fn stop(&mut self);
}

impl<const BATCH: bool> Tiny for XyReceiver<'_, BATCH> {
    fn next(&mut self, now_ms: u32, read: &mut dyn FnMut() -> Option<u8>) -> Step<'_> {
        self.step(now_ms, read)
    }

    fn stop(&mut self) {
        self.cancel();
    }
}

impl Tiny for Kermit<'_> {
    fn next(&mut self, now_ms: u32, read: &mut dyn FnMut() -> Option<u8>) -> Step<'_> {
        self.step(now_ms, read)
    }

    fn stop(&mut self) {
        self.cancel();
    }
}

/// A file as it came.
#[derive(Debug, Default, PartialEq)]
pub struct Got {
    pub name: Vec<u8>,
    pub size: Option<u32>,
    pub bytes: Vec<u8>,
    pub complete: Option<bool>,
}

/// A receiver, its clock, and what it has said.
pub struct Loader<'a> {
    pub receiver: &'a mut dyn Tiny,
    pub now_ms: u32,
    pub files: Vec<Got>,
    pub end: Option<Result<(), Failure>>,
    /// It stops at this many bytes.
    pub room: usize,
}

impl<'a> Loader<'a> {
    /// The clock turns over soon.
    pub fn new(receiver: &'a mut dyn Tiny) -> Self {
        let now_ms = u32::MAX - 1500;
        Self { receiver, now_ms, files: Vec::new(), end: None, room: usize::MAX }
    }

    /// Gives it these bytes; returns what it sends, until it waits.
    pub fn give(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut input: VecDeque<u8> = bytes.iter().copied().collect();
        let mut sent = Vec::new();
        while self.end.is_none() {
            let mut idle = false;
            let step = self.receiver.next(self.now_ms, &mut || {
                let byte = input.pop_front();
                idle = byte.is_none();
                byte
            });
            let mut full = false;
            match step {
                Step::Wait if idle => break,
                Step::Wait => {}
                Step::Write(bytes) => sent.extend_from_slice(bytes),
                Step::Begin(name) => {
                    self.files.push(Got { name: name.to_vec(), ..Got::default() });
                }
                Step::Size(size) => last(&mut self.files).size = Some(size),
                Step::Data(bytes) => {
                    assert!(!bytes.is_empty());
                    let file = last(&mut self.files);
                    file.bytes.extend_from_slice(bytes);
                    full = file.bytes.len() > self.room;
                }
                Step::End { complete } => {
                    // XMODEM says nothing of an empty one before.
                    if self.files.is_empty() {
                        self.files.push(Got::default());
                    }
                    last(&mut self.files).complete = Some(complete);
                }
                Step::Done => self.end = Some(Ok(())),
                Step::Failed(failure) => self.end = Some(Err(failure)),
            }
            if full {
                self.receiver.stop();
            }
        }
        sent
    }

    /// Lets time pass, in steps that a loop on a device may have; returns what it sends.
    pub fn wait(&mut self, ms: u32) -> Vec<u8> {
        let mut sent = Vec::new();
        for _ in 0..ms.div_ceil(5) {
            self.now_ms = self.now_ms.wrapping_add(5);
            sent.extend(self.give(&[]));
        }
        sent
    }

    /// The file that has begun last.
    pub fn file(&mut self) -> &mut Got {
        last(&mut self.files)
    }
}

fn last(files: &mut [Got]) -> &mut Got {
    files.last_mut().expect("a file has begun")
}
