//! Transfers that the peer starts: the recogniser, and its findings in words.

use std::path::Path;
use std::time::Instant;

use wetstring_drive::os::files;
use wetstring_proto::peer::PeerProtocol;

use crate::ui::format::escaped;

pub(crate) use wetstring_protocols::start::Start;

/// Looks for starts in what a session receives.
pub(crate) type StartDetector = wetstring_protocols::start::StartDetector<Instant>;

/// The protocol in words.
pub(super) fn title(protocol: PeerProtocol) -> &'static str {
    match protocol {
        PeerProtocol::Kermit => "Kermit",
        PeerProtocol::Xmodem => "XMODEM",
        PeerProtocol::Ymodem | PeerProtocol::Xymodem => "YMODEM",
        PeerProtocol::YmodemG => "YMODEM-G",
        PeerProtocol::Zmodem => "ZMODEM",
        PeerProtocol::Uucp => "UUCP",
        PeerProtocol::Trzsz => "trzsz",
    }
}

/// The directory in words.
pub(super) fn into(directory: &Path) -> String {
    let whole = files::whole_path(directory);
    let shown = whole.as_deref().unwrap_or(directory);
    match shown.to_str() {
        Some(plain) if !plain.chars().any(char::is_control) => plain.to_owned(),
        _ => escaped(shown.as_os_str().as_encoded_bytes()),
    }
}
