//! The keyboard of a console: its events are read one by one, and made the bytes that a terminal would send.
//!
//! ```text
//! console --events--> keys::Keys --> input::Input [mode?] -- single keys --> bytes
//!                                                    +------ line::Line --> echo; bytes at Return
//! ```
//!
//! The system could do both, but a read of a line that has begun ends only with Return, whatever the mode is by
//! then, and a read of single keys cannot be ended at all: it would take keys from the next reader. So events are
//! read only while this program waits for keys ([`wanted`]), never before there is one, and none after a line.

mod input;
mod keys;
mod line;
mod wanted;

use super::mode::ECHO;
use super::stream::Stream;
use crossterm_winapi::{Console, Handle, HandleType, InputRecord, KeyEventRecord};
use input::Input;
use keys::{Held, Key};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use wanted::Wanted;
use winapi_util::HandleRef;
use winapi_util::console::mode;

/// How often a console is asked for events. It cannot be waited for without reading.
const LOOK: Duration = Duration::from_millis(10);

static WANTED: Wanted = Wanted::new();
/// Ctrl-C was pressed: a line that has begun is given up.
static GIVEN_UP: AtomicBool = AtomicBool::new(false);

/// Events are read while this lives, and a moment longer.
#[derive(Debug)]
pub(super) struct Waiting(());

impl Waiting {
    pub(super) fn new() -> Self {
        WANTED.begin();
        Self(())
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        WANTED.end();
    }
}

/// From now on keys stay with the system, until they are waited for.
pub(super) fn let_go() {
    WANTED.let_go();
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
    /// Events that were read, and not looked at yet.
    events: VecDeque<InputRecord>,
    input: Input,
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
            events: VecDeque::new(),
            input: Input::default(),
        })
    }

    /// Waits for at least one byte; 0 at the end, which is Ctrl-Z alone in a line. A console goes on after that.
    pub(super) fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        WANTED.satisfied();
        while !self.input.has_some() {
            if self.events.is_empty() {
                self.events = self.wait_for_events()?;
            }
            while !self.input.is_at_end()
                && let Some(event) = self.events.pop_front()
            {
                self.event(&event)?;
            }
        }
        self.input.read(into)
    }

    /// Waits for events, and for someone who wants them. What follows a line, or a key that is no peer's, stays with
    /// the system, for it may be another reader's.
    fn wait_for_events(&self) -> io::Result<VecDeque<InputRecord>> {
        loop {
            let reading = WANTED.asked_for();
            if self.console.number_of_console_input_events()? > 0 {
                if input::is_raw(mode(HandleRef::stdin())?) {
                    return Ok(self.console.read_console_input()?.into());
                }
                return Ok([self.console.read_single_input_event()?].into());
            }
            drop(reading);
            std::thread::sleep(LOOK);
        }
    }

    /// Takes an event.
    fn event(&mut self, event: &InputRecord) -> io::Result<()> {
        let key = match event {
            InputRecord::KeyEvent(key) => key_of(key),
            InputRecord::WindowBufferSizeEvent(_) => {
                resized();
                return Ok(());
            }
            _ => return Ok(()),
        };
        if GIVEN_UP.swap(false, Ordering::Relaxed) {
            self.input.clear_line();
        }
        let (mode, mut echo) = (mode(HandleRef::stdin())?, String::new());
        self.input.typed(key, mode, &mut echo);
        if mode & ECHO != 0 && !echo.is_empty() {
            self.screen.write_char_buffer(echo.as_bytes())?;
        }
        Ok(())
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
