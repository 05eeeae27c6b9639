//! Blocks of lines to a shell, each of which it acknowledges.

use super::check::Digest;
use super::coding::Decoder;
use super::report::Report;
use super::store;
use super::talk::Talk;
use super::wire::Broken;
use std::collections::VecDeque;
use wetstring_proto::file::Store;

/// Characters of a block's command.
const COMMAND: usize = 32;

/// Sends blocks up to this length of the file, the next one before the last one is acknowledged, and no more than
/// the terminal holds.
pub(super) fn blocks(
    talk: &mut Talk<'_>,
    store: &mut dyn Store,
    report: &mut Report<'_>,
    decoder: &Decoder,
    (digest, until): (&mut Digest, u64),
) -> Result<(), Broken> {
    let window = talk.pace().unacknowledged;
    let most_bytes = (window / 2).saturating_sub(COMMAND);
    let mut block = vec![0; decoder.lines.bytes_in(most_bytes)];
    let most_lines = decoder.lines.write(&block).len();
    let (mut number, mut ended) = (0_u64, false);
    let mut flight: VecDeque<(u64, usize, u64)> = VecDeque::new();
    let mut next: Option<(Vec<u8>, u64)> = None;
    loop {
        if next.is_none() && !ended {
            let left = usize::try_from(until.saturating_sub(digest.len())).unwrap_or(usize::MAX);
            let most = block.len().min(left);
            let len = fill(store, digest.len(), &mut block[..most])?;
            ended = len == 0;
            if !ended {
                digest.add(&block[..len]);
                number += 1;
                let lines = decoder.lines.write(&block[..len]);
                let mut bytes = talk.command(&format!("r {} {number}", lines.len()));
                for line in &lines {
                    bytes.extend_from_slice(line);
                    bytes.push(b'\n');
                }
                next = Some((bytes, digest.len()));
            }
        }
        let on_the_way: usize = flight.iter().map(|(_, len, _)| len).sum();
        let fits = |bytes: &[u8]| flight.is_empty() || on_the_way + bytes.len() <= window;
        if let Some((bytes, end)) = next.take_if(|(bytes, _)| fits(bytes)) {
            talk.on_the_way(on_the_way);
            // Each block that is on the way has at most this number.
            talk.owes_lines((flight.len() + 1) * most_lines);
            flight.push_back((number, bytes.len(), end));
            talk.send(&bytes)?;
            if report.counts {
                report.stats.file_bytes += end - report.stats.current_file_bytes;
                report.stats.current_file_bytes = end;
            }
            report.stats.packets_out += 1;
            report.go_on(talk)?;
            continue;
        }
        let Some((acknowledged, _, end)) = flight.pop_front() else {
            talk.owes_lines(0);
            return Ok(());
        };
        let expected = format!("acknowledgement {acknowledged}");
        let got = talk.answer(&expected)?;
        if got != acknowledged.to_string().as_bytes() {
            talk.say(&got);
            return Err(talk.unexpected(&expected));
        }
        if report.counts {
            report.stats.current_acked_bytes = Some(end);
        }
        report.stats.packets_in += 1;
        report.go_on(talk)?;
    }
}

/// Reads until the block is full or the file ends.
fn fill(store: &mut dyn Store, offset: u64, block: &mut [u8]) -> Result<usize, Broken> {
    let mut filled = 0;
    while filled < block.len() {
        match store::read(store, offset + filled as u64, &mut block[filled..])? {
            0 => break,
            len => filled += len,
        }
    }
    Ok(filled)
}
