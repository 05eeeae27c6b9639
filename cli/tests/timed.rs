//! The tests of the program that measure how fast or how soon something is. They wait for lines most of the time, and run
//! together, but not beside the rest (`all`), which keeps the processor busy.

mod common;
mod peers;

mod endings;
mod explain;
mod interop_ckermit_ends;
mod interop_line;
mod interop_lrzsz_line;
mod ncp_subnet;
mod netblt_network;
mod personality_peers;
mod progress;
mod slip;
mod wrong_peer;
