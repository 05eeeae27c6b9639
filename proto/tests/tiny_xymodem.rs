//! The small receivers of XMODEM-CRC and YMODEM, byte by byte.

use crate::tiny_exchange::Loader;
use wetstring_proto::crc::crc16;
use wetstring_proto::tiny::{Failure, Limits, Xmodem, Ymodem};

const EOT: &[u8] = &[4];
const ACK: &[u8] = &[6];
const NAK: &[u8] = &[0x15];
const CANCEL: &[u8] = b"\x18\x18\x18\x18\x18\x18\x18\x18\x08\x08\x08\x08\x08\x08\x08\x08";

fn block(number: u8, data: &[u8]) -> Vec<u8> {
    let mut bytes = vec![if data.len() == 1024 { 2 } else { 1 }, number, !number];
    bytes.extend_from_slice(data);
    bytes.extend_from_slice(&crc16(data).to_be_bytes());
    bytes
}

/// Block 0, filled with zeros.
fn head(text: &[u8]) -> Vec<u8> {
    let mut data = [0; 128];
    data[..text.len()].copy_from_slice(text);
    block(0, &data)
}

/// A receiver that has said that it is ready, and a body that uses it.
fn xmodem(body: impl FnOnce(&mut Loader<'_>)) {
    let mut memory = [0; 1024];
    let mut receiver = Xmodem::new(&mut memory, Limits::default());
    let mut loader = Loader::new(&mut receiver);
    assert_eq!(loader.give(b""), b"C");
    assert!(loader.files.is_empty());
    body(&mut loader);
}

fn ymodem(body: impl FnOnce(&mut Loader<'_>)) {
    let mut memory = [0; 1024];
    let mut receiver = Ymodem::new(&mut memory, Limits::default());
    let mut loader = Loader::new(&mut receiver);
    assert_eq!(loader.give(b""), b"C");
    assert!(loader.files.is_empty());
    body(&mut loader);
}

#[test]
fn blocks_of_both_lengths_and_an_eot_that_comes_twice() {
    xmodem(|loader| {
        // The bytes 0 to 127, whose CRC is e80a.
        let bytes: Vec<u8> = (0..128).collect();
        let first = block(1, &bytes);
        assert_eq!(first[131..], [0xe8, 0x0a]);
        assert_eq!(loader.give(&first), ACK);
        assert_eq!(loader.give(&block(2, &[7; 1024])), ACK);
        assert_eq!(loader.give(EOT), b"");
        assert_eq!(loader.wait(150), NAK);
        assert_eq!(loader.file().complete, None);
        assert_eq!(loader.give(EOT), b"");
        assert_eq!(loader.wait(150), ACK);
        assert_eq!(loader.file().complete, Some(true));
        // The acknowledgement was lost.
        assert_eq!(loader.give(EOT), b"");
        assert_eq!(loader.wait(300), ACK);
        assert_eq!(loader.end, None);
        loader.wait(1000);
        assert_eq!(loader.end, Some(Ok(())));
        assert_eq!(loader.file().bytes, [&bytes[..], &[7; 1024]].concat());
    });
}

#[test]
fn it_asks_for_the_start_until_patience_ends() {
    xmodem(|loader| {
        assert_eq!(loader.wait(2900), b"");
        assert_eq!(loader.wait(200), b"C");
        let sent = loader.wait(57_000);
        assert_eq!(sent, [&[b'C'; 18][..], CANCEL].concat());
        assert_eq!(loader.end, Some(Err(Failure::Silence)));
    });
    // On a line that is never quiet, too.
    xmodem(|loader| {
        for _ in 0..610 {
            loader.give(b"login: ");
            loader.wait(100);
        }
        assert_eq!(loader.end, Some(Err(Failure::Silence)));
    });
}

#[test]
fn a_damaged_block_is_asked_for_again_when_the_line_is_quiet() {
    xmodem(|loader| {
        let mut bad = block(1, &[1; 128]);
        bad[50] ^= 4;
        assert_eq!(loader.give(&bad), b"");
        assert_eq!(loader.wait(200), b"");
        assert_eq!(loader.give(&block(9, &[2; 128])), b"");
        assert_eq!(loader.wait(200), b"");
        // No block has come yet: the request is that of the start.
        assert_eq!(loader.wait(100), b"C");
        assert_eq!(loader.give(&block(1, &[1; 128])), ACK);
        // The number and its complement do not agree.
        let mut bad = block(2, &[1; 128]);
        bad[2] ^= 1;
        assert_eq!(loader.give(&bad), b"");
        assert_eq!(loader.wait(300), NAK);
        // It breaks off.
        assert_eq!(loader.give(&block(2, &[1; 128])[..100]), b"");
        assert_eq!(loader.wait(900), b"");
        assert_eq!(loader.wait(200), NAK);
        assert_eq!(loader.give(&block(2, &[3; 128])), ACK);
        assert_eq!(loader.wait(2900), b"");
        assert_eq!(loader.wait(200), NAK);
        assert_eq!(loader.file().bytes, [[1; 128], [3; 128]].concat());
    });
}

#[test]
fn a_duplicate_is_acknowledged_and_not_stored() {
    xmodem(|loader| {
        assert_eq!(loader.give(&block(1, &[1; 128])), ACK);
        // It was sent before the answer had come, for a second start character.
        assert_eq!(loader.give(&block(1, &[1; 128])), b"");
        assert_eq!(loader.wait(1000), b"");
        assert_eq!(loader.give(&block(1, &[1; 128])), ACK);
        for number in 2..=255 {
            assert_eq!(loader.give(&block(number, &[number; 128])), ACK);
        }
        // Numbers turn over.
        assert_eq!(loader.give(&block(0, &[0; 128])), ACK);
        loader.wait(400);
        assert_eq!(loader.give(&block(0, &[0; 128])), ACK);
        assert_eq!(loader.give(&block(1, &[9; 128])), ACK);
        assert_eq!(loader.file().bytes.len(), 257 * 128);
        // Two blocks ahead: one is missing.
        assert_eq!(loader.give(&block(3, &[0; 128])), CANCEL);
        assert_eq!(loader.end, Some(Err(Failure::Violation)));
    });
}

#[test]
fn an_eot_made_by_noise_ends_nothing() {
    xmodem(|loader| {
        // Before the start it does not ask for checksums.
        assert_eq!(loader.give(EOT), b"");
        assert_eq!(loader.wait(150), b"C");
        assert_eq!(loader.give(&block(1, &[1; 128])), ACK);
        // One, and the block that the sender was about to send.
        assert_eq!(loader.give(EOT), b"");
        assert_eq!(loader.wait(150), NAK);
        assert_eq!(loader.give(&block(2, &[2; 128])), ACK);
        // One in the place of a block's first byte.
        let mut bad = block(3, &[4; 128]);
        bad[0] = 4;
        assert_eq!(loader.give(&bad), b"");
        assert_eq!(loader.wait(300), NAK);
        // While a block is owed, none counts: the sender believes that it has come.
        for _ in 0..3 {
            assert_eq!(loader.give(EOT), b"");
            assert_eq!(loader.wait(150), NAK);
        }
        assert_eq!(loader.give(EOT), b"");
        assert_eq!(loader.wait(150), CANCEL);
        assert_eq!(loader.end, Some(Err(Failure::Length)));
        assert_eq!(loader.file().complete, None);
    });
}

#[test]
fn the_peer_cancels() {
    xmodem(|loader| {
        assert_eq!(loader.give(&block(1, &[1; 128])), ACK);
        // One may be noise.
        assert_eq!(loader.give(b"\x18"), b"");
        assert_eq!(loader.give(&block(2, &[1; 128])), ACK);
        assert_eq!(loader.give(b"\x18\x18"), b"");
        assert_eq!(loader.end, Some(Err(Failure::Cancelled)));
    });
    // In a block.
    xmodem(|loader| {
        loader.give(&block(1, &[1; 128])[..70]);
        loader.give(CANCEL);
        assert_eq!(loader.wait(1100), b"");
        assert_eq!(loader.end, Some(Err(Failure::Cancelled)));
    });
    // Two in damaged data are data.
    xmodem(|loader| {
        let mut bad = block(1, &[0x18; 128]);
        bad[132] ^= 1;
        loader.give(&bad);
        assert_eq!(loader.wait(300), b"C");
    });
}

#[test]
fn the_caller_cancels() {
    xmodem(|loader| {
        loader.room = 200;
        assert_eq!(loader.give(&block(1, &[1; 128])), ACK);
        assert_eq!(loader.give(&block(2, &[1; 128])), CANCEL);
        assert_eq!(loader.end, Some(Err(Failure::Aborted)));
    });
}

#[test]
fn memory_for_short_blocks_takes_no_long_ones() {
    let mut memory = [0; 128];
    let mut receiver = Xmodem::new(&mut memory, Limits::default());
    let mut loader = Loader::new(&mut receiver);
    loader.give(b"");
    assert_eq!(loader.give(&block(1, &[1; 1024])), b"");
    assert_eq!(loader.wait(300), b"C");
    assert_eq!(loader.give(&block(1, &[1; 128])), ACK);
}

#[test]
fn a_batch_with_names_and_lengths() {
    ymodem(|loader| {
        // Figure 6 of the document: the CRC of this block is ca56.
        let first = head(b"bbcsched.txt\x006347 3314742513 100644");
        assert_eq!(first[131..], [0xca, 0x56]);
        assert_eq!(loader.give(&first), b"\x06C");
        for number in 1..=6 {
            assert_eq!(loader.give(&block(number, &[number; 1024])), ACK);
        }
        // The file is not complete: nothing ends it.
        assert_eq!(loader.give(EOT), b"");
        assert_eq!(loader.wait(150), NAK);
        assert_eq!(loader.give(&block(7, &[7; 128])), ACK);
        assert_eq!(loader.give(&block(8, &[8; 128])), ACK);
        // Now it is: the first EOT counts.
        assert_eq!(loader.give(EOT), b"");
        assert_eq!(loader.wait(150), b"\x06C");
        assert_eq!(loader.give(EOT), b"");
        assert_eq!(loader.wait(150), b"\x06C");
        assert_eq!(loader.give(&head(b"empty\x000")), b"\x06C");
        assert_eq!(loader.give(EOT), b"");
        assert_eq!(loader.wait(150), b"\x06C");
        // Without a length: an EOT has to come twice, and nothing is cut off.
        assert_eq!(loader.give(&head(b"some")), b"\x06C");
        assert_eq!(loader.give(&block(1, &[9; 128])), ACK);
        for answer in [NAK, b"\x06C"] {
            assert_eq!(loader.give(EOT), b"");
            assert_eq!(loader.wait(150), answer);
        }
        assert_eq!(loader.give(&head(b"")), ACK);
        // The last acknowledgement was lost.
        assert_eq!(loader.give(&head(b"")), b"");
        assert_eq!(loader.wait(300), ACK);
        loader.wait(1000);
        assert_eq!(loader.end, Some(Ok(())));
        let [one, two, three] = &loader.files[..] else { panic!("expected three files") };
        assert_eq!(
            (&one.name[..], one.size, one.bytes.len()),
            (&b"bbcsched.txt"[..], Some(6347), 6347)
        );
        assert_eq!(one.bytes[6144..6272], [7; 128]);
        assert_eq!((&two.name[..], two.size, two.bytes.len()), (&b"empty"[..], Some(0), 0));
        assert_eq!(
            (&three.name[..], three.size, &three.bytes[..]),
            (&b"some"[..], None, &[9; 128][..])
        );
        assert!(loader.files.iter().all(|file| file.complete == Some(true)));
    });
}

#[test]
fn block_0_again_is_answered_as_before_and_another_one_ends_it() {
    ymodem(|loader| {
        assert_eq!(loader.give(&head(b"a\x00100")), b"\x06C");
        loader.wait(400);
        assert_eq!(loader.give(&head(b"a\x00100")), b"\x06C");
        assert_eq!(loader.files.len(), 1);
        // A sender that believes this file complete sends the next one's.
        loader.wait(400);
        assert_eq!(loader.give(&head(b"b\x00100")), CANCEL);
        assert_eq!(loader.end, Some(Err(Failure::Violation)));
    });
    // The last block comes again after the end of its file, which noise had made.
    ymodem(|loader| {
        assert_eq!(loader.give(&head(b"a\x00128")), b"\x06C");
        assert_eq!(loader.give(&block(1, &[1; 128])), ACK);
        loader.give(EOT);
        assert_eq!(loader.wait(150), b"\x06C");
        assert_eq!(loader.give(&block(1, &[1; 128])), ACK);
        loader.give(EOT);
        assert_eq!(loader.wait(150), b"\x06C");
        assert_eq!(loader.give(&head(b"")), ACK);
    });
}

#[test]
fn a_file_that_is_longer_or_shorter_than_it_said_fails() {
    ymodem(|loader| {
        assert_eq!(loader.give(&head(b"a\x00128")), b"\x06C");
        assert_eq!(loader.give(&block(1, &[1; 128])), ACK);
        // Padding.
        assert_eq!(loader.give(&block(2, &[1; 128])), ACK);
        assert_eq!(loader.give(&block(3, &[1; 128])), CANCEL);
        assert_eq!(loader.end, Some(Err(Failure::Length)));
        assert_eq!(loader.file().bytes.len(), 128);
    });
    ymodem(|loader| {
        assert_eq!(loader.give(&head(b"a\x00129")), b"\x06C");
        assert_eq!(loader.give(&block(1, &[1; 128])), ACK);
        for answer in [NAK, NAK, NAK, CANCEL] {
            loader.give(EOT);
            assert_eq!(loader.wait(150), answer);
        }
        assert_eq!(loader.end, Some(Err(Failure::Length)));
    });
}

#[test]
fn a_batch_that_does_not_begin_with_block_0_fails() {
    ymodem(|loader| {
        // An EOT before the first file is noise.
        loader.give(EOT);
        assert_eq!(loader.wait(300), b"C");
        assert_eq!(loader.give(&block(1, &[1; 128])), CANCEL);
        assert_eq!(loader.end, Some(Err(Failure::Violation)));
    });
    ymodem(|loader| {
        // No NUL ends the name.
        assert_eq!(loader.give(&block(0, &[b'n'; 128])), CANCEL);
        assert_eq!(loader.end, Some(Err(Failure::Violation)));
    });
}

/// The sender resends at once when it is asked, and must be answered: it may ask for no more than ten times.
#[test]
fn a_lost_acknowledgement_of_the_first_block_is_repaired() {
    xmodem(|loader| {
        let first = block(1, &[7; 128]);
        assert_eq!(loader.give(&first), ACK);
        assert_eq!(loader.wait(3100), NAK);
        assert_eq!(loader.give(&first), ACK);
        assert_eq!(loader.give(&block(2, &[8; 128])), ACK);
        assert_eq!(loader.file().bytes.len(), 256);
    });
}

/// A device that starts at once: the end is told and acknowledged all the same.
#[test]
fn without_lingering_the_end_is_still_acknowledged() {
    let mut memory = [0; 128];
    let limits = Limits { linger_ms: 0, ..Limits::default() };
    let mut receiver = Xmodem::new(&mut memory, limits);
    let mut loader = Loader::new(&mut receiver);
    assert_eq!(loader.give(b""), b"C");
    assert_eq!(loader.give(&block(1, &[7; 128])), ACK);
    loader.give(EOT);
    assert_eq!(loader.wait(150), NAK);
    loader.give(EOT);
    assert_eq!(loader.wait(150), ACK);
    assert_eq!((loader.file().complete, loader.end), (Some(true), Some(Ok(()))));
}
