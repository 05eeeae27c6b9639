//! The mechanisms of Kermit's extension between two of ours: which of them acted, and what each did.

use super::Account;
use super::bottleneck::percent;
use super::budget::share;
use super::log::Side;
use std::collections::BTreeSet;
use wetstring_proto::Again;

/// What corrected errors, and what that cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Corrected {
    /// Data packets, and those of them that were hit.
    packets: u64,
    hit: u64,
    /// Of those, packets that parity restored, and that were not sent again.
    mended: u64,
    /// Characters of parity, and all that were sent.
    parity: u64,
    sent: u64,
}

impl Corrected {
    fn of(sender: &Side) -> Self {
        let data = || sender.sent.iter().filter(|sent| sent.data > 0);
        // A timer that runs out may be about an answer that was lost.
        let again = data().filter(|sent| sent.again > 0 && sent.why != Some(Again::Timeout));
        // A packet counts once, however often it was hit.
        let again: BTreeSet<u64> = again.map(|sent| sent.number).collect();
        let mended = sender.mended.iter().filter_map(|(_, number)| *number);
        let mended: BTreeSet<u64> = mended.filter(|number| !again.contains(number)).collect();
        let packets: BTreeSet<u64> = data().map(|sent| sent.number).collect();
        Self {
            packets: packets.len() as u64,
            hit: (mended.len() + again.len()) as u64,
            mended: mended.len() as u64,
            parity: data().map(|sent| sent.parity).sum(),
            sent: sender.sent.iter().map(|sent| sent.len).sum(),
        }
    }
}

impl Account {
    /// A sentence for each mechanism of the extension that acted.
    pub fn acted(&self) -> Vec<String> {
        let sides = self.log.sender.as_ref().or(self.log.receiver.as_ref());
        let Some(side) = sides else { return Vec::new() };
        if side.value("bundle") != Some(1) {
            // What streams may be compressed, too.
            return self.compressed(side).into_iter().collect();
        }
        let sentences =
            [Some(bundled(side)), self.corrected(), self.compressed(side), self.differed(side)];
        sentences.into_iter().flatten().collect()
    }

    /// Damaged characters according to the trace: the corrected ones, and one for each retransmitted packet.
    pub(super) fn wrong_characters(&self) -> u64 {
        let mended = self.log.sender.iter().flat_map(|side| &side.mended);
        let mended: u64 = mended.map(|(wrong, _)| wrong).sum();
        self.estimate.errors + mended
    }

    fn corrected(&self) -> Option<String> {
        let Some(sender) = &self.log.sender else {
            let mended = self.log.receiver.as_ref()?.mended.len();
            return (mended > 0)
                .then(|| format!("Error correction: {mended} packets came whole only by it."));
        };
        let Corrected { packets, hit, mended, parity, sent } = Corrected::of(sender);
        (parity > 0).then(|| {
            format!(
                "Error correction: {hit} of {packets} packets were hit; parity, {} of what was sent, \
                 mended {mended} of them without asking again.",
                percent(share(parity, sent))
            )
        })
    }

    fn compressed(&self, side: &Side) -> Option<String> {
        side.value("compress").filter(|on| *on == 1)?;
        let counts = side.counts?;
        if counts.unpacked == 0 {
            let tried = side.value("compressed-percent").is_some();
            return tried
                .then(|| "Compression: it was tried, and the file does not shrink.".to_owned());
        }
        let saved = counts.unpacked.saturating_sub(counts.packed);
        Some(format!(
            "Compression: {} bytes went as {}, {}{}.",
            counts.unpacked,
            counts.packed,
            percent(share(counts.packed, counts.unpacked)),
            self.saved(saved)
        ))
    }

    fn differed(&self, side: &Side) -> Option<String> {
        let counts = side.counts?;
        if counts.known == 0 {
            let blocks = side.value("blocks")?;
            return Some(format!(
                "Differences: of {blocks} blocks none is in the version that the receiver has."
            ));
        }
        Some(format!(
            "Differences: the receiver had {} of {} bytes already, in an older version{}.",
            counts.known,
            counts.known + counts.file,
            self.saved(counts.known)
        ))
    }

    /// The time that the bytes would have taken on the line.
    fn saved(&self, bytes: u64) -> String {
        let Some(millicps) = self.millicps.filter(|rate| *rate > 0) else { return String::new() };
        let tenths = u128::from(bytes) * 10_000 / u128::from(millicps);
        format!(", which saved {}.{} s of the line", tenths / 10, tenths % 10)
    }
}

fn bundled(side: &Side) -> String {
    match side.files.len() {
        0 | 1 => "Bundles: the file went in one window with its header and its end.".to_owned(),
        files => format!("Bundles: {files} files went in one window, without a wait between them."),
    }
}
