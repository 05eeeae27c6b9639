//! `wetstring_fuzz::session::dialler_by_code` under libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| wetstring_fuzz::session::dialler_by_code(bytes));
