//! `wetstring_fuzz::netblt::engine` under libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = wetstring_fuzz::netblt::engine(bytes);
});
