//! What carries characters today: ports on USB, UARTs over Bluetooth Low Energy, LoRa.
//!
//! | element | description |
//! |---|---|
//! | [`usb`] | `usb:ftdi,latency=16ms`, `usb:cdc`: an adapter or a board at end A |
//! | [`ble`] | `ble:interval=30ms,mtu=23`: a UART over Bluetooth Low Energy |
//! | [`lora`] | `lora:sf=7,duty=1%`: two modules that make packets of characters |
//!
//! Packets carry them, so what was sent evenly arrives in lots: that, and the waiting for the next lot, is what a
//! protocol notices of them. Networks of today are in [`crate::net`].

mod arrived;
pub mod ble;
pub mod lora;
pub mod usb;

pub use ble::{Ble, BleModel};
pub use lora::{Lora, LoraModel};
pub use usb::{Usb, UsbModel};
