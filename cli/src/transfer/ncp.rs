//! The configuration of an engine that moves a file to or from a host of the ARPANET.

use wetstring_drive::line::NcpSpec;
use wetstring_proto::arpanet;
use wetstring_proto::arpanet::ftp::Argument;

/// The environment variable of the password.
pub(crate) const PASSWORD: &str = "WETSTRING_PASSWORD";

/// The configuration of an engine that sends to, or retrieves from, this place.
pub(crate) fn config(all: &arpanet::Config, spec: &NcpSpec) -> Result<arpanet::Config, String> {
    let mut config = all.clone();
    config.to = spec.to;
    config.ncp.form = spec.form;
    let long = || format!("expected a path of at most 128 characters, got {}", spec.path);
    config.ftp.path = Argument::new(spec.path.as_bytes()).ok_or_else(long)?;
    if let Ok(password) = std::env::var(PASSWORD) {
        let bad = || format!("expected at most 64 characters of ASCII in {PASSWORD}");
        config.ftp.password = Argument::new(password.as_bytes()).ok_or_else(bad)?;
    }
    if !config.ftp.form().is_possible() {
        return Err("expected ncp.byte=8 for lines or records, got another size".to_owned());
    }
    // A process started right after another must not be mistaken for it.
    config.ftp.socket = 0x100 + (std::process::id() % 0x1000) * 8;
    Ok(config)
}
