//! Configurations as trait objects, each and all.

use std::any::Any;
use std::fmt;
use wetstring_proto::registry::Registered;
use wetstring_proto::settings::{BadSetting, Setting};
use wetstring_proto::{Engine, LineFacts};

use crate::{FAMILIES, Family, Protocol};

/// A configuration of any protocol: [`Registered`] as a trait object.
pub trait Config: fmt::Debug + Send + Sync {
    /// The rows of its settings.
    fn table(&self) -> &'static [Setting];
    /// Sets one by its name.
    ///
    /// # Errors
    ///
    /// If there is no such setting, or the value is invalid.
    fn set(&mut self, name: &str, value: &str) -> Result<(), BadSetting>;
    /// Writes the current value of one.
    ///
    /// # Errors
    ///
    /// If writing to `out` fails.
    fn show(&self, name: &str, out: &mut dyn fmt::Write) -> fmt::Result;
    /// Sets what is known of the line.
    fn on_line(&mut self, line: LineFacts);
    /// A sender with its own memory.
    fn sender(&self) -> Box<dyn Engine>;
    /// A receiver with its own memory.
    fn receiver(&self) -> Box<dyn Engine>;
    /// A copy.
    fn boxed(&self) -> Box<dyn Config>;
    /// For [`Configs::get`] and the like.
    fn as_any(&self) -> &dyn Any;
    /// For [`Configs::get_mut`] and the like.
    fn as_any_mut(&mut self) -> &mut dyn Any;
}

impl<C: Registered> Config for C {
    fn table(&self) -> &'static [Setting] {
        C::table()
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), BadSetting> {
        wetstring_proto::settings::Settings::set(self, name, value)
    }

    fn show(&self, name: &str, out: &mut dyn fmt::Write) -> fmt::Result {
        wetstring_proto::settings::Settings::show(self, name, out)
    }

    fn on_line(&mut self, line: LineFacts) {
        Registered::on_line(self, line);
    }

    fn sender(&self) -> Box<dyn Engine> {
        let memory = vec![0; self.sender_memory()];
        Box::new(Registered::sender(self.clone(), memory).expect("memory of the required size"))
    }

    fn receiver(&self) -> Box<dyn Engine> {
        let memory = vec![0; self.receiver_memory()];
        Box::new(Registered::receiver(self.clone(), memory).expect("memory of the required size"))
    }

    fn boxed(&self) -> Box<dyn Config> {
        Box::new(self.clone())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
}

impl Clone for Box<dyn Config> {
    fn clone(&self) -> Self {
        (**self).boxed()
    }
}

/// The configurations of all families, by the names of their settings.
#[derive(Clone, Debug)]
pub struct Configs(Vec<(&'static Family, Box<dyn Config>)>);

impl Default for Configs {
    fn default() -> Self {
        Self::of(FAMILIES)
    }
}

impl Configs {
    /// The defaults of these families.
    pub fn of(families: &'static [Family]) -> Self {
        Self(families.iter().map(|family| (family, (family.default)())).collect())
    }

    /// The configuration of the family that the name of a setting belongs to.
    fn of_setting(&self, name: &str) -> Option<usize> {
        let (prefix, _) = name.split_once('.')?;
        self.0.iter().position(|(family, _)| family.prefix == prefix)
    }

    /// Sets one by its full name.
    ///
    /// # Errors
    ///
    /// If there is no such setting, or the value is invalid.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), BadSetting> {
        let index = self.of_setting(name).ok_or(BadSetting::Unknown)?;
        self.0[index].1.set(name, value)
    }

    /// Writes the current value of one.
    ///
    /// # Errors
    ///
    /// If there is no such setting, or writing to `out` fails.
    pub fn show(&self, name: &str, out: &mut dyn fmt::Write) -> fmt::Result {
        let index = self.of_setting(name).ok_or(fmt::Error)?;
        self.0[index].1.show(name, out)
    }

    /// The current value of one that is a plain number.
    pub fn number(&self, name: &str) -> Option<u64> {
        let mut shown = String::new();
        self.show(name, &mut shown).ok()?;
        shown.parse().ok()
    }

    /// Sets what is known of the line in all of them.
    pub fn on_line(&mut self, line: LineFacts) {
        for (_, config) in &mut self.0 {
            config.on_line(line);
        }
    }

    /// The one of this type.
    pub fn get<C: Registered>(&self) -> &C {
        let mut found = self.0.iter().filter_map(|(_, config)| config.as_any().downcast_ref());
        found.next().expect("a family of the list")
    }

    /// The one of this type, mutable.
    pub fn get_mut<C: Registered>(&mut self) -> &mut C {
        let mut found =
            self.0.iter_mut().filter_map(|(_, config)| config.as_any_mut().downcast_mut());
        found.next().expect("a family of the list")
    }

    /// The one of a protocol, with the presets of its name.
    pub fn for_protocol(&self, protocol: Protocol) -> Box<dyn Config> {
        let mut found = self.0.iter().filter(|(family, _)| family.prefix == protocol.family.prefix);
        let (_, config) = found.next().expect("a family of the list");
        let mut config = config.clone();
        protocol.preset(&mut *config);
        config
    }
}
