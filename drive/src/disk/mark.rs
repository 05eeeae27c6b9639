//! Extended attributes distinguish our partial files from a user's files. Without attributes, no file counts as ours.

use crate::os::fd::OwnedFd;
use crate::os::files::attribute::{get, remove, set};
use crate::os::io::Errno;
use std::io;

const NAME: &str = "user.wetstring.part";
const MAP: &str = "user.wetstring.held";
const SENDER: &str = "user.wetstring.sender";

pub(super) fn map(file: &OwnedFd) -> Option<String> {
    // Our maps are never longer.
    let mut value = [0; 4096];
    let len = get(file, MAP, &mut value[..]).ok()?;
    String::from_utf8(value[..len].to_vec()).ok()
}

pub(super) fn put_map(file: &OwnedFd, text: &str) -> io::Result<()> {
    Ok(set(file, MAP, text.as_bytes())?)
}

pub(super) fn take_off_map(file: &OwnedFd) {
    let _ = remove(file, MAP);
}

pub(super) fn sender(file: &OwnedFd) -> Option<String> {
    // Two numbers.
    let mut value = [0; 64];
    let len = get(file, SENDER, &mut value[..]).ok()?;
    String::from_utf8(value[..len].to_vec()).ok()
}

pub(super) fn put_sender(file: &OwnedFd, text: Option<&str>) {
    let _ = match text {
        Some(text) => set(file, SENDER, text.as_bytes()),
        None => remove(file, SENDER),
    };
}

pub(super) fn put(file: &OwnedFd, name: &[u8]) -> io::Result<()> {
    Ok(set(file, NAME, name)?)
}

pub(super) fn is(file: &OwnedFd, name: &[u8]) -> bool {
    // Names are never longer.
    let mut value = [0; 256];
    get(file, NAME, &mut value[..]).is_ok_and(|len| &value[..len] == name)
}

pub(super) fn is_any(file: &OwnedFd) -> bool {
    let mut value = [0; 256];
    matches!(get(file, NAME, &mut value[..]), Ok(_) | Err(Errno::RANGE))
}

pub(super) fn take_off(file: &OwnedFd) -> io::Result<()> {
    match remove(file, NAME) {
        Err(error) if is_any(file) => Err(error.into()),
        _ => Ok(()),
    }
}
