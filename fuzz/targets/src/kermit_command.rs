//! `wetstring_fuzz::kermit::command` under libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    wetstring_fuzz::kermit::command(bytes);
});
