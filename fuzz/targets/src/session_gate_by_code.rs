//! `wetstring_fuzz::session::gate_by_code` under libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = wetstring_fuzz::session::gate_by_code(bytes);
});
