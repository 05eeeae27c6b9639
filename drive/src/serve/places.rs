//! Who has a place at a server: those who have proved themselves, and those who have not yet.
//!
//! Who comes is *unproved* until he has done what only a client does: a successful login where users are known, a
//! command that makes sense elsewhere. The unproved have places and time of their own, and never take one of the others.

use crate::signals::Signals;
use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How much all clients together, and each of them, may have.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Sessions at once of those who have proved themselves.
    pub sessions: usize,
    /// Sessions at once from one [source](Source), proved or not.
    pub per_address: usize,
    /// Sessions at once of those who have not, besides the others.
    pub unproved: usize,
    /// Of those from one source.
    pub unproved_per_address: usize,
    /// How long one may take to prove himself, whatever he says.
    pub grace: Duration,
    /// A session in which nothing has come for so long is ended.
    pub silence: Duration,
    /// A session ends after so long, whatever it does.
    pub session: Option<Duration>,
}

impl Limits {
    /// So many sessions at once, of which one source has a quarter.
    pub fn of(sessions: usize) -> Self {
        Self { sessions, per_address: sessions.div_ceil(4), ..Self::default() }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            sessions: 256,
            per_address: 64,
            unproved: 128,
            unproved_per_address: 32,
            grace: Duration::from_secs(60),
            silence: Duration::from_secs(600),
            session: None,
        }
    }
}

/// Where somebody comes from, as far as he cannot choose it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Source {
    /// An address of IPv4, also one that is mapped into IPv6.
    V4(Ipv4Addr),
    /// A network of IPv6, a /64: one machine may have all addresses in it.
    V6([u8; 8]),
    /// A host of the ARPANET: its number and its IMP's.
    Arpanet(u8, u16),
}

impl From<IpAddr> for Source {
    fn from(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(address) => Self::V4(address),
            IpAddr::V6(address) => {
                let mut network = [0; 8];
                network.copy_from_slice(&address.octets()[..8]);
                Self::V6(network)
            }
        }
    }
}

/// Why there is no place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoPlace {
    /// All are taken.
    Here,
    /// Too many are from the same source.
    FromThere,
}

impl fmt::Display for NoPlace {
    // Others are told it in a packet: no byte of it needs a prefix.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Here => "Too many sessions here, try again later",
            Self::FromThere => "Too many sessions from your address, try again later",
        })
    }
}

/// Who is connected.
#[derive(Debug)]
struct Guest {
    client: String,
    /// None on a line that leads to one client only, who is not limited.
    source: Option<Source>,
    since: Instant,
    /// Ends this session.
    stop: Signals,
    proved: AtomicBool,
    /// It has lost its place, and ends.
    dropped: AtomicBool,
    /// Milliseconds from `since` until something was last done for it; at work it is the largest number.
    stirred: AtomicU64,
}

impl Guest {
    fn is(&self, proved: bool) -> bool {
        self.proved.load(Ordering::SeqCst) == proved && !self.is_dropped()
    }

    fn is_dropped(&self) -> bool {
        self.dropped.load(Ordering::SeqCst)
    }

    fn idle(&self) -> Duration {
        let stirred = Duration::from_millis(self.stirred.load(Ordering::Relaxed));
        self.since.elapsed().saturating_sub(stirred)
    }

    fn drop_it(&self) {
        self.dropped.store(true, Ordering::SeqCst);
        self.stop.raise(rustix::process::Signal::TERM.as_raw());
    }
}

/// All places of a server.
#[derive(Debug)]
pub struct Places {
    limits: Limits,
    guests: Mutex<BTreeMap<u64, Arc<Guest>>>,
    next: AtomicU64,
}

impl Places {
    /// Nobody is there.
    pub fn new(limits: Limits) -> Arc<Self> {
        Arc::new(Self { limits, guests: Mutex::default(), next: AtomicU64::new(0) })
    }

    fn guests(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Guest>>> {
        self.guests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many are connected.
    pub fn count(&self) -> usize {
        self.guests().len()
    }

    /// Lets somebody in, if there is room for one who is unproved. Where there is none, the oldest unproved of the
    /// source that has most of them gives way to one whose source has fewer.
    pub fn enter(
        self: &Arc<Self>,
        client: &str,
        address: Option<IpAddr>,
        stop: Signals,
    ) -> Result<Place, NoPlace> {
        let limits = &self.limits;
        let source = address.map(Source::from);
        let mut guests = self.guests();
        if source.is_some() {
            let theirs = || guests.values().filter(|g| g.source == source && !g.is_dropped());
            let unproved = theirs().filter(|guest| guest.is(false)).count();
            if unproved >= limits.unproved_per_address || theirs().count() >= limits.per_address {
                return Err(NoPlace::FromThere);
            }
            // Those who were dropped may need a moment to go.
            let most = limits.sessions.saturating_add(limits.unproved.saturating_mul(2));
            if guests.len() >= most {
                return Err(NoPlace::Here);
            }
            let all = || guests.values().filter(|guest| guest.is(false));
            if all().count() >= limits.unproved {
                let (most, oldest) = crowded(all()).ok_or(NoPlace::Here)?;
                if most <= unproved {
                    return Err(NoPlace::Here);
                }
                oldest.drop_it();
            }
        }
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let guest = Arc::new(Guest {
            client: client.to_owned(),
            source,
            since: Instant::now(),
            stop,
            proved: AtomicBool::new(source.is_none()),
            dropped: AtomicBool::new(false),
            stirred: AtomicU64::new(0),
        });
        guests.insert(id, guest.clone());
        Ok(Place { places: self.clone(), id, guest })
    }

    /// A place among the proved for one of them. Where there is none, one who has done nothing for longer than the
    /// time of grace gives way, of the source that has most, to one whose source has fewer.
    fn prove(&self, guest: &Guest) -> bool {
        let guests = self.guests();
        let all = || guests.values().filter(|guest| guest.is(true));
        if guest.is_dropped() {
            return false;
        }
        if all().count() >= self.limits.sessions {
            let theirs = all().filter(|other| other.source == guest.source).count();
            let idle = |source: Option<Source>| {
                let of = all().filter(move |other| other.source == source);
                of.max_by_key(|other| other.idle()).filter(|o| o.idle() >= self.limits.grace)
            };
            let mut counts: BTreeMap<_, usize> = BTreeMap::new();
            all().for_each(|other| *counts.entry(other.source).or_default() += 1);
            let more = counts.into_iter().filter(|(_, count)| *count > theirs);
            let longest = more
                .filter_map(|(source, count)| idle(source).map(|guest| (count, guest)))
                .max_by_key(|(count, guest)| (*count, guest.idle()));
            match longest {
                Some((_, other)) => other.drop_it(),
                None => return false,
            }
        }
        guest.proved.store(true, Ordering::SeqCst);
        true
    }

    /// Who is there, and for how long; where others come from is not for everybody.
    pub(super) fn roster(&self, addresses: bool) -> String {
        use fmt::Write as _;
        let mut text = String::new();
        for (guest, number) in self.guests().values().zip(1..) {
            let who = if addresses { guest.client.clone() } else { format!("client {number}") };
            let _ = writeln!(text, "{who:<24} {} s", guest.since.elapsed().as_secs());
        }
        text
    }

    /// Tells all that it is over.
    pub(super) fn stop(&self, signal: i32) {
        for guest in self.guests().values() {
            guest.stop.raise(signal);
        }
    }
}

/// The oldest of the source that has most of these, and how many that are.
fn crowded<'a>(guests: impl Iterator<Item = &'a Arc<Guest>>) -> Option<(usize, &'a Arc<Guest>)> {
    let mut sources: BTreeMap<_, (usize, &Arc<Guest>)> = BTreeMap::new();
    for guest in guests {
        sources.entry(guest.source).or_insert((0, guest)).0 += 1;
    }
    sources.into_values().max_by_key(|(count, oldest)| (*count, oldest.since.elapsed()))
}

/// A guest's place; he is gone when it is dropped.
#[derive(Debug)]
pub struct Place {
    places: Arc<Places>,
    id: u64,
    guest: Arc<Guest>,
}

impl Place {
    /// He has proved himself; false if there is no place for him among those.
    pub fn prove(&self) -> bool {
        if self.is_proved() {
            return true;
        }
        let has_place = self.places.prove(&self.guest);
        if !has_place {
            self.guest.drop_it();
        }
        has_place
    }

    /// Whether he has.
    pub fn is_proved(&self) -> bool {
        self.guest.proved.load(Ordering::SeqCst)
    }

    /// Whether he has lost the place to somebody else, or found none.
    pub fn is_dropped(&self) -> bool {
        self.guest.is_dropped()
    }

    /// How much time is left to prove himself, or to be dropped; none if there is no such limit.
    pub fn left(&self) -> Option<Duration> {
        if self.is_dropped() {
            return Some(Duration::ZERO);
        }
        let grace = self.places.limits.grace;
        (!self.is_proved()).then(|| grace.saturating_sub(self.guest.since.elapsed()))
    }

    /// Something is done for him.
    pub(super) fn works(&self) {
        self.guest.stirred.store(u64::MAX, Ordering::Relaxed);
    }

    /// It is done.
    pub(super) fn rests(&self) {
        let now = self.guest.since.elapsed().as_millis();
        self.guest.stirred.store(u64::try_from(now).unwrap_or(u64::MAX), Ordering::Relaxed);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.places.guests().remove(&self.id);
    }
}
