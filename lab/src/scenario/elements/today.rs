//! Elements of today from their descriptions: see [`crate::today`].

use super::super::flip::Flipped;
use super::{BadElement, Carrier, Hosts, Outside, Part, part};
use crate::chain::Chain;
use crate::net::BadNet;
use crate::serial::Probability;
use crate::today::{Ble, BleModel, Lora, LoraModel, Usb, UsbModel};

/// The kinds that [`of`] builds.
pub(super) const KINDS: [&str; 3] = ["usb", "ble", "lora"];

/// The element of this kind, whose description is `words` behind it.
pub(super) fn of(kind: &str, words: &str, name: &str, seed: u64) -> Result<Part, BadNet> {
    // A seed of its own wins over the scenario's.
    let own = words.contains("seed=");
    match kind {
        "usb" => {
            let mut model: UsbModel = words.parse()?;
            model.seed = if own { model.seed } else { seed };
            Ok(usb(&model, name, own))
        }
        "ble" => {
            let mut model: BleModel = words.parse()?;
            model.seed = if own { model.seed } else { seed };
            let part = Part::quiet(Box::new(Ble::named(&model, name)), [model.rate_bps; 2], 0);
            let has_chance = model.loss != Probability::NEVER && !own;
            let limit_millicps = Some(model.limit_millicps());
            Ok(Part { limit_millicps, carrier: Carrier::Frames, has_chance, ..part })
        }
        _ => {
            let mut model: LoraModel = words.parse()?;
            model.seed = if own { model.seed } else { seed };
            let part = Part::quiet(Box::new(Lora::named(&model, name)), [model.rate_bps; 2], 0);
            let has_chance = model.loss != Probability::NEVER && !own;
            let limit_millicps = Some(model.limit_millicps());
            Ok(Part { limit_millicps, carrier: Carrier::Frames, has_chance, ..part })
        }
    }
}

fn usb(model: &UsbModel, name: &str, own: bool) -> Part {
    let part = Part::quiet(Box::new(Usb::named(model, name)), [model.rate_bps; 2], 0);
    let has_chance = !model.latency.is_zero() && !own;
    Part {
        limit_millicps: Some(model.limit_millicps()),
        carrier: Carrier::Frames,
        has_chance,
        ..part
    }
}

/// A serial line with `usb=16ms` among its words: a chip with that latency timer at both ends of it.
pub(super) fn with_adapters(
    text: &str,
    name: &str,
    seed: u64,
    hosts: &mut Hosts,
    outside: &Outside,
) -> Option<Result<Part, BadElement>> {
    let words = || text.split(',').map(str::trim);
    let latency = words().find_map(|word| word.strip_prefix("usb="))?;
    let line: Vec<&str> = words().filter(|word| !word.starts_with("usb=")).collect();
    let build = |hosts: &mut Hosts| {
        let bad = |bad: BadNet| BadElement { spec: text.to_owned(), message: bad.to_string() };
        let line = part(&line.join(","), name, seed, hosts, outside)?;
        let mut model: UsbModel = format!("ftdi,latency={latency}").parse().map_err(bad)?;
        model.seed = seed;
        let adapter = |place: &str| Box::new(Usb::named(&model, &format!("{name} {place}")));
        let (a, b) = (adapter("usb a"), Box::new(Flipped(adapter("usb b"))));
        let limit = line.limit_millicps.unwrap_or(u64::MAX).min(model.limit_millicps());
        Ok(Part {
            element: Box::new(Chain::new(vec![a, line.element, b])),
            limit_millicps: Some(limit),
            carrier: Carrier::Frames,
            has_chance: true,
            ..line
        })
    };
    Some(build(hosts))
}
