//! Files of `tsz`.

use super::agree;
use super::line::{number, packed};
use super::talk::{Takes, Talk, bad, unexpected};
use crate::hex;
use crate::shell::{Broken, store};
use md5::{Digest as _, Md5};
use serde_json::Value;
use wetstring_proto::engine::Event;
use wetstring_proto::file::{FileInfo, Store};
use wetstring_proto::peer::Host;

/// Bytes that are written at once.
const WRITE: usize = 64 * 1024;

/// Receives the files of a `tsz` that has started.
///
/// # Errors
///
/// The first failure; the store then has that file as incomplete. [`Talk::stop`] tells the peer.
pub fn receive(talk: &mut Talk<'_>, store: &mut dyn Store) -> Result<(), Broken> {
    let keeps = agree(talk)?;
    let files = talk.number("NUM")?;
    talk.send(number("SUCC", files))?;
    for _ in 0..files {
        if let Some(name) = name(talk, keeps)? {
            one(talk, store, &name)?;
        }
    }
    let said = summary(talk, files);
    talk.send(packed("EXIT", said.as_bytes()))
}

/// What `tsz` says last. Where that is on the user's screen, drawn again, ours is not any more.
fn summary(talk: &Talk<'_>, files: u64) -> String {
    if talk.terms.host == Host::Plain {
        return String::new();
    }
    let stats = &talk.report.stats;
    let (done, bytes) = (stats.files_done, stats.file_bytes);
    format!("wst: {done} of {files} received, {bytes} bytes in all, verified by MD5")
}

/// The name of the next file; `None` if it is a directory, which comes with the files in it.
fn name(talk: &mut Talk<'_>, keeps: bool) -> Result<Option<Vec<u8>>, Broken> {
    if !keeps {
        let name = talk.bytes("NAME")?;
        talk.send(packed("SUCC", &name))?;
        return Ok(Some(name));
    }
    let entry = talk.json("NAME")?;
    let parts: Option<Vec<&str>> =
        entry["path_name"].as_array().and_then(|all| all.iter().map(Value::as_str).collect());
    let parts = parts.filter(|parts| !parts.is_empty());
    let Some(parts) = parts else { return Err(bad("NAME", "no path_name")) };
    talk.send(packed("SUCC", parts[0].as_bytes()))?;
    Ok((entry["is_dir"] != true).then(|| parts.join("/").into_bytes()))
}

/// A file of which the name is known.
fn one(talk: &mut Talk<'_>, store: &mut dyn Store, name: &[u8]) -> Result<(), Broken> {
    let size = talk.number("SIZE")?;
    let info = FileInfo { name, size: Some(size), proved: true, ..FileInfo::default() };
    talk.report.stats.current_file_bytes = 0;
    if let Some(why) = store::offer(store, info)? {
        talk.report.stats.files_skipped += 1;
        talk.event(&Event::FileRefused { name, why: Some(why), by_peer: false });
        // A peer has no word for it: its bytes are discarded, and the next file follows.
        let digest = bytes(talk, size, &mut |_, _| Ok(()))?;
        return talk.send(packed("SUCC", &digest));
    }
    talk.event(&Event::FileStarted { info, offset: 0 });
    let done = stored(talk, store, size);
    // A file that differs must not be resumed.
    let verified = matches!(done, Ok(_) | Err(Broken::Differs { .. }));
    let digest = store::close(store, done, verified)?;
    talk.send(packed("SUCC", &digest))?;
    talk.report.stats.files_done += 1;
    talk.event(&Event::FileDone { size, verified: true });
    Ok(())
}

/// The bytes of a file that was accepted; returns their digest, which is the peer's.
fn stored(talk: &mut Talk<'_>, store: &mut dyn Store, size: u64) -> Result<Vec<u8>, Broken> {
    let mut written = 0;
    let mut waiting = Vec::with_capacity(WRITE);
    let done = bytes(talk, size, &mut |talk, bytes| {
        waiting.extend_from_slice(bytes);
        let stats = &mut *talk.report.stats;
        stats.file_bytes += bytes.len() as u64;
        stats.current_file_bytes += bytes.len() as u64;
        let over = stats.current_file_bytes == size;
        if waiting.len() < WRITE && !over {
            return Ok(());
        }
        store::write(store, written, &waiting)?;
        written += waiting.len() as u64;
        waiting.clear();
        talk.go_on()
    });
    // What came before the end is kept, unless it is what was wrong.
    let came = matches!(
        done,
        Err(Broken::Lost | Broken::Line(_) | Broken::Silence { .. } | Broken::Interrupted(_))
    );
    if came && !waiting.is_empty() {
        store::write(store, written, &waiting)?;
    }
    done
}

/// Bytes and digest of a file as the peer has them; an error if they differ.
fn bytes(talk: &mut Talk<'_>, size: u64, to: &mut Takes<'_>) -> Result<Vec<u8>, Broken> {
    talk.send(number("SUCC", size))?;
    let (mut digest, mut left) = (Md5::new(), size);
    while left > 0 {
        let len = talk.data(left, &mut |talk, bytes| {
            digest.update(bytes);
            to(talk, bytes)
        })?;
        if len == 0 {
            return Err(bad("DATA", "nothing"));
        }
        left -= len;
        talk.send(number("SUCC", len))?;
    }
    let (ours, theirs) = (digest.finalize().to_vec(), talk.bytes("MD5")?);
    if theirs.len() != ours.len() {
        return Err(unexpected("an MD5", &theirs));
    }
    if ours != theirs {
        let (expected, got) = (hex(&ours), hex(&theirs).into_bytes());
        return Err(Broken::Differs { check: "MD5".to_owned(), expected, got });
    }
    Ok(ours)
}
