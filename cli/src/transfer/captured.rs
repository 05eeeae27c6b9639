//! `wst line --pcap`: an element whose ends are recorded, and the file, which is written while the line runs.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use wetstring_drive::in_words;
use wetstring_lab::capture::{Capture, Medium, Tap};
use wetstring_lab::element::Element;

use crate::ui::ending::Ending;
use crate::ui::exit::Exit;

/// How long captured bytes are kept: until then serial bytes may still be joined to a packet.
const KEPT: Duration = Duration::from_millis(200);

/// A record of a line; nothing without a file.
pub(crate) struct Captured(Option<Writing>);

struct Writing {
    capture: Capture,
    file: File,
    /// Once the line is up.
    thread: RefCell<Option<Thread>>,
}

/// The thread that writes until the other half is dropped.
type Thread = (Sender<()>, JoinHandle<io::Result<()>>);

impl Captured {
    /// The file is created at once.
    pub(crate) fn new(path: Option<&Path>) -> Result<Self, Ending> {
        let Some(path) = path else { return Ok(Self(None)) };
        let file = File::create(path).map_err(|error| {
            let say =
                format!("could not create the capture {}: {}", path.display(), in_words(&error));
            Ending::early(Exit::Store, say)
        })?;
        Ok(Self(Some(Writing { capture: Capture::new(), file, thread: None.into() })))
    }

    /// The element, recorded from now on.
    pub(crate) fn element(&self, medium: Medium, element: Box<dyn Element>) -> Box<dyn Element> {
        let Some(writing) = &self.0 else { return element };
        let capture = writing.capture.clone();
        capture.set_medium(medium);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        capture.set_begun(u64::try_from(now.as_nanos()).unwrap_or(0));
        let (ends, ended) = channel::<()>();
        let kept = capture.clone();
        let file = writing.file.try_clone();
        let thread = std::thread::spawn(move || {
            let mut file = file?;
            file.write_all(&kept.header())?;
            loop {
                let over = ended.recv_timeout(KEPT) == Err(RecvTimeoutError::Disconnected);
                file.write_all(&kept.drain())?;
                if over {
                    return Ok(());
                }
            }
        });
        *writing.thread.borrow_mut() = Some((ends, thread));
        Box::new(Tap::new(element, capture))
    }

    /// Writes the rest; returns what went wrong.
    pub(crate) fn finish(self) -> Option<String> {
        let (ends, thread) = self.0?.thread.into_inner()?;
        drop(ends);
        match thread.join() {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(in_words(&error)),
            Err(_) => Some("its thread ended".to_owned()),
        }
    }
}
