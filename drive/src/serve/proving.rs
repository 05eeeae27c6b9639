//! How a client proves itself.

use super::places::{NoPlace, Place};
use super::session::Session;
use wetstring_proto::file::{Remote, RemoteReply, Reply, Request, Store};
use wetstring_proto::kermit::command::ServerCommand;

/// A session that notices when its client has proved itself: by a login where users are known, elsewhere by a
/// valid command.
pub(super) struct Proving<'a> {
    session: Session,
    place: &'a Place,
    needs_login: bool,
}

impl<'a> Proving<'a> {
    pub(super) fn new(session: Session, place: &'a Place, needs_login: bool) -> Self {
        Self { session, place, needs_login }
    }
}

impl Store for Proving<'_> {
    fn answer<'s>(&'s mut self, request: Request<'_>) -> Reply<'s> {
        self.place.works();
        let Request::Remote(Remote::Serve { kind, words, files, answer }) = request else {
            let reply = self.session.answer(request);
            self.place.rests();
            return reply;
        };
        let makes_sense = || ServerCommand::parse(kind, words).is_ok();
        if !self.place.is_proved() && !self.needs_login && makes_sense() && !self.place.prove() {
            return no_place(answer);
        }
        // The session's command texts are not borrowed from here.
        let request = Request::Remote(Remote::Serve { kind, words, files, answer: &mut *answer });
        let reply = match self.session.answer(request) {
            Reply::Remote(reply) => Reply::Remote(reply),
            Reply::Failed(error) => Reply::Failed(error),
            _ => Reply::Done,
        };
        self.place.rests();
        if !self.place.is_proved() && self.session.is_logged_in() && !self.place.prove() {
            return no_place(answer);
        }
        reply
    }
}

fn no_place(answer: &mut [u8]) -> Reply<'static> {
    let text = NoPlace::Here.to_string();
    let len = text.len().min(answer.len());
    answer[..len].copy_from_slice(&text.as_bytes()[..len]);
    Reply::Remote(RemoteReply::Denied(len))
}
