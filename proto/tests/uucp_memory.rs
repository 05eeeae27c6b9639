//! A transfer allocates nothing, and an engine lives in the memory that its configuration says.

use crate::common;
use crate::no_allocation;

use common::random;
use no_allocation::assert_no_allocation;
use wetstring_proto::uucp::{Config, Receiver, Sender};

common::protocol!(uucp, Config::default());

#[test]
fn zero_allocations_in_a_transfer() {
    let file = random(300_000, 5);
    for packet in ["32", "64", "1024", "4096"] {
        for window in ["1", "7"] {
            let config = config(&[("packet", packet), ("window", window), ("buffer", "4096")]);
            // Exactly what the configuration says, and not a byte more.
            let mut sending = vec![0; config.sender_memory()];
            let mut receiving = vec![0; config.receiver_memory()];
            let mut sender = Sender::new(config.clone(), &mut sending[..]).unwrap();
            let mut receiver = Receiver::new(config.clone(), &mut receiving[..]).unwrap();
            let label = format!("{packet} {window}");
            assert_no_allocation(&mut sender, &mut receiver, &file, false, &label);
        }
    }
}

/// The whole engine, its own fields and the memory it is given.
#[test]
fn what_an_engine_needs() {
    for (packet, window, most) in [("64", "3", 12_000), ("64", "7", 13_000), ("4096", "7", 46_000)]
    {
        let config = config(&[("packet", packet), ("window", window), ("buffer", "4096")]);
        let sender = size_of::<Sender<&mut [u8]>>() + config.sender_memory();
        let receiver = size_of::<Receiver<&mut [u8]>>() + config.receiver_memory();
        println!("{window} packets of {packet}: sender {sender}, receiver {receiver}");
        assert!(sender < most && receiver < most, "{packet}: {sender} {receiver}");
    }
}

#[test]
fn too_little_memory_is_reported() {
    let config = config(&[]);
    let needed = config.sender_memory();
    let error = Sender::new(config.clone(), vec![0; needed - 1]).unwrap_err();
    assert_eq!((error.needed, error.given), (needed, needed - 1));
    assert!(Receiver::new(config.clone(), vec![0; config.receiver_memory() - 1]).is_err());
}
