//! The content of a file in the replay of a real transfer.

use super::Account;
use super::budget::share;
use super::replay::switch;
use super::table;
use crate::scenario::Load;
use toml::{Table, Value};
use wetstring_protocols::Protocol;

/// What shrinks as files do that are worth compressing.
const TEXT: &str = "manual";

impl Account {
    /// The content: the file itself if it still exists, or else a substitute with the same encoding overhead.
    pub(super) fn content(&self, base: &mut Table, load: Load<'_>) {
        let path = self
            .log
            .text("path")
            .filter(|path| load(path).is_ok_and(|content| content.len() as u64 == self.file_bytes));
        if let Some(path) = path {
            return table::put(base, "file.path", Value::String(path.to_owned()));
        }
        let sent = self.log.sender.iter().flat_map(|side| &side.sent);
        let (data, file) = sent.fold((0, 0), |(data, file), s| (data + s.data, file + s.file));
        let is_plain = !self.agreed("bundle") && !self.agreed("compress");
        let made = match share(data, file) {
            0..=500 if is_plain => "zeros",
            501..=1100 if is_plain => "text",
            // In bundles random bytes need a hundredth more, and others are compressed.
            0..=900 => "text",
            _ => "random",
        };
        table::put(base, "file.made", Value::String(made.to_owned()));
        let bytes = i64::try_from(self.file_bytes).unwrap_or(i64::MAX);
        table::put(base, "file.bytes", Value::Integer(bytes));
    }

    /// The predicted time with compression, where there was none and how far the file shrinks is not known, for it is
    /// not there to be read: if it shrinks as text does. `now` is the time of the replay without changes, and `excess`
    /// what the transfer took longer to start.
    pub(super) fn if_it_shrinks(
        &self,
        base: &Table,
        load: Load<'_>,
        now: u64,
        excess: u64,
    ) -> Option<u64> {
        let protocol = self.protocol.as_deref().and_then(Protocol::of);
        let switches = protocol.map_or(&[][..], |protocol| protocol.compression);
        let is_substitute = table::get(base, "file.made").is_some();
        if switches.is_empty() || !is_substitute || self.agreed("compress") {
            return None;
        }
        let mut scenario = base.clone();
        if let Some(Value::Table(file)) = scenario.get_mut("file") {
            file.remove("made");
        }
        table::put(&mut scenario, "file.corpus", Value::String(TEXT.to_owned()));
        for name in switches {
            switch(&mut scenario, name, true);
        }
        let (_, time) = self.time(&scenario, load, true).ok()?;
        Some(self.scaled(time?, now, excess))
    }
}
