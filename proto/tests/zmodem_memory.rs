//! A transfer allocates nothing, and an engine lives in the memory that its configuration says.

use crate::common;
use crate::no_allocation;

use common::random;
use no_allocation::assert_no_allocation;
use wetstring_proto::settings::Settings;
use wetstring_proto::zmodem::{Config, Receiver, Sender};

#[test]
fn zero_allocations_in_a_transfer() {
    let mut file = random(300_000, 5);
    file.resize(400_000, b'x');
    for settings in [
        &[][..],
        &[("zmodem.window", "4096"), ("zmodem.escape", "controls")],
        &[("zmodem.rle", "on"), ("zmodem.send-length", "8192")],
        &[("zmodem.receive-buffer", "1000"), ("zmodem.crc32", "off")],
        &[("zmodem.send-length", "32")],
    ] {
        let mut config = Config { buffer_len: 1024, ..Config::default() };
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

/// One subpacket with the room that escapes may need, and the name of a file.
#[test]
fn a_small_configuration_needs_little() {
    let config =
        Config { buffer_len: 1024, send_length: 1024, receive_length: 1024, ..Config::default() };
    println!("sender {} receiver {}", config.sender_memory(), config.receiver_memory());
    assert!(
        config.sender_memory() <= 1025 + 2 * (1024 + 128) + 512 + 1024,
        "{}",
        config.sender_memory()
    );
    assert!(config.receiver_memory() <= 1024 + 128 + 512 + 1024, "{}", config.receiver_memory());
}
