//! Text in fixed memory.

use core::fmt;

/// A short text, truncated to fit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Text<const N: usize> {
    bytes: [u8; N],
    len: usize,
}

impl<const N: usize> Text<N> {
    pub(crate) const fn new() -> Self {
        Self { bytes: [0; N], len: 0 }
    }

    /// A text known when compiling.
    pub(crate) const fn literal(text: &[u8]) -> Self {
        let mut bytes = [0; N];
        bytes.split_at_mut(text.len()).0.copy_from_slice(text);
        Self { bytes, len: text.len() }
    }

    pub(crate) const fn as_bytes(&self) -> &[u8] {
        self.bytes.split_at(self.len).0
    }

    pub(crate) fn as_str(&self) -> &str {
        core::str::from_utf8(self.as_bytes()).unwrap_or("")
    }

    /// Replaces the text.
    pub(crate) fn set(&mut self, bytes: &[u8]) {
        self.len = 0;
        self.put(bytes);
    }

    /// Appends bytes.
    pub(crate) fn put(&mut self, bytes: &[u8]) {
        let take = bytes.len().min(N - self.len);
        self.bytes[self.len..self.len + take].copy_from_slice(&bytes[..take]);
        self.len += take;
    }

    /// The `Display` output of a value, truncated to fit.
    pub(crate) fn of(&mut self, what: &dyn fmt::Display) -> &str {
        self.len = 0;
        // Writing to a text cannot fail.
        let _ = fmt::Write::write_fmt(self, format_args!("{what}"));
        self.as_str()
    }

    /// Lets `fill` write into the whole text; it returns how many bytes it wrote.
    pub(crate) fn fill(&mut self, fill: impl FnOnce(&mut [u8]) -> usize) {
        self.len = fill(&mut self.bytes).min(N);
    }
}

impl<const N: usize> fmt::Write for Text<N> {
    fn write_str(&mut self, s: &str) -> fmt::Result {
        self.put(s.as_bytes());
        Ok(())
    }
}

/// Writes text into memory that is passed in.
#[derive(Debug)]
pub(crate) struct TextWriter<'a> {
    bytes: &'a mut [u8],
    len: usize,
}

impl<'a> TextWriter<'a> {
    /// Appends to the first `len` bytes.
    pub(crate) fn new(bytes: &'a mut [u8], len: usize) -> Self {
        Self { bytes, len }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Appends bytes. `None` if they do not fit.
    pub(crate) fn put(&mut self, bytes: &[u8]) -> Option<()> {
        let end = self.len + bytes.len();
        self.bytes.get_mut(self.len..end)?.copy_from_slice(bytes);
        self.len = end;
        Some(())
    }

    /// Appends a number with a radix of 8 to 16.
    pub(crate) fn number(&mut self, mut value: u64, radix: u64) -> Option<()> {
        let mut digits = [0u8; 22];
        let mut at = digits.len();
        loop {
            at -= 1;
            digits[at] = b"0123456789abcdef"[(value % radix) as usize];
            value /= radix;
            if value == 0 {
                return self.put(&digits[at..]);
            }
        }
    }
}
