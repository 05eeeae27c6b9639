//! The files of the page.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use wetstring_drive::in_words;

/// Paths, files and types. Nothing else is served, whatever is in the directory.
const FILES: [(&str, &str, &str); 9] = [
    ("/", "index.html", "text/html; charset=utf-8"),
    ("/page.js", "page.js", "text/javascript; charset=utf-8"),
    ("/page.css", "page.css", "text/css; charset=utf-8"),
    ("/wetstring.wasm", "wetstring.wasm", "application/wasm"),
    ("/kermit.wasm", "kermit.wasm", "application/wasm"),
    ("/device.wasm", "device.wasm", "application/wasm"),
    ("/lab.js", "lab.js", "text/javascript; charset=utf-8"),
    ("/lab-worker.js", "lab-worker.js", "text/javascript; charset=utf-8"),
    ("/lab.wasm", "lab.wasm", "application/wasm"),
];

/// Where they are.
pub(super) enum Pages {
    /// In this directory.
    Directory(PathBuf),
    /// In the program.
    #[cfg(feature = "web")]
    Embedded,
}

/// The files, in the order of [`FILES`].
#[cfg(feature = "web")]
const EMBEDDED: [&[u8]; 9] = [
    include_bytes!("../../../../web/dist/page/index.html"),
    include_bytes!("../../../../web/dist/page/page.js"),
    include_bytes!("../../../../web/dist/page/page.css"),
    include_bytes!("../../../../web/dist/page/wetstring.wasm"),
    include_bytes!("../../../../web/dist/page/kermit.wasm"),
    include_bytes!("../../../../web/dist/page/device.wasm"),
    include_bytes!("../../../../web/dist/page/lab.js"),
    include_bytes!("../../../../web/dist/page/lab-worker.js"),
    include_bytes!("../../../../web/dist/page/lab.wasm"),
];

impl Pages {
    /// Those in the directory, or those of the program.
    pub(super) fn of(directory: Option<&Path>) -> Result<Self, String> {
        let Some(directory) = directory else {
            #[cfg(feature = "web")]
            return Ok(Self::Embedded);
            #[cfg(not(feature = "web"))]
            return Err(
                "expected --pages DIR: this program was built without its page (feature web)"
                    .to_owned(),
            );
        };
        for (_, name, _) in FILES {
            let path = directory.join(name);
            std::fs::metadata(&path).map_err(|error| {
                format!(
                    "expected the page in --pages, got {}: {}",
                    path.display(),
                    in_words(&error)
                )
            })?;
        }
        Ok(Self::Directory(directory.to_owned()))
    }

    /// The file of a path, and its type.
    pub(super) fn get(&self, path: &str) -> Option<(Cow<'static, [u8]>, &'static str)> {
        let index = FILES.iter().position(|(known, ..)| *known == path)?;
        let (_, name, kind) = FILES[index];
        let bytes = match self {
            Self::Directory(directory) => Cow::Owned(std::fs::read(directory.join(name)).ok()?),
            #[cfg(feature = "web")]
            Self::Embedded => Cow::Borrowed(EMBEDDED[index]),
        };
        Some((bytes, kind))
    }
}
