//! The serial ports of this machine.

use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// A serial port of this machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PortInfo {
    /// The device, such as `/dev/ttyUSB0`.
    pub path: PathBuf,
    /// The kernel driver behind it, where known.
    pub driver: Option<String>,
    /// USB information, for a USB adapter.
    pub usb: Option<UsbFacts>,
    /// Its name below `/dev/serial/by-id`, which stays when it is plugged in elsewhere.
    pub by_id: Option<String>,
    /// When its device was made: when it was plugged in, where the system knows.
    pub since: Option<SystemTime>,
}

/// USB information about a serial adapter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UsbFacts {
    /// Vendor id.
    pub vendor_id: u16,
    /// Product id.
    pub product_id: u16,
    /// The vendor's name.
    pub manufacturer: Option<String>,
    /// The product's name.
    pub product: Option<String>,
    /// Serial number.
    pub serial_number: Option<String>,
    /// Its place in the USB tree and its interface, such as `1-2.3:1.0`.
    pub place: Option<String>,
}

/// The serial ports of this machine, sorted by name. Driver and USB information come from sysfs and are empty
/// where there is none.
pub fn ports() -> io::Result<Vec<PortInfo>> {
    let mut found: Vec<PortInfo> = serial2::SerialPort::available_ports()?
        .into_iter()
        .map(|path| describe(path, Path::new("/sys/class/tty"), Path::new(BY_ID)))
        .collect();
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

/// Where udev links ports by the names of their adapters.
const BY_ID: &str = "/dev/serial/by-id";

/// The name among the links of `folder` that leads to this device.
fn linked(path: &Path, folder: &Path) -> Option<String> {
    let links = std::fs::read_dir(folder).ok()?.flatten();
    let mut names = links.filter(|link| {
        // A link that leads elsewhere by now is none.
        link.path().canonicalize().is_ok_and(|to| path.canonicalize().is_ok_and(|at| at == to))
    });
    Some(names.next()?.file_name().to_string_lossy().into_owned())
}

/// Adds information about a device from `sysfs` (a directory with one entry per terminal device) and the links
/// of `links`.
fn describe(path: PathBuf, sysfs: &Path, links: &Path) -> PortInfo {
    // Other times change when it is written to.
    let since = std::fs::metadata(&path).and_then(|found| found.created()).ok();
    let by_id = linked(&path, links);
    let device = path.file_name().map(|name| sysfs.join(name).join("device"));
    let Some(device) = device.and_then(|device| device.canonicalize().ok()) else {
        return PortInfo { path, driver: None, usb: None, by_id, since };
    };
    let driver = std::fs::read_link(device.join("driver"))
        .ok()
        .and_then(|link| Some(link.file_name()?.to_string_lossy().into_owned()));
    // The terminal is below its USB interface, and that below the device with the ids.
    let usb = device.ancestors().take(4).find_map(usb_facts).map(|facts| {
        // The directory of an interface has the device's name, a colon, and its number.
        let names = device.ancestors().take(4).filter_map(|at| at.file_name()?.to_str());
        let place = names.filter(|name| name.contains(':')).last();
        UsbFacts { place: place.map(str::to_owned), ..facts }
    });
    PortInfo { path, driver, usb, by_id, since }
}

fn usb_facts(device: &Path) -> Option<UsbFacts> {
    let text = |name: &str| {
        let text = std::fs::read_to_string(device.join(name)).ok()?;
        Some(text.trim().to_owned()).filter(|text| !text.is_empty())
    };
    let id = |name: &str| u16::from_str_radix(&text(name)?, 16).ok();
    Some(UsbFacts {
        vendor_id: id("idVendor")?,
        product_id: id("idProduct")?,
        manufacturer: text("manufacturer"),
        product: text("product"),
        serial_number: text("serial"),
        place: None,
    })
}

#[cfg(test)]
mod tests {
    #[cfg(unix)]
    use super::*;
    #[cfg(unix)]
    use std::fs;

    #[cfg(unix)] // The links of sysfs.
    #[test]
    fn usb_information_is_found_above_the_terminal() {
        let root = tempfile::tempdir().unwrap();
        let adapter = root.path().join("devices/usb1/1-2");
        let terminal = adapter.join("1-2:1.0/ttyUSB7");
        fs::create_dir_all(&terminal).unwrap();
        fs::create_dir_all(root.path().join("class/ttyUSB7")).unwrap();
        fs::create_dir_all(root.path().join("drivers/ftdi_sio")).unwrap();
        fs::write(adapter.join("idVendor"), "0403\n").unwrap();
        fs::write(adapter.join("idProduct"), "6001\n").unwrap();
        fs::write(adapter.join("product"), "FT232R USB UART\n").unwrap();
        fs::write(adapter.join("serial"), "\n").unwrap();
        let link = std::os::unix::fs::symlink::<PathBuf, PathBuf>;
        link(root.path().join("drivers/ftdi_sio"), terminal.join("driver")).unwrap();
        link(terminal, root.path().join("class/ttyUSB7/device")).unwrap();
        let (node, links) = (root.path().join("ttyUSB7"), root.path().join("by-id"));
        fs::write(&node, "").unwrap();
        fs::create_dir(&links).unwrap();
        link("../gone".into(), links.join("usb-gone")).unwrap();
        link("../ttyUSB7".into(), links.join("usb-FTDI-if00")).unwrap();

        let info = describe(node, &root.path().join("class"), &links);
        assert_eq!(info.by_id.as_deref(), Some("usb-FTDI-if00"));
        assert_eq!(info.driver.as_deref(), Some("ftdi_sio"));
        assert_eq!(
            info.usb,
            Some(UsbFacts {
                vendor_id: 0x0403,
                product_id: 0x6001,
                manufacturer: None,
                product: Some("FT232R USB UART".into()),
                serial_number: None,
                place: Some("1-2:1.0".into()),
            })
        );
    }
}
