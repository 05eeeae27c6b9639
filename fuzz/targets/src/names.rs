//! `wetstring_fuzz::names::names` under libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    wetstring_fuzz::names::names(bytes);
});
