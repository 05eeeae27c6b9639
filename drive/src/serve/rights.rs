//! What clients may do: every command by what it does to the files, in one table.
//!
//! A command is asked for by its name ([`Action`]) and may have several effects ([`Effect`]); each effect needs a
//! right, whichever command or setting brings it about. [`ROWS`] says which.

use crate::disk::Collision;
use wetstring_proto::kermit::command::ServerCommand;

/// What a client may ask for, each of which can be disabled.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[non_exhaustive]
pub enum Action {
    /// To take files from the server.
    Get,
    /// To give files to the server.
    Send,
    /// To change the current directory.
    Cd,
    /// To be told the current directory.
    Pwd,
    /// To list files.
    Directory,
    /// To delete files.
    Delete,
    /// To rename files.
    Rename,
    /// To copy files.
    Copy,
    /// To have files shown.
    Type,
    /// To make directories.
    Mkdir,
    /// To remove directories.
    Rmdir,
    /// To be told how much room there is.
    Space,
    /// To be told who is there.
    Who,
    /// To say something to the person at the server.
    Message,
    /// To be told what can be asked for.
    Help,
    /// To be told how it goes.
    Status,
    /// To change settings.
    Set,
    /// To be told variables.
    Query,
    /// To set variables.
    Assign,
    /// To run commands of the host.
    Host,
    /// To give commands in the server's language.
    Kermit,
    /// To log in and out.
    Login,
    /// To end the server.
    Finish,
    /// To end the connection.
    Bye,
    /// To end the program.
    Exit,
}

/// What becomes of files, or what a client learns of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Effect {
    /// What is in a file is told.
    Read,
    /// Names in a directory are told.
    List,
    /// Another directory becomes the current one.
    Enter,
    /// A file comes to be where there was none.
    Create,
    /// A file is lost to another that takes its name.
    Replace,
    /// A file gets more behind its end.
    Append,
    /// A file gets another name to make way.
    Aside,
    /// A file or directory gets another name.
    Rename,
    /// A file is lost.
    Delete,
    /// A directory comes to be.
    MakeDirectory,
    /// A directory is lost.
    RemoveDirectory,
    /// A program of the host runs.
    Run,
}

/// A row of the table.
struct Row {
    effect: Effect,
    /// It changes what is there, and needs a server that may be written to.
    writes: bool,
    /// Besides the command that has it, this must not be disabled.
    needs: Option<Action>,
    /// Commands that always have it. SEND has others as the collision setting and names say.
    by: &'static [Action],
}

/// The one table of rights.
const ROWS: [Row; 12] = {
    use Action as A;
    use Effect as E;
    const fn row(
        effect: Effect,
        writes: bool,
        needs: Option<Action>,
        by: &'static [Action],
    ) -> Row {
        Row { effect, writes, needs, by }
    }
    [
        row(E::Read, false, None, &[A::Get, A::Type, A::Copy]),
        row(E::List, false, None, &[A::Directory]),
        row(E::Enter, false, None, &[A::Cd]),
        row(E::Create, true, None, &[A::Send, A::Copy]),
        row(E::Replace, true, Some(A::Delete), &[]),
        row(E::Append, true, Some(A::Delete), &[]),
        row(E::Aside, true, Some(A::Rename), &[]),
        row(E::Rename, true, Some(A::Rename), &[A::Rename]),
        row(E::Delete, true, Some(A::Delete), &[A::Delete]),
        row(E::MakeDirectory, true, Some(A::Mkdir), &[A::Mkdir]),
        row(E::RemoveDirectory, true, Some(A::Rmdir), &[A::Rmdir]),
        row(E::Run, false, Some(A::Host), &[A::Host, A::Kermit]),
    ]
};

impl Effect {
    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        ROWS.iter().map(|row| row.effect)
    }

    fn row(self) -> &'static Row {
        // Every effect has a row, which a test looks at.
        ROWS.iter().find(|row| row.effect == self).unwrap_or(&ROWS[0])
    }

    /// Whether it changes what is in the tree.
    pub fn writes(self) -> bool {
        self.row().writes
    }

    /// What must not be disabled for it, besides the command that has it.
    pub fn needs(self) -> Option<Action> {
        self.row().needs
    }

    /// What becomes of a file whose name another takes.
    pub fn of(collision: Collision) -> Option<Self> {
        match collision {
            Collision::Rename | Collision::Reject => None,
            Collision::Backup => Some(Self::Aside),
            Collision::Append => Some(Self::Append),
            Collision::Replace
            | Collision::Update
            | Collision::UpdateOrLonger
            | Collision::Differing => Some(Self::Replace),
        }
    }
}

impl Action {
    /// All of them, by name.
    pub const NAMES: [(&'static str, Self); 25] = [
        ("get", Self::Get),
        ("send", Self::Send),
        ("cd", Self::Cd),
        ("pwd", Self::Pwd),
        ("directory", Self::Directory),
        ("delete", Self::Delete),
        ("rename", Self::Rename),
        ("copy", Self::Copy),
        ("type", Self::Type),
        ("mkdir", Self::Mkdir),
        ("rmdir", Self::Rmdir),
        ("space", Self::Space),
        ("who", Self::Who),
        ("message", Self::Message),
        ("help", Self::Help),
        ("status", Self::Status),
        ("set", Self::Set),
        ("query", Self::Query),
        ("assign", Self::Assign),
        ("host", Self::Host),
        ("kermit", Self::Kermit),
        ("login", Self::Login),
        ("finish", Self::Finish),
        ("bye", Self::Bye),
        ("exit", Self::Exit),
    ];

    /// By its name.
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, action)| *action)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, action)| *action == self).map_or("", |(name, _)| name)
    }

    /// What it always does, whatever the settings are.
    pub fn effects(self) -> impl Iterator<Item = Effect> {
        ROWS.iter().filter(move |row| row.by.contains(&self)).map(|row| row.effect)
    }

    /// Whether it changes what is in the tree.
    pub fn writes(self) -> bool {
        self.effects().any(Effect::writes)
    }

    pub(super) fn of(command: &ServerCommand<'_>) -> Self {
        use ServerCommand as C;
        match command {
            C::Receive => Self::Send,
            C::Get(get) if get.is_command => Self::Host,
            C::Get(_) => Self::Get,
            C::Host(_) => Self::Host,
            C::Login(_) | C::Logout => Self::Login,
            C::ChangeDirectory(_) => Self::Cd,
            C::WorkingDirectory => Self::Pwd,
            C::Directory(_) => Self::Directory,
            C::Space(_) => Self::Space,
            C::Delete(_) => Self::Delete,
            C::Rename(_) => Self::Rename,
            C::Copy(_) => Self::Copy,
            C::Type(_) => Self::Type,
            C::MakeDirectory(_) => Self::Mkdir,
            C::RemoveDirectory(_) => Self::Rmdir,
            C::Who(_) => Self::Who,
            C::Message(_) => Self::Message,
            C::Help(_) => Self::Help,
            C::Status => Self::Status,
            C::Set { .. } => Self::Set,
            C::Query { .. } => Self::Query,
            C::Assign { .. } => Self::Assign,
            C::Finish => Self::Finish,
            C::Bye => Self::Bye,
            C::Exit => Self::Exit,
            _ => Self::Kermit,
        }
    }
}

/// Whether something has this effect where files may be written to (`write`) and these commands are disabled; else
/// why not.
pub(super) fn may(effect: Effect, write: bool, disabled: &[Action]) -> Result<(), String> {
    if effect.writes() && !write {
        return Err("The server is read-only".into());
    }
    match effect.needs().filter(|needed| disabled.contains(needed)) {
        Some(needed) => Err(is_disabled(needed)),
        None => Ok(()),
    }
}

pub(super) fn is_disabled(action: Action) -> String {
    format!("REMOTE {} is disabled", action.name().to_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_effect_has_one_row_and_every_collision_says_which_it_has() {
        for effect in Effect::all() {
            assert_eq!(effect.row().effect, effect);
            assert_eq!(ROWS.iter().filter(|row| row.effect == effect).count(), 1, "{effect:?}");
            // What changes files is had by no command that can be used where it is disabled.
            let covered = effect.needs().is_some() || !effect.writes() || effect == Effect::Create;
            assert!(covered, "{effect:?}");
        }
        assert_eq!(Effect::of(Collision::Append), Some(Effect::Append));
        let writing: Vec<&str> =
            Action::NAMES.iter().filter(|(_, a)| a.writes()).map(|(name, _)| *name).collect();
        assert_eq!(writing, ["send", "delete", "rename", "copy", "mkdir", "rmdir"]);
    }
}
