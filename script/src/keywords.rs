//! Keywords and their abbreviations.

/// Result of a keyword lookup.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Found<T> {
    /// This one.
    One(T),
    /// Ambiguous.
    Several,
    /// None.
    None,
}

/// Looks up a word, which may be any unambiguous abbreviation. A table is sorted by name, in lower case;
/// synonyms count as one.
pub(crate) fn lookup<T: Copy + PartialEq>(table: &[(&str, T)], word: &[u8]) -> Found<T> {
    let small = word.to_ascii_lowercase();
    if small.is_empty() {
        return Found::None;
    }
    let from = table.partition_point(|(name, _)| name.as_bytes() < small.as_slice());
    let mut found = Found::None;
    for (name, value) in &table[from..] {
        if !name.as_bytes().starts_with(&small) {
            break;
        }
        if name.len() == small.len() {
            return Found::One(*value);
        }
        found = match found {
            Found::None => Found::One(*value),
            Found::One(other) if other == *value => found,
            _ => Found::Several,
        };
    }
    found
}

/// Looks up a word in a list of keywords, and returns the full keyword.
pub(crate) fn word_of<'t>(list: &[&'t str], word: &[u8]) -> Found<&'t str> {
    let small = word.to_ascii_lowercase();
    if small.is_empty() {
        return Found::None;
    }
    let mut found = Found::None;
    for name in list.iter().copied().filter(|name| name.as_bytes().starts_with(&small)) {
        if name.len() == small.len() {
            return Found::One(name);
        }
        found = if found == Found::None { Found::One(name) } else { Found::Several };
    }
    found
}

/// The command of a first word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verb {
    Absent,
    Alarm,
    Array,
    Ask,
    Askq,
    Assign,
    AssignName,
    Beep,
    Break,
    Bye,
    Cd,
    Chmod,
    Clear,
    Close,
    Comment,
    Connect,
    Continue,
    Copy,
    Date,
    Declare,
    Decrement,
    Define,
    DefineName,
    Delete,
    Directory,
    Disable,
    Do,
    Echo,
    Else,
    Enable,
    End,
    Evaluate,
    Exit,
    Fclose,
    Fcount,
    Fflush,
    File,
    Finish,
    Fopen,
    For,
    Foreach,
    Forward,
    Fread,
    Frewind,
    Fseek,
    Fstatus,
    Fwrite,
    Get,
    Getc,
    Getok,
    Goto,
    Hangup,
    Help,
    If,
    Increment,
    Input,
    Lineout,
    Local,
    Log,
    Logout,
    Message,
    Minput,
    Mget,
    Mkdir,
    Mmove,
    Move,
    Msend,
    Msleep,
    Open,
    Output,
    Pause,
    Pipe,
    Pwd,
    Read,
    Receive,
    Reget,
    Reinput,
    Remote,
    Rename,
    Resend,
    Return,
    Rmdir,
    Run,
    Send,
    Server,
    Set,
    Sexpression,
    Shift,
    Show,
    Sleep,
    Statistics,
    Status,
    Stop,
    Switch,
    Take,
    Touch,
    Transmit,
    Type,
    Undeclare,
    Undefine,
    Version,
    Void,
    Wait,
    While,
    Write,
    Writeln,
    Xecho,
    Xif,
}

/// The commands, sorted by name. Those of C-Kermit that are not supported here are included, since
/// abbreviations depend on all of them.
pub(crate) const VERBS: &[(&str, Verb)] = &[
    ("_assign", Verb::AssignName),
    ("_define", Verb::DefineName),
    ("add", Verb::Absent),
    ("alarm", Verb::Alarm),
    ("answer", Verb::Absent),
    ("apc", Verb::Absent),
    ("array", Verb::Array),
    ("ask", Verb::Ask),
    ("askq", Verb::Askq),
    ("assign", Verb::Assign),
    ("associate", Verb::Absent),
    ("back", Verb::Absent),
    ("beep", Verb::Beep),
    ("break", Verb::Break),
    ("browse", Verb::Absent),
    ("bye", Verb::Bye),
    ("cd", Verb::Cd),
    ("change", Verb::Absent),
    ("check", Verb::Absent),
    ("chmod", Verb::Chmod),
    ("clear", Verb::Clear),
    ("close", Verb::Close),
    ("cls", Verb::Void),
    ("comment", Verb::Comment),
    ("connect", Verb::Connect),
    ("continue", Verb::Continue),
    ("convert", Verb::Absent),
    ("copy", Verb::Copy),
    ("cwd", Verb::Cd),
    ("date", Verb::Date),
    ("declare", Verb::Declare),
    ("decrement", Verb::Decrement),
    ("define", Verb::Define),
    ("delete", Verb::Delete),
    ("dial", Verb::Absent),
    ("directory", Verb::Directory),
    ("disable", Verb::Disable),
    ("do", Verb::Do),
    ("echo", Verb::Echo),
    ("edit", Verb::Absent),
    ("else", Verb::Else),
    ("enable", Verb::Enable),
    ("end", Verb::End),
    ("evaluate", Verb::Evaluate),
    ("exit", Verb::Exit),
    ("fclose", Verb::Fclose),
    ("fcount", Verb::Fcount),
    ("fflush", Verb::Fflush),
    ("file", Verb::File),
    ("finish", Verb::Finish),
    ("flush", Verb::Fflush),
    ("fopen", Verb::Fopen),
    ("for", Verb::For),
    ("foreach", Verb::Foreach),
    ("forward", Verb::Forward),
    ("fread", Verb::Fread),
    ("frewind", Verb::Frewind),
    ("fseek", Verb::Fseek),
    ("fstatus", Verb::Fstatus),
    ("ftp", Verb::Absent),
    ("fwrite", Verb::Fwrite),
    ("get", Verb::Get),
    ("getc", Verb::Getc),
    ("getok", Verb::Getok),
    ("goto", Verb::Goto),
    ("grep", Verb::Absent),
    ("hangup", Verb::Hangup),
    ("head", Verb::Absent),
    ("help", Verb::Help),
    ("http", Verb::Absent),
    ("if", Verb::If),
    ("increment", Verb::Increment),
    ("input", Verb::Input),
    ("kcd", Verb::Absent),
    ("lcd", Verb::Cd),
    ("ldirectory", Verb::Directory),
    ("learn", Verb::Absent),
    ("lineout", Verb::Lineout),
    ("local", Verb::Local),
    ("log", Verb::Log),
    ("login", Verb::Absent),
    ("logout", Verb::Logout),
    ("lookup", Verb::Absent),
    ("lpwd", Verb::Pwd),
    ("mail", Verb::Absent),
    ("manual", Verb::Absent),
    ("message", Verb::Message),
    ("mget", Verb::Mget),
    ("minput", Verb::Minput),
    ("mkdir", Verb::Mkdir),
    ("mmove", Verb::Mmove),
    ("move", Verb::Move),
    ("msend", Verb::Msend),
    ("msleep", Verb::Msleep),
    ("open", Verb::Open),
    ("orientation", Verb::Absent),
    ("output", Verb::Output),
    ("pause", Verb::Pause),
    ("pdial", Verb::Absent),
    ("pipe", Verb::Pipe),
    ("pop", Verb::End),
    ("print", Verb::Absent),
    ("pty", Verb::Pipe),
    ("purge", Verb::Absent),
    ("push", Verb::Absent),
    ("pwd", Verb::Pwd),
    ("quit", Verb::Exit),
    ("read", Verb::Read),
    ("receive", Verb::Receive),
    ("redial", Verb::Absent),
    ("redirect", Verb::Absent),
    ("redo", Verb::Absent),
    ("reget", Verb::Reget),
    ("reinput", Verb::Reinput),
    ("remote", Verb::Remote),
    ("remove", Verb::Delete),
    ("rename", Verb::Rename),
    ("resend", Verb::Resend),
    ("return", Verb::Return),
    ("rlogin", Verb::Absent),
    ("rmdir", Verb::Rmdir),
    ("run", Verb::Run),
    ("screen", Verb::Absent),
    ("script", Verb::Absent),
    ("send", Verb::Send),
    ("server", Verb::Server),
    ("set", Verb::Set),
    ("sexpression", Verb::Sexpression),
    ("shift", Verb::Shift),
    ("show", Verb::Show),
    ("sleep", Verb::Sleep),
    ("space", Verb::Absent),
    ("ssh", Verb::Absent),
    ("statistics", Verb::Statistics),
    ("status", Verb::Status),
    ("stop", Verb::Stop),
    ("suspend", Verb::Absent),
    ("switch", Verb::Switch),
    ("tail", Verb::Absent),
    ("take", Verb::Take),
    ("telnet", Verb::Absent),
    ("touch", Verb::Touch),
    ("trace", Verb::Absent),
    ("translate", Verb::Absent),
    ("transmit", Verb::Transmit),
    ("type", Verb::Type),
    ("undeclare", Verb::Undeclare),
    ("undefine", Verb::Undefine),
    ("version", Verb::Version),
    ("void", Verb::Void),
    ("wait", Verb::Wait),
    ("where", Verb::Statistics),
    ("while", Verb::While),
    ("who", Verb::Absent),
    ("write", Verb::Write),
    ("write-line", Verb::Writeln),
    ("writeln", Verb::Writeln),
    ("xecho", Verb::Xecho),
    ("xif", Verb::Xif),
    ("xmessage", Verb::Message),
];

/// Customary abbreviations with a fixed meaning, though ambiguous.
const CUSTOM: &[(&str, Verb)] = &[
    ("asg", Verb::Assign),
    ("c", Verb::Connect),
    ("comm", Verb::Comment),
    ("cp", Verb::Copy),
    ("d", Verb::Directory),
    ("dcl", Verb::Declare),
    ("def", Verb::Define),
    ("e", Verb::Exit),
    ("ec", Verb::Echo),
    ("g", Verb::Get),
    ("h", Verb::Help),
    ("i", Verb::Input),
    ("in", Verb::Input),
    ("inc", Verb::Increment),
    ("ls", Verb::Directory),
    ("mv", Verb::Move),
    ("o", Verb::Output),
    ("p", Verb::Pause),
    ("q", Verb::Exit),
    ("r", Verb::Receive),
    ("re", Verb::Receive),
    ("rm", Verb::Delete),
    ("s", Verb::Send),
    ("sta", Verb::Statistics),
    ("stat", Verb::Statistics),
    ("t", Verb::Take),
    ("u", Verb::Undefine),
];

/// The command of a word.
pub(crate) fn verb(word: &[u8]) -> Found<Verb> {
    let small = word.to_ascii_lowercase();
    let custom = CUSTOM.iter().find(|(name, _)| name.as_bytes() == small.as_slice());
    custom.map_or_else(|| lookup(VERBS, word), |(_, verb)| Found::One(*verb))
}

/// The names of the commands with this prefix.
pub(crate) fn verbs_with(beginning: &[u8]) -> impl Iterator<Item = &'static str> {
    let small = beginning.to_ascii_lowercase();
    let there = |(name, verb): &&(&'static str, Verb)| {
        *verb != Verb::Absent && !name.starts_with('_') && name.as_bytes().starts_with(&small)
    };
    VERBS.iter().filter(there).map(|(name, _)| *name).collect::<Vec<_>>().into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_sorted() {
        assert!(VERBS.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }

    #[test]
    fn abbreviations_are_unique_or_of_custom() {
        assert_eq!(verb(b"ECHO"), Found::One(Verb::Echo));
        assert_eq!(verb(b"incr"), Found::One(Verb::Increment));
        assert_eq!(verb(b"s"), Found::One(Verb::Send));
        assert_eq!(verb(b"m"), Found::Several);
        assert_eq!(verb(b"arr"), Found::One(Verb::Array));
        assert_eq!(verb(b"writel"), Found::One(Verb::Writeln));
        assert_eq!(verb(b"nothing"), Found::None);
    }
}
