//! The settings of lines that are the program's own.

wetstring_proto::settings! {
    /// What is done with lines, whatever passes them.
    #[derive(Clone, PartialEq, Eq, Debug)]
    pub struct LineSettings {
        "line.remember" remember: bool[word] = "on",
            "Remember of a line with errors or delay what a transfer has found out, and begin the next one with it (wst show --line LINE)",
            "Wetstring", no_flag;
    }
}
