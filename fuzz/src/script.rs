//! The Kermit command language: any text as a script, in a world in memory.

use wetstring_script::{Interp, Limits, Lines, Memory};

/// What scripts of seeded bytes are put together from: the words that open doors.
const PIECES: &[&str] = &[
    "echo ",
    "if ",
    "= 1 1 ",
    "define mac ",
    "do mac ",
    "mac ",
    "{",
    "}",
    " { ",
    " }\n",
    "\n",
    ",",
    "(",
    ")",
    "\\%a ",
    "\\%1",
    "\\%*",
    "\\m(mac)",
    "\\v(status)",
    "\\&a[1]",
    "\\&a[\\%a]",
    "declare \\&a[5] = x y\n",
    "for \\%i 1 3 1 {",
    "while 1 {",
    "break",
    "continue",
    "goto top",
    ":top\n",
    "switch \\%a {",
    ":default ",
    "\\fexec(mac \\%1)",
    "\\feval(",
    "1+2*3",
    "!5",
    "^9",
    "/0",
    "\\flen(",
    "\\fsubstr(abc,2)",
    "\\fword(",
    "\\fsplit(a b c,&a)",
    "\\fjoin(&a)",
    "\\frepeat(ab,99999)",
    "\\flpad(x,",
    "\\freplace(aaa,a,bb)",
    "assign \\%a ",
    ".x := ",
    ".y ::= ",
    "increment x ",
    "local \\%a x\n",
    "return ",
    "end 1\n",
    "stop\n",
    "exit 3\n",
    "open write f\n",
    "writeln file ",
    "close write\n",
    "open read f\n",
    "read \\%b\n",
    "take t\n",
    "fopen /read \\%c f\n",
    "fread \\%c x\n",
    "input 1 x\n",
    "output a\\nb\n",
    "set window 4\n",
    "show macros\n",
    "ask \\%a {x}\n",
    "else ",
    "xif ",
    "and ",
    "or ",
    "not ",
    "match abc a*c ",
    "\\fpattern(*)",
    "\\fsearch({a,b}*,",
    "array sort &a\n",
    "shift\n",
    "\\q(",
    "\\s(x[1:2])",
    "\\:(abc[2.])",
    "\\65",
    "\\{13}",
    "(setq x 1)\n",
    "\\fsexpr(+ 1 x)",
    "\\fcvtdate(",
    "20010203",
    " 04:05:06",
    "\\fdiffdates(",
    "\\fradix(ff,16,10)",
    "-\n",
    "; c\n",
    "define \\%a \\%a\n",
    "remote set file collision overwrite\n",
    "send *\n",
    "set host x 1 /raw\n",
    "\"",
    " ",
];

fn bounds() -> Limits {
    Limits { steps: Some(3000), value: 20_000, memory: 2_000_000, ..Limits::default() }
}

/// A script made of pieces, each chosen by a byte; a byte from 128 on stands for itself.
fn text(bytes: &[u8]) -> Vec<u8> {
    let piece = |byte: &u8| match PIECES.get(usize::from(*byte)) {
        Some(piece) => piece.as_bytes().to_vec(),
        None => vec![*byte],
    };
    bytes.iter().flat_map(piece).collect()
}

/// Lines: regardless of input, each line becomes part of one logical line at most, and nothing is held after
/// the end.
pub fn lines(bytes: &[u8]) {
    for source in [bytes.to_vec(), text(bytes)] {
        let mut lines = Lines::new();
        let mut last = 0;
        for line in source.split(|b| *b == b'\n') {
            if let Some(logical) = lines.feed(line) {
                assert!(logical.line > last, "lines go on");
                assert!(!logical.text.is_empty());
                last = logical.line;
            }
        }
        drop(lines.finish());
        assert!(lines.finish().is_none() && lines.held() == 0, "nothing is left");
    }
}

/// Runs a script, first of pieces, then of the bytes as they are; returns the length of its output.
pub fn run(bytes: &[u8]) -> usize {
    let mut said = 0;
    for source in [text(bytes), bytes.to_vec()] {
        let mut world = Memory::default();
        world.most_output = 100_000;
        world.put("t", &source);
        world.put("f", b"one\ntwo\n");
        world.answers.extend([b"yes".to_vec(), b"no".to_vec()]);
        let mut interp = Interp::new(&mut world, bounds(), vec![b"wst".to_vec()]);
        interp.file("t", &[b"a b".to_vec(), b"\\%1".to_vec()]);
        // What a script leaves behind must not affect the next one.
        interp.list(b"define \\%a ok, echo \\%a");
        said += world.screen.len();
        assert!(world.screen.len() <= 100_000);
    }
    said
}
