//! Why a function has no value.

/// An error of a function. A script sees it by its name in C-Kermit, as in `<ERROR:BAD_DATE:\fcvtdate()>`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FunctionError {
    ArgBadFormat,
    ArgBadHex,
    ArgNotArray,
    ArgNotFloat,
    ArgNotNumeric,
    ArgOutOfRange,
    BadDate,
    BadDeltaTime,
    BadTime,
    CommandFailed,
    DivideByZero,
    FileError,
    FileNotFound,
    FileNotOpen,
    FileNotReadable,
    FloatingPointOverflow,
    MissingArg,
    NameTooLong,
    NoSuchFunction,
    /// The value would be longer than the limit of all values, which ends the command.
    TooLong,
    TooManyFiles,
}

impl FunctionError {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::ArgBadFormat => "ARG_BAD_FORMAT",
            Self::ArgBadHex => "ARG_BAD_HEX",
            Self::ArgNotArray => "ARG_NOT_ARRAY",
            Self::ArgNotFloat => "ARG_NOT_FLOAT",
            Self::ArgNotNumeric => "ARG_NOT_NUMERIC",
            Self::ArgOutOfRange => "ARG_OUT_OF_RANGE",
            Self::BadDate => "BAD_DATE",
            Self::BadDeltaTime => "BAD_DELTA_TIME",
            Self::BadTime => "BAD_TIME",
            Self::CommandFailed => "COMMAND_FAILED",
            Self::DivideByZero => "DIVIDE_BY_ZERO",
            Self::FileError => "FILE_ERROR",
            Self::FileNotFound => "FILE_NOT_FOUND",
            Self::FileNotOpen => "FILE_NOT_OPEN",
            Self::FileNotReadable => "FILE_NOT_READABLE",
            Self::FloatingPointOverflow => "FLOATING_POINT_OVERFLOW",
            Self::MissingArg => "MISSING_ARG",
            Self::NameTooLong => "NAME_TOO_LONG",
            Self::NoSuchFunction => "NO_SUCH_FUNCTION",
            Self::TooLong => "TOO_LONG",
            Self::TooManyFiles => "TOO_MANY_FILES",
        }
    }
}
