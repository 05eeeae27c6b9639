//! The LINE argument: what it names, and whether it is missing or misplaced.

use std::ffi::OsStr;
use std::path::PathBuf;

use wetstring_drive::LineSpec;
use wetstring_drive::line::SshSpec;

use crate::ui::format::{escaped, shown};

/// What runs at the host of an `ssh://` line, as the peer of the verb here.
#[derive(Clone, Copy)]
pub(crate) enum There<'a> {
    /// It receives, by this protocol if one is named.
    Receives {
        protocol: Option<&'a str>,
        /// It makes symbolic links.
        links: bool,
        /// What it does with a file that is there, if that is said.
        collision: Option<&'a str>,
    },
    /// It sends, by this protocol if one is named.
    Sends(Option<&'a str>),
    /// It is a server.
    Serves,
    /// It is the client of a server here.
    Asks,
    /// It is a shell.
    Talks,
    /// It carries what is no transfer, byte for byte.
    Carries,
}

/// The line that a text names.
pub(crate) fn line(text: &str, there: There<'_>) -> Result<LineSpec, String> {
    let Some(rest) = text.strip_prefix("ssh://") else {
        return text.parse::<LineSpec>().map_err(|bad| bad.to_string());
    };
    let ssh = SshSpec::parse(rest).map_err(|bad| bad.to_string())?;
    let path = ssh.path.as_deref();
    let by = |protocol: Option<&'_ str>| {
        protocol.map_or(Vec::new(), |name| vec!["-P".to_owned(), name.to_owned()])
    };
    let (mut words, more) = match there {
        There::Receives { protocol, links, collision } => {
            let mut more = by(protocol);
            if let Some(collision) = collision {
                more.extend(["--collision".to_owned(), collision.to_owned()]);
            }
            if links {
                more.extend(["--links".to_owned(), "inside".to_owned()]);
            }
            (vec!["wst", "receive", "--quiet", "-r", "-", "-o", path.unwrap_or(".")], more)
        }
        There::Sends(protocol) => {
            let path =
                path.ok_or(format!("expected the file to receive in the line, {text}/FILE"))?;
            (vec!["wst", "send", "--quiet", path, "-"], by(protocol))
        }
        There::Serves => {
            let root = path.unwrap_or(".");
            (vec!["wst", "serve", "--quiet", "-", "--root", root, "--allow", "write"], Vec::new())
        }
        // A shell wants a terminal.
        There::Talks => return Ok(LineSpec::ExecPty(ssh.to_string())),
        There::Carries => return Ok(LineSpec::Exec(ssh.to_string())),
        There::Asks => {
            return Err("expected a line for a server, got ssh:, which would start one".to_owned());
        }
    };
    words.extend(more.iter().map(String::as_str));
    Ok(LineSpec::Exec(ssh.running(&words)))
}

/// Whether an argument has the form of a line or names a profile.
pub(crate) fn is_line(text: &OsStr) -> bool {
    text.to_str().is_some_and(|text| text.starts_with('@') || LineSpec::looks_like(text))
}

/// The device profile and the line of `@DEVICE:LINE`.
pub(crate) fn device(text: &OsStr) -> Option<(&str, &str)> {
    let (name, line) = text.to_str()?.strip_prefix('@')?.split_once(':')?;
    (!name.contains(['/', '?'])).then_some((name, line))
}

/// A hint, if a line and a file are swapped.
pub(crate) fn swapped(verb: &str, files: &[PathBuf], last: &OsStr) -> Option<String> {
    let at = files.iter().position(|file| is_line(file.as_os_str()))?;
    if is_line(last) {
        return None;
    }
    let mut words: Vec<String> = Vec::new();
    for file in files.iter().enumerate().filter(|(index, _)| *index != at).map(|(_, file)| file) {
        words.push(shown(file.as_os_str()));
    }
    words.extend([last.as_encoded_bytes(), files[at].as_os_str().as_encoded_bytes()].map(escaped));
    let got = escaped(last.as_encoded_bytes());
    Some(format!("expected the line last, got {got}: did you mean wst {verb} {}?", words.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_by_ssh_runs_the_peer_of_each_verb() {
        let command = |text: &str, there| line(text, there).map(|spec| spec.to_string());
        let receive =
            command("ssh://box", There::Receives { protocol: None, links: false, collision: None })
                .unwrap();
        assert_eq!(receive, "exec:ssh box 'wst receive --quiet -r - -o .'");
        let there = There::Receives { protocol: None, links: true, collision: Some("update") };
        assert_eq!(
            command("ssh://box", there).unwrap(),
            "exec:ssh box 'wst receive --quiet -r - -o . --collision update --links inside'"
        );
        let send =
            command("ssh://anna@box:2222//var/log/a b", There::Sends(Some("zmodem"))).unwrap();
        assert_eq!(
            send,
            r"exec:ssh -p 2222 anna@box 'wst send --quiet '\''/var/log/a b'\'' - -P zmodem'"
        );
        let serve = command("ssh://box/pub", There::Serves).unwrap();
        assert_eq!(serve, "exec:ssh box 'wst serve --quiet - --root pub --allow write'");
        assert!(command("ssh://box", There::Sends(None)).unwrap_err().contains("/FILE"));
        assert!(
            command("ssh://-oX", There::Receives { protocol: None, links: false, collision: None })
                .is_err()
        );
    }

    #[test]
    fn a_device_has_a_line_behind_its_name() {
        let parts = |text: &'static str| device(OsStr::new(text));
        assert_eq!(parts("@uboot:tcp://h:1"), Some(("uboot", "tcp://h:1")));
        assert_eq!(parts("@uboot:@latest"), Some(("uboot", "@latest")));
        assert_eq!(parts("@board"), None);
        assert_eq!(parts("@latest?flow=a:b"), None);
        assert_eq!(parts("tcp://h:1"), None);
    }

    #[test]
    fn swapped_line_and_file_are_reported() {
        let files = |words: &[&str]| words.iter().map(PathBuf::from).collect::<Vec<_>>();
        let say = swapped("send", &files(&["/dev/ttyUSB0", "a"]), OsStr::new("b.bin"));
        assert_eq!(
            say.unwrap(),
            "expected the line last, got b.bin: did you mean wst send a b.bin /dev/ttyUSB0?"
        );
        assert_eq!(swapped("send", &files(&["a"]), OsStr::new("b")), None);
        assert_eq!(swapped("send", &files(&["/dev/ttyS0"]), OsStr::new("/dev/ttyS1")), None);
    }
}
