//! `wetstring_fuzz::pair::uucp` under libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    wetstring_fuzz::pair::uucp(bytes);
});
