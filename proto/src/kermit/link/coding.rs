//! How data is encoded for this peer, on this line.

use super::Link;
use crate::kermit::bundle::{CAREFUL, TRIED};
use crate::kermit::config::Prefixing;
use crate::kermit::encode::{Coding, Shift};
use crate::kermit::params::OWN_LENGTH;
use crate::kermit::prefix::PrefixTable;
use crate::kermit::probe::ProbeState;

impl Link {
    /// How text that is not file data is encoded: names, messages.
    pub(crate) fn text_coding(&self) -> Coding {
        Coding {
            qctl: b'#',
            qbin: self.agreed.qbin,
            rept: self.agreed.rept,
            other_rept: self.agreed.other_rept,
            shift: Shift::Off,
            text: false,
            prefix: PrefixTable::ALL,
            strict_high: true,
        }
    }

    /// How file data is encoded for this peer.
    pub(crate) fn data_coding(&self, text: bool) -> Coding {
        Coding {
            qctl: b'#',
            qbin: self.agreed.qbin,
            rept: self.agreed.rept,
            other_rept: self.agreed.other_rept,
            shift: self.agreed.shift,
            text,
            prefix: self.prefix_table(),
            strict_high: false,
        }
    }

    /// Whether our peer frames by length alone: one of us, streaming on a clear channel.
    pub(crate) fn framed_by_length(&self) -> bool {
        let a = &self.agreed;
        a.streaming && a.clear && a.own.is_some_and(|own| own & OWN_LENGTH != 0)
    }

    /// Whether to try which control characters pass the line: one of us, a line of eight bits that
    /// is not known to be clear, and the user has not set what to prefix.
    pub(crate) fn may_try_bare(&self) -> bool {
        let a = &self.agreed;
        let eight_bit = a.qbin.is_none() && a.shift == Shift::Off && !self.seven_bit();
        let open = !a.clear && self.config.prefixing == Prefixing::Auto;
        self.bare == ProbeState::Untried && a.own.is_some() && eight_bit && open
    }

    /// Whether the alphabet depends on what passes the line.
    pub(crate) fn chooses_alphabet(&self) -> bool {
        self.config.prefixing == Prefixing::Auto && !self.agreed.clear
    }

    /// The letter of the alphabet of data fields in bundles.
    pub(crate) fn alphabet(&self) -> u8 {
        match self.config.prefixing {
            Prefixing::All => b'A',
            Prefixing::Cautious => CAREFUL,
            Prefixing::Minimal => b'M',
            Prefixing::None if self.config.line.clear => b'N',
            Prefixing::None => b'S',
            Prefixing::Auto if self.agreed.clear && self.config.line.telnet => b'X',
            Prefixing::Auto if self.agreed.clear => b'S',
            Prefixing::Auto if self.bare == ProbeState::Passed => TRIED,
            Prefixing::Auto => CAREFUL,
        }
    }

    /// The codes that get a prefix in file data to this peer (kermit.md §7.4).
    fn prefix_table(&self) -> PrefixTable {
        let by_length = self.framed_by_length() && self.config.prefixing == Prefixing::Auto;
        let mut table = match self.config.prefixing {
            Prefixing::All => PrefixTable::ALL,
            Prefixing::Cautious => PrefixTable::CAUTIOUS,
            Prefixing::Minimal => PrefixTable::MINIMAL,
            Prefixing::None if self.config.line.clear => PrefixTable::NONE_NETWORK,
            Prefixing::None => PrefixTable::NONE_SERIAL,
            Prefixing::Auto if self.agreed.clear && self.config.line.telnet => {
                PrefixTable::CLEAR_TELNET
            }
            Prefixing::Auto if by_length => PrefixTable::CLEAR_OWN,
            Prefixing::Auto if self.agreed.clear => PrefixTable::CLEAR,
            Prefixing::Auto if self.bare == ProbeState::Passed => PrefixTable::TRIED,
            Prefixing::Auto if self.theirs.whatami.is_some() => PrefixTable::CAUTIOUS,
            Prefixing::Auto => PrefixTable::ALL,
        };
        for code in 0..=255u8 {
            if self.config.unprefixed.contains(code) {
                table = table.without(code);
            }
            // VMS terminal drivers intercept these whatever was negotiated (kermit.md §7.4).
            let vms = &self.theirs.system == b"D7"
                && matches!(code, 3 | 14 | 15 | 17 | 19 | 24 | 25 | 141 | 145 | 147);
            if vms || self.config.prefixed.contains(code) {
                table = table.with(code);
            }
        }
        if by_length {
            return table;
        }
        // MARK and EOL must not be bare inside a packet.
        table.with(self.config.mark).with(b'\r').with(self.theirs.eol)
    }
}
