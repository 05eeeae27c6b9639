//! What clients of our server may do: ENABLE and DISABLE, and the defaults.

use std::collections::BTreeMap;

use wetstring_drive::serve::Action;
use wetstring_script::world::Scope;

/// The defaults of ENABLE in this version of C-Kermit. Deleting, EXIT and host commands
/// are disabled: that is stricter than any C-Kermit with clients that connected to us (docs/reference/ckermit-differences.md).
pub(super) fn allowed_at_first(version: u8) -> BTreeMap<Action, Scope> {
    use Action as A;
    let scope = |action| match action {
        A::Delete | A::Exit | A::Host | A::Rmdir => Scope::Disabled,
        // Only the side that opened the connection may end it.
        A::Bye => Scope::Remote,
        // A peer that we connected to gets none of our files unasked, and changes nothing: version 11. To end the server, and to
        // send us files, is what a server is for.
        A::Assign | A::Cd | A::Copy | A::Directory | A::Get | A::Kermit | A::Mkdir | A::Query => {
            newer(version)
        }
        A::Rename | A::Set | A::Space | A::Type | A::Who => newer(version),
        _ => Scope::Both,
    };
    Action::NAMES.iter().map(|(_, action)| (*action, scope(*action))).collect()
}

fn newer(version: u8) -> Scope {
    if version < 11 { Scope::Both } else { Scope::Remote }
}

/// What SHOW SERVER lists: C-Kermit's names, in its order, including those not supported.
pub(super) const FUNCTIONS: [(&str, Option<Action>); 22] = [
    ("GET", Some(Action::Get)),
    ("SEND", Some(Action::Send)),
    ("MAIL", None),
    ("PRINT", None),
    ("REMOTE ASSIGN", Some(Action::Assign)),
    ("REMOTE CD/CWD", Some(Action::Cd)),
    ("REMOTE COPY", Some(Action::Copy)),
    ("REMOTE DELETE", Some(Action::Delete)),
    ("REMOTE DIRECTORY", Some(Action::Directory)),
    ("REMOTE HOST", Some(Action::Host)),
    ("REMOTE QUERY", Some(Action::Query)),
    ("REMOTE MKDIR", Some(Action::Mkdir)),
    ("REMOTE RMDIR", Some(Action::Rmdir)),
    ("REMOTE RENAME", Some(Action::Rename)),
    ("REMOTE SET", Some(Action::Set)),
    ("REMOTE SPACE", Some(Action::Space)),
    ("REMOTE TYPE", Some(Action::Type)),
    ("REMOTE WHO", Some(Action::Who)),
    ("BYE", Some(Action::Bye)),
    ("FINISH", Some(Action::Finish)),
    ("EXIT", Some(Action::Exit)),
    ("ENABLE", None),
];

/// The actions that ENABLE and DISABLE name; `None` if not supported.
pub(super) fn actions(what: &str) -> Option<Vec<Action>> {
    if what == "all" {
        return Some(Action::NAMES.iter().map(|(_, action)| *action).collect());
    }
    // C-Kermit's CD covers the current directory itself.
    if what == "cd" {
        return Some(vec![Action::Cd, Action::Pwd]);
    }
    Action::named(what).map(|action| vec![action])
}
