//! The accounts of `wst explain` that pages show as text.
