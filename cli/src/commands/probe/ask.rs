//! The side of a probe that asks.

use std::time::{Duration, Instant};

use super::findings::{Burst, Fates, Findings};
use super::talk::Talk;
use super::wire::{FILLER, Item, Message, order};
use crate::ui::ending::Ending;
use crate::ui::exit::Exit;

/// Tried bytes in one message.
const GROUP: usize = 8;
/// Pings until there is an answer, and then to find the shortest round trip.
const CALLS: u8 = 8;
const PINGS: u8 = 5;
/// The wait for the first answer.
const FIRST: Duration = Duration::from_secs(3);
/// The least wait for an answer.
const LEAST: Duration = Duration::from_secs(1);
/// How often a message is tried.
const TRIES: usize = 3;
/// Lengths of bursts.
const BURSTS: [u32; 6] = [16, 64, 256, 1024, 4096, 16384];
/// The longest burst in time.
const LONGEST: Duration = Duration::from_secs(8);

/// Probes the line.
pub(super) fn probe(talk: &mut Talk<'_>) -> Result<Findings, Ending> {
    let mut found = Findings { rtt: round_trip(talk)?, ..Findings::default() };
    let wait = LEAST.max(found.rtt * 10);
    let up = tried(|items: &[usize]| {
        let all = order();
        let items = items.iter().map(|at| Item { byte: all[*at], got: vec![all[*at]] });
        answer(talk, &Message::Items(items.collect()), wait)
    })?;
    let down = tried(|items: &[usize]| {
        let (from, to) = (items[0] as u8, (items[items.len() - 1] + 1) as u16);
        answer(talk, &Message::Down(from, to), wait)
    })?;
    found.ways = [up, down];
    found.bursts = bursts(talk, wait)?;
    found.echo = talk.echo;
    talk.say(&Message::Bye)?;
    talk.hear(wait)?;
    Ok(found)
}

/// The shortest round trip of a ping.
fn round_trip(talk: &mut Talk<'_>) -> Result<Duration, Ending> {
    let mut best: Option<Duration> = None;
    for n in 0..CALLS + PINGS {
        let answered = usize::from(best.is_some());
        if best.is_none() && n >= CALLS {
            break;
        }
        let began = Instant::now();
        talk.say(&Message::Ping(n))?;
        let wait = if answered == 1 { LEAST } else { FIRST };
        while let Some(message) = talk.hear(wait.saturating_sub(began.elapsed()))? {
            if message == Message::Pong(n) {
                best = Some(best.map_or(began.elapsed(), |best| best.min(began.elapsed())));
                break;
            }
        }
    }
    best.ok_or_else(|| {
        let came = if talk.echo { "no answer, only an echo" } else { "no answer" };
        let say =
            format!("{came}: is wst probe --answer running at the peer, with the same speed?");
        Ending::early(Exit::Timeout, say)
    })
}

/// The answer to a message about tried bytes; `None` if there is none.
fn answer(
    talk: &mut Talk<'_>,
    message: &Message,
    wait: Duration,
) -> Result<Option<Vec<Item>>, Ending> {
    let began = Instant::now();
    talk.say(message)?;
    while let Some(heard) = talk.hear(wait.saturating_sub(began.elapsed()))? {
        match (message, heard) {
            (Message::Items(_), Message::Answer(items))
            | (Message::Down(..), Message::DownItems(items)) => return Ok(Some(items)),
            _ => {}
        }
    }
    Ok(None)
}

/// The fate of every byte. A group that gets no answer has a byte that takes others with it: then each is tried
/// alone.
fn tried(
    mut ask: impl FnMut(&[usize]) -> Result<Option<Vec<Item>>, Ending>,
) -> Result<Fates, Ending> {
    let all = order();
    let mut fates: Fates = vec![None; 256];
    let places: Vec<usize> = (0..all.len()).collect();
    for group in places.chunks(GROUP) {
        if note(&mut fates, ask(group)?, group.iter().map(|at| all[*at])) {
            continue;
        }
        for at in group {
            for _ in 0..TRIES {
                if note(&mut fates, ask(&[*at])?, std::iter::once(all[*at])) {
                    break;
                }
            }
        }
    }
    Ok(fates)
}

/// Notes an answer; false if it is none to these bytes.
fn note(fates: &mut Fates, answer: Option<Vec<Item>>, bytes: impl Iterator<Item = u8>) -> bool {
    let Some(items) = answer else { return false };
    if !items.iter().map(|item| item.byte).eq(bytes) {
        return false;
    }
    for item in items {
        fates[usize::from(item.byte)] = Some(item.got);
    }
    true
}

/// Bursts of rising length, until one loses something or would take too long.
fn bursts(talk: &mut Talk<'_>, wait: Duration) -> Result<Vec<Burst>, Ending> {
    let mut all: Vec<Burst> = Vec::new();
    for len in BURSTS {
        let last = all.last().copied().unwrap_or(Burst { sent: 1, got: 1, micros: 0 });
        let expected = Duration::from_micros(u64::from(last.micros)) * (len / last.sent.max(1));
        if expected > LONGEST || last.got != last.sent {
            break;
        }
        let mut bytes = Message::Burst(len).bytes();
        bytes.resize(bytes.len() + len as usize, FILLER);
        talk.write(&bytes)?;
        let until = Instant::now() + wait + 2 * expected + Duration::from_secs(4);
        while let Some(heard) = talk.hear(until.saturating_duration_since(Instant::now()))? {
            if let Message::BurstDone { len: got, micros } = heard {
                all.push(Burst { sent: len, got, micros });
                break;
            }
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_that_takes_others_with_it_is_found() {
        let all = order();
        let mut asked = 0;
        let fates = tried(|items| {
            asked += 1;
            let bytes: Vec<u8> = items.iter().map(|at| all[*at]).collect();
            let dies = bytes.contains(&0x15);
            let got = bytes.iter().map(|byte| Item { byte: *byte, got: vec![*byte] });
            Ok((!dies).then(|| got.collect()))
        });
        let Ok(fates) = fates else { panic!("no fates") };
        let dead: Vec<usize> = (0..256).filter(|byte| fates[*byte].is_none()).collect();
        assert_eq!(dead, [0x15]);
        // 32 groups, and in one of them 7 bytes once and one three times.
        assert_eq!(asked, 32 + 7 + 3);
    }
}
