//! What a probe found, in words and as settings.

use std::fmt::Write as _;
use std::time::Duration;

/// What becomes of each byte in one direction; `None`: whatever it is sent with is lost.
pub(super) type Fates = Vec<Option<Vec<u8>>>;

const XON_XOFF: [u8; 4] = [0x11, 0x13, 0x91, 0x93];

/// A shorter time between the first and the last byte tells no rate.
const LEAST_MICROS: u32 = 10_000;

/// A burst: bytes sent, bytes that arrived, and the time between the first and the last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Burst {
    pub(super) sent: u32,
    pub(super) got: u32,
    pub(super) micros: u32,
}

/// Everything that was found.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub(super) rtt: Duration,
    pub(super) echo: bool,
    /// To the peer, and from it.
    pub(super) ways: [Fates; 2],
    pub(super) bursts: Vec<Burst>,
}

/// The eighth bit of a direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Eighth {
    Data,
    Parity(&'static str),
}

/// What becomes of the eighth bit: data, or what would be there by a parity.
pub(super) fn eighth(fates: &Fates) -> Eighth {
    let single = |byte: usize| match fates.get(byte).and_then(Option::as_deref) {
        Some([got]) if usize::from(got & 0x7F) == byte & 0x7F => Some(*got),
        _ => None,
    };
    let all = |rule: fn(u8) -> bool| {
        let got: Vec<(usize, u8)> =
            (0..256).filter_map(|byte| Some((byte, single(byte)?))).collect();
        got.len() > 100 && got.iter().all(|(_, got)| rule(*got))
    };
    if all(|got| got < 0x80) {
        Eighth::Parity("space")
    } else if all(|got| got >= 0x80) {
        Eighth::Parity("mark")
    } else if all(|got| got.count_ones() % 2 == 0) {
        Eighth::Parity("even")
    } else if all(|got| got.count_ones() % 2 == 1) {
        Eighth::Parity("odd")
    } else {
        Eighth::Data
    }
}

/// Bytes that do not arrive, and those that arrive as something else; the eighth bit aside if it is no data.
pub(super) fn losses(fates: &Fates) -> (Vec<u8>, Vec<(u8, Vec<u8>)>) {
    let mask = if eighth(fates) == Eighth::Data { 0xFF } else { 0x7F };
    let (mut dead, mut changed) = (Vec::new(), Vec::new());
    for (byte, fate) in (0..=255_u8).zip(fates) {
        match fate.as_deref() {
            None | Some([]) => dead.push(byte),
            Some([got]) if got & mask == byte & mask => {}
            Some(got) => changed.push((byte, got.to_vec())),
        }
    }
    (dead, changed)
}

/// Bytes in hexadecimal, neighbours as ranges.
pub(super) fn ranges(bytes: &[u8]) -> String {
    let mut all: Vec<(u8, u8)> = Vec::new();
    for byte in bytes {
        match all.last_mut() {
            Some((_, last)) if *last != 255 && *last + 1 == *byte => *last = *byte,
            _ => all.push((*byte, *byte)),
        }
    }
    let one = |(first, last): &(u8, u8)| match last - first {
        0 => format!("{first:02X}"),
        1 => format!("{first:02X} {last:02X}"),
        _ => format!("{first:02X}-{last:02X}"),
    };
    all.iter().map(one).collect::<Vec<_>>().join(" ")
}

impl Findings {
    /// The longest burst that arrived whole, and whether a longer one did not.
    pub(super) fn longest(&self) -> (u32, bool) {
        let whole = self.bursts.iter().take_while(|burst| burst.got == burst.sent);
        let longest = whole.map(|burst| burst.sent).max().unwrap_or(0);
        (longest, self.bursts.iter().any(|burst| burst.got != burst.sent))
    }

    /// The rate in bit/s, with ten bits a character, if a burst was long enough to tell.
    pub(super) fn rate_bps(&self) -> Option<u64> {
        let burst = self
            .bursts
            .iter()
            .rev()
            .find(|burst| burst.got > 32 && burst.micros >= LEAST_MICROS)?;
        Some(u64::from(burst.got - 1) * 10_000_000 / u64::from(burst.micros))
    }

    /// Whether control characters arrive as they are, flow control aside.
    pub(super) fn controls_pass(&self) -> bool {
        !self.ways.iter().any(|fates| {
            let (dead, changed) = losses(fates);
            let is_control = |byte: &u8| byte & 0x7F < 0x20 || byte & 0x7F == 0x7F;
            let others = dead.iter().filter(|byte| !XON_XOFF.contains(byte));
            others.chain(changed.iter().map(|(byte, _)| byte)).any(is_control)
        })
    }

    /// Settings that suit the line.
    pub(super) fn settings(&self) -> Vec<(&'static str, String)> {
        let mut all = Vec::new();
        let mut set = |name, value: &str| all.push((name, value.to_owned()));
        let parity = self.ways.iter().map(eighth).find(|eighth| *eighth != Eighth::Data);
        if let Some(Eighth::Parity(parity)) = parity {
            set("kermit.parity", parity);
        }
        if !self.controls_pass() {
            set("kermit.prefixing", "all");
            set("zmodem.escape", "controls");
        }
        if let (longest @ 1.., true) = self.longest() {
            set("kermit.window", "1");
            set("kermit.send-length", &longest.clamp(20, 9024).to_string());
            set("zmodem.window", &longest.to_string());
        }
        all
    }

    /// One screen.
    pub(super) fn page(&self) -> String {
        let mut page = String::new();
        // Writing to a string cannot fail.
        let _ = writeln!(page, "round trip     {:.1} ms", self.rtt.as_secs_f64() * 1000.0);
        let rate =
            self.rate_bps().map_or("not measured".to_owned(), |rate| format!("{rate} bit/s"));
        let _ = writeln!(page, "rate           {rate}, with 10 bits a character");
        let (longest, lost) = self.longest();
        let more = if lost { "; more loses bytes" } else { ", and no more was tried" };
        let _ = writeln!(page, "burst          {longest} bytes arrive{more}");
        let echo = if self.echo { "yes: bytes come back" } else { "no" };
        let _ = writeln!(page, "echo           {echo}");
        for (name, fates) in ["to the peer", "from the peer"].iter().zip(&self.ways) {
            direction(name, fates, &mut page);
        }
        let settings = self.settings();
        if settings.is_empty() {
            let _ = writeln!(page, "settings       none needed");
        }
        for (name, value) in settings {
            let _ = writeln!(page, "setting        --set {name}={value}");
        }
        page
    }
}

fn direction(name: &str, fates: &Fates, page: &mut String) {
    let (dead, changed) = losses(fates);
    let bits = match eighth(fates) {
        Eighth::Data => "8 bits".to_owned(),
        Eighth::Parity("space") => "7 bits: the eighth is 0".to_owned(),
        Eighth::Parity(parity) => format!("7 bits, {parity} parity"),
    };
    let _ = writeln!(page, "{name:14} {bits}");
    if dead.is_empty() && changed.is_empty() {
        let _ = writeln!(page, "               every byte arrives as it is");
    }
    if !dead.is_empty() {
        let flow = if [0x11, 0x13].iter().all(|byte| dead.contains(byte)) {
            " (XON and XOFF are eaten)"
        } else {
            ""
        };
        let _ = writeln!(page, "               do not arrive: {}{flow}", ranges(&dead));
    }
    for (byte, got) in changed.iter().take(8) {
        let got: Vec<String> = got.iter().map(|byte| format!("{byte:02X}")).collect();
        let got = got.join(" ");
        let why = match (*byte, got.as_str()) {
            (0xFF, "FF FF") => " (Telnet's IAC: use telnet://)",
            (0x0D, "0D 00") => " (Telnet's end of line: use telnet://)",
            (0x0D, "0A") | (0x0A, "0D 0A") => " (a terminal that is not raw)",
            _ => "",
        };
        let _ = writeln!(page, "               {byte:02X} arrives as {got}{why}");
    }
    if changed.len() > 8 {
        let _ = writeln!(page, "               and {} others change", changed.len() - 8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fates(becomes: impl Fn(u8) -> Vec<u8>) -> Fates {
        (0..=255).map(|byte| Some(becomes(byte))).collect()
    }

    #[test]
    fn a_transparent_line_needs_no_settings() {
        let clear = fates(|byte| vec![byte]);
        let found = Findings { ways: [clear.clone(), clear], ..Findings::default() };
        assert_eq!(found.settings(), []);
        assert!(found.page().contains("every byte arrives as it is"));
    }

    #[test]
    fn parity_and_seven_bits_are_told_apart() {
        let even = |byte: u8| byte & 0x7F | ((byte & 0x7F).count_ones() as u8 & 1) << 7;
        assert_eq!(eighth(&fates(|byte| vec![byte])), Eighth::Data);
        assert_eq!(eighth(&fates(|byte| vec![byte & 0x7F])), Eighth::Parity("space"));
        assert_eq!(eighth(&fates(|byte| vec![byte | 0x80])), Eighth::Parity("mark"));
        assert_eq!(eighth(&fates(|byte| vec![even(byte)])), Eighth::Parity("even"));
        assert_eq!(eighth(&fates(|byte| vec![even(byte) ^ 0x80])), Eighth::Parity("odd"));
        let (dead, changed) = losses(&fates(|byte| vec![even(byte)]));
        assert!(dead.is_empty() && changed.is_empty());
    }

    #[test]
    fn a_terminal_that_acts_on_control_characters_is_named() {
        let cooked = fates(|byte| match byte {
            0x03 | 0x11 | 0x13 => Vec::new(),
            0x0D => vec![0x0A],
            byte => vec![byte],
        });
        let found = Findings { ways: [cooked, fates(|byte| vec![byte])], ..Findings::default() };
        let page = found.page();
        assert!(page.contains("do not arrive: 03 11 13 (XON and XOFF are eaten)"), "{page}");
        assert!(page.contains("0D arrives as 0A (a terminal that is not raw)"), "{page}");
        assert!(found.settings().contains(&("kermit.prefixing", "all".to_owned())));
    }

    #[test]
    fn a_small_buffer_bounds_packets() {
        let bursts = vec![
            Burst { sent: 64, got: 64, micros: 65_625 },
            Burst { sent: 256, got: 80, micros: 1 },
        ];
        let found = Findings { bursts, ..Findings::default() };
        assert_eq!(found.longest(), (64, true));
        assert!(found.settings().contains(&("kermit.send-length", "64".to_owned())));
        assert_eq!(ranges(&[0, 1, 2, 5, 7, 8]), "00-02 05 07 08");
    }
}
