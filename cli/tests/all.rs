//! The tests of the program. One program, since linking each file by itself took minutes;
//! a file is a module here, and its tests are run by its name: `cargo test --workspace FILE::`.
//!
//! What measures how fast something is stands in `timed`, which runs after this.

// For Windows, `wine` runs the program from here.
#![cfg(unix)]

mod common;
mod peers;

mod asked;
mod batch_names;
mod code_phrase;
mod connect;
mod connect_pulled;
mod connect_uboot;
mod console;
mod delete;
mod device_scripted;
mod device_scripted_network;
mod device_scripted_retro;
mod device_uboot;
mod events;
mod explain_html;
mod explain_shared;
mod face;
mod first_minutes;
mod first_use;
mod get_wanted;
mod in_clear;
mod interactive;
mod interop_charsets;
mod interop_ckermit_pty;
mod interop_ckermit_server;
mod interop_ckermit_tcp;
mod interop_gkermit;
mod interop_gkermit_server;
mod interop_lrzsz_commands;
mod interop_lrzsz_personality;
mod interop_lrzsz_xy;
mod interop_lrzsz_zmodem;
mod interop_names;
mod interop_rfc2217;
mod interop_telnet;
mod interop_tls;
mod interop_tshark;
mod interop_uboot;
mod interop_uboot_xy;
mod interop_uucico;
mod interop_wire;
mod kermit;
mod kermit_called;
mod kermit_exit;
mod kermit_kinds;
mod kermit_lab;
mod kermit_page;
mod kermit_receive;
mod kermit_settings;
mod kermit_terminal;
mod kill;
mod lab;
mod lab_diff;
mod lab_report;
mod lab_swarm;
mod lab_sweep;
mod ncp;
mod netblt;
mod netblt_ends;
mod netblt_hostile;
mod netblt_python_peer;
mod netblt_stranger;
#[cfg(not(feature = "objects"))]
mod objects_absent;
mod personality_face;
mod probe;

mod personality_hostile;
mod personality_protocols;
mod personality_safety;
mod promises;
mod put_shell;
mod recover;
mod remembered;
mod selection;
mod serve_hostile;
mod serve_many;
mod serve_names;
mod serve_rights;
mod settings_page;
mod text_and_parts;
mod tmux;
mod touched;
mod transfer;
mod trzsz;
mod trzsz_forms;
mod uucp_python_deaths;
mod uucp_python_peer;
mod wrap;
mod wrap_ssh;
mod zmodem_strangers;
