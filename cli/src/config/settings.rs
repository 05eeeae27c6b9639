//! The resulting settings of the configuration file, its profiles and the flags.
//!
//! Later ones override: defaults of the table, the `[set]` of the file, the `[profile.NAME.set]` of the
//! profile, flags and `--set`.

use std::collections::BTreeSet;
use std::fmt;

use super::line::LineSettings;
use crate::ui::format::did_you_mean;
use wetstring_drive::disk::StoreSettings;
use wetstring_proto::settings::{BadSetting, Setting, Settings as _};
use wetstring_proto::{Span, arpanet, kermit, netblt, slip, uucp, xymodem, zmodem};
use wetstring_protocols::{Configs, FAMILIES, Family};

/// All settings.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    /// The protocols.
    pub(crate) protocols: Configs,
    /// The store of received files.
    pub(crate) store: StoreSettings,
    /// A SLIP line.
    pub(crate) slip: slip::Settings,
    /// Lines, whatever passes them.
    pub(crate) line: LineSettings,
    /// A command that ZMODEM sends instead of files, and whether it is acknowledged immediately.
    pub(crate) command: Option<(Vec<u8>, bool)>,
    /// Settings set by name, which the facts of a line do not change.
    chosen: BTreeSet<String>,
}

impl Settings {
    /// Every row.
    pub(crate) fn rows() -> impl Iterator<Item = &'static Setting> {
        let own = StoreSettings::TABLE.iter().chain(slip::Settings::TABLE);
        let own = own.chain(LineSettings::TABLE);
        FAMILIES.iter().flat_map(Family::table).chain(own)
    }

    /// Of Kermit.
    pub(crate) fn kermit(&self) -> &kermit::Config {
        self.protocols.get()
    }

    /// Of Kermit, to be changed.
    pub(crate) fn kermit_mut(&mut self) -> &mut kermit::Config {
        self.protocols.get_mut()
    }

    /// Of XMODEM and YMODEM.
    pub(crate) fn xymodem(&self) -> &xymodem::Config {
        self.protocols.get()
    }

    /// Of XMODEM and YMODEM, to be changed.
    pub(crate) fn xymodem_mut(&mut self) -> &mut xymodem::Config {
        self.protocols.get_mut()
    }

    /// Of ZMODEM.
    pub(crate) fn zmodem(&self) -> &zmodem::Config {
        self.protocols.get()
    }

    /// Of ZMODEM, to be changed.
    pub(crate) fn zmodem_mut(&mut self) -> &mut zmodem::Config {
        self.protocols.get_mut()
    }

    /// Of NETBLT.
    pub(crate) fn netblt(&self) -> &netblt::Config {
        self.protocols.get()
    }

    /// Of NETBLT, to be changed.
    pub(crate) fn netblt_mut(&mut self) -> &mut netblt::Config {
        self.protocols.get_mut()
    }

    /// Of UUCP, to be changed.
    pub(crate) fn uucp_mut(&mut self) -> &mut uucp::Config {
        self.protocols.get_mut()
    }

    /// Of FTP over NCP.
    pub(crate) fn ncp(&self) -> &arpanet::Config {
        self.protocols.get()
    }

    /// Whether a setting was set by name, even to its default.
    pub(crate) fn is_chosen(&self, name: &str) -> bool {
        self.chosen.contains(name)
    }

    /// Sets one by its full name, and records that.
    pub(crate) fn set(&mut self, name: &str, value: &str) -> Result<(), BadSetting> {
        match name.split_once('.') {
            Some(("store", _)) => self.store.set(name, value)?,
            Some(("slip", _)) => self.slip.set(name, value)?,
            Some(("line", _)) => self.line.set(name, value)?,
            _ => self.protocols.set(name, value)?,
        }
        if name == "slip.latency" {
            // What is said later: an MTU of the configuration file gives way to a flag.
            self.chosen.remove("slip.mtu");
        }
        self.chosen.insert(name.to_owned());
        Ok(())
    }

    /// Prints the current value of one.
    pub(crate) fn show(&self, name: &str, out: &mut dyn fmt::Write) -> fmt::Result {
        match name.split_once('.') {
            Some(("store", _)) => self.store.show(name, out),
            Some(("slip", _)) => self.slip.show(name, out),
            Some(("line", _)) => self.line.show(name, out),
            _ => self.protocols.show(name, out),
        }
    }

    /// Sets the timeouts of X/Y/ZMODEM, in seconds, within their ranges.
    pub(crate) fn set_timeouts(&mut self, seconds: u64) {
        self.zmodem_mut().timeout = Span::from_secs(seconds.clamp(1, 60));
        let xymodem = self.xymodem_mut();
        xymodem.timeout = Span::from_secs(seconds.clamp(1, 600));
        xymodem.answer_timeout = xymodem.timeout;
    }

    /// Sets several, and reports which one is invalid.
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

/// The message for an unknown setting.
pub(crate) fn no_setting(name: &str) -> String {
    let meant = did_you_mean(name, Settings::rows().map(|row| row.name));
    let meant = if meant.is_empty() { "; wst show lists them".to_owned() } else { meant };
    format!("no such setting: {name}{meant}")
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

    /// What is said last counts: the file's MTU gives way to a latency, and the other way round.
    #[test]
    fn an_mtu_and_a_latency_replace_each_other() {
        let mut all = Settings::default();
        all.set("slip.mtu", "1006").unwrap();
        assert!(all.is_chosen("slip.mtu"));
        all.set("slip.latency", "50").unwrap();
        assert!(!all.is_chosen("slip.mtu"));
        all.set("slip.mtu", "296").unwrap();
        assert!(all.is_chosen("slip.mtu"));
    }
}
