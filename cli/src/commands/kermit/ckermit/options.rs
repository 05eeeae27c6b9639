//! C-Kermit's command line: bundles of letters, of which the last may take an argument.

use std::ffi::OsString;
use std::path::PathBuf;
use wetstring_drive::os::files;

/// The output of `kermit -h`.
pub(super) const HELP: &str = "\
Usage: kermit [FILE] [OPTION]... [= ARG...]

FILE has commands, which come first; ARGs behind it, or behind =, are its \\%1, \\%2 ...
Options without a value may share a dash, as in -iq.

Actions, at most one:
 -s FILE...  send files (- is stdin, with -a)     -r  receive files
 -g NAMES    get files from a server              -k  receive a file to stdout
 -G NAMES    get a file to stdout                 -x  be a server, for this directory
 -f          have a server finish
 -c  connect before it     -n  connect after it   -S  stay: commands follow

The line; without one, stdin and stdout:
 -l DEVICE   serial device    -b SPEED  its speed
 -j HOST[:PORT] [PORT]        TCP connection; -J HOST [PORT] with a terminal on it
 -F N  a socket or a terminal that is open, by the number of its descriptor
 -l also takes exec:COMMAND, tcp-listen://ADDRESS:PORT and the other lines of wst

Settings:
 -i  binary   -T  text   -a NAME  name of the file at the receiver, which may be here
 -P  names as they are   -w  replace files of the same name   -L  with what is below
 -I  the connection is reliable: stream   -Q  fast settings
 -e LEN  longest packet to us   -v N  window   -p e|m|n|o|s  parity   -t  half duplex, XON
 -8  all 8 bits pass   -0  nothing is changed or looked at   -D SECONDS  wait before sending

The program:
 -C COMMANDS  run these, with commas between them   -y FILE  instead of ~/.kermrc   -Y  no init file
 -q  quiet   -h  this   --version
 -B -H -E -R -V -z  for C-Kermit's sake; nothing comes of them

Exit codes: 0 done; 1 sending or the command line, 2 receiving, 4 a server, added up; or that of EXIT.
";

/// The action on the line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Action {
    Send(Vec<Vec<u8>>),
    Receive,
    Get(Vec<Vec<u8>>),
    /// Receive to stdout, or get these names.
    ToStdout(Option<Vec<u8>>),
    Serve,
    Finish,
}

/// Letters that take an argument.
const WITH_VALUE: &str = "sgGaljJCyevDpmMbF9";

/// Why no action follows.
#[derive(PartialEq, Eq, Debug)]
pub(super) enum Stop {
    Help,
    Version,
    Usage(String),
}

impl From<String> for Stop {
    fn from(say: String) -> Self {
        Self::Usage(say)
    }
}

/// A parsed command line.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Options {
    /// A file of commands.
    pub(super) file: Option<String>,
    /// \%1 and those after it.
    pub(super) arguments: Vec<Vec<u8>>,
    /// Settings and the line, as commands of the language.
    pub(super) settings: Vec<String>,
    /// `-C`
    pub(super) commands: Option<String>,
    pub(super) action: Option<Action>,
    pub(super) connect_before: bool,
    pub(super) connect_after: bool,
    pub(super) stay: bool,
    pub(super) quiet: bool,
    pub(super) text: Option<bool>,
    pub(super) as_name: Option<Vec<u8>>,
    pub(super) recursive: bool,
    /// Delay in seconds before the first packet.
    pub(super) delay: u64,
    /// Notes for the user.
    pub(super) notes: Vec<String>,
    /// `-y`; an empty one is none.
    init: Option<String>,
}

/// The words of a command line, in order.
struct Words<'w> {
    rest: std::slice::Iter<'w, OsString>,
}

impl<'w> Words<'w> {
    fn next(&mut self) -> Option<&'w OsString> {
        self.rest.next()
    }

    /// The next word, if it is not an option.
    fn operand(&mut self) -> Option<&'w OsString> {
        let next = self.rest.as_slice().first()?;
        let is_option = next.len() > 1 && next.as_encoded_bytes().starts_with(b"-");
        if is_option || next == "=" { None } else { self.next() }
    }

    fn operands(&mut self) -> Vec<Vec<u8>> {
        std::iter::from_fn(|| self.operand()).map(|word| word.as_encoded_bytes().to_vec()).collect()
    }
}

fn shown(word: &OsString) -> String {
    crate::ui::format::escaped(word.as_encoded_bytes())
}

fn text(word: &OsString) -> Result<String, String> {
    let word = word.to_str();
    word.map(str::to_owned).ok_or_else(|| "expected UTF-8, got other bytes".to_owned())
}

fn number(letter: char, word: &OsString, low: u64, high: u64) -> Result<u64, String> {
    let value = word.to_str().and_then(|word| word.parse().ok());
    value
        .filter(|value| (low..=high).contains(value))
        .ok_or_else(|| format!("expected {low} to {high} after -{letter}, got {}", shown(word)))
}

impl Options {
    /// Reads the words after the program's name.
    pub(super) fn read(args: &[OsString]) -> Result<Self, Stop> {
        let mut options = Self::default();
        let mut words = Words { rest: args.iter() };
        if let Some(word) = words.operand() {
            // `#!/usr/bin/kermit +` makes `kermit + FILE ARG...` of `FILE ARG...`.
            let all = word == "+";
            let say = "expected a file of commands after +, got nothing".to_owned();
            let file = if all { words.next().ok_or(say)? } else { word };
            let file = text(file)?;
            if !std::path::Path::new(&file).is_file() {
                return Err(Stop::Usage(format!("expected a file of commands, got {file}")));
            }
            options.file = Some(file);
            if all {
                options.arguments =
                    words.rest.map(|word| word.as_encoded_bytes().to_vec()).collect();
                return Ok(options);
            }
            options.arguments = words.operands();
        }
        while let Some(word) = words.next() {
            match word.as_encoded_bytes() {
                b"=" | b"--" => {
                    let rest = words.rest.by_ref();
                    options.arguments.extend(rest.map(|word| word.as_encoded_bytes().to_vec()));
                }
                [b'-', b'-', long @ ..] => self::long(&String::from_utf8_lossy(long))?,
                [b'-', letters @ ..] if !letters.is_empty() => {
                    options.bundle(letters, &mut words)?;
                }
                _ => return Err(Stop::Usage(format!("expected an option, got {}", shown(word)))),
            }
        }
        if options.as_name.is_some()
            && matches!(&options.action, Some(Action::Send(files)) if files.len() > 1)
        {
            return Err(Stop::Usage("expected one file with -a, got several".to_owned()));
        }
        Ok(options)
    }

    /// `-Iis FILE`: the argument of a letter follows it directly or is the next word.
    fn bundle(&mut self, letters: &[u8], words: &mut Words<'_>) -> Result<(), Stop> {
        for (index, letter) in letters.iter().enumerate() {
            let letter = char::from(*letter);
            if self.plain(letter)? {
                continue;
            }
            if !WITH_VALUE.contains(letter) {
                return Err(Stop::Usage(format!("no such option: -{letter}")));
            }
            let rest = &letters[index + 1..];
            let joined = (!rest.is_empty()).then(|| files::owned_name(rest.to_vec()));
            let value = match &joined {
                Some(value) => value,
                None => {
                    words.next().ok_or_else(|| format!("expected an argument after -{letter}"))?
                }
            };
            return Ok(self.with_value(letter, value, words)?);
        }
        Ok(())
    }

    fn action(&mut self, action: Action) -> Result<(), String> {
        if self.action.is_some() {
            return Err("expected one action, got several".to_owned());
        }
        self.action = Some(action);
        Ok(())
    }

    fn set(&mut self, command: impl Into<String>) {
        self.settings.push(command.into());
    }

    /// A letter without an argument; false if it is not one of those.
    fn plain(&mut self, letter: char) -> Result<bool, Stop> {
        match letter {
            'r' => self.action(Action::Receive)?,
            'k' => self.action(Action::ToStdout(None))?,
            'x' => self.action(Action::Serve)?,
            'f' => self.action(Action::Finish)?,
            'c' => self.connect_before = true,
            'n' => self.connect_after = true,
            'S' => self.stay = true,
            'h' => return Err(Stop::Help),
            'i' => {
                self.text = Some(false);
                self.set("set file type binary");
            }
            'T' => {
                self.text = Some(true);
                self.set("set file type text");
            }
            'P' => self.set("set file names literal"),
            'w' => self.set("set file collision overwrite"),
            'L' => {
                self.recursive = true;
                self.set("set send pathnames relative, set receive pathnames relative");
            }
            'I' => self.set("set reliable on"),
            'Q' => {
                self.set("set window 30, set receive packet-length 4000");
                self.set("set send packet-length 4000, set prefixing cautious");
            }
            't' => self.set("set handshake xon, set duplex half"),
            '8' => self.set("set parity none"),
            '0' => self.set("set parity none, set flow-control none, set prefixing none"),
            'q' => {
                self.quiet = true;
                self.set("set quiet on");
            }
            'Y' => self.init = Some(String::new()),
            // No greeting, no guess whether files are text, no question at the end.
            'B' | 'H' | 'E' | 'R' | 'V' | 'z' => {}
            'd' => {
                self.notes.push("-d: no debug log; use wst --trace".to_owned());
            }
            'A' | 'O' => {
                return Err(Stop::Usage(format!(
                    "-{letter} is not supported; wst serve serves several clients"
                )));
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn with_value(
        &mut self,
        letter: char,
        value: &OsString,
        words: &mut Words<'_>,
    ) -> Result<(), String> {
        match letter {
            's' => {
                let mut files = vec![value.as_encoded_bytes().to_vec()];
                files.extend(words.operands());
                if let Some(missing) = files.iter().find(|name| !is_there(name)) {
                    let name = crate::ui::format::escaped(missing);
                    return Err(format!("no such file: {name}"));
                }
                self.action(Action::Send(files))?;
            }
            'g' => {
                let mut names = vec![value.as_encoded_bytes().to_vec()];
                names.extend(words.operands());
                self.action(Action::Get(names))?;
            }
            'G' => self.action(Action::ToStdout(Some(value.as_encoded_bytes().to_vec())))?,
            'a' => self.as_name = Some(value.as_encoded_bytes().to_vec()),
            'l' => self.set(format!("set line {}", quoted(&text(value)?))),
            'b' => {
                let speed = number(letter, value, 50, 4_000_000)?;
                // Set before the line is opened, so that it never has another speed.
                self.settings.insert(0, format!("set speed {speed}"));
            }
            'j' | 'J' => {
                self.host(&text(value)?, words)?;
                self.connect_before |= letter == 'J';
            }
            'C' => self.commands = Some(text(value)?),
            'y' => self.init = Some(text(value)?),
            'e' => {
                let len = number(letter, value, 10, 9024)?;
                self.set(format!("set receive packet-length {len}"));
            }
            'v' => self.set(format!("set window {}", number(letter, value, 1, 32)?)),
            'D' => self.delay = number(letter, value, 0, 999)?,
            'p' => {
                let word = text(value)?;
                let known = ["even", "mark", "none", "odd", "space"];
                let parity =
                    known.into_iter().find(|name| !word.is_empty() && name.starts_with(&word));
                let say = || format!("expected e, m, n, o or s after -p, got {word}");
                self.set(format!("set parity {}", parity.ok_or_else(say)?));
            }
            'm' if value == "none" || value == "direct" => {}
            'm' => self.notes.push(format!("-m {}: modems are not supported", shown(value))),
            'M' => {}
            'F' => {
                let number = number(letter, value, 0, 65_535)?;
                self.set(format!("set line fd:{number}"));
            }
            '9' => return Err(format!("-{letter} is not supported")),
            _ => return Err(format!("no such option: -{letter}")),
        }
        Ok(())
    }

    /// `-j host:port`, `-j host port`.
    fn host(&mut self, host: &str, words: &mut Words<'_>) -> Result<(), String> {
        let split = host.rsplit_once(':').filter(|(name, _)| !name.contains(':'));
        let (host, port) = match split {
            Some((host, port)) => (host, Some(port.to_owned())),
            None => (host, words.operand().map(text).transpose()?),
        };
        let port = port.unwrap_or_default();
        self.set(format!("set host {} {port}", quoted(host)));
        Ok(())
    }

    /// The init file: that of `-y`, or `~/.kermrc` if it exists.
    pub(super) fn init_file(&self) -> Option<String> {
        if let Some(name) = &self.init {
            return (!name.is_empty()).then(|| name.clone());
        }
        let home = std::env::var_os("HOME").map(PathBuf::from)?;
        let path = home.join(".kermrc");
        path.is_file().then(|| path.to_str().map(str::to_owned)).flatten()
    }
}

/// `--word` options, of which C-Kermit has many for its services.
fn long(word: &str) -> Result<(), Stop> {
    match word.split([':', '=']).next().unwrap_or_default() {
        "help" => Err(Stop::Help),
        "version" => Err(Stop::Version),
        "unbuffered" | "nolocale" | "nointerrupts" | "termtype" => Ok(()),
        _ => Err(Stop::Usage(format!("no such option: --{word}"))),
    }
}

/// A word quoted for the language, so that nothing in it is special.
fn quoted(word: &str) -> String {
    format!("{{{}}}", word.replace('\\', "\\\\"))
}

fn is_there(name: &[u8]) -> bool {
    let path = PathBuf::from(files::owned_name(name.to_vec()));
    name == b"-" || path.exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Options, Stop> {
        let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        Options::read(&words)
    }

    fn names(names: &[&str]) -> Vec<Vec<u8>> {
        names.iter().map(|name| name.as_bytes().to_vec()).collect()
    }

    #[test]
    fn letters_can_be_bundled() {
        let options = read("-YIis /etc/hosts /etc/passwd -v 4 -e1000 -p e").expect("a line");
        let files = names(&["/etc/hosts", "/etc/passwd"]);
        assert_eq!(options.action, Some(Action::Send(files)));
        assert_eq!(
            options.settings,
            [
                "set reliable on",
                "set file type binary",
                "set window 4",
                "set receive packet-length 1000",
                "set parity even"
            ]
        );
        assert_eq!((options.text, options.init_file()), (Some(false), None));
        let options = read("-Y -l /dev/ttyS0 -b 9600 -q -r -a new").expect("a line");
        assert_eq!(options.settings, ["set speed 9600", "set line {/dev/ttyS0}", "set quiet on"]);
        assert_eq!(options.action, Some(Action::Receive));
        assert_eq!(options.as_name, Some(b"new".to_vec()));
        for host in ["-j box 1649 -f", "-j box:1649 -f"] {
            let options = read(host).expect("a line");
            assert_eq!(options.settings, ["set host {box} 1649"], "{host}");
            assert_eq!(options.action, Some(Action::Finish));
        }
        let options = read("-G a.b -C x,y = one two").expect("a line");
        assert_eq!(options.action, Some(Action::ToStdout(Some(b"a.b".to_vec()))));
        assert_eq!(options.commands.as_deref(), Some("x,y"));
        assert_eq!(options.arguments, names(&["one", "two"]));
        let options = read("+ /etc/hosts -s x").expect("a line");
        assert_eq!(options.file.as_deref(), Some("/etc/hosts"));
        assert_eq!(options.arguments, names(&["-s", "x"]));
    }

    #[test]
    fn bad_options_are_reported() {
        for (line, say) in [
            ("-s /nonesuch", "no such file: /nonesuch"),
            ("-r -k", "expected one action, got several"),
            ("-Z", "no such option: -Z"),
            ("-Z x", "no such option: -Z"),
            ("-e 5", "expected 10 to 9024 after -e, got 5"),
            ("-v", "expected an argument after -v"),
            ("nofile.ksc", "expected a file of commands, got nofile.ksc"),
            ("-s /etc/hosts /etc/passwd -a x", "expected one file with -a, got several"),
            ("-O", "-O is not supported; wst serve serves several clients"),
            ("--nosuch", "no such option: --nosuch"),
        ] {
            let expected = Err(Stop::Usage(say.to_owned()));
            assert_eq!(read(line), expected, "{line}");
        }
        assert_eq!(read("-h"), Err(Stop::Help));
    }
}
