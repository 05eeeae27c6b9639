//! What the scenario of a run says of its line.

use super::super::log::Log;
use crate::element::End;
use crate::modem::ModemModel;
use crate::net::{Link, Network};
use crate::serial::{LineModel, Probability};
use toml::{Table, Value};

/// The elements of the line that causes are found in; empty for a real transfer.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts {
    modem: Option<ModemModel>,
    network: Option<Network>,
    /// The eighth bit does not get through.
    pub(super) seven_bit: bool,
}

impl Facts {
    /// Those of a trace.
    pub(super) fn of(log: &Log) -> Self {
        let mut facts = Self::default();
        let scenario: Option<Table> = log.text("scenario").and_then(|text| text.parse().ok());
        let Some(line) = scenario.as_ref().and_then(|table| table.get("line")) else {
            return facts;
        };
        let all = match line {
            Value::Array(all) => all.as_slice(),
            one => std::slice::from_ref(one),
        };
        for spec in all.iter().filter_map(Value::as_str) {
            let spec = spec.trim();
            let spec = spec.strip_prefix("flip ").unwrap_or(spec);
            if spec.starts_with("modem:") {
                facts.modem = spec.parse().ok();
            } else if let Ok(line) = spec.parse::<LineModel>() {
                facts.seven_bit |= line.seven_bit;
            } else {
                facts.network = spec.parse().ok();
            }
        }
        facts
    }

    /// There are modems without error control on a line that is not clean.
    pub(super) fn has_bare_modems(&self) -> bool {
        let noisy = |m: &ModemModel| m.burst.is_some() || m.bit_errors != Probability::NEVER;
        self.modem.as_ref().is_some_and(|modem| !modem.has_frames() && noisy(modem))
    }

    /// There are modems that compress.
    pub(super) fn compresses(&self) -> bool {
        self.modem.as_ref().is_some_and(|modem| modem.v42bis.is_some())
    }

    /// TCP's window at the sender and what its path holds, in bytes, if the window is less.
    pub(super) fn short_window(&self, millicps: Option<u64>) -> Option<(u64, u64)> {
        let network = self.network.as_ref()?;
        let window = network.tcp.as_ref()?.flight_bytes(End::A) as u64;
        let delay = network.links.iter().filter_map(|link| match link {
            Link::Path(path) => Some(path.delay.as_nanos()),
            _ => None,
        });
        let round_trip = 2 * delay.sum::<u128>();
        let holds = u128::from(millicps?) * round_trip / 1_000_000_000_000;
        let holds = u64::try_from(holds).ok()?;
        (window < holds / 10 * 9).then_some((window, holds))
    }
}
