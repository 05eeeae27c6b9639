//! Files to and from `trz` and `tsz` at a host: trzsz's protocol in its text form, at the user's end.
//!
//! ```text
//! tsz a.bin, at the host                                    here
//!  ESC 7 ::TRZSZ:TRANSFER:S:1.1.7:0123456789000:40123 --->   a start; the user agrees
//!                                                     <---  #ACT:{"confirm":true,"binary":false,...}
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
//! Not here: the binary form, which is declined (the peer then has the text form); the tunnel beside the line; hosts
//! with Windows, whose console redraws what passes; `tmux`, whose status line stands between the lines.

mod line;
mod receive;
mod send;
mod talk;

pub use receive::receive;
pub use send::send;
pub use talk::Talk;

use crate::shell::Broken;

/// Agrees to the transfer; returns whether directories are kept, as `-d` asks.
fn agree(talk: &mut Talk<'_>) -> Result<bool, Broken> {
    let action = concat!(
        r#"{"lang":"rust","version":"1.1.7","confirm":true,"#,
        r#""binary":false,"support_dir":true,"protocol":1}"#
    );
    talk.send(&line::packed("ACT", action.as_bytes()))?;
    let config = talk.json("CFG")?;
    if config["binary"] == true {
        return Err(talk::bad("CFG", "the binary form, which was declined"));
    }
    Ok(config["directory"] == true)
}
