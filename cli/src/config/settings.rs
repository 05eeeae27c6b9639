//! The configuration file, its profiles, and the settings that follow from everything.
//!
//! Later ones win: defaults of the table, the `[set]` of the file, the `[profile.NAME.set]` of the
//! profile, flags and `--set`.

use std::collections::BTreeSet;
use std::fmt;

use crate::ui::format::did_you_mean;
use wetstring_drive::disk::{Collision, Incomplete, Resume, Verify};
pub(crate) use wetstring_proto::arpanet::config::TABLE as NCP_TABLE;
pub(crate) use wetstring_proto::kermit::config::TABLE as KERMIT_TABLE;
pub(crate) use wetstring_proto::netblt::config::TABLE as NETBLT_TABLE;
use wetstring_proto::settings::{BadSetting, Range, Setting, Settings as Rows};
pub(crate) use wetstring_proto::uucp::config::TABLE as UUCP_TABLE;
pub(crate) use wetstring_proto::xymodem::config::TABLE as XYMODEM_TABLE;
pub(crate) use wetstring_proto::zmodem::config::TABLE as ZMODEM_TABLE;
use wetstring_proto::{arpanet, kermit, netblt, uucp, xymodem, zmodem};

/// Rows of the store of received files.
pub(crate) const STORE_TABLE: &[Setting] = &[
    Setting {
        name: "store.collision",
        range: Range::Word(&["rename", "replace", "backup", "append", "reject", "update"]),
        default: "backup",
        unit: "",
        doc: "What to do when a file of the name exists: give the new one another name (NAME.~1~), replace the old one, put the old one aside (as NAME.~1~, as C-Kermit and GNU programs do), append to it, refuse the new one, or replace an older one",
        source: "C-Kermit SET FILE COLLISION",
    },
    Setting {
        name: "store.incomplete",
        range: Range::Word(&["keep", "discard"]),
        default: "keep",
        unit: "",
        doc: "Whether a file that did not arrive whole stays as NAME.part, from which a later transfer can go on",
        source: "C-Kermit SET FILE INCOMPLETE",
    },
    Setting {
        name: "store.resume",
        range: Range::Word(&["never", "part", "existing"]),
        default: "part",
        unit: "",
        doc: "What to go on with when the sender offers to: nothing; a NAME.part of the same file, as its length and date or a comparison tell; or whatever is there, also under its own name",
        source: "[KPM] RESEND",
    },
    Setting {
        name: "store.verify",
        range: Range::Word(&["stream", "stored", "auto"]),
        default: "auto",
        unit: "",
        doc: "What is compared with the sender's file before it is called verified: the bytes that came, those that are stored (read again from the device), or those that are stored where that takes less than a tenth of the time or others may change the directory",
        source: "docs/decisions/006",
    },
];

const COLLISIONS: [(&str, Collision); 6] = [
    ("rename", Collision::Rename),
    ("replace", Collision::Replace),
    ("backup", Collision::Backup),
    ("append", Collision::Append),
    ("reject", Collision::Reject),
    ("update", Collision::Update),
];
const INCOMPLETES: [(&str, Incomplete); 2] =
    [("keep", Incomplete::Keep), ("discard", Incomplete::Discard)];

const RESUMES: [(&str, Resume); 3] =
    [("never", Resume::Never), ("part", Resume::Part), ("existing", Resume::Existing)];

const VERIFIES: [(&str, Verify); 3] =
    [("stream", Verify::Stream), ("stored", Verify::Stored), ("auto", Verify::Auto)];

/// Everything that can be set.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    /// The Kermit engines.
    pub(crate) kermit: kermit::Config,
    /// The XMODEM and YMODEM engines.
    pub(crate) xymodem: xymodem::Config,
    /// The ZMODEM engines.
    pub(crate) zmodem: zmodem::Config,
    /// The NETBLT engines.
    pub(crate) netblt: netblt::Config,
    /// The UUCP engines.
    pub(crate) uucp: uucp::Config,
    /// The ARPANET engines.
    pub(crate) ncp: arpanet::Config,
    /// A command that ZMODEM sends instead of files, and whether it is answered at once.
    pub(crate) command: Option<(Vec<u8>, bool)>,
    /// What to do when a file of the name exists.
    pub(crate) collision: Collision,
    /// What to do with a file that did not arrive whole.
    pub(crate) incomplete: Incomplete,
    /// What to go on with.
    pub(crate) resume: Resume,
    /// What is compared before a file is called verified.
    pub(crate) verify: Verify,
    /// What was set by name: the facts of a line do not change it.
    chosen: BTreeSet<String>,
}

fn value_of<T: Copy>(words: &[(&str, T)], value: &str) -> Option<T> {
    words.iter().find(|(word, _)| *word == value).map(|(_, v)| *v)
}

fn word_of<T: Copy + PartialEq>(words: &[(&'static str, T)], value: T) -> &'static str {
    words.iter().find(|(_, v)| *v == value).map_or("", |(word, _)| *word)
}

impl Settings {
    /// Every row there is.
    pub(crate) fn rows() -> impl Iterator<Item = &'static Setting> {
        [
            KERMIT_TABLE,
            XYMODEM_TABLE,
            ZMODEM_TABLE,
            NETBLT_TABLE,
            UUCP_TABLE,
            NCP_TABLE,
            STORE_TABLE,
        ]
        .into_iter()
        .flatten()
    }

    /// The protocol that a name belongs to, or Kermit, whose error it then is.
    fn protocol(&self, name: &str) -> &dyn Rows {
        match name.split_once('.') {
            Some(("xymodem", _)) => &self.xymodem,
            Some(("zmodem", _)) => &self.zmodem,
            Some(("netblt", _)) => &self.netblt,
            Some(("uucp", _)) => &self.uucp,
            Some(("ncp", _)) => &self.ncp,
            _ => &self.kermit,
        }
    }

    fn protocol_mut(&mut self, name: &str) -> &mut dyn Rows {
        match name.split_once('.') {
            Some(("xymodem", _)) => &mut self.xymodem,
            Some(("zmodem", _)) => &mut self.zmodem,
            Some(("netblt", _)) => &mut self.netblt,
            Some(("uucp", _)) => &mut self.uucp,
            Some(("ncp", _)) => &mut self.ncp,
            _ => &mut self.kermit,
        }
    }

    /// Whether a setting was set by name, be it to its default.
    pub(crate) fn is_chosen(&self, name: &str) -> bool {
        self.chosen.contains(name)
    }

    /// Sets one by its full name.
    pub(crate) fn set(&mut self, name: &str, value: &str) -> Result<(), BadSetting> {
        self.put(name, value)?;
        self.chosen.insert(name.to_owned());
        Ok(())
    }

    fn put(&mut self, name: &str, value: &str) -> Result<(), BadSetting> {
        let Some(row) = STORE_TABLE.iter().find(|row| row.name == name) else {
            return self.protocol_mut(name).set(name, value);
        };
        let done = match name {
            "store.collision" => value_of(&COLLISIONS, value).map(|v| self.collision = v),
            "store.incomplete" => value_of(&INCOMPLETES, value).map(|v| self.incomplete = v),
            "store.verify" => value_of(&VERIFIES, value).map(|v| self.verify = v),
            _ => value_of(&RESUMES, value).map(|v| self.resume = v),
        };
        done.ok_or(BadSetting::Value(row))
    }

    /// Writes the present value of one.
    pub(crate) fn show(&self, name: &str, out: &mut dyn fmt::Write) -> fmt::Result {
        match name {
            "store.collision" => out.write_str(word_of(&COLLISIONS, self.collision)),
            "store.incomplete" => out.write_str(word_of(&INCOMPLETES, self.incomplete)),
            "store.resume" => out.write_str(word_of(&RESUMES, self.resume)),
            "store.verify" => out.write_str(word_of(&VERIFIES, self.verify)),
            _ => self.protocol(name).show(name, out),
        }
    }

    /// Sets the longest wait of X/Y/ZMODEM for an answer, in seconds, as far as each allows.
    pub(crate) fn set_timeouts(&mut self, seconds: u64) {
        self.zmodem.timeout_s = seconds.clamp(1, 60) as u8;
        self.xymodem.timeout_s = seconds.clamp(1, 600) as u16;
        self.xymodem.answer_timeout_s = seconds.clamp(1, 600) as u16;
    }

    /// Sets many, and says which one was wrong.
    pub(crate) fn set_all(
        &mut self,
        settings: &[(String, String)],
        at: &str,
    ) -> Result<(), String> {
        for (name, value) in settings {
            self.set(name, value).map_err(|bad| match bad {
                BadSetting::Unknown => format!("{at}: {}", no_setting(name)),
                BadSetting::Value(row) => {
                    format!("{at}: expected {} for {name}, got {value}", row.range)
                }
            })?;
        }
        Ok(())
    }
}

/// What is said of a name that no setting has.
pub(crate) fn no_setting(name: &str) -> String {
    let meant = did_you_mean(name, Settings::rows().map(|row| row.name));
    let meant = if meant.is_empty() { "; wst show lists them".to_owned() } else { meant };
    format!("there is no setting called {name}{meant}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_can_be_shown_and_set_to_its_default() {
        let mut all = Settings::default();
        for row in Settings::rows() {
            let mut out = String::new();
            all.show(row.name, &mut out).unwrap();
            assert_eq!(out, row.default, "{}", row.name);
            assert_eq!(all.set(row.name, row.default), Ok(()), "{}", row.name);
        }
    }
}
