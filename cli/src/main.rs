//! wst.
fn main() {}
