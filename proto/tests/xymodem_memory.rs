//! A transfer allocates nothing, and an engine lives in the memory that its configuration says.

use crate::common;
use crate::no_allocation;

use common::random;
use no_allocation::assert_no_allocation;
use wetstring_proto::xymodem::{Config, Receiver, Sender};

common::protocol!(xymodem, Config::default());

#[test]
fn zero_allocations_in_a_transfer() {
    let file = random(300_000, 5);
    for variant in ["xmodem", "xmodem-crc", "xmodem-1k", "ymodem", "ymodem-g"] {
        for buffer in ["128", "1024", "10000"] {
            let config = config(&[("variant", variant), ("buffer", buffer)]);
            // Exactly what the configuration says, and not a byte more.
            let mut sending = vec![0; config.sender_memory()];
            let mut receiving = vec![0; config.receiver_memory()];
            let mut sender = Sender::new(config.clone(), &mut sending[..]).unwrap();
            let mut receiver = Receiver::new(config.clone(), &mut receiving[..]).unwrap();
            assert_no_allocation(
                &mut sender,
                &mut receiver,
                &file,
                !variant.starts_with('y'),
                &format!("{variant} {buffer}"),
            );
        }
    }
}

/// The whole engine, its own fields and the memory it is given.
#[test]
fn what_an_engine_needs() {
    let size = |variant: &str| {
        let config = config(&[("variant", variant), ("buffer", "128")]);
        (
            size_of::<Sender<&mut [u8]>>() + config.sender_memory(),
            size_of::<Receiver<&mut [u8]>>() + config.receiver_memory(),
        )
    };
    for variant in ["xmodem", "xmodem-crc", "xmodem-1k", "ymodem"] {
        println!("{variant}: sender and receiver {:?}", size(variant));
    }
    for variant in ["xmodem", "xmodem-crc"] {
        let (sender, receiver) = size(variant);
        assert!(sender < 2048 && receiver < 2048, "{variant}: {sender} {receiver}");
    }
    let (sender, receiver) = size("xmodem-1k");
    assert!(sender < 3300 && receiver < 2048, "{sender} {receiver}");
    let (sender, receiver) = size("ymodem");
    assert!(sender < 4096 && receiver < 3072, "{sender} {receiver}");
}

#[test]
fn too_little_memory_is_reported() {
    let config = config(&[("variant", "ymodem")]);
    let needed = config.sender_memory();
    let error = Sender::new(config.clone(), vec![0; needed - 1]).unwrap_err();
    assert_eq!((error.needed, error.given), (needed, needed - 1));
    assert!(Receiver::new(config.clone(), vec![0; config.receiver_memory() - 1]).is_err());
}
