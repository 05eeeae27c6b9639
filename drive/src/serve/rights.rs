//! What clients may do: the effects of every command on files, in one table.
//!
//! A command is requested by its name ([`Action`]) and may have several effects ([`Effect`]); each effect needs
//! a right, whichever command or setting causes it. [`ROWS`] is the table.

use crate::disk::Collision;
use wetstring_proto::kermit::command::ServerCommand;

/// What a client may request; each can be disabled.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[non_exhaustive]
pub enum Action {
    /// Get files from the server.
    Get,
    /// Send files to the server.
    Send,
    /// Change the current directory.
    Cd,
    /// Show the current directory.
    Pwd,
    /// List files.
    Directory,
    /// Delete files.
    Delete,
    /// Rename files.
    Rename,
    /// Copy files.
    Copy,
    /// Show files.
    Type,
    /// Make directories.
    Mkdir,
    /// Remove directories.
    Rmdir,
    /// Show free space.
    Space,
    /// Show connected users.
    Who,
    /// Send a message to the server's operator.
    Message,
    /// List the available commands.
    Help,
    /// Show the server's status.
    Status,
    /// Change settings.
    Set,
    /// Query variables.
    Query,
    /// Set variables.
    Assign,
    /// Run host commands.
    Host,
    /// Run commands in the server's language.
    Kermit,
    /// Log in and out.
    Login,
    /// End the server.
    Finish,
    /// End the connection.
    Bye,
    /// End the program.
    Exit,
}

/// An effect on files, or information that a client gets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Effect {
    /// File contents are disclosed.
    Read,
    /// Names in a directory are disclosed.
    List,
    /// The current directory changes.
    Enter,
    /// A new file is created.
    Create,
    /// A file is replaced by another of its name.
    Replace,
    /// Data is appended to a file.
    Append,
    /// An existing file is renamed to make way.
    Aside,
    /// A file or directory is renamed.
    Rename,
    /// A file is deleted.
    Delete,
    /// A directory is created.
    MakeDirectory,
    /// A directory is removed.
    RemoveDirectory,
    /// A host program runs.
    Run,
}

/// A row of the table.
struct Row {
    effect: Effect,
    /// It changes files, and needs a writable server.
    writes: bool,
    /// This must not be disabled, in addition to the command itself.
    needs: Option<Action>,
    /// Commands that always have it. SEND has others depending on the collision setting and the names.
    by: &'static [Action],
}

/// The table of rights.
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
        // Every effect has a row; a test checks it.
        ROWS.iter().find(|row| row.effect == self).unwrap_or(&ROWS[0])
    }

    /// Whether it changes the tree.
    pub fn writes(self) -> bool {
        self.row().writes
    }

    /// What must not be disabled for it, in addition to the command itself.
    pub fn needs(self) -> Option<Action> {
        self.row().needs
    }

    /// The effect of a name collision.
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

    /// Its effects under any settings.
    pub fn effects(self) -> impl Iterator<Item = Effect> {
        ROWS.iter().filter(move |row| row.by.contains(&self)).map(|row| row.effect)
    }

    /// Whether it changes the tree.
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

/// Whether this effect is allowed where files may be written (`write`) and these commands are disabled; else
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
            // No command that changes files can be used where its effect is disabled.
            let covered = effect.needs().is_some() || !effect.writes() || effect == Effect::Create;
            assert!(covered, "{effect:?}");
        }
        assert_eq!(Effect::of(Collision::Append), Some(Effect::Append));
        let writing: Vec<&str> =
            Action::NAMES.iter().filter(|(_, a)| a.writes()).map(|(name, _)| *name).collect();
        assert_eq!(writing, ["send", "delete", "rename", "copy", "mkdir", "rmdir"]);
    }
}
