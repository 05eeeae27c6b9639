//! Messages before the peer answers: what is awaited and where, for how long, what
//! to check, and which wrong peer answers instead.

use std::process::ExitStatus;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget};
use wetstring_drive::{Expected, Finding, LineSpec, PortFacts, Probes, last_line};
use wetstring_events::Event;
use wetstring_proto::peer::{Part, PeerProtocol};
use wetstring_proto::{Blame, Failure, FailureKind, Stats};
use wetstring_proto::{kermit, xymodem, zmodem};

use crate::config::protocol::Protocol;
use crate::transfer::direction::Direction;
use crate::transfer::speaks::Speaks;
use crate::ui::format::{self, escaped};
use crate::ui::output::{Level, Output, can_redraw};
use crate::ui::progress::columns;

/// Time after which advice is shown.
const HINT_AFTER: Duration = Duration::from_secs(5);
/// A failure behind the last block of a file.
const END_UNANSWERED: &str = "every block was acknowledged, but not the end of the file; the peer may have all of it: compare it there";

/// A shell's exit code for a command that does not exist.
const NOT_FOUND: i32 = 127;
/// Interval of wait messages where there is no terminal.
const PLAIN_EVERY: Duration = Duration::from_secs(10);

/// The peers that may answer a transfer of this kind; `None` if wrong peers are not detected.
pub(crate) fn expected(direction: Direction, speaks: Speaks, spec: &LineSpec) -> Option<Expected> {
    let ours = if direction == Direction::Send { Part::Sender } else { Part::Receiver };
    let one = match speaks {
        Speaks::One(protocol) => Some(protocol),
        _ => None,
    };
    // A device may be at its prompt, which would take any bytes as input.
    let xymodem = one.filter(|protocol| protocol.is::<xymodem::Config>());
    let careful = xymodem.is_some() && !matches!(spec, LineSpec::Exec(_) | LineSpec::ExecPty(_));
    let probes = match (careful, direction) {
        (true, Direction::Send) => Probes::None,
        (true, Direction::Receive) => Probes::Nul,
        (false, _) => Probes::All,
    };
    let fits: fn(PeerProtocol) -> bool = match (speaks, xymodem, direction) {
        (Speaks::KermitOrZmodem, ..) => {
            |protocol| matches!(protocol, PeerProtocol::Kermit | PeerProtocol::Zmodem)
        }
        (_, Some(protocol), Direction::Receive) if protocol.tells_names => {
            |protocol| protocol == PeerProtocol::Ymodem
        }
        (_, Some(_), Direction::Receive) => |protocol| protocol == PeerProtocol::Xmodem,
        (_, Some(protocol), Direction::Send) if protocol.tells_names => {
            |protocol| matches!(protocol, PeerProtocol::Xymodem | PeerProtocol::YmodemG)
        }
        (_, Some(_), Direction::Send) => |protocol| protocol == PeerProtocol::Xymodem,
        _ if one.is_some_and(Protocol::is::<kermit::Config>) => {
            |protocol| protocol == PeerProtocol::Kermit
        }
        _ if one.is_some_and(Protocol::is::<zmodem::Config>) => {
            |protocol| protocol == PeerProtocol::Zmodem
        }
        // A UUCP peer is identified by name, and the others negotiate.
        _ => return None,
    };
    Some(Expected { ours, fits, probes })
}

/// The flag for a protocol.
const fn flag(protocol: PeerProtocol) -> (&'static str, &'static str) {
    match protocol {
        PeerProtocol::Kermit => ("a Kermit", "-P kermit"),
        PeerProtocol::Xmodem => ("an XMODEM", "-P xmodem"),
        PeerProtocol::Ymodem => ("a YMODEM", "-P ymodem"),
        PeerProtocol::Xymodem => ("an XMODEM or YMODEM", "-P xmodem (rx) or -P ymodem (rb)"),
        PeerProtocol::YmodemG => ("a YMODEM-G", "-P ymodem-g"),
        PeerProtocol::Zmodem => ("a ZMODEM", "-P zmodem"),
        PeerProtocol::Uucp => ("a UUCP", "-P uucp-g"),
        PeerProtocol::Trzsz => ("a trzsz", "wst ssh HOST or wst -- COMMAND"),
    }
}

/// Identifies the peer, with advice.
pub(crate) fn wrong_peer(direction: Direction, (protocol, part): (PeerProtocol, Part)) -> String {
    let (who, flag) = flag(protocol);
    match (part, direction) {
        (Part::Receiver, Direction::Send) => format!("the peer is {who} receiver: use {flag}"),
        (Part::Sender, Direction::Receive) => format!("the peer is {who} sender: use {flag}"),
        (Part::Sender, Direction::Send) => {
            format!(
                "the peer is {who} sender, and so is this end: use wst receive {flag} here, or start a receiver there"
            )
        }
        (Part::Receiver, Direction::Receive) => {
            format!(
                "the peer is {who} receiver, and so is this end: use wst send FILE {flag} here, or start a sender there"
            )
        }
        (Part::Client, _) => {
            format!("the peer is {who} client, which asks for a server: use wst serve")
        }
    }
}

/// The wait for a peer.
pub(crate) struct Waiting {
    direction: Direction,
    speaks: Speaks,
    /// The peer is a server.
    serves: bool,
    /// The line, for messages.
    name: String,
    /// What to check.
    check: String,
    /// Whether the peer is started, as a question.
    started: String,
    finding: Finding,
    /// Detection reports when the right peer answers.
    looked_out: bool,
    /// What helps where the command of the line does not exist.
    instead: Option<String>,
    /// How the command of the line has ended.
    ended: Option<ExitStatus>,
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
        direction: Direction,
        speaks: Speaks,
        spec: &LineSpec,
        facts: &PortFacts,
        finding: Option<Finding>,
    ) -> Self {
        let now = Instant::now();
        Self {
            looked_out: finding.is_some(),
            instead: None,
            ended: None,
            over: false,
            serves: false,
            direction,
            speaks,
            name: facts.name.clone(),
            check: check(direction, speaks, spec, facts),
            started: started(direction, speaks),
            finding: finding.unwrap_or_default(),
            began: now,
            hinted: false,
            told: false,
            counted: now,
            bar: None,
        }
    }

    /// For the server on this line. `has_shell`: the command can do without one.
    pub(crate) fn for_server(spec: &LineSpec, facts: &PortFacts, has_shell: bool) -> Self {
        let speaks = Speaks::One(Protocol::default());
        let shell = if has_shell { " At a shell's prompt use --shell" } else { "" };
        let server = "is a server started there (wst serve, or SERVER at a Kermit's prompt)?";
        let check = match (spec, facts.rate_bps) {
            (LineSpec::Serial(_) | LineSpec::Rfc2217(..), Some(rate)) => {
                format!("{server} Does it use {rate} bit/s and the same parity?{shell}")
            }
            _ => format!("{server}{shell}"),
        };
        let waiting = Self::new(Direction::Send, speaks, spec, facts, None);
        Self { serves: true, check, ..waiting }
    }

    /// What is awaited: `a Kermit receiver`.
    fn awaited(&self) -> String {
        if self.serves {
            return format!("{} server", title(self.speaks));
        }
        let part = if self.direction == Direction::Send { "receiver" } else { "sender" };
        format!("{} {part}", title(self.speaks))
    }

    /// Reports what was opened and what is awaited.
    pub(crate) fn begin(&self, ui: &Output) {
        // A server answers at once, or something is wrong, which is told then.
        if self.serves {
            return;
        }
        let awaited = self.awaited();
        ui.say(Level::Note, &format!("opened {}; waiting for {awaited}", self.name));
        ui.event(Event::Waiting { awaited, line: self.name.clone(), elapsed_s: 0.0 });
    }

    /// The command of the line has ended.
    pub(crate) fn ended(&mut self, spec: &LineSpec, status: ExitStatus) {
        self.ended = Some(status);
        if let (Some(NOT_FOUND), LineSpec::Exec(command) | LineSpec::ExecPty(command)) =
            (status.code(), spec)
        {
            self.instead = Some(instead(self.direction, command));
        }
    }

    /// The wrong peer that answers, if any.
    pub(crate) fn wrong_peer(&self) -> Option<String> {
        self.finding.wrong_peer().map(|who| wrong_peer(self.direction, who))
    }

    /// Whether this end uses ZMODEM, or adapts to its peer.
    fn may_be_zmodem(&self) -> bool {
        match self.speaks {
            Speaks::One(protocol) => protocol.is::<zmodem::Config>(),
            speaks => speaks == Speaks::KermitOrZmodem,
        }
    }

    /// The likely cause of an early failure, if the peer was not identified, and of one at the end of a file, all of
    /// which was acknowledged.
    pub(crate) fn guess(&self, failure: Failure, stats: &Stats, all: bool) -> Option<String> {
        let closed = || self.why_closed(stats).filter(|_| failure.kind == FailureKind::Closed);
        self.instead.clone().or_else(|| self.by_protocol(failure, stats, all)).or_else(closed)
    }

    /// What the protocol's behaviour tells.
    fn by_protocol(&self, failure: Failure, stats: &Stats, all: bool) -> Option<String> {
        let silent = matches!(failure.kind, FailureKind::Silence | FailureKind::TooManyRetries);
        if silent && all && self.acknowledges_each() {
            return Some(END_UNANSWERED.to_owned());
        }
        let gave_up = matches!(failure.kind, FailureKind::Aborted | FailureKind::PeerError)
            && failure.blame == Blame::Peer;
        let left = gave_up || matches!(failure.kind, FailureKind::Closed | FailureKind::Silence);
        if let (FailureKind::TooManyRetries, Some(say)) = (failure.kind, noisy(self.speaks)) {
            return Some(format!("the line loses or changes what is sent{say}"));
        }
        let flag = match self.speaks {
            Speaks::One(protocol)
                if protocol.is::<xymodem::Config>()
                    && self.direction == Direction::Send
                    && stats.files_done == 0 =>
            {
                // XMODEM's first block is number 1, YMODEM's 0, and neither receiver announces it.
                match protocol.tells_names {
                    true if left && stats.file_bytes > 0 => {
                        "the peer is an XMODEM receiver (rx), use -P xmodem"
                    }
                    false if gave_up => "the peer is a YMODEM receiver (rb), use -P ymodem",
                    _ => return None,
                }
            }
            _ if self.may_be_zmodem() && gave_up && stats.packets_in == 0 => {
                "the peer uses XMODEM or YMODEM, use -P xmodem or -P ymodem"
            }
            _ => return None,
        };
        let text = self.finding.text();
        let text = text.trim_ascii();
        let wrote =
            if is_text(text) { format!("it wrote \"{}\"; ", escaped(text)) } else { String::new() };
        Some(format!("{wrote}if {flag}"))
    }

    /// Whether the line was a command, which has ended.
    pub(crate) fn command_has_ended(&self) -> bool {
        self.ended.is_some()
    }

    /// Why the line closed where it is a command.
    fn why_closed(&self, stats: &Stats) -> Option<String> {
        let how = match self.ended?.code() {
            Some(code) => format!("ended with status {code}"),
            None => "was ended by a signal".to_owned(),
        };
        // Behind the first packet it is the protocol's.
        let text = last_line(&self.finding.text()).filter(|_| stats.packets_in == 0);
        let text = text.map_or(String::new(), |text| format!(", after it wrote \"{text}\""));
        Some(format!("its command {how}{text}"))
    }

    /// Whether the sender sends a block only once the one before is acknowledged.
    fn acknowledges_each(&self) -> bool {
        let Speaks::One(protocol) = self.speaks else { return false };
        self.direction == Direction::Send && protocol.stop_and_wait
    }

    /// The peer's program asks the user something: it has the screen, and the count starts when that is
    /// answered.
    pub(crate) fn asked(&mut self, ui: &Output) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
            ui.beside(None);
        }
        self.began = Instant::now();
        self.counted = self.began;
    }

    /// Time has passed. `heard`: bytes of the awaited protocol were received; `moves`: bytes of a file were sent or
    /// received.
    pub(crate) fn go_on(&mut self, ui: &Output, heard: bool, moves: bool) {
        if self.over {
            return;
        }
        if let Some(say) = self.wrong_peer().filter(|_| !self.told) {
            self.told = true;
            ui.event(Event::WrongPeer { text: say.clone() });
            ui.say(Level::Note, &format!("it seems that {say}"));
        }
        if self.finding.is_settled() || moves || (heard && !self.looked_out) {
            return self.end(ui);
        }
        let elapsed = self.began.elapsed();
        if elapsed >= HINT_AFTER && !self.hinted {
            self.hinted = true;
            let text = self.finding.text();
            let came = if self.finding.echoes() {
                "what is sent comes back: at the peer is a prompt, or a program that echoes"
                    .to_owned()
            } else if is_text(&text) {
                format!("received text: \"{}\"", escaped(text.trim_ascii()))
            } else {
                format!("nothing usable received for {} s", HINT_AFTER.as_secs())
            };
            let check = if self.finding.echoes() { &self.started } else { &self.check };
            if !self.told {
                ui.say(Level::Note, &format!("{came}; {check}"));
            }
        }
        // Drawn later, so as not to overwrite the first question.
        if ui.shows_progress() && can_redraw() && elapsed >= Duration::from_secs(1) {
            let awaited = self.awaited();
            let bar = self.bar.get_or_insert_with(|| {
                let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
                let plain = indicatif::ProgressStyle::with_template("{msg}");
                bar.set_style(plain.unwrap_or_else(|_| indicatif::ProgressStyle::default_bar()));
                ui.beside(Some(bar.clone()));
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
                ui.say(Level::Note, &say);
            }
            let elapsed_s = elapsed.as_secs_f64();
            ui.event(Event::Waiting { awaited, line: self.name.clone(), elapsed_s });
        }
    }

    /// Whether the peer has begun.
    pub(crate) const fn is_over(&self) -> bool {
        self.over
    }

    /// Ends the wait, and removes its line.
    pub(crate) fn end(&mut self, ui: &Output) {
        self.over = true;
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
            ui.beside(None);
        }
    }
}

/// The likely reason of a receiver that refuses a file and cannot say why.
pub(crate) fn likely_refusal(direction: Direction, speaks: Speaks) -> Option<&'static str> {
    let (Direction::Send, Speaks::One(protocol)) = (direction, speaks) else { return None };
    protocol.remedies.likely_refusal
}

/// The words of a command of ssh up to the name of the host, the last one of several hops; `None` if some are in quotation marks.
fn up_to_the_host(command: &str) -> Option<String> {
    const WITH_A_VALUE: &str = "BbcDEeFIiJLlmOopPQRSWw";
    let words: Vec<&str> = command.split_whitespace().collect();
    let mut at = 0;
    loop {
        at += 1;
        while let Some(options) = words.get(at)?.strip_prefix('-') {
            // The value may follow without a blank.
            let has_value = options.len() == 1 && WITH_A_VALUE.contains(options);
            at += if has_value { 2 } else { 1 };
        }
        // The next hop.
        if words.get(at + 1) != Some(&"ssh") {
            break;
        }
        at += 1;
    }
    let ssh = words.get(..=at)?.join(" ");
    (!ssh.contains(['\'', '"', '\\'])).then_some(ssh)
}

/// What helps where a command was not found, here or at the host that `ssh` reached.
fn instead(direction: Direction, command: &str) -> String {
    let missing = "a command was not found: its shell says which";
    if !command.starts_with("ssh ") {
        return missing.to_owned();
    }
    let Some(ssh) = up_to_the_host(command) else { return missing.to_owned() };
    // C-Kermit wants a terminal.
    let with_terminal = ssh.replace("ssh ", "ssh -t ");
    match direction {
        Direction::Send => format!(
            "{missing}. Without wst there: wst send -P zmodem FILE 'exec:{ssh} rz' (lrzsz), \
             wst send FILE 'exec-pty:{with_terminal} kermit -r' (a Kermit), or by the shell alone: \
             wst put --shell FILE 'exec-pty:{ssh}'"
        ),
        Direction::Receive => format!(
            "{missing}. Without wst there: wst receive -P zmodem 'exec:{ssh} sz FILE' (lrzsz), \
             wst receive 'exec-pty:{with_terminal} kermit -s FILE' (a Kermit), or by the shell alone: \
             wst get --shell FILE 'exec-pty:{ssh}'"
        ),
    }
}

/// Advice for a noisy line; Kermit's is elsewhere.
fn noisy(speaks: Speaks) -> Option<&'static str> {
    let Speaks::One(protocol) = speaks else { return None };
    protocol.remedies.noisy
}

/// Whether it is readable text.
fn is_text(bytes: &[u8]) -> bool {
    bytes.iter().filter(|byte| byte.is_ascii_alphabetic()).count() > 4
}

/// In whole seconds.
fn seconds(time: Duration) -> String {
    format::time(Duration::from_secs(time.as_secs()).max(Duration::from_secs(1))).replace(".0", "")
}

/// The protocol, with its article.
fn title(speaks: Speaks) -> &'static str {
    match speaks {
        Speaks::One(protocol) => protocol.a_title,
        Speaks::KermitOrZmodem => "a Kermit or ZMODEM",
        Speaks::ZmodemOrYmodem | Speaks::ZmodemThenYmodem => "a ZMODEM or YMODEM",
        Speaks::Ncp => "an FTP",
    }
}

/// Commands to type at the peer, for common programs.
fn theirs(direction: Direction, speaks: Speaks) -> &'static str {
    let protocol = match speaks {
        Speaks::One(protocol) => protocol,
        Speaks::KermitOrZmodem => return "kermit -s FILE, sz FILE",
        Speaks::ZmodemOrYmodem | Speaks::ZmodemThenYmodem => Protocol::named("zmodem"),
        Speaks::Ncp => Protocol::named("ncp"),
    };
    let [receives, sends] = protocol.peer_commands;
    if direction == Direction::Send { receives } else { sends }
}

/// Whether the peer is started, as a question.
fn started(direction: Direction, speaks: Speaks) -> String {
    let theirs = theirs(direction, speaks);
    let ours = if direction == Direction::Send { "wst receive" } else { "wst send" };
    format!("is the peer started (there: {theirs}, or {ours})?")
}

/// What to check when nothing is received.
fn check(direction: Direction, speaks: Speaks, spec: &LineSpec, facts: &PortFacts) -> String {
    let (theirs, started) = (theirs(direction, speaks), started(direction, speaks));
    let quiet = match (speaks, direction) {
        (Speaks::One(protocol), Direction::Send) if protocol.is::<xymodem::Config>() => {
            " If a sender was started there, it waits as this one does"
        }
        _ => "",
    };
    match (spec, facts.rate_bps) {
        (LineSpec::Serial(_) | LineSpec::Rfc2217(..), Some(rate)) => format!(
            "check the cable, and that the peer has {rate} bit/s and the same parity; {started}{quiet}"
        ),
        (LineSpec::Exec(_) | LineSpec::ExecPty(_), _) => format!(
            "has the command started a transfer (such as {theirs}), or does it wait for input?{quiet}"
        ),
        _ => format!("{started}{quiet}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_command_is_advised_for_the_same_host() {
        for (command, ssh) in [
            ("ssh box 'wst receive -'", Some("ssh box")),
            ("ssh box wst receive -", Some("ssh box")),
            (
                "ssh bastion ssh -p 22 jump ssh box wst send a -",
                Some("ssh bastion ssh -p 22 jump ssh box"),
            ),
            ("ssh -p 2222 -v anna@wst rz", Some("ssh -p 2222 -v anna@wst")),
            ("ssh -o ProxyCommand='nc x 1' box rz", None),
            ("ssh -p", None),
        ] {
            assert_eq!(up_to_the_host(command).as_deref(), ssh, "{command}");
        }
    }

    #[test]
    fn wrong_peers_are_identified_with_the_right_command() {
        let say = |direction, protocol, part| wrong_peer(direction, (protocol, part));
        assert_eq!(
            say(Direction::Send, PeerProtocol::Zmodem, Part::Receiver),
            "the peer is a ZMODEM receiver: use -P zmodem"
        );
        assert_eq!(
            say(Direction::Receive, PeerProtocol::Ymodem, Part::Sender),
            "the peer is a YMODEM sender: use -P ymodem"
        );
        assert!(
            say(Direction::Send, PeerProtocol::Kermit, Part::Sender)
                .contains("wst receive -P kermit")
        );
        assert!(
            say(Direction::Receive, PeerProtocol::Kermit, Part::Receiver)
                .contains("wst send FILE -P kermit")
        );
    }

    #[test]
    fn advice_about_a_noisy_line_fits_the_protocol() {
        let facts =
            PortFacts { reliable: Some(false), rate_bps: Some(9600), ..PortFacts::named("tty") };
        let spec = "serial:/dev/ttyS0".parse().expect("a line");
        let failure = Failure { blame: Blame::Line, kind: FailureKind::TooManyRetries };
        for name in ["xmodem", "ymodem", "zmodem", "uucp-g"] {
            let speaks = Speaks::One(Protocol::named(name));
            for direction in [Direction::Send, Direction::Receive] {
                let waiting = Waiting::new(direction, speaks, &spec, &facts, None);
                let say = waiting.guess(failure, &Stats::default(), false).expect("advice");
                assert!(!say.contains("parity") && !say.contains("--window"), "{name}: {say}");
            }
        }
    }

    #[test]
    fn wrong_peers_are_detected_for_every_stream_protocol() {
        for protocol in Protocol::chosen() {
            let name = protocol.name;
            let line = LineSpec::Stdio;
            let looked = expected(Direction::Send, Speaks::One(protocol), &line).is_some();
            assert_eq!(looked, !["netblt", "uucp-g"].contains(&name), "{name}");
        }
    }
}
