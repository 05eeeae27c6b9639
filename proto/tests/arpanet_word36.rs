//! Words of 36 bits: known ones, and that nothing is lost.

use proptest::prelude::*;
use wetstring_proto::arpanet::word36::{MASK, Packing, octets, pack, unpack, words};

#[test]
fn known_words() {
    let pair = [0o123_456_701_234, 0o765_432_107_654];
    let mut nine = [0xEE; 9];
    assert_eq!(pack(&pair, &mut nine), 9);
    // Their octal digits, three bits each, stand one after the other.
    let wire = 0o123_456_701_234_765_432_107_654_u128;
    let wanted = &wire.to_be_bytes()[7..];
    assert_eq!(nine, wanted);
    let mut again = [0; 2];
    assert_eq!(unpack(&nine, &mut again), 2);
    assert_eq!(again, pair);
    let mut five = [0xEE; 6];
    assert_eq!(pack(&pair[..1], &mut five), 5);
    assert_eq!(five[..4], wanted[..4]);
    assert_eq!((five[4], five[5]), (wanted[4] & 0xF0, 0xEE));
}

#[test]
fn characters_of_the_machines() {
    assert_eq!(Packing::Seven.word(b"HELLO"), Some(0o442_131_446_236));
    assert_eq!(Packing::Seven.characters(0o442_131_446_236), Some(*b"HELLO"));
    assert_eq!(Packing::Seven.characters(0o442_131_446_237), None, "the bit to spare");
    assert_eq!(Packing::Seven.word(&[0x80]), None);
    assert_eq!(Packing::Nine.word(b"MULT"), Some(0o115_125_114_124));
    assert_eq!(Packing::Nine.characters(0o115_125_114_124), Some(*b"MULT\0"));
    assert_eq!(Packing::Nine.characters(0o400_000_000_000), None, "no octet has nine bits");
    assert_eq!(Packing::Eight.word(&[0xFF, 0, 0xFF, 1]), Some(0xF_F00F_F010));
    assert_eq!(Packing::Eight.characters(0xF_F00F_F010), Some([0xFF, 0, 0xFF, 1, 0]));
    assert_eq!(Packing::Eight.characters(1), None);
    assert_eq!(Packing::Nine.word(b"MULTI"), None, "five are too many");
}

proptest! {
    #[test]
    fn octets_come_back(file in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut many = vec![u64::MAX; words(file.len())];
        prop_assert_eq!(unpack(&file, &mut many), many.len());
        prop_assert!(many.iter().all(|word| *word <= MASK));
        let mut again = vec![0xEE; octets(many.len())];
        prop_assert_eq!(pack(&many, &mut again), again.len());
        prop_assert_eq!(&again[..file.len()], &file[..]);
        prop_assert!(again[file.len()..].iter().all(|octet| *octet == 0));
        prop_assert!((again.len() - file.len()) < 5);
    }

    #[test]
    fn words_come_back(many in prop::collection::vec(0..=MASK, 0..60), room in 0..70_usize) {
        let mut wire = vec![0; octets(many.len())];
        prop_assert_eq!(pack(&many, &mut wire), wire.len());
        let mut again = vec![0; many.len()];
        prop_assert_eq!(unpack(&wire, &mut again), many.len());
        prop_assert_eq!(&again, &many);
        // Where there is less room there are fewer, and the same; half an octet more may be a word.
        let mut few = vec![0; room];
        let count = unpack(&wire, &mut few);
        prop_assert_eq!(count, room.min(words(wire.len())));
        let same = count.min(many.len());
        prop_assert_eq!(&few[..same], &many[..same]);
        prop_assert!(few[same..].iter().all(|word| *word == 0));
    }

    #[test]
    fn characters_come_back(text in prop::collection::vec(0..128_u8, 0..5)) {
        for packing in [Packing::Nine, Packing::Eight, Packing::Seven] {
            if text.len() > packing.count() { continue }
            let word = packing.word(&text).unwrap();
            prop_assert!(word <= MASK);
            let found = packing.characters(word).unwrap();
            prop_assert_eq!(&found[..text.len()], &text[..]);
            prop_assert!(found[text.len()..].iter().all(|c| *c == 0));
        }
    }
}
