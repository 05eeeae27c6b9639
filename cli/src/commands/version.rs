//! `wst --version --verbose`: what this program was built for and from.

use std::ffi::OsString;

/// Whether the version is asked for with all that is known of the build.
pub(crate) fn wants_details(args: &[OsString]) -> bool {
    args.iter().skip(1).filter_map(|arg| arg.to_str()).any(|arg| {
        let short = arg.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
        arg == "--verbose" || short.is_some_and(|letters| letters.contains('v'))
    })
}

/// The version, then a line each for target, features and commit.
pub(crate) fn details() -> String {
    let features = if cfg!(feature = "objects") { "objects" } else { "none" };
    let debug = if cfg!(debug_assertions) { " (debug)" } else { "" };
    format!(
        "wst {}\ntarget: {}{debug}\nfeatures: {features}\ncommit: {}\n",
        env!("CARGO_PKG_VERSION"),
        env!("WETSTRING_TARGET"),
        env!("WETSTRING_COMMIT"),
    )
}
