//! `wetstring_fuzz::kermit::server` under libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    wetstring_fuzz::kermit::server(bytes);
});
