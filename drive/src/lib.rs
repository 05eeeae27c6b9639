//! Real ports, stores and loops.
