//! Whether two scenarios are one run.

use super::Scenario;

impl Scenario {
    /// Whether both are the same run, event by event: all that decides it is equal. The name of the file and the files
    /// behind names in the line count as what they are called.
    pub(crate) fn is_same_run(&self, other: &Self) -> bool {
        self.file == other.file && self.older == other.older && self.settings() == other.settings()
    }

    /// Everything except the file and its older version, in a form that can be compared.
    fn settings(&self) -> String {
        let Self {
            protocol,
            other,
            window,
            slip,
            typing,
            sending,
            file: _,
            pattern,
            older: _,
            line,
            outside: _,
            ends,
            hosts,
            seed,
            port_bytes,
            time_limit,
            event_limit,
            // These follow from the line and the protocol.
            limit_millicps: _,
            carrier: _,
            has_chance: _,
        } = self;
        let what = (protocol.name, other, window, slip, typing, sending, pattern, line);
        format!("{what:?} {:?}", (ends, hosts, seed, port_bytes, time_limit, event_limit))
    }
}
