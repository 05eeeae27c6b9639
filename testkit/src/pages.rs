//! Pages of `docs/reference` that follow from the code, and pages with code that is compiled.

/// What programmers in Rust read.
#[cfg(doctest)]
#[doc = include_str!("../../docs/howto/rust.md")]
#[doc = include_str!("../../docs/reference/slip-library.md")]
struct Examples;

/// Compares a page with what it should be. `WETSTRING_UPDATE_SNAPSHOTS=1` writes it.
///
/// # Panics
///
/// If the page differs, with the first line that does, or if it cannot be written.
pub fn compare_page(name: &str, wanted: &str) {
    let path = format!("{}/../docs/reference/{name}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("WETSTRING_UPDATE_SNAPSHOTS").is_some() {
        std::fs::write(&path, wanted).expect("the page can be written");
    }
    let present = std::fs::read_to_string(&path).unwrap_or_default();
    let differs = present.lines().zip(wanted.lines()).find(|(present, wanted)| present != wanted);
    assert!(
        present == wanted,
        "{name}: run `cargo xtask table --write`; the first difference: {differs:?}"
    );
}
