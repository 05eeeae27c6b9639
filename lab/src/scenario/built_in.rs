//! The scenarios that come with the laboratory, by name.

const BUILT_IN: [(&str, &str); 6] = [
    ("clean", include_str!("../../scenarios/clean.toml")),
    ("mainframe", include_str!("../../scenarios/mainframe.toml")),
    ("multics", include_str!("../../scenarios/multics.toml")),
    ("sz-1993", include_str!("../../scenarios/sz-1993.toml")),
    ("telebit", include_str!("../../scenarios/telebit.toml")),
    ("wet-string", include_str!("../../scenarios/wet-string.toml")),
];

/// The names of the scenarios that come with the laboratory, in their order.
pub fn names() -> impl Iterator<Item = &'static str> {
    BUILT_IN.iter().map(|(name, _)| *name)
}

/// The text of the scenario of this name; `None` if there is none.
pub fn named(name: &str) -> Option<&'static str> {
    BUILT_IN.iter().find(|(of, _)| *of == name).map(|(_, text)| *text)
}
