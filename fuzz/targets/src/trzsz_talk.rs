//! `wetstring_fuzz::trzsz::talk` under libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = wetstring_fuzz::trzsz::talk(bytes);
});
