//! Device profiles: how to bring a file into a kind of device.
//!
//! One is a file in TOML: how to recognise the prompt and how to get to it, what to type, the protocol, how to
//! verify, how to leave. `device/profiles` has those that are built in; the program adds those of
//! its user.
//!
//! `%{name}` in texts to type and in patterns is a variable: of `[vars]`, or of the file: `length`, `length-hex`,
//! `crc32`, `md5`, `md5-padded` (of the file with XMODEM's padding), `sha256`, `name` (if `[vars]` has it, the user may
//! choose another). The value of a variable may have others in it.
//!
//! A method of the protocol [`SHELL`] has no receiver: the file goes through the shell that the device is, by the tools
//! that are there.

use std::collections::BTreeMap;

use serde::Deserialize;

/// The built-in profiles, by name.
pub const BUILT_IN: [(&str, &str); 13] = [
    ("barebox", include_str!("../profiles/barebox.toml")),
    ("busybox", include_str!("../profiles/busybox.toml")),
    ("catalyst", include_str!("../profiles/catalyst.toml")),
    ("cpm", include_str!("../profiles/cpm.toml")),
    ("hp48", include_str!("../profiles/hp48.toml")),
    ("ios", include_str!("../profiles/ios.toml")),
    ("juniper", include_str!("../profiles/juniper.toml")),
    ("openwrt", include_str!("../profiles/openwrt.toml")),
    ("pdp11", include_str!("../profiles/pdp11.toml")),
    ("rommon", include_str!("../profiles/rommon.toml")),
    ("stm32-iap", include_str!("../profiles/stm32-iap.toml")),
    ("uboot", include_str!("../profiles/uboot.toml")),
    ("vms", include_str!("../profiles/vms.toml")),
];

/// The name that stands for a protocol if the file goes through a shell.
pub const SHELL: &str = "shell";

/// A device profile.
#[derive(Clone, Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Device {
    /// The device in words.
    pub title: String,
    /// What it was tested against, in words.
    pub tested: String,
    /// Where the profile describes the device.
    #[serde(default)]
    pub sources: Vec<String>,
    /// A regular expression: the end of what was received, if the device waits for a command. Without one, the
    /// device has no prompt: nothing is typed.
    #[serde(default)]
    pub prompt: String,
    /// Whether the device echoes commands.
    #[serde(default = "yes")]
    pub echo: bool,
    /// Pause after each typed byte.
    #[serde(default)]
    pub pause_ms: u64,
    /// Variables and their defaults.
    #[serde(default)]
    pub vars: BTreeMap<String, String>,
    /// Variables that the device takes only in some form.
    #[serde(default)]
    pub forms: BTreeMap<String, Form>,
    /// How to get to the prompt.
    #[serde(default)]
    pub reach: Reach,
    /// Typed before the transfer.
    #[serde(default)]
    pub prepare: Vec<Step>,
    /// How a file is taken; the first unless the user chooses another by its protocol.
    pub method: Vec<Method>,
    /// How what arrived is verified.
    #[serde(default)]
    pub verify: Vec<Step>,
    /// Typed at the end.
    #[serde(default)]
    pub leave: Vec<Step>,
}

const fn yes() -> bool {
    true
}

/// The form of a variable.
#[derive(Clone, Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Form {
    /// A regular expression.
    pub matches: String,
    /// The form in words.
    pub is: String,
}

/// How to get to the prompt.
#[derive(Clone, Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Reach {
    /// Typed to see the prompt.
    pub types: String,
    /// Typed again after this time.
    pub every_ms: u64,
    /// The length of a break that is sent each time.
    pub break_ms: u64,
    /// A wire that is pulsed once, which resets the device: `dtr` or `rts`.
    pub pulse: String,
    /// What to type at what the device says while it starts.
    pub answer: Vec<Answer>,
    /// What the user is told if there is no prompt; at the beginning if the device has none.
    pub hint: String,
    /// The longest wait for the prompt.
    pub limit_s: u64,
}

impl Default for Reach {
    fn default() -> Self {
        Self {
            types: String::new(),
            every_ms: 1000,
            break_ms: 0,
            pulse: String::new(),
            answer: Vec::new(),
            hint: String::new(),
            limit_s: 60,
        }
    }
}

/// What to type at what the device says.
#[derive(Clone, Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Answer {
    /// Only if this variable has a value.
    pub needs: Option<String>,
    /// A regular expression. One that ends in `$` is for what is followed by nothing, such as a prompt.
    pub sees: String,
    /// What to type.
    #[serde(default)]
    pub types: String,
    /// It is a refusal, or a question that the user has to answer: the error then, in words.
    pub fails: Option<String>,
}

/// A command, and what it answers before the prompt.
#[derive(Clone, Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Step {
    /// Only if this variable has a value.
    pub needs: Option<String>,
    /// What to type.
    pub types: String,
    /// What to type at what the device asks or refuses.
    #[serde(default)]
    pub answer: Vec<Answer>,
    /// A regular expression that the answer must match.
    pub sees: Option<String>,
    /// Message for the user then.
    pub says: Option<String>,
    /// The longest wait for the answer.
    #[serde(default = "a_minute")]
    pub limit_s: u64,
}

const fn a_minute() -> u64 {
    60
}

/// How a file is taken.
#[derive(Clone, Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Method {
    /// The protocols that it knows, the best first; or only [`SHELL`].
    pub protocols: Vec<String>,
    /// The path of the file at the shell, with [`SHELL`].
    pub path: Option<String>,
    /// A file that is there is replaced if this variable has a value, with [`SHELL`].
    pub replaces: Option<String>,
    /// Typed before the command.
    #[serde(default)]
    pub prepare: Vec<Step>,
    /// The command.
    #[serde(default)]
    pub types: String,
    /// Questions before it is ready.
    #[serde(default)]
    pub answer: Vec<Answer>,
    /// A regular expression: it is ready.
    #[serde(default)]
    pub ready: String,
    /// Typed after a transfer that failed: it brings the device out of its receiver.
    #[serde(default)]
    pub abort: String,
    /// A regular expression that must be received after the transfer.
    pub loaded: Option<String>,
    /// The longest wait for the prompt after the transfer.
    #[serde(default = "a_minute")]
    pub limit_s: u64,
    /// The device does not return to its prompt.
    #[serde(default)]
    pub ends: bool,
    /// Settings of the protocol.
    #[serde(default)]
    pub set: BTreeMap<String, String>,
    /// With another rate during the transfer.
    pub fast: Option<Fast>,
}

/// Another rate, of the variable `baud`, during the transfer.
#[derive(Clone, Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Fast {
    /// The command.
    pub types: String,
    /// A regular expression: the device changes its rate.
    pub switch: String,
    /// Typed at the new rate, until it is ready.
    pub types_after: String,
    /// A regular expression: the device changes it back.
    pub back: String,
    /// Typed at the old rate then.
    pub types_back: String,
}

impl Device {
    /// A profile from its text; `at` says where that stands.
    ///
    /// # Errors
    ///
    /// A text that is no profile, with the place.
    pub fn parse(at: &str, text: &str) -> Result<Self, String> {
        let device: Self = toml::from_str(text).map_err(|bad| format!("{at}: {bad}"))?;
        if device.method.iter().any(|method| method.protocols.is_empty())
            || device.method.is_empty()
        {
            return Err(format!("{at}: expected a [[method]] with protocols"));
        }
        for method in &device.method {
            let by_shell = method.protocols.iter().any(|name| name == SHELL);
            if by_shell != method.path.is_some() || by_shell && method.protocols.len() > 1 {
                let say = "expected a path with the protocol shell, which is alone in its method";
                return Err(format!("{at}: {say}"));
            }
        }
        Ok(device)
    }

    /// The method for a protocol, and the protocol.
    ///
    /// # Errors
    ///
    /// Those that it has, if that is none of them.
    pub fn method_for(&self, protocol: Option<&str>) -> Result<(&Method, String), String> {
        let Some(name) = protocol else {
            let first = &self.method[0];
            return Ok((first, first.protocols[0].clone()));
        };
        let known = |method: &&Method| method.protocols.iter().any(|known| known == name);
        if let Some(method) = self.method.iter().find(known) {
            return Ok((method, name.to_owned()));
        }
        let all = self.method.iter().flat_map(|method| &method.protocols);
        let all: Vec<&str> = all.map(String::as_str).collect();
        Err(format!("expected one of {} for {}, got {name}", all.join(", "), self.title))
    }
}

/// The text of the built-in profile of this name.
pub fn named(name: &str) -> Option<&'static str> {
    BUILT_IN.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_profile_is_complete() {
        for (name, text) in BUILT_IN {
            let device = Device::parse(name, text).unwrap();
            assert!(!device.tested.is_empty() && !device.sources.is_empty(), "{name}");
        }
    }

    #[test]
    fn unknown_keys_are_errors() {
        let say = Device::parse("x.toml", "title = 'x'\ntested = 'no'\nwidow = 1").unwrap_err();
        assert!(say.contains("x.toml") && say.contains("widow"), "{say}");
        let none = "title = 'x'\ntested = 'no'\nmethod = []";
        assert!(Device::parse("x.toml", none).unwrap_err().contains("[[method]]"));
        let device = Device::parse("uboot", named("uboot").unwrap()).unwrap();
        assert_eq!(device.method_for(None).unwrap().1, "ymodem");
        assert!(device.method_for(Some("kermit")).unwrap().0.types.starts_with("loadb"));
        assert!(device.method_for(Some("zmodem")).unwrap_err().contains("kermit"));
    }

    #[test]
    fn a_shell_has_a_path_and_nothing_else_has() {
        let head = "title = 'x'\ntested = 'no'\n[[method]]\n";
        for method in [
            "protocols = ['shell']",
            "protocols = ['kermit']\npath = '/tmp/x'",
            "protocols = ['shell', 'kermit']\npath = '/tmp/x'",
        ] {
            let say = Device::parse("x.toml", &format!("{head}{method}")).unwrap_err();
            assert!(say.contains("x.toml: expected a path with the protocol shell"), "{say}");
        }
        let method = "protocols = ['shell']\npath = '/tmp/x'";
        Device::parse("x.toml", &format!("{head}{method}")).unwrap();
    }
}
