//! The keyboard of a console: its events are read one by one, and made the bytes that a terminal would send.
//!
//! ```text
//! console --events--> [mode?] -- single keys --> keys::Keys --> bytes
//!                        +------ lines --------> line::Line --> echo; bytes at Return
//! ```
//!
//! The system could do both, but a read of a line that has begun ends only with Return, whatever the mode is by
//! then, and a read of single keys cannot be ended at all: it would take keys from the next reader. So events are
//! read only while this program waits for keys, and never before there is one.

mod keys;
mod line;

use super::mode::{ECHO, LINES, PROCESSED, SEQUENCES};
use super::stream::Stream;
use crossterm_winapi::{Console, Handle, HandleType, InputRecord, KeyEventRecord};
use keys::{Held, Key, Keys};
use line::{Line, Step};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use winapi_util::HandleRef;
use winapi_util::console::mode;

/// How often a console is asked for events. It cannot be waited for without reading.
const LOOK: Duration = Duration::from_millis(10);
/// A loop that waits again and again does not wait all the time.
const BETWEEN: Duration = Duration::from_millis(100);

/// Who waits for keys.
struct Wanted {
    waiting: usize,
    until: Option<Instant>,
}

static WANTED: Mutex<Wanted> = Mutex::new(Wanted { waiting: 0, until: None });
/// Ctrl-C was pressed: a line that has begun is given up.
static GIVEN_UP: AtomicBool = AtomicBool::new(false);

fn wanted() -> MutexGuard<'static, Wanted> {
    WANTED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Events are read while this lives, and a moment longer.
#[derive(Debug)]
pub(super) struct Waiting(());

impl Waiting {
    pub(super) fn new() -> Self {
        wanted().waiting += 1;
        Self(())
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let mut wanted = wanted();
        wanted.waiting -= 1;
        wanted.until = Some(Instant::now() + BETWEEN);
    }
}

/// From now on keys stay with the system, until they are waited for.
pub(super) fn let_go() {
    wanted().until = None;
}

/// Forgets the line that is being typed.
pub(super) fn give_up_line() {
    GIVEN_UP.store(true, Ordering::Relaxed);
}

/// Whom a new size is told.
static TOLD: Mutex<Option<Stream>> = Mutex::new(None);

/// New sizes ring this bell from now on.
pub(super) fn tell_sizes(bell: Stream) {
    *TOLD.lock().unwrap_or_else(PoisonError::into_inner) = Some(bell);
}

fn resized() {
    if let Some(bell) = &mut *TOLD.lock().unwrap_or_else(PoisonError::into_inner) {
        // A bell that is full rings.
        let _ = bell.write(&[0]);
    }
}

/// A console that is read.
pub(super) struct Keyboard {
    console: Console,
    screen: Console,
    keys: Keys,
    line: Line,
    ready: VecDeque<u8>,
}

impl Keyboard {
    pub(super) fn open() -> io::Result<Self> {
        // Wine looks at the terminal below its console only once it was asked to read, and it does that at once where
        // no bytes are asked for. There is no such path elsewhere.
        if Path::new(r"\\?\unix\dev").exists()
            && let Ok(mut console) = File::open("CONIN$")
        {
            let _ = console.read(&mut []);
        }
        let of = |kind| Handle::new(kind).map(Console::from);
        Ok(Self {
            console: of(HandleType::InputHandle)?,
            screen: of(HandleType::CurrentOutputHandle)?,
            keys: Keys::default(),
            line: Line::default(),
            ready: VecDeque::new(),
        })
    }

    /// Waits for at least one byte; 0 at the end, which is Ctrl-Z alone in a line.
    pub(super) fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.ready.is_empty() {
            for event in self.events()? {
                if self.event(event)? {
                    return Ok(0);
                }
            }
        }
        self.ready.read(into)
    }

    /// Waits for events, and for someone who wants them.
    fn events(&self) -> io::Result<Vec<InputRecord>> {
        loop {
            let wanted = wanted();
            if wanted.waiting > 0 || wanted.until.is_some_and(|until| Instant::now() < until) {
                let events = self.console.read_console_input()?;
                if !events.is_empty() {
                    return Ok(events);
                }
            }
            drop(wanted);
            std::thread::sleep(LOOK);
        }
    }

    /// Takes an event; true at the end of the input.
    fn event(&mut self, event: InputRecord) -> io::Result<bool> {
        let key = match event {
            InputRecord::KeyEvent(key) => key,
            InputRecord::WindowBufferSizeEvent(_) => {
                resized();
                return Ok(false);
            }
            _ => return Ok(false),
        };
        let now = mode(HandleRef::stdin())?;
        if GIVEN_UP.swap(false, Ordering::Relaxed) || now & LINES == 0 {
            self.line.clear();
        }
        let mut bytes = Vec::new();
        self.keys.pressed(key_of(&key), now & SEQUENCES != 0, &mut bytes);
        if now & LINES == 0 {
            self.ready.extend(bytes);
            return Ok(false);
        }
        let mut echo = String::new();
        let step = self.line.typed(&bytes, now & PROCESSED != 0, &mut echo);
        if now & ECHO != 0 && !echo.is_empty() {
            self.screen.write_char_buffer(echo.as_bytes())?;
        }
        match step {
            Step::Goes => Ok(false),
            Step::Line(line) => {
                self.ready.extend(line);
                Ok(false)
            }
            Step::End => Ok(true),
        }
    }
}

fn key_of(event: &KeyEventRecord) -> Key {
    let has = |bit| event.control_key_state.has_state(bit);
    Key {
        down: event.key_down,
        repeat: event.repeat_count,
        code: event.virtual_key_code,
        unit: event.u_char,
        held: Held {
            shift: has(0x10),
            left_alt: has(0x2),
            right_alt: has(0x1),
            left_ctrl: has(0x8),
            right_ctrl: has(0x4),
        },
    }
}
