//! Opening files for commands and functions of the language.

use crate::channels::Stream;
use crate::interp::Interp;
use crate::text::lossy;
use crate::trouble::Trouble;
use crate::world::Mode;

impl Interp<'_> {
    /// Opens a file.
    pub(crate) fn stream(&mut self, name: &[u8], mode: Mode) -> Result<Stream, Trouble> {
        let say = |fault: crate::world::Fault| {
            Trouble::new(format!("could not open {}: {fault}", lossy(name)))
        };
        let channel = self.world.files().open(name, mode).map_err(say)?;
        Ok(Stream::new(channel, mode, name.to_vec()))
    }

    /// A whole command file.
    pub(crate) fn whole_file(&mut self, name: &[u8]) -> Result<Vec<u8>, Trouble> {
        let mut stream = self.stream(name, Mode { read: true, ..Mode::default() })?;
        let most = self.limits.memory.min(64 << 20);
        let text = stream.bytes(most + 1)?;
        stream.close()?;
        if text.len() > most {
            let say = format!("{} has more than {most} bytes", lossy(name));
            return Err(Trouble::new(say));
        }
        Ok(text)
    }

    /// Whether the beginning of a file looks like text.
    pub(crate) fn looks_like_text(&mut self, name: &[u8]) -> Result<bool, Trouble> {
        let mut stream = self.stream(name, Mode { read: true, ..Mode::default() })?;
        let begin = stream.bytes(4096)?;
        stream.close()?;
        let control = |b: &u8| *b < 32 && !matches!(b, 7..=13 | 27);
        Ok(!begin.iter().any(control))
    }
}
