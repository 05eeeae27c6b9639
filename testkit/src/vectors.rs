//! Test vectors of the page about Kermit's extension.

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/reference/kermit-extension.md");

/// The rows of this kind: letter, and twice bytes.
///
/// # Panics
///
/// If the page is not there, or something in a row is not hex.
pub fn vectors(kind: &str) -> Vec<[Vec<u8>; 3]> {
    let page = std::fs::read_to_string(PAGE).expect("the page");
    let rows = page.lines().map(|line| line.split(" | ").collect::<Vec<_>>());
    let rows = rows.filter(|row| row.len() == 4 && row[0] == kind);
    rows.map(|row| [row[1].as_bytes().to_vec(), unhex(row[2]), unhex(row[3])]).collect()
}

fn unhex(text: &str) -> Vec<u8> {
    let digits = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).expect("hex");
    (0..text.len()).step_by(2).map(digits).collect()
}
