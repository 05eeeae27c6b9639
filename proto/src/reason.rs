//! Why a codec rejects its input: an enum for each codec, with the text of each variant.

/// Declares such an enum: variants with their text, `as_str` for traces, and `Display`.
macro_rules! reasons {
    (
        $(#[$about:meta])*
        $vis:vis enum $Name:ident { $( $(#[$meaning:meta])* $variant:ident = $words:literal, )+ }
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[non_exhaustive]
        $vis enum $Name { $( $(#[$meaning])* $variant, )+ }

        impl $Name {
            /// The reason as text, as in traces.
            $vis const fn as_str(self) -> &'static str {
                match self { $( Self::$variant => $words, )+ }
            }
        }

        impl core::fmt::Display for $Name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl core::error::Error for $Name {}
    };
}
pub(crate) use reasons;
