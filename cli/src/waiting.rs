//! What a person sees before the peer answers: what is awaited and where, for how long already, what
//! to check, and who it is that answers instead.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget};
use wetstring_drive::{Expected, Finding, LineSpec, PortFacts, Probes};
use wetstring_events::Event;
use wetstring_proto::peer::{Part, Tongue};
use wetstring_proto::xymodem::Variant;
use wetstring_proto::{Blame, Failure, FailureKind, Stats};

use crate::progress::{can_redraw, columns};
use crate::protocol::Protocol;
use crate::transfer::Speaks;
use crate::voice::{Level, Voice};
use crate::watch::Way;
use crate::words::{self, escaped};

/// After how long it is said what to check.
const HINT_AFTER: Duration = Duration::from_secs(5);
/// How often the wait is counted where there is no terminal.
const PLAIN_EVERY: Duration = Duration::from_secs(10);

/// Who may answer a transfer of this kind, for the look-out; `None` where nothing is looked out for.
pub(crate) fn expected(way: Way, speaks: Speaks, spec: &LineSpec) -> Option<Expected> {
    let ours = if way == Way::Send { Part::Sender } else { Part::Receiver };
    // A device may stand at its prompt, to which whatever is said is typed.
    let careful = matches!(speaks, Speaks::One(Protocol::Xymodem(_)))
        && !matches!(spec, LineSpec::Exec(_) | LineSpec::ExecPty(_));
    let probes = match (careful, way) {
        (true, Way::Send) => Probes::None,
        (true, Way::Receive) => Probes::Nul,
        (false, _) => Probes::All,
    };
    let fits: fn(Tongue) -> bool = match (speaks, way) {
        (Speaks::One(Protocol::Kermit), _) => |tongue| tongue == Tongue::Kermit,
        (Speaks::One(Protocol::Zmodem), _) => |tongue| tongue == Tongue::Zmodem,
        (Speaks::KermitOrZmodem, _) => |tongue| matches!(tongue, Tongue::Kermit | Tongue::Zmodem),
        (Speaks::One(Protocol::Xymodem(variant)), Way::Receive) if variant.is_batch() => {
            |tongue| tongue == Tongue::Ymodem
        }
        (Speaks::One(Protocol::Xymodem(_)), Way::Receive) => |tongue| tongue == Tongue::Xmodem,
        (Speaks::One(Protocol::Xymodem(Variant::Ymodem | Variant::YmodemG)), Way::Send) => {
            |tongue| matches!(tongue, Tongue::Xymodem | Tongue::YmodemG)
        }
        (Speaks::One(Protocol::Xymodem(_)), Way::Send) => |tongue| tongue == Tongue::Xymodem,
        // UUCP's peer is called by its name, and the others choose for themselves.
        _ => return None,
    };
    Some(Expected { ours, fits, probes })
}

/// The flag that speaks a tongue.
const fn flag(tongue: Tongue) -> (&'static str, &'static str) {
    match tongue {
        Tongue::Kermit => ("a Kermit", "-P kermit"),
        Tongue::Xmodem => ("an XMODEM", "-P xmodem"),
        Tongue::Ymodem => ("a YMODEM", "-P ymodem"),
        Tongue::Xymodem => ("an XMODEM or YMODEM", "-P xmodem (rx) or -P ymodem (rb)"),
        Tongue::YmodemG => ("a YMODEM-g", "-P ymodem-g"),
        Tongue::Zmodem => ("a ZMODEM", "-P zmodem"),
        Tongue::Uucp => ("a UUCP", "-P uucp-g"),
    }
}

/// Who the peer is, and what to do.
pub(crate) fn wrong_peer(way: Way, (tongue, part): (Tongue, Part)) -> String {
    let (who, flag) = flag(tongue);
    match (part, way) {
        (Part::Receiver, Way::Send) => format!("the peer is {who} receiver: use {flag}"),
        (Part::Sender, Way::Receive) => format!("the peer is {who} sender: use {flag}"),
        (Part::Sender, Way::Send) => {
            format!(
                "the peer is {who} sender, and so is this end: use wst receive {flag} here, or start a receiver there"
            )
        }
        (Part::Receiver, Way::Receive) => {
            format!(
                "the peer is {who} receiver, and so is this end: use wst send FILE {flag} here, or start a sender there"
            )
        }
        (Part::Client, _) => {
            format!("the peer is {who} client, which asks for a server: use wst serve")
        }
    }
}

/// A peer that is waited for.
pub(crate) struct Waiting {
    way: Way,
    speaks: Speaks,
    /// The line, for a person.
    name: String,
    /// What to check.
    check: String,
    finding: Finding,
    /// The look-out tells when the right peer is there.
    looked_out: bool,
    over: bool,
    began: Instant,
    hinted: bool,
    told: bool,
    counted: Instant,
    bar: Option<ProgressBar>,
}

impl Waiting {
    /// On this line.
    pub(crate) fn new(
        way: Way,
        speaks: Speaks,
        spec: &LineSpec,
        facts: &PortFacts,
        finding: Option<Finding>,
    ) -> Self {
        let now = Instant::now();
        Self {
            looked_out: finding.is_some(),
            over: false,
            way,
            speaks,
            name: facts.name.clone(),
            check: check(way, speaks, spec, facts),
            finding: finding.unwrap_or_default(),
            began: now,
            hinted: false,
            told: false,
            counted: now,
            bar: None,
        }
    }

    /// What is awaited: `a Kermit receiver`.
    fn awaited(&self) -> String {
        let part = if self.way == Way::Send { "receiver" } else { "sender" };
        format!("{} {part}", title(self.speaks))
    }

    /// Says what was opened and what is awaited.
    pub(crate) fn begin(&self, voice: &Voice) {
        let awaited = self.awaited();
        voice.say(Level::Note, &format!("opened {}; waiting for {awaited}", self.name));
        voice.event(Event::Waiting { awaited, line: self.name.clone(), elapsed_s: 0.0 });
    }

    /// The peer that answers although it cannot be the one that is awaited.
    pub(crate) fn wrong_peer(&self) -> Option<String> {
        self.finding.wrong_peer().map(|who| wrong_peer(self.way, who))
    }

    /// What may be the cause of a failure at the beginning, where no words tell the peer.
    pub(crate) fn guess(&self, failure: Failure, stats: &Stats) -> Option<String> {
        let gave_up = matches!(failure.kind, FailureKind::Aborted | FailureKind::PeerError)
            && failure.blame == Blame::Peer;
        let left = gave_up || matches!(failure.kind, FailureKind::Closed | FailureKind::Silence);
        if let (FailureKind::TooManyRetries, Some(say)) = (failure.kind, noisy(self.speaks)) {
            return Some(format!("the line loses or changes what is sent{say}"));
        }
        let flag = match self.speaks {
            Speaks::One(Protocol::Xymodem(variant))
                if self.way == Way::Send && stats.files_done == 0 =>
            {
                // XMODEM's first block is number 1, YMODEM's 0, and neither receiver says so.
                match variant.is_batch() {
                    true if left && stats.file_bytes > 0 => {
                        "the peer is an XMODEM receiver (rx), use -P xmodem"
                    }
                    false if gave_up => "the peer is a YMODEM receiver (rb), use -P ymodem",
                    _ => return None,
                }
            }
            Speaks::One(Protocol::Zmodem) | Speaks::KermitOrZmodem
                if gave_up && stats.packets_in == 0 =>
            {
                "the peer is a program of XMODEM or YMODEM, use -P xmodem or -P ymodem"
            }
            _ => return None,
        };
        let text = self.finding.text();
        let text = text.trim_ascii();
        let wrote =
            if is_text(text) { format!("it wrote \"{}\"; ", escaped(text)) } else { String::new() };
        Some(format!("{wrote}if {flag}"))
    }

    /// The other side asks the person something: the screen is theirs, and the count begins when that is
    /// answered.
    pub(crate) fn asked(&mut self, voice: &Voice) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
            voice.beside(None);
        }
        self.began = Instant::now();
        self.counted = self.began;
    }

    /// Time has passed. `heard`: something of the awaited protocol has come.
    pub(crate) fn go_on(&mut self, voice: &Voice, heard: bool) {
        if self.over {
            return;
        }
        if let Some(say) = self.wrong_peer().filter(|_| !self.told) {
            self.told = true;
            voice.event(Event::WrongPeer { text: say.clone() });
            voice.say(Level::Note, &format!("it seems that {say}"));
        }
        if self.finding.is_settled() || (heard && !self.looked_out) {
            return self.end(voice);
        }
        let elapsed = self.began.elapsed();
        if elapsed >= HINT_AFTER && !self.hinted {
            self.hinted = true;
            let text = self.finding.text();
            let came = if is_text(&text) {
                format!("what has come is text: \"{}\"", escaped(text.trim_ascii()))
            } else {
                format!("nothing usable has come for {} s", HINT_AFTER.as_secs())
            };
            if !self.told {
                voice.say(Level::Note, &format!("{came}; {}", self.check));
            }
        }
        // A count that is drawn at once would be drawn over the first question.
        if voice.shows_progress() && can_redraw() && elapsed >= Duration::from_secs(1) {
            let awaited = self.awaited();
            let bar = self.bar.get_or_insert_with(|| {
                let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
                let plain = indicatif::ProgressStyle::with_template("{msg}");
                bar.set_style(plain.unwrap_or_else(|_| indicatif::ProgressStyle::default_bar()));
                voice.beside(Some(bar.clone()));
                bar
            });
            let say = format!("waiting for {awaited}: {}", seconds(elapsed));
            bar.set_message(console::truncate_str(&say, columns() - 1, "").into_owned());
        }
        if self.counted.elapsed() >= PLAIN_EVERY {
            self.counted += PLAIN_EVERY;
            let awaited = self.awaited();
            if self.bar.is_none() {
                let say = format!("still waiting for {awaited}: {}", seconds(elapsed));
                voice.say(Level::Note, &say);
            }
            let elapsed_s = elapsed.as_secs_f64();
            voice.event(Event::Waiting { awaited, line: self.name.clone(), elapsed_s });
        }
    }

    /// The wait is over: takes its line away.
    pub(crate) fn end(&mut self, voice: &Voice) {
        self.over = true;
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
            voice.beside(None);
        }
    }
}

/// What helps on a line that damages too much; Kermit's advice is not here.
const fn noisy(speaks: Speaks) -> Option<&'static str> {
    Some(match speaks {
        Speaks::One(Protocol::Xymodem(_)) => {
            ": try -P kermit or -P zmodem, which can do more about it"
        }
        Speaks::One(Protocol::Zmodem) => {
            ": try --set zmodem.send-length=128 --set zmodem.escape=controls, or -P kermit"
        }
        Speaks::One(Protocol::Uucp) => {
            "; try -P kermit, which can send shorter packets and fewer control characters"
        }
        _ => return None,
    })
}

/// Whether a person wrote it, or a program for a person.
fn is_text(bytes: &[u8]) -> bool {
    bytes.iter().filter(|byte| byte.is_ascii_alphabetic()).count() > 4
}

/// Whole seconds, which a count needs no more than.
fn seconds(time: Duration) -> String {
    words::time(Duration::from_secs(time.as_secs()).max(Duration::from_secs(1))).replace(".0", "")
}

/// What is spoken, with its article.
const fn title(speaks: Speaks) -> &'static str {
    match speaks {
        Speaks::One(Protocol::Xymodem(variant)) => match variant {
            Variant::Ymodem => "a YMODEM",
            Variant::YmodemG => "a YMODEM-g",
            _ => "an XMODEM",
        },
        Speaks::One(Protocol::Zmodem) => "a ZMODEM",
        Speaks::One(Protocol::Netblt) => "a NETBLT",
        Speaks::One(Protocol::Uucp) => "a UUCP",
        Speaks::One(Protocol::Kermit) => "a Kermit",
        Speaks::KermitOrZmodem => "a Kermit or ZMODEM",
        Speaks::ZmodemOrYmodem | Speaks::ZmodemThenYmodem => "a ZMODEM or YMODEM",
        Speaks::Ncp => "an FTP",
    }
}

/// What to type at the other end, in programs that people have.
const fn theirs(way: Way, speaks: Speaks) -> &'static str {
    match (speaks, way) {
        (Speaks::One(Protocol::Xymodem(variant)), Way::Send) if variant.is_batch() => "rb",
        (Speaks::One(Protocol::Xymodem(variant)), Way::Receive) if variant.is_batch() => "sb FILE",
        (Speaks::One(Protocol::Xymodem(_)), Way::Send) => "rx FILE",
        (Speaks::One(Protocol::Xymodem(_)), Way::Receive) => "sx FILE",
        (Speaks::One(Protocol::Zmodem) | Speaks::ZmodemOrYmodem, Way::Send) => "rz",
        (Speaks::One(Protocol::Zmodem) | Speaks::ZmodemThenYmodem, Way::Receive) => "sz FILE",
        (Speaks::KermitOrZmodem, _) => "kermit -s FILE, sz FILE",
        (_, Way::Send) => "kermit -r",
        (_, Way::Receive) => "kermit -s FILE",
    }
}

/// What to check when nothing comes.
fn check(way: Way, speaks: Speaks, spec: &LineSpec, facts: &PortFacts) -> String {
    let theirs = theirs(way, speaks);
    let ours = if way == Way::Send { "wst receive" } else { "wst send" };
    let started = format!("is the peer started (there: {theirs}, or {ours})?");
    let quiet = match (speaks, way) {
        (Speaks::One(Protocol::Xymodem(_)), Way::Send) => {
            " A sender there would be as silent as this one"
        }
        _ => "",
    };
    match (spec, facts.rate_bps) {
        (LineSpec::Serial(_) | LineSpec::Rfc2217(..), Some(rate)) => format!(
            "check the cable, and that the peer has {rate} bit/s and the same parity; {started}{quiet}"
        ),
        (LineSpec::Exec(_) | LineSpec::ExecPty(_), _) => format!(
            "has the command started a transfer (such as {theirs}), or does it wait for something to be typed?{quiet}"
        ),
        _ => format!("{started}{quiet}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_answers_is_named_with_the_command() {
        let say = |way, tongue, part| wrong_peer(way, (tongue, part));
        assert_eq!(
            say(Way::Send, Tongue::Zmodem, Part::Receiver),
            "the peer is a ZMODEM receiver: use -P zmodem"
        );
        assert_eq!(
            say(Way::Receive, Tongue::Ymodem, Part::Sender),
            "the peer is a YMODEM sender: use -P ymodem"
        );
        assert!(say(Way::Send, Tongue::Kermit, Part::Sender).contains("wst receive -P kermit"));
        assert!(
            say(Way::Receive, Tongue::Kermit, Part::Receiver).contains("wst send FILE -P kermit")
        );
    }

    #[test]
    fn advice_about_a_noisy_line_fits_the_protocol() {
        let facts = PortFacts {
            name: "tty".to_owned(),
            reliable: Some(false),
            clear: false,
            local: true,
            rate_bps: Some(9600),
            segment_len: None,
            seven_bit: false,
            xon_xoff: false,
            telnet: false,
        };
        let spec = "serial:/dev/ttyS0".parse().expect("a line");
        let failure = Failure { blame: Blame::Line, kind: FailureKind::TooManyRetries };
        for name in ["xmodem", "ymodem", "zmodem", "uucp-g"] {
            let speaks = Speaks::One(Protocol::of(name).expect("a protocol"));
            for way in [Way::Send, Way::Receive] {
                let waiting = Waiting::new(way, speaks, &spec, &facts, None);
                let say = waiting.guess(failure, &Stats::default()).expect("advice");
                assert!(!say.contains("parity") && !say.contains("--window"), "{name}: {say}");
            }
        }
    }

    #[test]
    fn every_protocol_of_a_stream_is_looked_out_for() {
        for name in crate::protocol::NAMES {
            let protocol = Protocol::of(name).expect("a protocol");
            let line = LineSpec::Stdio;
            let looked = expected(Way::Send, Speaks::One(protocol), &line).is_some();
            assert_eq!(looked, !matches!(protocol, Protocol::Netblt | Protocol::Uucp), "{name}");
        }
    }
}
