//! What is known of another host, and what is to be said to it on link 0.

use super::states::{Life, LifeInput};
use crate::arpanet::control::CONTROL;
use crate::arpanet::leader::{Address, Dead};
use crate::engine::Cx;
use crate::session;
use crate::time::Instant;

/// The control message that waits for its RFNM.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum ControlState {
    /// There is none.
    #[default]
    Free,
    /// The interface has it, or will.
    Made,
    /// It left; until when a RFNM must come.
    Flying(Instant),
    /// It was not delivered, and goes again then.
    Again(Instant),
}

/// What became of an echo.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Echo {
    /// It has not come back yet.
    Waiting,
    /// It came back after this many nanoseconds, with this data.
    Back {
        /// What was in the reply.
        data: u8,
        /// From when it left to when it was back, in nanoseconds.
        ns: u64,
    },
    /// The destination is dead.
    Dead(Dead),
    /// Nothing came for as long as the configuration says.
    Silence,
}

/// Another host.
#[derive(Clone, Copy, Debug)]
pub(super) struct Peer {
    pub(super) used: bool,
    pub(super) address: Address,
    pub(super) life: Life,
    /// When something was last heard of it or said to it.
    pub(super) last: Instant,
    /// Messages that wait for their RFNMs.
    pub(super) flying: u8,
    pub(super) control: ControlState,
    pub(super) tries: u8,
    pub(super) text: [u8; CONTROL],
    pub(super) text_len: usize,
    pub(super) owes_rst: bool,
    pub(super) owes_rrp: bool,
    pub(super) owes_eco: Option<u8>,
    pub(super) owes_erp: Option<u8>,
    pub(super) owes_err: Option<(u8, [u8; 10])>,
    /// Until when the RRP must come.
    pub(super) reset_until: Option<Instant>,
    /// When the echo left, and until when it must come.
    pub(super) echo_left: Option<Instant>,
    pub(super) echo_until: Option<Instant>,
    pub(super) echo: Option<Echo>,
    /// What it last complained of.
    pub(super) complaint: Option<(u8, [u8; 10])>,
}

impl Peer {
    pub(super) const NONE: Self = Self {
        used: false,
        address: Address { host: 0, imp: 0 },
        life: Life::Unknown,
        last: Instant::ZERO,
        flying: 0,
        control: ControlState::Free,
        tries: 0,
        text: [0; CONTROL],
        text_len: 0,
        owes_rst: false,
        owes_rrp: false,
        owes_eco: None,
        owes_erp: None,
        owes_err: None,
        reset_until: None,
        echo_left: None,
        echo_until: None,
        echo: None,
        complaint: None,
    };

    /// Takes an edge of the table. One that is not there is a fault of ours, and leaves what is known as it is.
    pub(super) fn enter(&mut self, cx: &mut Cx<'_>, input: LifeInput) {
        session::enter(cx, &mut self.life, input);
    }

    /// Whether something of its own waits to be said or heard.
    pub(super) fn is_busy(&self) -> bool {
        self.control != ControlState::Free
            || self.flying > 0
            || self.owes_rst
            || self.owes_rrp
            || self.owes_eco.is_some()
            || self.owes_erp.is_some()
            || self.owes_err.is_some()
            || self.reset_until.is_some()
            || self.echo.is_some()
    }
}
