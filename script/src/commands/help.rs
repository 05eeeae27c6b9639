//! HELP: the syntax and purpose of each command.

use super::set::name_in_family;
use super::settings::{ANY, Effect, Entry, entries};
use crate::fields::Fields;
use crate::interp::Interp;
use crate::keywords::{Found, lookup, verbs_with};
use crate::text::lossy;
use crate::trouble::{Flow, Trouble};
use crate::world::Screen;
use wetstring_proto::settings::Setting;

/// A command, its syntax, and its description. Sorted by name.
type Row = (&'static str, &'static str, &'static str);

/// Every supported command of [`crate::keywords::VERBS`].
const COMMANDS: &[Row] = &[
    (
        "_assign",
        "name text",
        "Defines a macro whose name is evaluated first, with the text evaluated.",
    ),
    (
        "_define",
        "name text",
        "Defines a macro whose name is evaluated first, with the text as it stands.",
    ),
    (
        "alarm",
        "[ seconds or hh:mm:ss ]",
        "Sets the alarm that IF ALARM looks at; nothing shows it.",
    ),
    (
        "array",
        "{ CLEAR, COPY, EQUATE, LINK, RESIZE, SET, SHOW, SORT } &name ...",
        "Works on arrays.",
    ),
    ("ask", "[ /TIMEOUT:n ] name prompt", "Asks the user for a line, and stores it in a variable."),
    ("askq", "[ /TIMEOUT:n ] name prompt", "As ASK, without echo."),
    ("assign", "name text", "Defines a macro or variable as the text, evaluated."),
    ("beep", "", "Sounds the bell, unless SET BELL OFF."),
    ("break", "", "Leaves a loop or SWITCH."),
    ("bye", "", "Logs out the server on the connection, and closes that."),
    ("cd", "[ directory ]", "Changes the directory; without one to the home directory."),
    ("chmod", "mode file", "Changes permissions; the mode is octal."),
    (
        "clear",
        "{ ALARM, BOTH, DEVICE-BUFFER, INPUT-BUFFER, SCREEN, SEND-LIST, ... }",
        "Empties buffers.",
    ),
    (
        "close",
        "{ CONNECTION, READ-FILE, WRITE-FILE, DEBUG-LOG, PACKET-LOG, SESSION-LOG, TRANSACTION-LOG }",
        "Closes a file or the connection.",
    ),
    ("cls", "", "Does nothing: output may go into a file."),
    ("comment", "text", "Does nothing, as # and ; at the beginning of a line."),
    (
        "connect",
        "",
        "Makes this terminal one of the connection; the escape character and C lead back.",
    ),
    ("continue", "", "Continues with the next iteration of a loop."),
    ("copy", "source destination", "Copies a file."),
    ("cwd", "[ directory ]", "As CD."),
    ("date", "[ date ]", "Shows the date and time."),
    ("declare", "&name[size] [ = values ]", "Makes an array."),
    ("decrement", "name [ number ]", "Subtracts 1, or the number, from a variable."),
    ("define", "name text", "Defines a macro or variable as the text as it stands."),
    ("delete", "[ switches ] files", "Deletes files here."),
    (
        "directory",
        "[ /ALL /ARRAY:&a /ASCENDING /BACKUP /BRIEF /DESCENDING /DIRECTORIES /DOTFILES /FILES /HEADING /OUTPUT:file /RECURSIVE /REVERSE /SORT:key /SUMMARY ... ] [ files ]",
        "Lists files here.",
    ),
    ("disable", "service", "Forbids a service to clients of SERVER; SHOW SERVER lists them."),
    ("do", "macro [ arguments ]", "Runs a macro; DO may be left out."),
    ("echo", "text", "Shows the text and ends the line."),
    ("else", "command", "Belongs to the IF before it."),
    (
        "enable",
        "service [ { LOCAL, REMOTE, BOTH } ]",
        "Allows a service to clients of SERVER; SHOW SERVER lists them.",
    ),
    ("end", "[ status [ text ] ]", "Ends this file or macro."),
    (
        "evaluate",
        "[ name ] expression",
        "Computes with whole numbers, and shows it or puts it into a variable.",
    ),
    ("exit", "[ code [ text ] ]", "Ends the program; the default code is the sum of all failures."),
    ("fclose", "{ channel, ALL }", "Closes a channel of FOPEN."),
    ("fcount", "[ { /BYTES, /LINES } ] channel", "Counts the bytes or lines of a file."),
    ("fflush", "channel", "Writes what is buffered."),
    (
        "file",
        "{ CLOSE, COUNT, FLUSH, LIST, OPEN, READ, REWIND, SEEK, STATUS, WRITE } ...",
        "Reads and writes files by channels.",
    ),
    ("finish", "", "Ends the server on the connection; the connection stays."),
    ("flush", "channel", "As FFLUSH."),
    (
        "fopen",
        "[ { /READ, /WRITE, /APPEND, /BINARY } ] name file",
        "Opens a file, its channel in a variable.",
    ),
    ("for", "name first last step { commands }", "Repeats commands, counting."),
    ("foreach", "name ( items ) { commands }", "Repeats commands for each item."),
    ("forward", "label", "As GOTO, looking ahead only."),
    (
        "fread",
        "[ { /LINE, /SIZE:n, /CHARACTER, /TRIM, /UNTABIFY } ] channel [ name ]",
        "Reads from a channel.",
    ),
    ("frewind", "channel", "Goes back to the beginning of a file."),
    (
        "fseek",
        "[ { /BYTE, /LINE, /RELATIVE, /ABSOLUTE, /FIND:pattern } ] channel { number, LAST, EOF }",
        "Moves in a file.",
    ),
    ("fstatus", "channel", "Shows where a channel stands."),
    (
        "fwrite",
        "[ { /LINE, /SIZE:n, /STRING, /CHARACTER, /LPAD:c, /RPAD:c } ] channel text",
        "Writes to a channel.",
    ),
    ("get", "[ switches ] names", "Asks the server on the connection for files."),
    ("getc", "name prompt", "Asks the user for one key."),
    ("getok", "prompt", "Asks the user for yes or no."),
    ("goto", "label", "Continues at the line :label."),
    ("hangup", "", "Closes the connection."),
    ("help", "[ command, or SET setting ]", "Shows this."),
    (
        "if",
        "[ NOT ] condition command",
        "Runs the command if the condition holds; { commands } ELSE { commands } too.",
    ),
    ("increment", "name [ number ]", "Adds 1, or the number, to a variable."),
    (
        "input",
        "[ /CLEAR /COUNT:n /NOMATCH /NOWRAP ] seconds text",
        "Waits for a text from the connection.",
    ),
    ("lcd", "[ directory ]", "As CD, always on this machine."),
    ("ldirectory", "[ switches ] [ files ]", "As DIRECTORY, always on this machine."),
    ("lineout", "text", "As OUTPUT, and ends the line."),
    ("local", "names", "Variables that are this macro's own."),
    ("log", "{ DEBUG, PACKETS, SESSION, TRANSACTIONS } file [ { APPEND, NEW } ]", "Opens a log."),
    ("logout", "", "Logs out from the server on the connection."),
    ("lpwd", "", "As PWD, always on this machine."),
    ("message", "text", "Shows a text, if SET DEBUG MESSAGE is ON."),
    ("mget", "[ switches ] names", "As GET, for several names."),
    (
        "minput",
        "[ /CLEAR ... ] seconds texts",
        "Waits for one of several texts; \\v(minput) says which was received.",
    ),
    ("mkdir", "directory", "Makes a directory."),
    ("mmove", "[ switches ] files", "As MSEND, and deletes what has arrived."),
    ("move", "[ switches ] files", "As SEND, and deletes what has arrived."),
    ("msend", "[ switches ] files", "Sends several files, their names with blanks between."),
    ("msleep", "milliseconds", "Waits."),
    ("open", "{ READ, WRITE, APPEND } file", "Opens the file of READ and WRITE."),
    (
        "output",
        "text",
        "Sends a text to the connection; \\N, \\B and \\L are NUL, BREAK, long BREAK.",
    ),
    ("pause", "[ seconds ]", "Waits; a key ends it."),
    ("pipe", "command", "A program is the connection."),
    ("pop", "[ status [ text ] ]", "As END."),
    ("pty", "command", "A program in a terminal is the connection."),
    ("pwd", "", "Shows the directory."),
    ("quit", "[ code [ text ] ]", "As EXIT."),
    ("read", "name", "Reads a line of the file of OPEN READ."),
    ("receive", "[ switches ] [ as-name ]", "Waits for files."),
    ("reget", "name", "As GET, resuming a partial file."),
    ("reinput", "seconds text", "As INPUT, in text already received."),
    (
        "remote",
        "{ CD, COPY, DELETE, DIRECTORY, EXIT, HELP, HOST, LOGIN, MKDIR, PWD, RENAME, RMDIR, SET, SPACE, TYPE, WHO, ... } ...",
        "Asks the server on the connection.",
    ),
    ("remove", "[ switches ] files", "As DELETE."),
    ("rename", "[ switches ] old new", "Renames a file."),
    ("resend", "file", "As SEND, resuming a partial file."),
    ("return", "[ text ]", "Ends a macro; the text is its value."),
    ("rmdir", "directory", "Removes a directory."),
    ("run", "command", "Runs a command of the system."),
    (
        "send",
        "[ /AS-NAME:n /BINARY /TEXT /RECURSIVE /DELETE /MOVE-TO:d /PATHNAMES:x /CALIBRATE[:n] ... ] files",
        "Sends files.",
    ),
    ("server", "", "Serves the client on the connection until it ends that."),
    ("set", "setting value", "Changes a setting: HELP SET lists them, HELP SET name shows one."),
    ("sexpression", "(operation values)", "Computes an S-expression."),
    ("shift", "[ number ]", "Moves the arguments of a macro to the left."),
    ("show", "[ topic ]", "Shows settings, variables, macros and other things."),
    ("sleep", "[ seconds ]", "Waits; no key ends it."),
    ("statistics", "", "Shows statistics of the last transfer."),
    ("status", "", "Shows whether the last command succeeded."),
    ("stop", "[ status [ text ] ]", "Ends all files and macros."),
    ("switch", "value { :case, commands, ... }", "Runs the commands of a case."),
    ("take", "file [ arguments ]", "Runs the commands of a file."),
    ("touch", "files", "Creates files, or sets their times to now."),
    ("transmit", "[ { /BINARY, /TEXT } ] file", "Sends a file without a protocol."),
    ("type", "[ /COUNT /HEAD:n /TAIL:n /MATCH:pattern /NUMBER ... ] file", "Shows a file."),
    ("undeclare", "&name", "Removes an array."),
    ("undefine", "names", "Removes macros and variables."),
    ("version", "", "Shows the version."),
    ("void", "function", "Evaluates, and forgets the value."),
    ("wait", "[ seconds ]", "As PAUSE."),
    ("where", "", "As STATISTICS."),
    ("while", "condition { commands }", "Repeats commands as long as the condition holds."),
    (
        "write",
        "{ FILE, DEBUG-LOG, ERROR, PACKET-LOG, SCREEN, SESSION-LOG, TRANSACTION-LOG } text",
        "Writes a text.",
    ),
    ("write-line", "{ FILE, ERROR, SCREEN, ... } text", "As WRITE, and ends the line."),
    ("writeln", "{ FILE, ERROR, SCREEN, ... } text", "As WRITE, and ends the line."),
    ("xecho", "text", "As ECHO, without ending the line."),
    ("xif", "condition { commands } [ ELSE { commands } ]", "As IF."),
    ("xmessage", "text", "As MESSAGE, without ending the line."),
];

/// SET options that are not in the table of settings.
const OWN: &[Row] = &[
    ("alarm", "[ seconds or hh:mm:ss ]", "As ALARM."),
    ("case", "{ ON, OFF }", "Whether comparisons tell upper from lower case."),
    ("command quoting", "{ ON, OFF }", "Whether backslashes are special in commands."),
    ("command variable-evaluation", "{ RECURSIVE, SIMPLE }", "How far \\%a is evaluated."),
    ("compatibility", "{ 9, 10, 11, DEFAULT }", "Use the defaults of that version of C-Kermit."),
    (
        "control-character",
        "{ PREFIXED, UNPREFIXED } { codes, ALL }",
        "Which control characters are prefixed.",
    ),
    ("count", "number", "The counter of IF COUNT."),
    ("exit status", "number", "The default code of EXIT."),
    ("flag", "{ ON, OFF }", "The flag tested by IF FLAG."),
    ("function diagnostics", "{ ON, OFF }", "Whether errors of functions are shown."),
    ("function error", "{ ON, OFF }", "Whether errors of functions are those of the command."),
    (
        "host",
        "[ switches ] name [ port ]",
        "Connects to a host; without a name closes the connection.",
    ),
    ("input buffer-length", "number", "Size of the INPUT buffer."),
    ("input case", "{ IGNORE, OBSERVE }", "Whether INPUT tells upper from lower case."),
    ("input echo", "{ ON, OFF }", "Whether INPUT shows received text."),
    ("input silence", "seconds", "Silence that ends INPUT."),
    (
        "input timeout-action",
        "{ PROCEED, QUIT }",
        "Whether a script ends when INPUT finds nothing.",
    ),
    ("line", "[ device ]", "Opens a serial port; without one closes the connection."),
    ("macro echo", "{ ON, OFF }", "Whether commands of macros are shown."),
    ("macro error", "{ ON, OFF }", "Whether a macro ends at its first failure."),
    ("network", "[ switches ] name [ port ]", "As SET HOST."),
    ("output pacing", "milliseconds", "Between characters of OUTPUT."),
    ("output special-escapes", "{ ON, OFF }", "Whether \\N, \\B and \\L are special in OUTPUT."),
    ("port", "[ device ]", "As SET LINE."),
    ("protocol", "name", "As SET TRANSFER PROTOCOL."),
    ("quiet", "{ ON, OFF }", "Whether messages are left out."),
    ("take echo", "{ ON, OFF }", "Whether commands of files are shown."),
    ("take error", "{ ON, OFF }", "Whether a file ends at its first failure."),
    (
        "telopt",
        "[ { /CLIENT, /SERVER } ] option { ACCEPTED, REFUSED, REQUESTED }",
        "Which Telnet options may be agreed.",
    ),
    ("variable-evaluation", "{ RECURSIVE, SIMPLE }", "As SET COMMAND VARIABLE-EVALUATION."),
];

impl Interp<'_> {
    pub(crate) fn help(&mut self, fields: &mut Fields<'_>) -> Result<Flow, Trouble> {
        let words: Vec<String> = fields.rest().split(|byte| *byte == b' ').map(lossy).collect();
        let words: Vec<String> = words.into_iter().filter(|word| !word.is_empty()).collect();
        let text = match words.split_first() {
            None => overview(),
            Some((first, rest)) if !rest.is_empty() && "set".starts_with(&first.to_lowercase()) => {
                self.help_of_setting(&rest.join(" ").to_lowercase())?
            }
            Some((first, _)) => of_command(&self.world.rows(), &first.to_lowercase())?,
        };
        self.world.say(Screen::Output, text.as_bytes());
        self.status = 0;
        Ok(Flow::Next)
    }

    /// A setting by C-Kermit's words, by its name, or by that of its protocol and its own.
    fn help_of_setting(&self, begin: &str) -> Result<String, Trouble> {
        let known = of_setting(&self.world.rows(), begin);
        let (family, name) = begin.split_once(' ').unwrap_or((begin, ""));
        match (known, self.rows_of_family(family.as_bytes())) {
            (Err(_), Ok(rows)) => {
                let named = rows.iter().filter(|row| name_in_family(row).starts_with(name.trim()));
                let text: String = named.map(|row| row_shown(row)).collect();
                let none = || Trouble::new(format!("no such setting: {begin}"));
                if text.is_empty() { Err(none()) } else { Ok(text) }
            }
            (known, _) => known,
        }
    }
}

/// The rows of the program's table.
type Rows<'r> = &'r [&'static Setting];

/// The end of HELP SET.
const OF_ROWS: &str = "SET name value\n  Every setting of the program by its name, such as zmodem.window or ZMODEM WINDOW; \
                       SHOW ZMODEM and HELP SET ZMODEM list those of ZMODEM.\n";

/// A row by its own name.
fn row_shown(row: &'static Setting) -> String {
    format!("SET {} {}\n  {}.\n", row.name, Entry::of_row(row.name, row).syntax(), row.doc)
}

fn overview() -> String {
    let names: Vec<&str> = verbs_with(b"").collect();
    let mut text = String::from("Commands (any beginning that only one of them has will do):\n");
    for row in names.chunks(6) {
        for name in row {
            text += &format!(" {name:<12}");
        }
        text = text.trim_end().to_owned() + "\n";
    }
    text + "HELP command shows its syntax; HELP SET lists the settings, SHOW their values.\n"
}

fn of_command(rows: Rows<'_>, name: &str) -> Result<String, Trouble> {
    let names: Vec<(&str, Row)> = COMMANDS.iter().map(|row| (row.0, *row)).collect();
    match lookup(&names, name.as_bytes()) {
        Found::One(("set", ..)) => Ok(settings(rows, "") + OF_ROWS),
        Found::One(row) => Ok(shown("", row)),
        Found::Several => Ok(verbs_with(name.as_bytes()).fold(String::new(), |text, name| {
            text + &COMMANDS
                .iter()
                .find(|row| row.0 == name)
                .map_or(String::new(), |r| shown("", *r))
        })),
        Found::None => Err(Trouble::new(format!("no such command: {name}"))),
    }
}

fn shown(before: &str, (name, syntax, what): Row) -> String {
    let command = format!("{before}{} {syntax}", name.to_uppercase());
    format!("{}\n  {what}\n", command.trim_end())
}

fn of_setting(rows: Rows<'_>, begin: &str) -> Result<String, Trouble> {
    if begin.contains('.') {
        let named = rows.iter().filter(|row| row.name.starts_with(begin));
        let text: String = named.map(|row| row_shown(row)).collect();
        if !text.is_empty() {
            return Ok(text);
        }
    }
    let text = settings(rows, begin);
    if text.is_empty() {
        return Err(Trouble::new(format!("no such setting: {begin}")));
    }
    Ok(text)
}

/// The settings with these words, and their syntax.
fn settings(rows: Rows<'_>, begin: &str) -> String {
    let fits = |name: &str| {
        let given: Vec<&str> = begin.split_whitespace().collect();
        let words: Vec<&str> = name.split(' ').collect();
        given.len() <= words.len() && given.iter().zip(&words).all(|(g, word)| word.starts_with(g))
    };
    let own = OWN.iter().map(|row| (row.0.to_owned(), shown("SET ", *row)));
    let entries = entries(rows);
    let rest = entries.iter().map(|entry| (entry.name.to_owned(), entry_shown(entry)));
    let mut all: Vec<(String, String)> = own.chain(rest).filter(|(name, _)| fits(name)).collect();
    all.sort();
    all.into_iter().map(|(_, text)| text).collect()
}

fn entry_shown(entry: &Entry) -> String {
    let name = entry.name.to_uppercase();
    let what = match entry.effect {
        Effect::Row(row) => format!("The setting {} of the program.", row.name),
        Effect::Program(usual) | Effect::Language(usual) => {
            let usual = if usual.is_empty() { "none".to_owned() } else { usual.to_uppercase() };
            format!("{}; default {usual}.", entry.what)
        }
        Effect::Fixed(ANY, why) => format!("Has no effect: {why}."),
        Effect::Fixed([], why) => format!("Not supported: {why}."),
        Effect::Fixed([value], why) => {
            format!("Only {} is supported: {why}.", value.to_uppercase())
        }
        Effect::Fixed([others @ .., last], why) => {
            let (others, last) = (others.join(", ").to_uppercase(), last.to_uppercase());
            format!("Only {others} and {last} are supported: {why}.")
        }
    };
    format!("SET {name} {}\n  {what}\n", entry.syntax())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keywords::{VERBS, Verb};

    #[test]
    fn every_command_has_its_help_and_nothing_else_has() {
        let there = VERBS.iter().filter(|(_, verb)| *verb != Verb::Absent);
        let there: Vec<&str> = there.map(|(name, _)| *name).collect();
        let told: Vec<&str> = COMMANDS.iter().map(|row| row.0).collect();
        assert_eq!(told, there);
        assert!(COMMANDS.iter().all(|row| row.2.ends_with('.')));
    }

    #[test]
    fn every_word_of_set_has_its_help() {
        let rows: Vec<&Setting> = wetstring_proto::kermit::Config::TABLE.iter().collect();
        let all = super::super::words_after(&rows, "set");
        for word in all {
            // The prefix of the rows is for the world to explain.
            assert!(of_setting(&rows, word).is_ok() || word == "kermit", "{word}");
        }
    }
}
