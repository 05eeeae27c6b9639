//! The side of a probe that answers.

use std::time::{Duration, Instant};

use super::talk::Talk;
use super::wire::{FILLER, Item, Message, order};
use crate::ui::ending::Ending;

/// Silence that ends an unfinished message.
const SILENCE: Duration = Duration::from_millis(500);
/// Silence that ends a burst that lost something.
const BURST_SILENCE: Duration = Duration::from_secs(2);

/// Answers until the peer has enough.
pub(super) fn answer(talk: &mut Talk<'_>) -> Result<(), Ending> {
    let all = order();
    let mut heard = Instant::now();
    loop {
        match talk.parser.next() {
            Some(Message::Ping(n)) => talk.say(&Message::Pong(n))?,
            Some(Message::Items(items)) => talk.say(&Message::Answer(items))?,
            Some(Message::Down(from, to)) => {
                let from = usize::from(from);
                let asked = all.get(from..usize::from(to)).unwrap_or_default();
                let items = asked.iter().map(|byte| Item { byte: *byte, got: vec![*byte] });
                talk.say(&Message::DownItems(items.collect()))?;
            }
            Some(Message::Burst(len)) => burst(talk, len)?,
            Some(Message::Bye) => return talk.say(&Message::ByeBye),
            // Its own answers, echoed.
            Some(_) => {}
            None => {
                if talk.read(SILENCE)? > 0 {
                    heard = Instant::now();
                } else if heard.elapsed() >= SILENCE {
                    talk.parser.silence();
                }
            }
        }
    }
}

/// Counts the bytes of a burst.
fn burst(talk: &mut Talk<'_>, len: u32) -> Result<(), Ending> {
    let began = Instant::now();
    let (mut got, mut last) = (0, began);
    // The first bytes came with the request.
    let mut first: Option<Instant> = None;
    loop {
        let bytes = talk.parser.take();
        let fillers = bytes.iter().filter(|byte| **byte & 0x7F == FILLER).count() as u32;
        if fillers > 0 {
            last = Instant::now();
            got += fillers;
            first.get_or_insert(last);
        }
        if got >= len || last.elapsed() >= BURST_SILENCE {
            break;
        }
        talk.read(BURST_SILENCE.saturating_sub(last.elapsed()))?;
    }
    let micros = first.map_or(0, |first| last.duration_since(first).as_micros());
    let micros = u32::try_from(micros).unwrap_or(u32::MAX);
    talk.say(&Message::BurstDone { len: got, micros })
}
