//! Session slots of a server: of clients that have proved themselves, and of those that have not yet.
//!
//! A client is *unproved* until it has done what only a client does: a successful login where users are known,
//! a valid command elsewhere. Unproved clients have slots and time limits of their own, and never take a slot
//! of the others.

use crate::signals::Signals;
use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Limits for all clients together, and for each of them.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Maximum concurrent sessions of proved clients.
    pub sessions: usize,
    /// Maximum concurrent sessions from one [source](Source), proved or not.
    pub per_address: usize,
    /// Maximum concurrent sessions of unproved clients, in addition.
    pub unproved: usize,
    /// Of those, maximum from one source.
    pub unproved_per_address: usize,
    /// Timeout for a client to prove itself.
    pub grace: Duration,
    /// A session ends after nothing is received for this long.
    pub silence: Duration,
    /// Maximum duration of a session.
    pub session: Option<Duration>,
}

impl Limits {
    /// This many concurrent sessions, of which one source has at most a quarter.
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

/// The source of a client, as far as it cannot choose it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Source {
    /// An IPv4 address, including one mapped into IPv6.
    V4(Ipv4Addr),
    /// An IPv6 network, a /64: one machine may have all addresses in it.
    V6([u8; 8]),
    /// An ARPANET host: its number and its IMP's.
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

/// Why there is no slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoPlace {
    /// All are taken.
    Here,
    /// Too many are from the same source.
    FromThere,
}

impl fmt::Display for NoPlace {
    // Sent in a packet: no byte of it needs a prefix.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Here => "Too many sessions here, try again later",
            Self::FromThere => "Too many sessions from your address, try again later",
        })
    }
}

/// A connected client.
#[derive(Debug)]
struct Client {
    name: String,
    /// None on a line to one client only, which is not limited.
    source: Option<Source>,
    since: Instant,
    /// Ends this session.
    stop: Signals,
    proved: AtomicBool,
    /// It has lost its slot, and is ending.
    dropped: AtomicBool,
    /// Milliseconds from `since` until its last activity; the largest number while active.
    stirred: AtomicU64,
}

impl Client {
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
        self.stop.raise(crate::os::process::TERM);
    }
}

/// All slots of a server.
#[derive(Debug)]
pub struct Places {
    limits: Limits,
    clients: Mutex<BTreeMap<u64, Arc<Client>>>,
    next: AtomicU64,
}

impl Places {
    /// All free.
    pub fn new(limits: Limits) -> Arc<Self> {
        Arc::new(Self { limits, clients: Mutex::default(), next: AtomicU64::new(0) })
    }

    fn clients(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Client>>> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Number of connected clients.
    pub fn count(&self) -> usize {
        self.clients().len()
    }

    /// Admits a client, if there is a slot for an unproved one. If not, the oldest unproved client of the
    /// source with the most of them is dropped for one whose source has fewer.
    pub fn enter(
        self: &Arc<Self>,
        client: &str,
        address: Option<IpAddr>,
        stop: Signals,
    ) -> Result<Place, NoPlace> {
        let limits = &self.limits;
        let source = address.map(Source::from);
        let mut clients = self.clients();
        if source.is_some() {
            let theirs = || clients.values().filter(|g| g.source == source && !g.is_dropped());
            let unproved = theirs().filter(|client| client.is(false)).count();
            if unproved >= limits.unproved_per_address || theirs().count() >= limits.per_address {
                return Err(NoPlace::FromThere);
            }
            // Dropped clients may take a moment to end.
            let most = limits.sessions.saturating_add(limits.unproved.saturating_mul(2));
            if clients.len() >= most {
                return Err(NoPlace::Here);
            }
            let all = || clients.values().filter(|client| client.is(false));
            if all().count() >= limits.unproved {
                let (most, oldest) = crowded(all()).ok_or(NoPlace::Here)?;
                if most <= unproved {
                    return Err(NoPlace::Here);
                }
                oldest.drop_it();
            }
        }
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let client = Arc::new(Client {
            name: client.to_owned(),
            source,
            since: Instant::now(),
            stop,
            proved: AtomicBool::new(source.is_none()),
            dropped: AtomicBool::new(false),
            stirred: AtomicU64::new(0),
        });
        clients.insert(id, client.clone());
        Ok(Place { places: self.clone(), id, client })
    }

    /// A slot for a proved client. If there is none, one that has been idle for longer than the grace time, of
    /// the source with the most, is dropped for one whose source has fewer.
    fn prove(&self, client: &Client) -> bool {
        let clients = self.clients();
        let all = || clients.values().filter(|client| client.is(true));
        if client.is_dropped() {
            return false;
        }
        if all().count() >= self.limits.sessions {
            let theirs = all().filter(|other| other.source == client.source).count();
            let idle = |source: Option<Source>| {
                let of = all().filter(move |other| other.source == source);
                of.max_by_key(|other| other.idle()).filter(|o| o.idle() >= self.limits.grace)
            };
            let mut counts: BTreeMap<_, usize> = BTreeMap::new();
            all().for_each(|other| *counts.entry(other.source).or_default() += 1);
            let more = counts.into_iter().filter(|(_, count)| *count > theirs);
            let longest = more
                .filter_map(|(source, count)| idle(source).map(|client| (count, client)))
                .max_by_key(|(count, client)| (*count, client.idle()));
            match longest {
                Some((_, other)) => other.drop_it(),
                None => return false,
            }
        }
        client.proved.store(true, Ordering::SeqCst);
        true
    }

    /// The connected clients, and for how long; addresses are not shown to everyone.
    pub(super) fn roster(&self, addresses: bool) -> String {
        use fmt::Write as _;
        let mut text = String::new();
        for (client, number) in self.clients().values().zip(1..) {
            let who = if addresses { client.name.clone() } else { format!("client {number}") };
            let _ = writeln!(text, "{who:<24} {} s", client.since.elapsed().as_secs());
        }
        text
    }

    /// Tells all clients that the server ends.
    pub(super) fn stop(&self, signal: i32) {
        for client in self.clients().values() {
            client.stop.raise(signal);
        }
    }
}

/// The oldest client of the source that has most of these, and how many that source has.
fn crowded<'a>(clients: impl Iterator<Item = &'a Arc<Client>>) -> Option<(usize, &'a Arc<Client>)> {
    let mut sources: BTreeMap<_, (usize, &Arc<Client>)> = BTreeMap::new();
    for client in clients {
        sources.entry(client.source).or_insert((0, client)).0 += 1;
    }
    sources.into_values().max_by_key(|(count, oldest)| (*count, oldest.since.elapsed()))
}

/// A client's slot; dropping it disconnects the client.
#[derive(Debug)]
pub struct Place {
    places: Arc<Places>,
    id: u64,
    client: Arc<Client>,
}

impl Place {
    /// The client has proved itself; false if there is no slot for it.
    pub fn prove(&self) -> bool {
        if self.is_proved() {
            return true;
        }
        let has_place = self.places.prove(&self.client);
        if !has_place {
            self.client.drop_it();
        }
        has_place
    }

    /// Whether it has proved itself.
    pub fn is_proved(&self) -> bool {
        self.client.proved.load(Ordering::SeqCst)
    }

    /// Whether it has lost its slot, or found none.
    pub fn is_dropped(&self) -> bool {
        self.client.is_dropped()
    }

    /// Time left to prove itself, or to be dropped; none if there is no limit.
    pub fn left(&self) -> Option<Duration> {
        if self.is_dropped() {
            return Some(Duration::ZERO);
        }
        let grace = self.places.limits.grace;
        (!self.is_proved()).then(|| grace.saturating_sub(self.client.since.elapsed()))
    }

    /// Activity begins.
    pub(super) fn works(&self) {
        self.client.stirred.store(u64::MAX, Ordering::Relaxed);
    }

    /// Activity ends.
    pub(super) fn rests(&self) {
        let now = self.client.since.elapsed().as_millis();
        self.client.stirred.store(u64::try_from(now).unwrap_or(u64::MAX), Ordering::Relaxed);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.places.clients().remove(&self.id);
    }
}
