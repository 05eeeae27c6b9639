//! The settings of a SLIP line as users name them; [`Settings::config`] makes the [`Config`] of a link of them.

use super::config::{Compression, Config};
use super::mtu::{self, CUSTOMARY_MTU, Rate};
use crate::time::{BitRate, Span};

crate::choice! {
    /// When a compressed packet carries the number of its connection.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum Ids {
        /// Where bytes may be lost always, elsewhere when it changes.
        Auto = "auto",
        /// Always.
        Always = "always",
        /// When it changes.
        Changed = "changed",
    }
}

crate::choice! {
    /// What becomes of the offer of TCP timestamps.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum Timestamps {
        /// Taken out.
        Drop = "drop",
        /// Left in.
        Keep = "keep",
    }
}

crate::settings! {
    /// The settings of a SLIP line.
    #[derive(Clone, PartialEq, Eq, Debug)]
    pub struct Settings {
        "slip.compress" compress: Compression[word] = "auto",
            "VJ compression of TCP headers; auto starts once the peer compresses",
            "RFC 1144";
        "slip.slots" slots: u16[3..=256] = 16,
            "Compression slots, the same number at both ends",
            "RFC 1144 4";
        "slip.ids" ids: Ids[word] = "auto",
            "Send the connection number in every compressed packet, or only when it changes; auto: changed where the line is reliable",
            "RFC 1144 3.2.2";
        "slip.timestamps" timestamps: Timestamps[word] = "drop",
            "TCP timestamps, which prevent VJ compression: drop removes the option from the SYNs of new connections, unless compression is off",
            "Wetstring: RFC 1144 compresses no header that has them";
        /// Zero is the rate of the port.
        "slip.rate" rate: BitRate[0..=1_000_000_000 bits_per_second] = 0,
            "Rate of the line, with ten bits to a byte; 0: that of the port, if it knows it; urgent packets overtake only what is queued in this program",
            "Wetstring: the port's own buffer is kept short";
        "slip.mtu" mtu: u16[68..=1500 "bytes"] = 296,
            "Longest packet to send; unless it is set, what the latency allows where the rate is known",
            "RFC 1055; RFC 791";
        "slip.latency" latency: Span[1..=86_400_000 milliseconds] = 200,
            "Longest time that a packet may occupy the line, which gives the MTU unless that is set",
            "Wetstring: interactive packets wait for one such packet at most";
        "slip.fifo" fifo: bool[word] = "off",
            "Send packets in order of arrival, without traffic classes",
            "Wetstring: to compare with";
    }
}

impl Settings {
    /// The rate that is set, or else that of the port in bit/s.
    pub fn rate(&self, of_port: Option<u64>) -> Option<Rate> {
        let set = Some(self.rate.bps()).filter(|bps| *bps > 0);
        set.or(of_port).map(Rate::serial)
    }

    /// The MTU at this rate, and its latency: the one that is set, or the one that keeps to the latency. `None` if the
    /// rate is not known.
    pub fn choice(&self, rate: Option<Rate>, mtu_is_set: bool) -> Option<mtu::Choice> {
        let latency = self.latency.get();
        rate.map(|rate| {
            if mtu_is_set {
                mtu::Choice::of(self.mtu, rate, latency)
            } else {
                mtu::choose(rate, latency)
            }
        })
    }

    /// The configuration of a link with this MTU and rate; `reliable`: the line loses no bytes.
    pub fn config(&self, mtu: u16, rate: Option<Rate>, reliable: bool) -> Config {
        let mut link = Config::new(mtu);
        link.compression = self.compress;
        link.slots = self.slots;
        link.take_out_timestamps = self.timestamps == Timestamps::Drop;
        // Serial ports report damaged bytes, but not lost ones; after a loss the next
        // packet would be attributed to the wrong connection.
        link.omit_slot = match self.ids {
            Ids::Auto => reliable,
            Ids::Always => false,
            Ids::Changed => true,
        };
        link.rate = rate;
        link.queue.fifo = self.fifo;
        link
    }
}

// The row has it as a number.
const _: () = assert!(CUSTOMARY_MTU == 296);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Settings as _;

    #[test]
    fn an_mtu_that_is_not_set_follows_from_rate_and_latency() {
        let mut settings = Settings::default();
        assert_eq!(settings.rate(None), None);
        let port = settings.rate(Some(9600));
        assert_eq!(settings.choice(port, false).map(|choice| choice.mtu), Some(190));
        assert_eq!(settings.choice(port, true).map(|choice| choice.mtu), Some(296));
        settings.set("slip.rate", "19200").unwrap();
        settings.set("slip.latency", "100").unwrap();
        let rate = settings.rate(Some(9600));
        assert_eq!(rate, Some(Rate::serial(19_200)));
        assert_eq!(settings.choice(rate, false).map(|choice| choice.mtu), Some(190));
    }

    #[test]
    fn numbers_of_connections_are_omitted_where_nothing_is_lost() {
        let mut settings = Settings::default();
        assert!(settings.config(296, None, true).omit_slot);
        assert!(!settings.config(296, None, false).omit_slot);
        settings.set("slip.ids", "changed").unwrap();
        assert!(settings.config(296, None, false).omit_slot);
        settings.set("slip.timestamps", "keep").unwrap();
        settings.set("slip.fifo", "on").unwrap();
        let link = settings.config(100, Some(Rate::serial(9600)), true);
        assert!(!link.take_out_timestamps && link.queue.fifo && link.mtu == 100);
        assert_eq!(link.rate, Some(Rate::serial(9600)));
    }
}
