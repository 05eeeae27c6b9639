//! `wetstring_fuzz::pair::kermit` under libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    wetstring_fuzz::pair::kermit(bytes);
});
