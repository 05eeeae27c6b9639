//! The Windows program under Wine, with programs of this system as its peers.
//!
//! It runs where `WETSTRING_WINE=1` says so, after `cargo build -p wetstring --target x86_64-pc-windows-gnu`:
//! then Wine, mingw-w64 and the program must be there. Otherwise an older program might be tested.

#[allow(unused_imports)]
mod peers;

#[path = "wine/console.rs"]
mod console;
#[path = "wine/files.rs"]
mod files;
#[path = "wine/lines.rs"]
mod lines;
#[path = "wine/session.rs"]
mod session;
