//! The initial connection protocol (RFC 165): how two processes get a connection in each direction.
//!
//! ```text
//! user                              server, which listens on socket L
//! RTS U, L, link       ->
//!                      <-           STR L, U, 32 bits
//! ALL 1 message, 32 bits ->
//!                      <-           S, one byte of 32 bits; CLS both ways
//! RTS U+2, S+1; STR U+3, S  <->     RTS S, U+3; STR S+1, U+2
//! ```

pub(crate) mod states;

use super::leader::Address;
use super::ncp::{Full, Host, Id, State, Trouble, Wanted};
use crate::engine::Cx;
use crate::session;
use states::{Input, Stage};

/// Socket of a server for file transfer.
pub const FTP: u32 = 3;
/// Socket of a server for terminals.
pub const TELNET: u32 = 1;
/// Sockets that a process has, from the one of its initial connection on.
pub const SOCKETS: u32 = 8;

/// A connection in each direction, of bytes of 8 bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pair {
    /// What comes.
    pub from: Id,
    /// What goes.
    pub to: Id,
    /// The peer's host.
    pub with: Address,
    /// Our socket: the user's U, the server's S.
    pub ours: u32,
    /// The other's.
    pub theirs: u32,
}

/// Why there is no connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Failed {
    /// One of the connections failed.
    Connection(Trouble),
    /// The server's socket number is odd.
    Socket(u32),
    /// There is no place for a connection.
    Full,
}

impl From<Full> for Failed {
    fn from(_: Full) -> Self {
        Self::Full
    }
}

/// One end of an initial connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Icp {
    stage: Stage,
    /// The connection of the socket number.
    number: Id,
    /// The two connections, from when they are asked for.
    pair: Option<Pair>,
    with: Address,
    ours: u32,
    /// The server's end.
    serves: bool,
    theirs: u32,
}

impl Icp {
    /// Calls a server's socket, as a process with the sockets from `ours` on, which is even.
    pub fn call(
        host: &mut Host<'_>,
        cx: &mut Cx<'_>,
        with: Address,
        socket: u32,
        ours: u32,
    ) -> Result<Self, Failed> {
        // The server's requests may be here before its socket number.
        host.listen(ours + 2, ours + SOCKETS - 1)?;
        let number = host.open(cx, with, Wanted::new(ours, socket).once(1, 32))?;
        let (stage, pair) = (Stage::Number, None);
        Ok(Self { stage, number, pair, with, ours, serves: false, theirs: socket })
    }

    /// Answers the oldest call that waits at a socket, if one does, with the sockets from `ours` on, which is even.
    pub fn answer(
        host: &mut Host<'_>,
        cx: &mut Cx<'_>,
        socket: u32,
        ours: u32,
    ) -> Option<Result<Self, Failed>> {
        let rfc = host.waiting(socket)?;
        Some(Self::answer_to(host, cx, rfc.from, (socket, rfc.foreign), ours))
    }

    fn answer_to(
        host: &mut Host<'_>,
        cx: &mut Cx<'_>,
        with: Address,
        (socket, theirs): (u32, u32),
        ours: u32,
    ) -> Result<Self, Failed> {
        let number = host.open(cx, with, Wanted::new(socket, theirs).size(32))?;
        host.write(number, &ours.to_be_bytes(), 32);
        host.close(number);
        // The peer knows where to ask as soon as it has the number, which may be before we know that.
        host.listen(ours, ours + SOCKETS - 1)?;
        let (stage, pair) = (Stage::Number, None);
        Ok(Self { stage, number, pair, with, ours, serves: true, theirs })
    }

    /// Continues as far as it can: the pair once it is open.
    pub fn turn(&mut self, host: &mut Host<'_>, cx: &mut Cx<'_>) -> Result<Option<Pair>, Failed> {
        let turned = self.advance(host, cx);
        if turned.is_err() {
            session::enter(cx, &mut self.stage, Input::Broken);
        }
        turned
    }

    /// Takes an edge of the table. One that is not there is a fault of ours, and ends it.
    fn enter(&mut self, cx: &mut Cx<'_>, input: Input) -> Result<(), Failed> {
        let has_edge = session::enter(cx, &mut self.stage, input);
        if has_edge { Ok(()) } else { Err(Failed::Connection(Trouble::Aborted)) }
    }

    fn advance(&mut self, host: &mut Host<'_>, cx: &mut Cx<'_>) -> Result<Option<Pair>, Failed> {
        if self.stage == Stage::Number {
            let Some(number) = self.socket(host)? else { return Ok(None) };
            host.release(self.number);
            if !number.is_multiple_of(2) {
                return Err(Failed::Socket(number));
            }
            let (ours, theirs) = (self.ours, self.theirs);
            let (from, to) = if self.serves {
                let (sends, receives) = (theirs.wrapping_add(3), theirs.wrapping_add(2));
                (Wanted::new(ours, sends), Wanted::new(ours + 1, receives))
            } else {
                let theirs = number;
                self.theirs = theirs;
                (Wanted::new(ours + 2, theirs.wrapping_add(1)), Wanted::new(ours + 3, theirs))
            };
            let from = host.open(cx, self.with, from)?;
            let to = host.open(cx, self.with, to.size(8)).inspect_err(|_| host.release(from))?;
            let Self { with, ours, theirs, .. } = *self;
            self.pair = Some(Pair { from, to, with, ours, theirs });
            self.enter(cx, Input::Numbered)?;
        }
        match (self.stage, self.pair) {
            (Stage::Both, Some(pair)) if are_open(host, pair)? => {
                self.enter(cx, Input::Paired)?;
                Ok(Some(pair))
            }
            (Stage::Number | Stage::Both, _) => Ok(None),
            (Stage::Done, pair) => Ok(pair),
            (Stage::Failed, _) => Err(Failed::Connection(Trouble::Aborted)),
        }
    }

    /// The server's socket number, once it has been said or heard.
    fn socket(&self, host: &mut Host<'_>) -> Result<Option<u32>, Failed> {
        let id = self.number;
        if let State::Failed(trouble) = host.state(id) {
            host.release(id);
            return Err(Failed::Connection(trouble));
        }
        if self.serves {
            return Ok((host.state(id) == State::Ended).then_some(self.ours));
        }
        let mut number = [0; 4];
        if host.peek(id, &mut number) < 32 {
            return Ok(None);
        }
        host.consume(id, 32);
        Ok(Some(u32::from_be_bytes(number)))
    }

    /// Gives up.
    pub fn abort(&self, host: &mut Host<'_>) {
        match (self.stage, self.pair) {
            (Stage::Number, _) => host.release(self.number),
            (Stage::Both | Stage::Done, Some(pair)) => {
                host.release(pair.from);
                host.release(pair.to);
            }
            _ => {}
        }
    }
}

/// Whether both connections are open. If one failed, both are released.
fn are_open(host: &mut Host<'_>, pair: Pair) -> Result<bool, Failed> {
    let mut open = true;
    for id in [pair.from, pair.to] {
        match host.state(id) {
            State::Failed(trouble) => {
                host.release(pair.from);
                host.release(pair.to);
                return Err(Failed::Connection(trouble));
            }
            State::Opening => open = false,
            State::Open | State::Ended => {}
        }
    }
    Ok(open)
}
