//! `wetstring_fuzz::script::lines` under libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| wetstring_fuzz::script::lines(bytes));
