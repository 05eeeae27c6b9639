//! Text for the screen that is produced while it is sent.

use super::super::listing;
use super::super::tree::{Content, Tree};
use super::errors::said;
use super::host::Output;
use super::search::Search;
use std::io;
use std::sync::Arc;

/// Minimum bytes produced at a time.
const PIECE: usize = 8 * 1024;

/// Produces the next piece of a text; false if there is none.
type Make = dyn FnMut(&mut Vec<u8>) -> io::Result<bool> + Send;

/// Text that is read once, from start to end.
pub(super) struct Sheet {
    piece: Vec<u8>,
    /// Start of the piece.
    from: u64,
    make: Box<Make>,
}

impl Sheet {
    fn new(make: impl FnMut(&mut Vec<u8>) -> io::Result<bool> + Send + 'static) -> Self {
        Self { piece: Vec::new(), from: 0, make: Box::new(make) }
    }

    /// The output of a command.
    pub(super) fn output(mut output: Output) -> Self {
        Self::new(move |out| output.more(out))
    }

    /// The lines of a directory.
    pub(super) fn listing(tree: Arc<dyn Tree>, mut search: Search) -> Self {
        let (mut files, mut bytes, mut over) = (0u64, 0u64, false);
        Self::new(move |out| {
            while out.len() < PIECE && !over {
                let Some((place, name)) = search.next().map_err(io::Error::other)? else {
                    over = true;
                    out.extend(format!("{files} files, {bytes} bytes\n").into_bytes());
                    break;
                };
                // Deleted since it was listed.
                let Ok(entry) = tree.entry(&place) else { continue };
                files += 1;
                bytes += if entry.is_directory { 0 } else { entry.size };
                out.extend(listing::line(&entry, &name));
            }
            Ok(!out.is_empty())
        })
    }

    /// The contents of files, concatenated.
    pub(super) fn files(tree: Arc<dyn Tree>, mut search: Search) -> Self {
        let mut open: Option<(u64, u64, Box<dyn Content>)> = None;
        Self::new(move |out| {
            loop {
                let Some((offset, size, content)) = &mut open else {
                    let Some((place, _)) = search.next().map_err(io::Error::other)? else {
                        return Ok(false);
                    };
                    let (entry, content) = tree.open(&place)?;
                    open = Some((0, entry.size, content));
                    continue;
                };
                // The counted length is shown, even if the file grows.
                let room = usize::try_from(*size - *offset).unwrap_or(PIECE).min(PIECE);
                out.resize(room, 0);
                let len = if room == 0 { 0 } else { content.read(*offset, out)? };
                out.truncate(len);
                *offset += len as u64;
                if len > 0 {
                    return Ok(true);
                }
                open = None;
            }
        })
    }

    /// Length of the text of these files; an error if one of them cannot be shown.
    pub(super) fn len(tree: &dyn Tree, search: &mut Search, most: u64) -> Result<u64, String> {
        let mut bytes = 0u64;
        while let Some((place, _)) = search.next()? {
            let (entry, _) = tree.open(&place).map_err(|e| said(&e))?;
            bytes = bytes.saturating_add(entry.size);
            if bytes > most {
                return Err("Too long to show, use GET".into());
            }
        }
        Ok(bytes)
    }
}

impl Content for Sheet {
    fn read(&mut self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        loop {
            let at = offset.checked_sub(self.from).ok_or(io::ErrorKind::InvalidInput)?;
            let rest = usize::try_from(at).ok().and_then(|at| self.piece.get(at..));
            let rest = rest.unwrap_or_default();
            if !rest.is_empty() {
                let len = rest.len().min(into.len());
                into[..len].copy_from_slice(&rest[..len]);
                return Ok(len);
            }
            self.from += self.piece.len() as u64;
            self.piece.clear();
            if !(self.make)(&mut self.piece)? {
                return Ok(0);
            }
        }
    }
}
