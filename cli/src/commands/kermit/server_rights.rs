//! What the clients of a server of ours may do: ENABLE and DISABLE, and what holds until they are said.

use std::collections::BTreeMap;

use wetstring_drive::serve::Action;
use wetstring_script::world::Scope;

/// Who may do what until ENABLE says otherwise, in this version of C-Kermit. Deleting, EXIT and commands of the host
/// are for nobody: that is stricter than any C-Kermit is with those who have called us (docs/kermit.md).
pub(super) fn allowed_at_first(version: u8) -> BTreeMap<Action, Scope> {
    use Action as A;
    let scope = |action| match action {
        A::Delete | A::Exit | A::Host | A::Rmdir => Scope::Disabled,
        // To end the connection is for those who have made it.
        A::Bye => Scope::Remote,
        // Whom we have called gets nothing of ours unasked, and changes nothing: version 11. To end the server, and to
        // give us files, is what a server is for.
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

/// What SHOW SERVER lists: C-Kermit's words, in its order, and what no server of ours does.
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

/// What ENABLE and DISABLE name; `None` for what no server of ours does.
pub(super) fn actions(what: &str) -> Option<Vec<Action>> {
    if what == "all" {
        return Some(Action::NAMES.iter().map(|(_, action)| *action).collect());
    }
    // C-Kermit's CD is the current directory as such.
    if what == "cd" {
        return Some(vec![Action::Cd, Action::Pwd]);
    }
    Action::named(what).map(|action| vec![action])
}
