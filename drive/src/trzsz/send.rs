//! Files for `trz`.

use super::agree;
use super::line::{number, packed};
use super::talk::Talk;
use crate::hex;
use crate::shell::{Broken, store};
use md5::{Digest as _, Md5};
use serde_json::json;
use std::time::{Duration, Instant};
use wetstring_proto::engine::Event;
use wetstring_proto::file::{FileInfo, Store};

/// Bytes of the first line of a file, and the most of one.
const FIRST: usize = 1024;
const MOST: usize = 512 * 1024;
/// A line that was answered within this time is followed by a longer one, up to what the peer's timeout allows.
const QUICK: Duration = Duration::from_millis(500);

/// Sends the files of a store, this many, to a `trz` that has started.
///
/// # Errors
///
/// The first failure; the peer keeps its part of that file if [`Talk::stop`] says so.
pub fn send(talk: &mut Talk<'_>, store: &mut dyn Store, files: u64) -> Result<(), Broken> {
    let keeps = agree(talk)?;
    talk.send(number("NUM", files))?;
    talk.echoed(files)?;
    let mut tops = Tops::default();
    for _ in 0..files {
        let Some(info) = store::next(store)? else {
            return Err(Broken::Store("expected another file, it cannot be read".to_owned()));
        };
        let (name, size) = (info.name.to_vec(), info.size);
        // What stands for it at the peer: its directory, or itself.
        let top = if keeps { first(&name) } else { last(&name) };
        let on_wire = if keeps { tops.entry(&name) } else { top.to_vec() };
        let done = one(talk, store, (&name, size), (&on_wire, top));
        let verified = done.is_ok();
        let size = store::close(store, done, verified)?;
        talk.report.stats.files_done += 1;
        talk.event(&Event::FileDone { size, verified: true });
    }
    talk.send(packed("EXIT", b""))
}

/// The first component of a path.
fn first(name: &[u8]) -> &[u8] {
    name.split(|byte| *byte == b'/').next().unwrap_or(name)
}

/// The last component of a path.
fn last(name: &[u8]) -> &[u8] {
    name.rsplit(|byte| *byte == b'/').next().unwrap_or(name)
}

/// The directories so far, which have numbers.
#[derive(Default)]
struct Tops(Vec<String>);

impl Tops {
    /// A file below its directories, as `trz -d` has it.
    fn entry(&mut self, name: &[u8]) -> Vec<u8> {
        let name = String::from_utf8_lossy(name);
        let parts: Vec<&str> = name.split('/').collect();
        let known = self.0.iter().position(|top| parts.len() > 1 && top == parts[0]);
        let id = known.unwrap_or_else(|| {
            self.0.push(parts[0].to_owned());
            self.0.len() - 1
        });
        json!({"path_id": id, "path_name": parts, "is_dir": false}).to_string().into_bytes()
    }
}

/// Sends a file, and returns its length.
fn one(
    talk: &mut Talk<'_>,
    store: &mut dyn Store,
    (name, size): (&[u8], Option<u64>),
    (on_wire, top): (&[u8], &[u8]),
) -> Result<u64, Broken> {
    let Some(size) = size else {
        return Err(Broken::Store("expected a file whose length is known".to_owned()));
    };
    talk.send(packed("NAME", on_wire))?;
    let there = talk.bytes("SUCC")?;
    if there != top {
        let said = [top, b" is stored as ", &there].concat();
        talk.event(&Event::Message(&said));
    }
    talk.report.stats.current_file_bytes = 0;
    let info = FileInfo { name, size: Some(size), ..FileInfo::default() };
    talk.event(&Event::FileStarted { info, offset: 0 });
    talk.send(number("SIZE", size))?;
    talk.echoed(size)?;
    let digest = bytes(talk, store, size)?;
    talk.send(packed("MD5", &digest))?;
    let there = talk.bytes("SUCC")?;
    if there != digest {
        let (expected, got) = (hex(&digest), hex(&there).into_bytes());
        return Err(Broken::Differs { check: "MD5".to_owned(), expected, got });
    }
    Ok(size)
}

/// Sends the bytes of a file, and returns their digest.
fn bytes(talk: &mut Talk<'_>, store: &mut dyn Store, size: u64) -> Result<Vec<u8>, Broken> {
    let (mut digest, mut offset, mut len) = (Md5::new(), 0, FIRST);
    let mut buffer = vec![0; MOST.min(size as usize)];
    while offset < size {
        let wanted = len.min(usize::try_from(size - offset).unwrap_or(MOST));
        let read = store::read(store, offset, &mut buffer[..wanted])?;
        if read == 0 {
            return Err(Broken::Store("the file is shorter than it was".to_owned()));
        }
        digest.update(&buffer[..read]);
        let began = Instant::now();
        talk.send_data(&buffer[..read])?;
        if began.elapsed() >= QUICK {
            len = FIRST;
        } else if read == len {
            len = MOST.min(len * 2);
        }
        offset += read as u64;
        talk.report.stats.file_bytes += read as u64;
        talk.report.stats.current_file_bytes = offset;
        talk.go_on()?;
    }
    Ok(digest.finalize().to_vec())
}
