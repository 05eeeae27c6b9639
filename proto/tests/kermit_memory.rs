//! A transfer allocates nothing, and an engine lives in the memory that its configuration says.

use crate::common;
use crate::no_allocation;

use common::random;
use no_allocation::assert_no_allocation;
use wetstring_proto::kermit::{Config, Receiver, Sender};
use wetstring_proto::settings::Settings;

#[test]
fn zero_allocations_in_a_transfer() {
    let file = random(300_000, 5);
    for settings in [
        &[("kermit.streaming", "on"), ("kermit.clear-channel", "on")][..],
        &[("kermit.streaming", "off"), ("kermit.window", "31")],
        &[("kermit.streaming", "off"), ("kermit.window", "1"), ("kermit.parity", "even")],
    ] {
        let mut config = Config { buffer_len: 4096, ..Config::default() };
        for (name, value) in settings {
            config.set(name, value).unwrap();
        }
        // Exactly what the configuration says, and not a byte more.
        let mut sending = vec![0; config.sender_memory()];
        let mut receiving = vec![0; config.receiver_memory()];
        let mut sender = Sender::new(config.clone(), &mut sending[..]).unwrap();
        let mut receiver = Receiver::new(config.clone(), &mut receiving[..]).unwrap();
        assert_no_allocation(&mut sender, &mut receiver, &file, false, &format!("{settings:?}"));
    }
}

#[test]
fn a_small_configuration_needs_little() {
    let mut config = Config { buffer_len: 1024, ..Config::default() };
    config.set("kermit.window", "1").unwrap();
    config.set("kermit.send-length", "94").unwrap();
    config.set("kermit.receive-length", "94").unwrap();
    println!("sender {} receiver {}", config.sender_memory(), config.receiver_memory());
    assert!(config.sender_memory() < 4096, "{}", config.sender_memory());
    assert!(config.receiver_memory() < 4096, "{}", config.receiver_memory());
}
