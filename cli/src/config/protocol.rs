//! The engines of the protocols that `-P` names, configured by the settings.

use wetstring_proto::{Engine, zmodem};
pub(crate) use wetstring_protocols::Protocol;

use super::settings::Settings;

/// The engines of a protocol.
pub(crate) trait Engines {
    /// An engine that sends.
    fn sender(self, all: &Settings) -> Result<Box<dyn Engine>, String>;
    /// An engine that receives.
    fn receiver(self, all: &Settings) -> Box<dyn Engine>;
}

impl Engines for Protocol {
    fn sender(self, all: &Settings) -> Result<Box<dyn Engine>, String> {
        let (Some((command, immediate)), true) = (&all.command, self.is::<zmodem::Config>()) else {
            return Ok(all.protocols.for_protocol(self).sender());
        };
        let config = all.zmodem().clone();
        let memory = vec![0; config.sender_memory()];
        let sender = zmodem::Sender::new(config, memory).map_err(|bad| bad.to_string())?;
        let sender = sender.with_command(command, *immediate).map_err(|bad| bad.to_string())?;
        Ok(Box::new(sender))
    }

    fn receiver(self, all: &Settings) -> Box<dyn Engine> {
        all.protocols.for_protocol(self).receiver()
    }
}
