//! The macros `settings!` and `choice!`.

/// A configuration, each setting in one row, with all that follows from it: the struct, `Default`,
/// [`Settings`](crate::settings::Settings) and a const `TABLE`.
///
/// ```text
/// "protocol.name" field: Type[what it takes] = default,
///     "What it does, in a sentence", "its source";          or: "its source", no_flag;
/// ```
///
/// After the source may stand methods of [`Setting`](crate::settings::Setting): `no_flag`; `keywords(&["file collision"])`,
/// words of SET in the Kermit command language, which has every setting by its name anyway; `spellings(&[("overwrite", "replace")])`,
/// that language's words for values.
///
/// | what it takes | type of the field | default |
/// |---|---|---|
/// | `[word]`, `[word "bytes"]` | a [`Choice`](crate::settings::Choice), as `bool` (on, off) or what `choice!` made | its word |
/// | `[1..=94]`, `[1..=94 "packets"]` | a number | the number |
/// | `[0..=8192 "bytes" if is_good]` | a number for which `is_good(u64)` holds | the number |
/// | `[32 \| 64 \| 128 "bytes"]` | one of these numbers | the number |
/// | `[1..=600 seconds]`, `[.. milliseconds]` | [`Span`](crate::time::Span) | the number |
/// | `[0..=1_000_000 bits_per_second]` | [`BitRate`](crate::time::BitRate) | the number |
/// | `[text Range::Text, VALUE]`, `[.., if is_good]` | an [`AsText`](crate::settings::AsText), and `Copy` for a check | `VALUE`, as text |
///
/// The sentence is the field's documentation; doc comments before a row are for programmers.
/// After the struct, `parts { field: Config }` takes in the settings of other such structs, before its
/// own, and `also { field: Type = value }` has what is not a setting.
#[macro_export]
macro_rules! settings {
    (
        $(#[$meta:meta])*
        $vis:vis struct $config:ident {
            $(
                $(#[$more:meta])*
                $name:literal $field:ident: $ty:ty [$($takes:tt)*] = $default:expr,
                    $doc:literal, $source:literal $(, $option:ident $(($($argument:tt)*))?)*;
            )*
        }
        $(parts { $($(#[$part_meta:meta])* $part:ident: $part_ty:ty),* $(,)? })?
        $(also { $($(#[$extra_meta:meta])* $extra:ident: $extra_ty:ty = $value:expr),* $(,)? })?
    ) => {
        $(#[$meta])*
        $vis struct $config {
            $($($(#[$part_meta])* $vis $part: $part_ty,)*)?
            $($($(#[$extra_meta])* $vis $extra: $extra_ty,)*)?
            $(
                #[doc = $doc]
                #[doc = ""]
                $(#[$more])*
                $vis $field: $ty,
            )*
        }

        impl $config {
            /// The rows of its settings, in the order in which they are shown.
            $vis const TABLE: &'static [$crate::settings::Setting] = {
                const TABLES: &[&[$crate::settings::Setting]] = &[
                    $($(<$part_ty>::TABLE,)*)?
                    &[$(
                        $crate::settings::Setting {
                            name: $name,
                            range: $crate::setting!(@range $ty, $($takes)*),
                            default: $crate::setting!(@text $default, $($takes)*),
                            unit: $crate::setting!(@unit $($takes)*),
                            doc: $doc,
                            source: $source,
                            has_flag: true,
                            keywords: &[],
                            spellings: &[],
                        } $(.$option($($($argument)*)?))*
                    ),*],
                ];
                &$crate::settings::join::<{ $crate::settings::count(TABLES) }>(TABLES)
            };
        }

        impl Default for $config {
            fn default() -> Self {
                Self {
                    $($($part: Default::default(),)*)?
                    $($($extra: $value,)*)?
                    $($field: $crate::setting!(@default $ty, $default, $($takes)*),)*
                }
            }
        }

        impl $crate::settings::Settings for $config {
            fn table() -> &'static [$crate::settings::Setting] {
                Self::TABLE
            }

            fn set(&mut self, name: &str, value: &str) -> Result<(), $crate::settings::BadSetting> {
                $($(
                    if $crate::settings::Setting::find(<$part_ty>::TABLE, name).is_some() {
                        return $crate::settings::Settings::set(&mut self.$part, name, value);
                    }
                )*)?
                let row = $crate::settings::Setting::find(Self::TABLE, name)
                    .ok_or($crate::settings::BadSetting::Unknown)?;
                // Each arm gives `None` for an invalid value.
                let done: Option<()> = match name {
                    $(
                        $name => $crate::setting!(@parse $ty, row, value, $($takes)*)
                            .map(|value| self.$field = value),
                    )*
                    _ => None,
                };
                done.ok_or($crate::settings::BadSetting::Value(row))
            }

            fn show(&self, name: &str, out: &mut dyn core::fmt::Write) -> core::fmt::Result {
                $($(
                    if $crate::settings::Setting::find(<$part_ty>::TABLE, name).is_some() {
                        return $crate::settings::Settings::show(&self.$part, name, out);
                    }
                )*)?
                match name {
                    $($name => $crate::setting!(@show self.$field, out, $($takes)*),)*
                    _ => Err(core::fmt::Error),
                }
            }
        }
    };
}

/// One row of [`settings!`]: its range, default, unit, and how its value is read and written.
#[doc(hidden)]
#[macro_export]
macro_rules! setting {
    (@range $ty:ty, word $($unit:literal)?) => {
        $crate::settings::Range::Word(<$ty as $crate::settings::Choice>::WORDS)
    };
    (@range $ty:ty, text $range:expr, $($rest:tt)*) => { $range };
    (@range $ty:ty, $low:tt ..= $high:tt $($rest:tt)*) => {
        $crate::settings::Range::Number($low, $high)
    };
    (@range $ty:ty, $($number:literal)|+ $($unit:literal)?) => {
        $crate::settings::Range::Word(&[$(stringify!($number)),+])
    };

    (@unit word $($unit:literal)?) => { concat!($($unit)?) };
    (@unit text $($rest:tt)*) => { "" };
    (@unit $low:tt ..= $high:tt bits_per_second) => { "bit/s" };
    (@unit $low:tt ..= $high:tt $unit:ident) => { stringify!($unit) };
    (@unit $low:tt ..= $high:tt $($unit:literal)? $(if $check:path)?) => { concat!($($unit)?) };
    (@unit $($number:literal)|+ $($unit:literal)?) => { concat!($($unit)?) };

    (@text $default:expr, word $($unit:literal)?) => { $default };
    (@text $default:expr, text $($rest:tt)*) => { $default };
    (@text $default:expr, $low:tt ..= $high:tt $($rest:tt)*) => {{
        const DIGITS: &$crate::settings::Digits =
            &$crate::settings::Digits::within($low, $default, $high);
        DIGITS.as_str()
    }};
    (@text $default:expr, $($number:literal)|+ $($unit:literal)?) => {
        $crate::settings::of_word(&[$((stringify!($number), stringify!($number))),+], stringify!($default))
    };

    (@default $ty:ty, $default:expr, word $($unit:literal)?) => {
        const { $crate::settings::of_word(<$ty as $crate::settings::Choice>::VALUES, $default) }
    };
    (@default $ty:ty, $default:expr, text $range:expr, $value:expr $(, if $check:path)?) => { $value };
    (@default $ty:ty, $default:expr, $low:tt ..= $high:tt seconds) => {
        $crate::time::Span::from_secs($default)
    };
    (@default $ty:ty, $default:expr, $low:tt ..= $high:tt milliseconds) => {
        $crate::time::Span::from_millis($default)
    };
    (@default $ty:ty, $default:expr, $low:tt ..= $high:tt bits_per_second) => {
        $crate::time::BitRate::from_bps($default)
    };
    (@default $ty:ty, $default:expr, $($rest:tt)*) => { $default };

    (@parse $ty:ty, $row:expr, $text:expr, word $($unit:literal)?) => {
        <$ty as $crate::settings::Choice>::named($text)
    };
    (@parse $ty:ty, $row:expr, $text:expr, text $range:expr, $value:expr $(, if $check:path)?) => {
        <$ty as $crate::settings::AsText>::parse($text)$(.filter(|value| $check(*value)))?
    };
    (@parse $ty:ty, $row:expr, $text:expr, $low:tt ..= $high:tt seconds) => {
        $crate::settings::number($row, $text).map($crate::time::Span::from_secs)
    };
    (@parse $ty:ty, $row:expr, $text:expr, $low:tt ..= $high:tt milliseconds) => {
        $crate::settings::number($row, $text).map($crate::time::Span::from_millis)
    };
    (@parse $ty:ty, $row:expr, $text:expr, $low:tt ..= $high:tt bits_per_second) => {
        $crate::settings::number($row, $text).map($crate::time::BitRate::from_bps)
    };
    (@parse $ty:ty, $row:expr, $text:expr, $low:tt ..= $high:tt $($unit:literal)? $(if $check:path)?) => {
        $crate::settings::number($row, $text)$(.filter(|value| $check(*value)))?
            .and_then(|number| <$ty>::try_from(number).ok())
    };
    (@parse $ty:ty, $row:expr, $text:expr, $($number:literal)|+ $($unit:literal)?) => {
        $crate::settings::number($row, $text).and_then(|number| <$ty>::try_from(number).ok())
    };

    (@show $field:expr, $out:expr, word $($unit:literal)?) => {
        $out.write_str($crate::settings::Choice::word($field))
    };
    (@show $field:expr, $out:expr, text $($rest:tt)*) => {
        $crate::settings::AsText::show(&$field, $out)
    };
    (@show $field:expr, $out:expr, $low:tt ..= $high:tt seconds) => {
        write!($out, "{}", $field.get().as_secs())
    };
    (@show $field:expr, $out:expr, $low:tt ..= $high:tt milliseconds) => {
        write!($out, "{}", $field.get().as_millis())
    };
    (@show $field:expr, $out:expr, $low:tt ..= $high:tt bits_per_second) => {
        write!($out, "{}", $field.bps())
    };
    (@show $field:expr, $out:expr, $($rest:tt)*) => { write!($out, "{}", $field) };
}

/// An enumeration whose values have words; or the words of a type defined elsewhere, some of
/// whose values may have none: `choice! { for Type: "word" => VALUE }`.
///
/// From the words come how it is parsed, how it is shown, and the list of them in messages
/// ([`Choice`](crate::settings::Choice)).
#[macro_export]
macro_rules! choice {
    (for $ty:ty: $($word:literal => $value:expr),* $(,)?) => {
        impl $crate::settings::Choice for $ty {
            const WORDS: &'static [&'static str] = &[$($word),*];
            const VALUES: &'static [(&'static str, Self)] = &[$(($word, $value)),*];
        }
    };
    (
        $(#[$meta:meta])*
        $vis:vis enum $name:ident { $($(#[$value_meta:meta])* $value:ident = $word:literal),* $(,)? }
    ) => {
        $(#[$meta])*
        $vis enum $name { $($(#[$value_meta])* $value),* }
        $crate::choice! { for $name: $($word => $name::$value),* }
    };
}
