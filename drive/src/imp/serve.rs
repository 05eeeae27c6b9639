//! Serves files of a directory to users of other hosts by the FTP of 1973.

use super::listing::Listing;
use super::{Live, Stop};
use crate::disk::{DiskStore, PathRule, ReceiveOptions};
use crate::os::fd::OwnedFd;
use crate::os::files;
use crate::os::fs::{FileType, Mode, OFlags, fstat, openat};
use crate::serve::guesses::{Guesses, Pace, Try};
use crate::serve::places::Source;
use std::fs::File;
use std::io;
use std::path::Path;
use std::time::Duration;
use wetstring_proto::arpanet::ftp::{Asked, Denial, Granted, Options, Service};
use wetstring_proto::arpanet::icp::SOCKETS;
use wetstring_proto::arpanet::leader::Address;
use wetstring_proto::arpanet::ncp::Host;
use wetstring_proto::{Cx, Event, Instant, Refusal, Reply, Request, Store, StoreError};

/// Who may log in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Guard {
    /// Everybody.
    Anybody,
    /// Users who know this name and password.
    User(String, String),
}

/// What is served, and to which hosts.
#[derive(Debug)]
pub struct Plan<'a> {
    /// The directory; nothing outside it is visible.
    pub root: &'a Path,
    /// Files may be stored there.
    pub write: bool,
    /// Who may log in.
    pub guard: Guard,
    /// The cost of a wrong password.
    pub pace: Pace,
    /// Maximum concurrent users.
    pub most: usize,
    /// Timing of the processes.
    pub options: Options,
    /// When to stop, if ever.
    pub end: Option<Instant>,
    /// Stop after this many users.
    pub users: Option<usize>,
}

/// Server events.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum News {
    /// A user has connected.
    Came(Address),
    /// A user has disconnected.
    Gone(Address),
    /// A file transfer begins: its name, and whether it is stored here.
    File(String, bool),
    /// A file is complete: its length in octets.
    Done(u64),
    /// A file transfer failed.
    Not,
}

/// The source that a user reads from.
enum Reading {
    Nothing,
    File(File),
    List(Listing),
}

struct User {
    service: Service<Vec<u8>>,
    store: Option<DiskStore>,
    reading: Reading,
    with: Option<Address>,
    knock: PasswordCheck,
}

/// A password until it is answered. The other users do not wait for it.
#[derive(Clone, Copy, Default)]
enum PasswordCheck {
    #[default]
    None,
    /// To be checked.
    Due(Try),
    /// Wrong, or not checked; the answer is due then.
    Denied(Duration),
}

impl PasswordCheck {
    /// When the next step is due.
    fn due(self) -> Option<Instant> {
        match self {
            Self::None => None,
            Self::Due(knock) => Some(Instant::ZERO + knock.at),
            Self::Denied(at) => Some(Instant::ZERO + at),
        }
    }

    /// Next step: the answer, if it is due.
    fn turn(
        &mut self,
        now: Duration,
        guesses: &Guesses,
        source: Option<Source>,
        user: &[u8],
        judge: impl FnOnce() -> bool,
    ) -> Option<Granted> {
        let first = guesses.pace().first;
        if let Self::None = self {
            *self = match guesses.knock(now, source, user) {
                Ok(knock) => Self::Due(knock),
                Err(_) => Self::Denied(now + first),
            };
        }
        match *self {
            Self::Due(knock) if knock.at <= now => {
                if judge() {
                    guesses.succeeded(knock);
                    *self = Self::None;
                    return Some(Granted::Yes);
                }
                guesses.failed(knock);
                *self = Self::Denied(now + first);
                None
            }
            Self::Denied(at) if at <= now => {
                *self = Self::None;
                Some(Granted::No(Denial::Login))
            }
            _ => None,
        }
    }
}

/// Serves until the plan ends or a signal arrives.
pub fn serve(live: &mut Live<'_>, plan: &Plan<'_>, news: &mut dyn FnMut(News)) -> io::Result<Stop> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = crate::os::fs::open(plan.root, flags, Mode::empty())?;
    let server = plan.options.server;
    live.call(|host, _| host.listen(server, server)).map_err(io::Error::other)?;
    let (mut users, mut next, mut gone) = (Vec::new(), 0x200_u32, 0);
    let guesses = Guesses::new(plan.pace);
    live.until(plan.end, |live| {
        live.call(|host, cx| {
            if users.len() < plan.most {
                let memory = |len| vec![0; len];
                let service = Service::answer(plan.options.clone(), cx, host, next, memory);
                if let Some(service) = service {
                    next = next.wrapping_add(SOCKETS);
                    let (store, reading) = (None, Reading::Nothing);
                    users.push(User {
                        service,
                        store,
                        reading,
                        with: None,
                        knock: PasswordCheck::None,
                    });
                }
            }
            for user in &mut users {
                user.turn(cx, host, plan, &root, &guesses, news);
            }
        });
        let before = users.len();
        for user in users.iter().filter(|user| user.service.is_over()) {
            user.with.into_iter().for_each(|with| news(News::Gone(with)));
        }
        users.retain(|user| !user.service.is_over());
        gone += before - users.len();
        let over = plan.users.is_some_and(|count| gone >= count)
            && users.is_empty()
            && live.ncp.host().is_quiet();
        let due = |user: &User| [user.service.deadline(), user.knock.due()];
        Ok((over, users.iter().flat_map(due).flatten().min()))
    })
}

impl User {
    fn turn(
        &mut self,
        cx: &mut Cx<'_>,
        host: &mut Host<'_>,
        plan: &Plan<'_>,
        root: &OwnedFd,
        guesses: &Guesses,
        news: &mut dyn FnMut(News),
    ) {
        self.service.tick(cx, host);
        self.service.pump(cx, host);
        if self.with.is_none() {
            self.with = self.service.with();
            self.with.into_iter().for_each(|with| news(News::Came(with)));
        }
        let source = self.with.map(|with| Source::Arpanet(with.host, with.imp));
        while let Some(asked) = self.service.asked() {
            let granted = match asked {
                Asked::User(_) if plan.guard == Guard::Anybody => Granted::Yes,
                Asked::User(_) => Granted::Password,
                Asked::Password { user, password } => {
                    let (now, judge) = (cx.now, || check(&plan.guard, user, password));
                    let now = now.since(Instant::ZERO);
                    match self.knock.turn(now, guesses, source, user, judge) {
                        Some(granted) => granted,
                        None => break,
                    }
                }
                Asked::Retrieve(name) => match open_file(root, name) {
                    Ok((file, len)) => {
                        self.reading = Reading::File(file);
                        Granted::File(Some(len))
                    }
                    Err(denial) => Granted::No(denial),
                },
                Asked::List { name, short } => match list(root, name, short) {
                    Ok(list) => {
                        self.reading = Reading::List(list);
                        Granted::File(None)
                    }
                    Err(denial) => Granted::No(denial),
                },
            };
            self.service.grant(cx, host, granted);
        }
        while let Some(request) = self.service.request() {
            let reply = answer(&mut self.store, &mut self.reading, plan, request);
            self.service.reply(cx, host, reply);
        }
        while let Some(event) = self.service.event() {
            news(match event {
                Event::FileStarted { info, .. } => {
                    let name = String::from_utf8_lossy(info.name).into_owned();
                    News::File(name, matches!(self.reading, Reading::Nothing))
                }
                Event::FileDone { size, .. } => News::Done(size),
                _ => News::Not,
            });
        }
    }
}

fn check(guard: &Guard, user: &[u8], password: &[u8]) -> bool {
    let Guard::User(name, secret) = guard else { return true };
    // The same time whether the beginning or the end of the name is wrong.
    let same = |a: &[u8], b: &[u8]| {
        a.len() == b.len() && a.iter().zip(b).fold(0, |all, (x, y)| all | (x ^ y)) == 0
    };
    same(name.as_bytes(), user) & same(secret.as_bytes(), password)
}

/// Answers a request of a user's process.
fn answer<'s>(
    store: &'s mut Option<DiskStore>,
    reading: &mut Reading,
    plan: &Plan<'_>,
    request: Request<'_>,
) -> Reply<'s> {
    match request {
        Request::Read { offset, into } => match reading {
            Reading::File(file) => match files::read_at(file, into, offset) {
                Ok(len) => Reply::Read(len),
                Err(_) => Reply::Failed(StoreError::Io),
            },
            Reading::List(list) => {
                list.read(offset, into).map_or(Reply::Failed(StoreError::Io), Reply::Read)
            }
            Reading::Nothing => Reply::Failed(StoreError::NotFound),
        },
        Request::Close { .. } if !matches!(reading, Reading::Nothing) => {
            *reading = Reading::Nothing;
            Reply::Done
        }
        Request::Offer { .. } if !plan.write => Reply::Refuse(Refusal::Declined),
        request => {
            if store.is_none() {
                let options =
                    ReceiveOptions { paths: PathRule::Relative, ..ReceiveOptions::default() };
                *store = DiskStore::receiving(plan.root, options).ok();
            }
            match store {
                Some(store) => store.answer(request),
                None => Reply::Failed(StoreError::Io),
            }
        }
    }
}

/// Opens a name below the root: no link is followed, and no path leads out.
fn walk(root: &OwnedFd, name: &[u8], last: OFlags) -> Result<OwnedFd, Denial> {
    let parts: Vec<&[u8]> =
        name.split(|octet| *octet == b'/').filter(|part| !part.is_empty()).collect();
    if parts.iter().any(|part| *part == b".." || *part == b"." || part.contains(&0)) {
        return Err(Denial::Name);
    }
    let denial = |error: crate::os::io::Errno| match error {
        crate::os::io::Errno::NOENT | crate::os::io::Errno::NOTDIR => Denial::NotFound,
        crate::os::io::Errno::NAMETOOLONG => Denial::Name,
        _ => Denial::Access,
    };
    let safe = OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::RDONLY | OFlags::NONBLOCK;
    let mut here = root.try_clone().map_err(|_| Denial::System)?;
    for (index, part) in parts.iter().enumerate() {
        let flags = if index + 1 == parts.len() { last } else { OFlags::DIRECTORY };
        here = openat(&here, files::name(part), safe | flags, Mode::empty()).map_err(denial)?;
    }
    Ok(here)
}

fn open_file(root: &OwnedFd, name: &[u8]) -> Result<(File, u64), Denial> {
    let file = walk(root, name, OFlags::empty())?;
    let stat = fstat(&file).map_err(|_| Denial::System)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(Denial::Access);
    }
    Ok((File::from(file), u64::try_from(stat.st_size).unwrap_or(0)))
}

/// The names of a directory.
fn list(root: &OwnedFd, name: &[u8], short: bool) -> Result<Listing, Denial> {
    let directory = walk(root, name, OFlags::DIRECTORY)?;
    Listing::new(directory, short).map_err(|_| Denial::Access)
}
