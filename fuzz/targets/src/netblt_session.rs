//! `wetstring_fuzz::talk::session` under libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = wetstring_fuzz::talk::session(bytes);
});
