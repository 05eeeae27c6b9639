//! The lines of scripts: SET LINE, SET HOST and SET SPEED in terms of `drive`.

use wetstring_drive::LineSpec;
use wetstring_drive::line::Flow;
use wetstring_script::world::{Connection, Fault, Speaks};

/// Settings of serial lines, made before one is opened.
#[derive(Clone, Debug, Default)]
pub(super) struct Serial {
    baud: Option<u32>,
    flow: Option<Flow>,
    stop_bits: Option<u8>,
}

impl Serial {
    /// SET SPEED, SET FLOW-CONTROL, SET STOP-BITS.
    pub(super) fn set(&mut self, name: &str, value: &str) -> Result<(), Fault> {
        let bad = |what: &str| Fault::new(format!("expected {what}, got {value}"));
        match name {
            "speed" => self.baud = Some(value.parse().map_err(|_| bad("a speed in bit/s"))?),
            "stop-bits" => self.stop_bits = Some(value.parse().map_err(|_| bad("1 or 2"))?),
            _ => {
                self.flow = match value {
                    "none" => Some(Flow::None),
                    "rts/cts" => Some(Flow::RtsCts),
                    "xon/xoff" => Some(Flow::XonXoff),
                    // KEEP and AUTOMATIC: the defaults of the line.
                    _ => None,
                };
            }
        }
        Ok(())
    }

    /// Applies them to a serial line.
    pub(super) fn apply(&self, spec: &mut LineSpec) {
        let LineSpec::Serial(serial) = spec else { return };
        serial.baud = self.baud.or(serial.baud);
        serial.flow = self.flow.unwrap_or(serial.flow);
        serial.stop_bits = self.stop_bits.unwrap_or(serial.stop_bits);
    }

    /// The line for a connection of a script.
    pub(super) fn spec_of(&self, to: &Connection) -> Result<LineSpec, Fault> {
        let text = |bytes: &[u8]| {
            let text = std::str::from_utf8(bytes);
            let say = "expected a name in UTF-8, got other bytes";
            text.map(str::to_owned).map_err(|_| Fault::new(say))
        };
        let line = match to {
            Connection::Line { device } => text(device)?,
            Connection::Program { command, terminal } => {
                let kind = if *terminal { "exec-pty" } else { "exec" };
                format!("{kind}:{}", text(command)?)
            }
            Connection::Host { host, port, speaks, .. } => {
                let (scheme, usual) = match (speaks, port) {
                    (Speaks::Telnet, _) | (Speaks::Unsaid, None) => ("telnet", Some("23")),
                    (Speaks::Tls, _) => ("tls", Some("1649")),
                    _ => ("tcp", None),
                };
                let say = "expected a port after the host, got none";
                let port = port.as_ref().map(|port| text(port)).transpose()?;
                let port = port.or_else(|| usual.map(str::to_owned));
                let port = port.ok_or_else(|| Fault::new(say))?;
                let host = text(host)?;
                if host == "*" {
                    format!("{scheme}-listen://0.0.0.0:{port}")
                } else if host.contains(':') && !host.starts_with('[') {
                    format!("{scheme}://[{host}]:{port}")
                } else {
                    format!("{scheme}://{host}:{port}")
                }
            }
        };
        let bad = |bad: wetstring_drive::line::BadLine| Fault::new(bad.to_string());
        let mut spec = line.parse().map_err(bad)?;
        self.apply(&mut spec);
        Ok(spec)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn set_speed_applies_to_serial_lines() {
        let mut serial = Serial::default();
        serial.set("speed", "9600").expect("a speed");
        serial.set("flow-control", "rts/cts").expect("a word");
        let line = Connection::Line { device: b"/dev/ttyS9".to_vec() };
        let spec = serial.spec_of(&line).expect("a line").to_string();
        assert_eq!(spec, "serial:/dev/ttyS9?baud=9600&flow=rtscts");
        assert!(serial.set("speed", "fast").is_err());
    }

    #[test]
    fn raw_hosts_need_a_port() {
        let spec = |host: &str, port: Option<&str>, speaks| {
            let (host, port) = (host.into(), port.map(|port| port.as_bytes().to_vec()));
            let to = Connection::Host { host, port, speaks, server: false };
            Serial::default().spec_of(&to).map(|spec| spec.to_string())
        };
        assert_eq!(spec("box", Some("1649"), Speaks::Raw), Ok("tcp://box:1649".to_owned()));
        assert_eq!(spec("box", Some("1649"), Speaks::Unsaid), Ok("tcp://box:1649".to_owned()));
        assert_eq!(spec("::1", Some("7"), Speaks::Raw), Ok("tcp://[::1]:7".to_owned()));
        assert_eq!(spec("*", Some("7"), Speaks::Raw), Ok("tcp-listen://0.0.0.0:7".to_owned()));
        assert!(spec("box", None, Speaks::Raw).is_err_and(|fault| fault.text.contains("a port")));
    }
}
