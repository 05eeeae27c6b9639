//! `wst line`: a bad line in real time, between any two programs.

use wetstring_drive::Signals;

use crate::args::Line;
use crate::exit::Exit;
use crate::transfer::Ending;
use crate::voice::Voice;

/// Emulates the line until interrupted.
pub(crate) fn run(voice: &Voice, verb: &Line) -> Ending {
    let _ = (voice, verb, Signals::install());
    Ending::early(Exit::Usage, "not yet")
}
