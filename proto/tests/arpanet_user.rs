//! FTP over NCP: logging in with an account, and files that the user's end refuses.

use crate::arpanet_ftp;
use crate::arpanet_net;
use crate::arpanet_server;
use crate::common;

use arpanet_ftp::{User, run};
use arpanet_net::Net;
use arpanet_server::Server;
use common::{File, Sink, Source};
use wetstring_proto::arpanet::ftp::{Argument, Options};
use wetstring_proto::{Duration, Outcome, Refusal, Status};

const LIMIT: Duration = Duration::from_secs(300);

/// Two hosts; the reply codes of the server on host 1 are changed on their way, one after the other.
fn with_replies(replies: &'static [(&'static str, &'static str)]) -> Net {
    let mut net = Net::two();
    let mut rest = replies;
    net.meddle = Box::new(move |from, message| {
        let Some(((real, told), after)) = rest.split_first() else { return };
        let mut codes = message.windows(4);
        let code = codes.position(|four| four[..3] == *real.as_bytes() && four[3] == b' ');
        if let Some(at) = code.filter(|_| from == 1) {
            message[at..at + 3].copy_from_slice(told.as_bytes());
            rest = after;
        }
    });
    net
}

/// The server of these tests needs no accounts, so its replies are made those of one that does.
#[test]
pub(crate) fn account_is_sent_when_asked_for() {
    type Replies = &'static [(&'static str, &'static str)];
    let cases: [(Option<&str>, Replies); 2] =
        [(None, &[("230", "331")]), (Some("secret"), &[("330", "330"), ("230", "433")])];
    for (password, replies) in cases {
        let mut net = with_replies(replies);
        let mut server = Server::new(Options::default());
        server.password = password.map(Into::into);
        let options = Options {
            password: Argument::new(b"secret").unwrap(),
            account: Argument::new(b"CNet").unwrap(),
            ..Options::default()
        };
        let source = Source::new(vec![File::new("a", b"b")]);
        let mut users = [User::new(options, true, Box::new(source))];
        let status = run(&mut net, &mut users, &mut server, LIMIT);
        let said: Vec<u8> = net.said.iter().flat_map(|(_, message)| message.clone()).collect();
        let accounts = said.windows(11).filter(|window| window == b"ACCT CNet\r\n").count();
        assert_eq!(accounts, 1, "{replies:?} {:?}", users[0].said);
        assert_eq!(status, [Status::Over(Outcome::Done)], "{:?}", users[0].said);
    }
}

/// The control connection has lines of ASCII.
#[test]
pub(crate) fn file_whose_name_cannot_be_sent_is_skipped() {
    let mut net = Net::two();
    let mut server = Server::new(Options::default());
    let files =
        vec![File::new("a\r\nDELE b", b"1"), File::new("\u{e9}", b"2"), File::new("b", b"3")];
    let mut users = [User::new(Options::default(), true, Box::new(Source::new(files)))];
    let status = run(&mut net, &mut users, &mut server, LIMIT);
    assert_eq!(status, [Status::Over(Outcome::Done)], "{:?}", users[0].said);
    assert_eq!(users[0].client.stats().files_skipped, 2);
    let stored: Vec<&[u8]> = server.stored.iter().map(|file| &file.name[..]).collect();
    assert_eq!(stored, [b"b"]);
}

#[test]
pub(crate) fn file_that_the_store_refuses_is_skipped() {
    let mut net = Net::two();
    let mut server = Server::new(Options::default());
    server.files.extend(["a", "b"].map(|name| (name.into(), vec![b'x'; 5000])));
    let sink = Sink { refuse: Some(Refusal::Exists), ..Sink::new() };
    let mut users = [User::new(Options::default(), false, Box::new(sink))];
    assert!(users[0].client.want(b"a") && users[0].client.want(b"b"));
    let status = run(&mut net, &mut users, &mut server, LIMIT);
    assert_eq!(status, [Status::Over(Outcome::Done)], "{:?}", users[0].said);
    let stats = users[0].client.stats();
    assert_eq!((stats.files_done, stats.files_skipped), (0, 2));
}

#[test]
pub(crate) fn user_who_wants_nothing_logs_out() {
    let mut net = Net::two();
    let mut server = Server::new(Options::default());
    let mut users = [User::new(Options::default(), false, Box::new(Sink::new()))];
    let status = run(&mut net, &mut users, &mut server, LIMIT);
    assert_eq!(status, [Status::Over(Outcome::Done)], "{:?}", users[0].said);
    assert!(server.services.is_empty());
}
