//! Everything that is tested from outside.
