//! Answers the requests of engines that compress, by zstd: one service for every loop that turns them, here and in
//! the drivers.
//!
//! Memory is bounded at both ends: a window has at most 2^20 bytes, so that undoing a frame takes a little more than
//! 1 MB. A compressor takes 6 MB on a slow line, and 1 to 2 MB on others.

use wetstring_proto::file::{Reply, Request};

/// Whether there is a compressor in this program.
pub const IS_BUILT: bool = cfg!(feature = "compress");

/// Compresses and decompresses for one engine.
#[derive(Default)]
pub struct Compressor {
    #[cfg(feature = "compress")]
    frames: zstd::Frames,
}

impl std::fmt::Debug for Compressor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Compressor").finish_non_exhaustive()
    }
}

impl Compressor {
    /// One that has not begun a frame.
    pub fn new() -> Self {
        Self::default()
    }

    /// Answers a request that is about compression, and gives back any other, for the store.
    ///
    /// # Errors
    ///
    /// The request, if it is for the store.
    #[cfg(feature = "compress")]
    pub fn answer<'r>(&mut self, request: Request<'r>) -> Result<Reply<'static>, Request<'r>> {
        use wetstring_proto::file::StoreError;
        let made = match request {
            Request::Pack { bytes, into, begin, end, rate_bps } => {
                self.frames.pack(bytes, into, begin.then_some(rate_bps), end)
            }
            Request::Unpack { bytes, into, begin } => self.frames.unpack(bytes, into, begin),
            other => return Err(other),
        };
        Ok(made.unwrap_or(Reply::Failed(StoreError::Io)))
    }

    /// Gives every request back: there is no compressor.
    ///
    /// # Errors
    ///
    /// The request.
    #[cfg(not(feature = "compress"))]
    pub fn answer<'r>(&mut self, request: Request<'r>) -> Result<Reply<'static>, Request<'r>> {
        Err(request)
    }
}

#[cfg(feature = "compress")]
mod zstd {
    use wetstring_proto::file::Reply;
    use zstd_safe::zstd_sys::ZSTD_EndDirective;
    use zstd_safe::{CCtx, CParameter, DCtx, DParameter, InBuffer, OutBuffer, ResetDirective};

    /// The largest window, as a power of 2, that is made, and that is taken.
    const WINDOW_LOG: u32 = 20;
    /// Levels of zstd on lines of up to that many bits per second: with a tenth of a fast processor it is
    /// still faster than the line. The last one is for all that are faster.
    const LEVELS: [(u32, i32); 4] =
        [(250_000, 19), (1_000_000, 16), (20_000_000, 3), (u32::MAX, 1)];
    /// On a line whose rate is not known.
    const USUAL: i32 = 3;
    /// The sizes of tables, as powers of 2, from this level on: its own take 40 to 80 MB, and gain 2 % at most.
    const BOUNDED: (i32, u32, u32) = (16, 18, 19);

    /// The frames of one engine.
    #[derive(Default)]
    pub(super) struct Frames {
        packing: Option<CCtx<'static>>,
        unpacking: Option<DCtx<'static>>,
    }

    impl Frames {
        /// Compresses; a frame begins for a line of the rate `begin`.
        pub(super) fn pack(
            &mut self,
            bytes: &[u8],
            into: &mut [u8],
            begin: Option<u32>,
            end: bool,
        ) -> Option<Reply<'static>> {
            if let Some(rate_bps) = begin {
                begin_packing(self.packing.get_or_insert_with(CCtx::create), rate_bps)?;
            }
            let cx = self.packing.as_mut()?;
            let (mut from, mut to) = (InBuffer::around(bytes), OutBuffer::around(into));
            let how =
                if end { ZSTD_EndDirective::ZSTD_e_end } else { ZSTD_EndDirective::ZSTD_e_flush };
            let left = cx.compress_stream2(&mut to, &mut from, how).ok()?;
            // The room is more than zstd ever makes of that many bytes.
            (left == 0 && from.pos == bytes.len()).then(|| Reply::Packed(to.pos()))
        }

        pub(super) fn unpack(
            &mut self,
            bytes: &[u8],
            into: &mut [u8],
            begin: bool,
        ) -> Option<Reply<'static>> {
            if begin {
                let cx = self.unpacking.get_or_insert_with(DCtx::create);
                cx.reset(ResetDirective::SessionAndParameters).ok()?;
                cx.set_parameter(DParameter::WindowLogMax(WINDOW_LOG)).ok()?;
            }
            let cx = self.unpacking.as_mut()?;
            let (mut from, mut to) = (InBuffer::around(bytes), OutBuffer::around(into));
            let left = cx.decompress_stream(&mut to, &mut from).ok()?;
            Some(Reply::Unpacked { used: from.pos, made: to.pos(), over: left == 0 })
        }
    }

    fn begin_packing(cx: &mut CCtx<'_>, rate_bps: u32) -> Option<()> {
        cx.reset(ResetDirective::SessionAndParameters).ok()?;
        let level = LEVELS
            .iter()
            .find(|(most, _)| rate_bps > 0 && rate_bps <= *most)
            .map_or(USUAL, |(_, level)| *level);
        let mut set = |parameter| cx.set_parameter(parameter).ok().map(drop);
        set(CParameter::CompressionLevel(level))?;
        set(CParameter::ContentSizeFlag(false))?;
        let (bounded, hash, chain) = BOUNDED;
        if level < bounded {
            return set(CParameter::WindowLog(WINDOW_LOG - 1));
        }
        set(CParameter::WindowLog(WINDOW_LOG))?;
        set(CParameter::HashLog(hash))?;
        set(CParameter::ChainLog(chain))
    }
}

#[cfg(all(test, feature = "compress"))]
mod tests {
    use super::*;
    use crate::store::Content;
    use wetstring_proto::file::StoreError;

    fn pack(compressor: &mut Compressor, bytes: &[u8], begin: bool, end: bool) -> Vec<u8> {
        let mut into = vec![0; bytes.len() + bytes.len() / 128 + 128];
        let request = Request::Pack { bytes, into: &mut into, begin, end, rate_bps: 9600 };
        let Ok(Reply::Packed(made)) = compressor.answer(request) else { panic!("packed") };
        into.truncate(made);
        into
    }

    /// Undoes it byte by byte into little room; whether the frame was over.
    fn unpack(compressor: &mut Compressor, frame: &[u8]) -> Result<(Vec<u8>, bool), StoreError> {
        let (mut out, mut at, mut is_over, mut more) = (Vec::new(), 0, false, false);
        while at < frame.len() || more {
            let mut into = [0; 100];
            let bytes = &frame[at..(at + 1).min(frame.len())];
            let request = Request::Unpack { bytes, into: &mut into, begin: at == 0 && !more };
            match compressor.answer(request) {
                Ok(Reply::Unpacked { used, made, over }) => {
                    at += used;
                    out.extend_from_slice(&into[..made]);
                    is_over = over;
                    more = made == into.len() && !over;
                }
                Ok(Reply::Failed(error)) => return Err(error),
                other => panic!("{other:?}"),
            }
        }
        Ok((out, is_over))
    }

    #[test]
    fn what_is_packed_comes_back_at_every_flush() {
        let mut compressor = Compressor::new();
        let text = Content::Text(1).bytes(40_000);
        let mut frame = Vec::new();
        for (index, part) in text.chunks(9000).enumerate() {
            frame.extend(pack(&mut compressor, part, index == 0, false));
            let (out, is_over) = unpack(&mut compressor, &frame).unwrap();
            assert!(out == text[..(9000 * (index + 1)).min(text.len())] && !is_over);
        }
        frame.extend(pack(&mut compressor, &[], false, true));
        let (out, is_over) = unpack(&mut compressor, &frame).unwrap();
        assert!(out == text && is_over);
        // Another frame does not refer to the first.
        let other = pack(&mut compressor, b"something else", true, true);
        assert_eq!(unpack(&mut compressor, &other).unwrap(), (b"something else".to_vec(), true));
    }

    #[test]
    fn what_does_not_shrink_fits() {
        let mut compressor = Compressor::new();
        for (begin, len) in [(true, 1), (false, 16_384), (false, 0), (false, 16_384)] {
            pack(&mut compressor, &Content::Random(1).bytes(len), begin, false);
        }
    }

    #[test]
    fn garbage_and_large_windows_fail() {
        let mut compressor = Compressor::new();
        assert_eq!(unpack(&mut compressor, b"no frame at all"), Err(StoreError::Io));
        // Magic number, no length, no check; a window of 2^21 bytes, and then one of 2^20.
        let frame = |window: u8| [0x28, 0xb5, 0x2f, 0xfd, 0, window, 1, 0, 0];
        assert_eq!(unpack(&mut compressor, &frame(11 << 3)), Err(StoreError::Io));
        assert_eq!(unpack(&mut compressor, &frame(10 << 3)), Ok((Vec::new(), true)));
    }

    #[test]
    fn the_rest_is_for_the_store() {
        assert_eq!(Compressor::new().answer(Request::Next), Err(Request::Next));
    }
}
