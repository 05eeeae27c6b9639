//! `ssh://[USER@]HOST[:PORT][/PATH]`: a command run by `ssh` on another host.

use super::{BadLine, part};
use std::fmt;

/// A host reached by `ssh`, and a path there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SshSpec {
    /// `HOST` or `USER@HOST`.
    pub to: String,
    /// The port, if it is not the default.
    pub port: Option<u16>,
    /// A path at the host: `/PATH` is below the home directory, `//PATH` from the root.
    pub path: Option<String>,
}

impl SshSpec {
    /// Parses what follows `ssh://`.
    pub fn parse(text: &str) -> Result<Self, BadLine> {
        let wrong = || part("ssh", "ssh://[USER@]HOST[:PORT][/PATH]", text);
        let (to, path) = text.split_once('/').map_or((text, None), |(to, path)| (to, Some(path)));
        let (to, port) = match to.rsplit_once(':') {
            Some((to, port)) => {
                (to, Some(port.parse().ok().filter(|port| *port > 0).ok_or_else(wrong)?))
            }
            None => (to, None),
        };
        // It becomes words of a shell and of ssh, which takes a leading - for a flag.
        let plain = |c: char| c.is_ascii_alphanumeric() || "._-@".contains(c);
        if to.is_empty() || to.starts_with('-') || !to.chars().all(plain) {
            return Err(wrong());
        }
        let path = path.filter(|path| !path.is_empty()).map(str::to_owned);
        Ok(Self { to: to.to_owned(), port, path })
    }

    /// The command that runs `words` on the host: quoted for the local shell and the remote one.
    pub fn running(&self, words: &[&str]) -> String {
        let there: Vec<String> = words.iter().map(|word| quoted(word)).collect();
        format!("{self} {}", quoted(&there.join(" ")))
    }
}

impl fmt::Display for SshSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ssh ")?;
        if let Some(port) = self.port {
            write!(f, "-p {port} ")?;
        }
        f.write_str(&self.to)
    }
}

/// A word quoted for a shell.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-/=,:@+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::SshSpec;

    #[test]
    fn hosts_parse_and_commands_are_quoted_twice() {
        let ssh = SshSpec::parse("anna@box:2222/in").unwrap();
        assert_eq!(ssh.to_string(), "ssh -p 2222 anna@box");
        assert_eq!(ssh.path.as_deref(), Some("in"));
        let command = ssh.running(&["echo", "a b", "$x"]);
        let words = command.strip_prefix("ssh -p 2222 anna@box ").unwrap();
        assert_eq!(words, r"'echo '\''a b'\'' '\''$x'\'''");
        let root = SshSpec::parse("box//var/log/messages").unwrap();
        assert_eq!(root.path.as_deref(), Some("/var/log/messages"));
        for bad in ["", "-oProxyCommand=x", "a b", "box:0", "box:x", "a;b", "$(x)", "/x"] {
            assert!(SshSpec::parse(bad).is_err(), "{bad}");
        }
    }
}
