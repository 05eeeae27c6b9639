//! Bits of the mode of a console: of its input, then of its output.

/// `ENABLE_PROCESSED_INPUT`: Ctrl-C is a signal.
pub(super) const PROCESSED: u32 = 0x1;
/// `ENABLE_LINE_INPUT`
pub(super) const LINES: u32 = 0x2;
/// `ENABLE_ECHO_INPUT`
pub(super) const ECHO: u32 = 0x4;
/// `ENABLE_VIRTUAL_TERMINAL_INPUT`: keys are the sequences that terminals send.
pub(super) const SEQUENCES: u32 = 0x200;
/// `ENABLE_WINDOW_INPUT`: a new size is an event.
pub(super) const SIZES: u32 = 0x8;
/// `ENABLE_MOUSE_INPUT`: the mouse is, too.
pub(super) const MOUSE: u32 = 0x10;
/// `ENABLE_VIRTUAL_TERMINAL_PROCESSING`: the output understands sequences.
pub(super) const UNDERSTANDS: u32 = 0x4;
/// `DISABLE_NEWLINE_AUTO_RETURN`: LF moves down, and only that.
pub(super) const ONLY_DOWN: u32 = 0x8;
