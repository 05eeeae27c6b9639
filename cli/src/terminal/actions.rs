//! What the keys behind the escape key do, except transfers.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use wetstring_drive::in_words;
use wetstring_drive::line::{Parity, SerialSpec};
use wetstring_drive::port::{Controls, Wires};
use wetstring_drive::terminal::{size_of, stdout};

use super::Session;
use super::keys::Action;
use super::log::Log;
use super::questions::Question;
use super::screen::Screen;
use crate::ui::ending::Ending;
use crate::ui::exit::Exit;
use crate::ui::format::{count, escaped, size, time};

/// A break that every UART notices, at 300 bit/s too.
const BREAK: Duration = Duration::from_millis(250);
/// How long a pulse changes a wire.
const PULSE: Duration = Duration::from_millis(100);

/// Usual rates, for the keys that change to the next.
const RATES: [u32; 14] = [
    300, 1200, 2400, 4800, 9600, 19_200, 38_400, 57_600, 115_200, 230_400, 460_800, 921_600,
    1_500_000, 3_000_000,
];

/// An output of a serial port.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wire {
    Dtr,
    Rts,
}

impl Wire {
    const fn name(self) -> &'static str {
        match self {
            Self::Dtr => "DTR",
            Self::Rts => "RTS",
        }
    }

    fn set(self, port: &mut dyn Controls, on: bool) -> std::io::Result<()> {
        match self {
            Self::Dtr => port.set_dtr(on),
            Self::Rts => port.set_rts(on),
        }
    }

    fn of(self, wires: Wires) -> bool {
        match self {
            Self::Dtr => wires.dtr,
            Self::Rts => wires.rts,
        }
    }
}

const fn on_off(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

impl Session<'_> {
    /// Does what does not end the session.
    pub(super) fn do_here(&mut self, action: Action) {
        match action {
            Action::Help => {
                let help = self.options.keys.help();
                self.screen.say(&help);
            }
            Action::Send => self.ask(Question::SendFiles),
            Action::Upload if self.is_at_prompt() => self.ask(Question::Upload),
            Action::Upload => {
                self.screen.say("(the last line is no prompt of a shell)");
            }
            Action::Receive => self.ask(Question::ReceiveBy),
            Action::Script if self.options.script.is_some() => self.ask(Question::Script),
            Action::Break => self.with_controls("send a break", |port| {
                port.send_break(BREAK)?;
                Ok("break sent".to_owned())
            }),
            Action::ToggleDtr => self.toggle(Wire::Dtr),
            Action::ToggleRts => self.toggle(Wire::Rts),
            Action::PulseDtr => self.pulse(Wire::Dtr),
            Action::PulseRts => self.pulse(Wire::Rts),
            Action::Line => self.show_line(),
            Action::Baud => self.ask(Question::Baud),
            Action::Faster => self.next_rate(true),
            Action::Slower => self.next_rate(false),
            Action::Parity => self.ask(Question::Parity),
            Action::Echo => {
                self.options.echo = !self.options.echo;
                let say = format!("(local echo {})", on_off(self.options.echo));
                self.screen.say(&say);
            }
            Action::Maps => self.ask(Question::Maps),
            Action::Hex => {
                self.screen.hex = !self.screen.hex;
                let say = format!("(hexadecimal {})", on_off(self.screen.hex));
                self.screen.say(&say);
            }
            Action::Stamps => {
                let say = format!("(timestamps {})", self.screen.next_stamps());
                self.screen.say(&say);
            }
            Action::Log => match self.log.take() {
                Some(log) => {
                    let say = format!(
                        "(log {} closed)",
                        escaped(log.path.as_os_str().as_encoded_bytes())
                    );
                    self.screen.say(&say);
                }
                None => self.ask(Question::Log),
            },
            Action::Clear => self.screen.clear(),
            Action::Statistics => self.show_statistics(),
            _ => Screen::echo("\x07"),
        }
    }

    /// Changes pins or settings of the port; returns a message with the result.
    fn with_controls(
        &mut self,
        what: &str,
        act: impl FnOnce(&mut dyn Controls) -> std::io::Result<String>,
    ) {
        let Some(port) = &mut self.port else {
            return self.screen.say("(the port is not plugged in)");
        };
        let say = match port.controls() {
            None => format!("(could not {what}: there is no serial port)"),
            Some(controls) => match act(controls) {
                Ok(say) => format!("({say})"),
                Err(error) => format!("(could not {what}: {})", in_words(&error)),
            },
        };
        self.screen.say(&say);
    }

    fn toggle(&mut self, wire: Wire) {
        let name = wire.name();
        self.with_controls(&format!("change {name}"), |port| {
            let on = !wire.of(port.wires()?);
            wire.set(port, on)?;
            Ok(format!("{name} {}", on_off(on)))
        });
    }

    fn pulse(&mut self, wire: Wire) {
        let name = wire.name();
        self.with_controls(&format!("change {name}"), |port| {
            let on = wire.of(port.wires()?);
            wire.set(port, !on)?;
            std::thread::sleep(PULSE);
            wire.set(port, on)?;
            Ok(format!("{name} {} for {} ms", on_off(!on), PULSE.as_millis()))
        });
    }

    /// Changes settings of the open port. They stay when it is plugged in again.
    pub(super) fn change(&mut self, how: impl FnOnce(&mut SerialSpec)) {
        let mut changed = None;
        self.with_controls("change the settings", |port| {
            let mut spec = port.spec().ok_or(std::io::ErrorKind::Unsupported)?;
            how(&mut spec);
            port.change(&spec)?;
            let say = format_of(&spec);
            changed = Some(spec);
            Ok(say)
        });
        if let (Some(now), wetstring_drive::LineSpec::Serial(spec)) = (changed, &mut self.spec) {
            let path = spec.path.clone();
            *spec = SerialSpec { path, ..now };
        }
    }

    pub(super) fn set_rate(&mut self, rate_bps: u32) {
        self.change(|spec| spec.baud = Some(rate_bps));
    }

    fn next_rate(&mut self, up: bool) {
        self.change(|spec| {
            let now = spec.rate_bps();
            let next = if up {
                RATES.into_iter().find(|rate| *rate > now)
            } else {
                RATES.into_iter().rev().find(|rate| *rate < now)
            };
            spec.baud = Some(next.unwrap_or(now));
        });
    }

    fn show_line(&mut self) {
        let Some(port) = &mut self.port else {
            return self.screen.say("(the port is not plugged in)");
        };
        let mut text = port.facts().name.clone();
        if let Some(controls) = port.controls() {
            if let Some(spec) = controls.spec() {
                text.push('\n');
                text.push_str(&format_of(&spec));
            }
            match controls.wires() {
                Ok(wires) => wires_of(wires, &mut text),
                Err(_) => text.push_str("\nno modem wires here"),
            }
        }
        self.screen.say(&text);
    }

    fn show_statistics(&mut self) {
        let counters = self.counters;
        let elapsed = counters.began.elapsed();
        let mut text = format!(
            "{} received, {} sent in {}",
            size(counters.received),
            size(counters.sent),
            time(elapsed)
        );
        if counters.reconnected > 0 {
            // Writing to a string cannot fail.
            let times = count(counters.reconnected.into(), "time");
            let _ = write!(text, "\nconnected again {times}");
        }
        self.screen.say(&text);
    }

    /// Starts a log; returns its name for display, or an error message.
    fn begin_log(&mut self, path: &Path) -> Result<String, String> {
        let name = escaped(path.as_os_str().as_encoded_bytes());
        match Log::open(path, self.options.log_format, size_of(stdout())) {
            Ok(log) => {
                self.log = Some(log);
                Ok(name)
            }
            Err(error) => Err(format!("could not open the log {name}: {}", in_words(&error))),
        }
    }

    /// Begins a log, before the session.
    pub(crate) fn open_log_or(&mut self, path: &Path) -> Result<(), Ending> {
        self.begin_log(path).map(drop).map_err(|say| Ending::early(Exit::Store, say))
    }

    /// Begins a log in a session.
    pub(super) fn open_log(&mut self, path: &Path) {
        let say = match self.begin_log(path) {
            Ok(name) => format!("(log {name})"),
            Err(say) => format!("({say})"),
        };
        self.screen.say(&say);
    }

    /// Runs a script on the port.
    pub(super) fn run_script(&mut self, path: &Path) -> Result<(), Ending> {
        let Some(script) = self.options.script else { return Ok(()) };
        let Some(port) = self.port.take() else {
            self.screen.say("(the port is not plugged in)");
            return Ok(());
        };
        let before = self.take_held();
        self.give_terminal_back();
        let (port, leftover, say) = script(port, before, &self.spec, path);
        self.port = port;
        self.readable = true;
        self.signals.reset();
        self.take_terminal()?;
        self.screen.say(&format!("({say})"));
        self.heard(&leftover)
    }
}

/// `115200 bit/s, 8N1, no flow control`.
fn format_of(spec: &SerialSpec) -> String {
    let parity = match spec.parity {
        Parity::None => 'N',
        Parity::Even => 'E',
        Parity::Odd => 'O',
        Parity::Mark => 'M',
        Parity::Space => 'S',
    };
    format!("{} bit/s, {}{parity}{}", spec.rate_bps(), spec.data_bits, spec.stop_bits)
}

/// Two short lines.
fn wires_of(wires: Wires, text: &mut String) {
    let all = [
        ("\nDTR", wires.dtr),
        (" RTS", wires.rts),
        ("\nCTS", wires.cts),
        (" DSR", wires.dsr),
        (" CD", wires.cd),
        (" RI", wires.ri),
    ];
    for (name, on) in all {
        // Writing to a string cannot fail.
        let _ = write!(text, "{name} {}", on_off(on));
    }
}
