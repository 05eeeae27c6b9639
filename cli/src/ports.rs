//! `wst ports`: the serial ports of this machine.

use std::fmt::Write as _;

use wetstring_drive::in_words;
use wetstring_drive::port::{PortInfo, ports};
use wetstring_events::{Event, Usb};

use crate::exit::Exit;
use crate::voice::{Level, Voice};
use crate::words::escaped;

/// Lists them.
pub(crate) fn run(voice: &Voice) -> Result<Exit, (Exit, String)> {
    let found =
        ports().map_err(|e| (Exit::Line, format!("could not list the ports: {}", in_words(&e))))?;
    for port in &found {
        if voice.has_json() {
            let usb = port.usb.as_ref().map(|usb| Usb {
                vendor_id: usb.vendor_id,
                product_id: usb.product_id,
                manufacturer: usb.manufacturer.clone(),
                product: usb.product.clone(),
                serial_number: usb.serial_number.clone(),
            });
            let (path, driver) = (port.path.to_string_lossy().into_owned(), port.driver.clone());
            voice.event(Event::Port { path, driver, usb });
        } else {
            crate::paper::print(&describe(port));
        }
    }
    if found.is_empty() {
        voice.say(Level::Note, "no serial ports found; wst line makes two PTYs that act as ones");
    }
    Ok(Exit::Done)
}

fn describe(port: &PortInfo) -> String {
    let mut line = port.path.display().to_string();
    // Writing to a string cannot fail.
    if let Some(driver) = &port.driver {
        let _ = write!(line, "  {driver}");
    }
    if let Some(usb) = &port.usb {
        let _ = write!(line, "  {:04x}:{:04x}", usb.vendor_id, usb.product_id);
        for text in [&usb.manufacturer, &usb.product, &usb.serial_number].into_iter().flatten() {
            let _ = write!(line, " {}", escaped(text.as_bytes()));
        }
    }
    line.push('\n');
    line
}
