//! `ftp` over a SLIP line: a file, with interactive traffic.

use super::{Outcome, Scenario};
use crate::element::End;
use crate::host::HostModel;
use crate::net::Network;
use crate::slip::session::Session;
use crate::trace::Recorder;

impl Scenario {
    /// The file and the user over this line, which has TCP over SLIP.
    pub(super) fn run_session(&self, network: &Network, recorder: &mut Recorder) -> Outcome {
        let seeded = network.seeded(self.seed);
        let (Some(tcp), Some(slip)) = (&seeded.tcp, seeded.slip()) else {
            unreachable!("a session is made of TCP over SLIP")
        };
        let own = |end: End| {
            let host = self.hosts[end.index()].unwrap_or(seeded.hosts[end.index()]);
            if host == HostModel::default() { seeded.hosts[end.index()] } else { host }
        };
        let session = Session {
            slip: slip.clone(),
            tcp: tcp.clone(),
            hosts: End::BOTH.map(own),
            typing: self.typing,
            bytes: self.counted_bytes(),
            stream: self.stream(),
            time_limit: self.time_limit,
            window: self.window,
            seed: self.seed,
            capture: self.outside.capture.clone(),
        };
        let report = session.run(recorder);
        let outcome = self.bulk_outcome(report.bulk, |end| report.usage[end.index()], recorder);
        Outcome { echoes: report.echoes, ledgers: Some(report.ledgers), ..outcome }
    }
}
