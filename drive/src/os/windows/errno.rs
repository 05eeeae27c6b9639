//! Errors by the names of POSIX, with the numbers of Windows.

use std::fmt;
use std::io;

/// An error of the system. Numbers that mean the same have become one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Errno(i32);

impl Errno {
    /// `ERROR_FILE_NOT_FOUND`
    pub(crate) const NOENT: Self = Self(2);
    /// `ERROR_ACCESS_DENIED`
    pub(crate) const ACCESS: Self = Self(5);
    /// `ERROR_NOT_SAME_DEVICE`
    pub(crate) const XDEV: Self = Self(17);
    /// `ERROR_WRITE_PROTECT`
    pub(crate) const ROFS: Self = Self(19);
    /// `ERROR_SHARING_VIOLATION`: another program has the file open.
    pub(crate) const WOULDBLOCK: Self = Self(32);
    /// `ERROR_NOT_SUPPORTED`
    pub(crate) const OPNOTSUPP: Self = Self(50);
    /// `ERROR_DEV_NOT_EXIST`
    pub(crate) const NXIO: Self = Self(55);
    /// `ERROR_INVALID_PARAMETER`
    pub(crate) const INVAL: Self = Self(87);
    /// `ERROR_DISK_FULL`
    pub(crate) const NOSPC: Self = Self(112);
    /// `ERROR_CALL_NOT_IMPLEMENTED`
    pub(crate) const NOSYS: Self = Self(120);
    /// `ERROR_DIR_NOT_EMPTY`
    pub(crate) const NOTEMPTY: Self = Self(145);
    /// `ERROR_ALREADY_EXISTS`
    pub(crate) const EXIST: Self = Self(183);
    /// `ERROR_FILENAME_EXCED_RANGE`
    pub(crate) const NAMETOOLONG: Self = Self(206);
    /// `ERROR_FILE_TOO_LARGE`
    pub(crate) const FBIG: Self = Self(223);
    /// `ERROR_MORE_DATA`
    pub(crate) const RANGE: Self = Self(234);
    /// `ERROR_DIRECTORY`: a directory was expected.
    pub(crate) const NOTDIR: Self = Self(267);
    /// `ERROR_DIRECTORY_NOT_SUPPORTED`
    pub(crate) const ISDIR: Self = Self(336);
    /// `ERROR_DISK_QUOTA_EXCEEDED`
    pub(crate) const DQUOT: Self = Self(1295);
    /// `ERROR_PRIVILEGE_NOT_HELD`
    pub(crate) const PERM: Self = Self(1314);
    /// `ERROR_CANT_RESOLVE_FILENAME`: a link or junction where none is followed.
    pub(crate) const LOOP: Self = Self(1921);
    /// `WSAEINTR`
    pub(crate) const INTR: Self = Self(10004);
    /// `WSAEWOULDBLOCK`
    pub(crate) const AGAIN: Self = Self(10035);

    pub(crate) const fn raw_os_error(self) -> i32 {
        self.0
    }

    /// Numbers of one meaning become one.
    pub(crate) const fn from_raw_os_error(number: i32) -> Self {
        match number {
            // ERROR_PATH_NOT_FOUND, ERROR_INVALID_DRIVE, ERROR_BAD_NETPATH, ERROR_BAD_NET_NAME
            3 | 15 | 53 | 67 => Self::NOENT,
            // ERROR_LOCK_VIOLATION
            33 => Self::WOULDBLOCK,
            // ERROR_HANDLE_DISK_FULL
            39 => Self::NOSPC,
            // ERROR_FILE_EXISTS
            80 => Self::EXIST,
            // ERROR_INVALID_NAME
            123 => Self::INVAL,
            number => Self(number),
        }
    }

    pub(crate) fn of(error: &io::Error) -> Self {
        match error.raw_os_error() {
            Some(number) => Self::from_raw_os_error(number),
            None if error.kind() == io::ErrorKind::AlreadyExists => Self::EXIST,
            None if error.kind() == io::ErrorKind::NotFound => Self::NOENT,
            None => Self::INVAL,
        }
    }
}

impl From<Errno> for io::Error {
    fn from(error: Errno) -> Self {
        Self::from_raw_os_error(error.0)
    }
}

impl From<io::Error> for Errno {
    fn from(error: io::Error) -> Self {
        Self::of(&error)
    }
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        io::Error::from(*self).fmt(f)
    }
}
