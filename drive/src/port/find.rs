//! Names of serial ports that stay when a device is plugged in again, or elsewhere.
//!
//! | name | the port |
//! |---|---|
//! | `usb:A50285BI` | of the USB adapter with this serial number |
//! | `usb:1-2.3`, `usb:1-2.3:1.0` | at this place of the USB tree; with the interface, where an adapter has several |
//! | `usb:FTDI_FT232R_USB_UART_A50285BI-if00-port0` | with this name below `/dev/serial/by-id`, with or without `usb-` |
//! | `@latest` | that was plugged in last |
//! | `@new` | that is plugged in next |
//! | anything else | a path |

use super::list::{PortInfo, ports};
use std::io;
use std::path::{Path, PathBuf};

/// The port that was plugged in last.
pub const LATEST: &str = "@latest";
/// The port that is plugged in next.
pub const NEW: &str = "@new";

/// Whether this is a name of a port and not its path.
pub fn is_symbolic(name: &Path) -> bool {
    name.to_str().is_some_and(|name| name == LATEST || name == NEW || name.starts_with("usb:"))
}

/// The path of a port that is named.
///
/// # Errors
///
/// `NotFound` if there is no such port now; there is none for `@new`, which [`newest`] finds.
pub fn locate(name: &Path) -> io::Result<PathBuf> {
    if !is_symbolic(name) {
        return Ok(name.to_owned());
    }
    let found = among(name, &ports()?);
    found.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "no such port is plugged in"))
}

/// The port that is not among those which were there before, the last one if there are several.
pub fn newest(before: &[PathBuf], now: &[PortInfo]) -> Option<PathBuf> {
    let fresh = now.iter().filter(|port| !before.contains(&port.path));
    Some(fresh.max_by_key(|port| port.since)?.path.clone())
}

/// The port of this name among these.
fn among(name: &Path, ports: &[PortInfo]) -> Option<PathBuf> {
    let name = name.to_str()?;
    let plugged = ports.iter().filter(|port| port.usb.is_some());
    if name == LATEST {
        return Some(plugged.max_by_key(|port| port.since)?.path.clone());
    }
    let wanted = name.strip_prefix("usb:")?;
    let fits = |port: &&PortInfo| {
        let usb = port.usb.as_ref();
        let serial = usb.and_then(|usb| usb.serial_number.as_deref());
        let place = usb.and_then(|usb| usb.place.as_deref());
        let device = place.and_then(|place| place.split(':').next());
        let by_id = port.by_id.as_deref();
        [serial, place, device, by_id, by_id.and_then(|id| id.strip_prefix("usb-"))]
            .contains(&Some(wanted))
    };
    let mut found: Vec<&PortInfo> = plugged.filter(fits).collect();
    // An adapter with several ports: the first.
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Some(found.first()?.path.clone())
}

#[cfg(test)]
mod tests {
    use super::super::list::UsbFacts;
    use super::*;
    use std::time::{Duration, SystemTime};

    fn port(path: &str, serial: &str, place: &str, id: &str, since_s: u64) -> PortInfo {
        PortInfo {
            path: path.into(),
            driver: None,
            usb: Some(UsbFacts {
                vendor_id: 1,
                product_id: 2,
                manufacturer: None,
                product: None,
                serial_number: Some(serial.to_owned()).filter(|serial| !serial.is_empty()),
                place: Some(place.to_owned()),
            }),
            by_id: Some(id.to_owned()),
            since: Some(SystemTime::UNIX_EPOCH + Duration::from_secs(since_s)),
        }
    }

    #[test]
    fn a_port_is_found_by_what_stays() {
        let all = [
            port("/dev/ttyUSB1", "A50285BI", "1-2.3:1.1", "usb-FTDI_A50285BI-if01", 7),
            port("/dev/ttyUSB0", "A50285BI", "1-2.3:1.0", "usb-FTDI_A50285BI-if00", 7),
            port("/dev/ttyACM0", "", "1-4:1.0", "usb-Pico-if00", 9),
            PortInfo { usb: None, ..port("/dev/ttyS0", "x", "y", "z", 100) },
        ];
        for (name, path) in [
            ("usb:A50285BI", Some("/dev/ttyUSB0")),
            ("usb:1-2.3", Some("/dev/ttyUSB0")),
            ("usb:1-2.3:1.1", Some("/dev/ttyUSB1")),
            ("usb:usb-Pico-if00", Some("/dev/ttyACM0")),
            ("usb:Pico-if00", Some("/dev/ttyACM0")),
            ("usb:1-2", None),
            ("usb:", None),
            ("@latest", Some("/dev/ttyACM0")),
            ("@new", None),
        ] {
            assert_eq!(among(Path::new(name), &all), path.map(PathBuf::from), "{name}");
        }
        assert_eq!(locate(Path::new("/dev/ttyS9")).unwrap(), PathBuf::from("/dev/ttyS9"));
        let missing = locate(Path::new("usb:no such adapter")).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
        let before: Vec<PathBuf> = vec!["/dev/ttyS0".into(), "/dev/ttyUSB1".into()];
        assert_eq!(newest(&before, &all), Some("/dev/ttyACM0".into()));
        assert_eq!(newest(&before, &all[..1]), None);
    }
}
