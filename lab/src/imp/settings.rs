//! The settings of an experiment: the rows of a host, and two of the laboratory's.

use wetstring_proto::{arpanet, choice, settings};

choice! {
    /// Whose rate is measured.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub enum RateOf {
        /// That of all files together.
        #[default]
        All = "all",
        /// That of each of them.
        Each = "each",
    }
}

settings! {
    /// A host, and its processes.
    #[derive(Clone, Debug)]
    pub struct Processes {
        "ncp.transfers" transfers: u8[1..=8 "files"] = 1,
            "Files that are sent at the same time, all of them the same one",
            "RFC 662";
        "ncp.rate" rate: RateOf[word] = "all",
            "Whether the rate is that of all files together or of each of them",
            "RFC 662";
    }
    parts {
        /// The live host's settings.
        host: arpanet::Config,
    }
}

#[cfg(test)]
mod tests {
    use super::Processes;
    use wetstring_proto::settings::{Range, Settings};

    #[test]
    fn the_table_states_the_defaults() {
        for row in Processes::TABLE {
            let mut shown = String::new();
            Processes::default().show(row.name, &mut shown).unwrap();
            assert_eq!(shown, row.default, "{}", row.name);
            Processes::default().set(row.name, row.default).unwrap();
            if row.range != Range::Text {
                Processes::default().set(row.name, "?").unwrap_err();
            }
        }
        let names: std::collections::BTreeSet<_> =
            Processes::TABLE.iter().map(|row| row.name).collect();
        assert_eq!(names.len(), Processes::TABLE.len());
    }
}
