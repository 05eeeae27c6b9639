//! `wetstring_fuzz::bundle::receiver` under libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    wetstring_fuzz::bundle::receiver(bytes);
});
