//! `wetstring_fuzz::netblt::packet` under libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| wetstring_fuzz::netblt::packet(bytes));
