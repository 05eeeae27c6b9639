//! `wetstring_fuzz::arpanet::reply` under libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| wetstring_fuzz::arpanet::reply(bytes));
