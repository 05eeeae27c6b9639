//! Files to and from `trz` and `tsz` at a host: trzsz's protocol, at the user's end.
//!
//! ```text
//! tsz a.bin, at the host                                    here
//!  ESC 7 ::TRZSZ:TRANSFER:S:1.1.7:0123456789000:40123 --->   a start; the user agrees
//!                                                     <---  #ACT:{"confirm":true,"binary":true,...}
//!  #CFG:{"timeout":20,...}                            --->
//!  #NUM:1                                             --->
//!                                                     <---  #SUCC:1
//!  #NAME:a.bin                                        --->
//!                                                     <---  #SUCC:a.bin
//!  #SIZE:3000                                         --->
//!                                                     <---  #SUCC:3000
//!  #DATA:1024 bytes                                   --->
//!                                                     <---  #SUCC:1024
//!  ...
//!  #MD5:its digest                                    --->
//!                                                     <---  #SUCC:its digest     now it has its name
//!                                                     <---  #EXIT:
//!  ESC 8 ESC [0J  message  ESC [?25h                  --->   not shown
//! ```
//!
//! With `trz` files go the other way, and the answers too. Numbers are as they stand; all else is base64 of a zlib
//! stream, which is unpacked as it comes: a line of a file may be 1 GB long, and a few kB of it are held. Each line is
//! answered before the next, so that either end can say `#fail:` and a reason instead.
//!
//! Sources: `trzsz` 1.1.7 of PyPI, whose protocol is version 1.
//!
//! The binary form has the number of bytes and LF behind `#DATA:`, and the bytes, some of them escaped if
//! the peer says so. It is used where the peer was told to (`-b`) and every byte passes the line.
//!
//! In tmux the peer writes its lines to the terminal of tmux's client, between what tmux draws; that is left out. On
//! Windows the console draws the lines. In both cases what the peer says last is drawn, too.
//!
//! Not here: the tunnel beside the line; tmux in control mode, whose window is another program's.

mod escape;
mod line;
mod receive;
mod redrawn;
mod send;
mod talk;

pub use receive::receive;
pub use send::send;
pub use talk::Talk;

use crate::shell::Broken;
use escape::Escapes;
use serde_json::json;
use wetstring_proto::engine::Event;
use wetstring_proto::peer::Host;

/// What is known before the first line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Terms {
    /// Where the peer runs.
    pub host: Host,
    /// Every byte passes the line, to the peer and back.
    pub clear: bool,
}

/// Agrees to the transfer; returns whether directories are kept, as `-d` asks.
fn agree(talk: &mut Talk<'_>) -> Result<bool, Broken> {
    let Terms { host, clear } = talk.terms;
    let takes = clear && host != Host::Windows;
    let mut action = json!({
        "lang": "rust", "version": "1.1.7", "confirm": true, "binary": takes, "support_dir": true,
        "protocol": 1,
    });
    if host == Host::Windows {
        action["newline"] = json!("!\n");
    }
    talk.send(line::packed("ACT", action.to_string().as_bytes()))?;
    let config = talk.json("CFG")?;
    if config["binary"] == true {
        if !takes {
            return Err(talk::bad("CFG", "the binary form, which was declined"));
        }
        let table = Escapes::of(&config["escape_chars"]);
        let why = || talk::bad("CFG", "escape_chars that cannot be undone");
        talk.binary = Some(table.ok_or_else(why)?);
    }
    let form = if talk.binary.is_some() { "binary" } else { "base64 of zlib" };
    talk.event(&Event::Negotiated(&format!("trzsz: {form}, MD5")));
    Ok(config["directory"] == true)
}
