//! `wetstring_fuzz::telnet::talk` under libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    wetstring_fuzz::telnet::talk(bytes);
});
