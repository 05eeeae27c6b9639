//! Conversations in virtual time.

use super::*;
use crate::profile::{BUILT_IN, Device, named};
use crate::script::script;
use crate::vars::{Digests, Vars};

const LENGTH: usize = 9;

/// A conversation with a device that says what a test wants, in virtual time.
struct Desk {
    talk: Conversation,
    now: Instant,
}

impl Desk {
    fn new(name: &str, protocol: &str, sets: &[&str]) -> Self {
        let device = Device::parse(name, named(name).unwrap()).unwrap();
        let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
        let mut vars = Vars::new(&device.vars, &sets).unwrap();
        let mut digests = Digests::default();
        digests.update(&b"123456789"[..LENGTH]);
        vars.of_file("k.bin", digests);
        let (method, _) = device.method_for(Some(protocol)).unwrap();
        let now = Instant(1);
        let script = script(&device, method, &vars).unwrap();
        let escaped = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self { talk: Conversation::new(script, now, escaped), now }
    }

    /// The device says this, and is silent then.
    fn says(&mut self, text: &str) -> &mut Self {
        self.talk.heard(text.as_bytes(), self.now);
        self.now = self.now + QUIET;
        self
    }

    /// What is done now.
    fn does(&mut self) -> Vec<Act> {
        let mut all = Vec::new();
        while let Some(act) = self.talk.next(self.now) {
            let over = matches!(act, Act::End(_) | Act::Transfer(_));
            all.push(act);
            if over {
                break;
            }
        }
        all
    }

    /// The device says this, and this is typed then.
    #[track_caller]
    fn exchange(&mut self, says: &str, types: &str) {
        let acts = self.says(says).does();
        assert_eq!(acts, [Act::Type(types.as_bytes().to_vec())], "after {says:?}");
    }

    fn after(&mut self, time: Duration) -> &mut Self {
        self.now = self.now + time;
        self
    }
}

/// As long as the answer to the last command is listened to.
const SECONDS: Duration = Duration::from_secs(2);
const READY: &str = "## Ready for binary (ymodem) download to 0x40200000 at 115200 bps...\r\n";
const LOADED: &str =
    "## Total Size      = 0x00000009 = 9 Bytes\r\n## Start Addr      = 0x40200000\r\n";

/// To the transfer, and through it.
fn loaded() -> Desk {
    let mut desk = Desk::new("uboot", "ymodem", &[]);
    assert_eq!(desk.does(), [Act::Type(vec![3])]);
    desk.exchange("U-Boot 2023.01\r\nHit any key to stop autoboot:  2 ", "\u{3}");
    desk.exchange("\x08\x08\x08 0 \r\n=> ", "loady ${loadaddr}\r");
    let echo = format!("loady ${{loadaddr}}\r\n{READY}C");
    assert_eq!(desk.says(&echo).does(), [Act::Transfer(b"C".to_vec())]);
    desk.talk.transferred(true, LOADED.as_bytes(), desk.now);
    desk.exchange("=> ", "crc32 ${loadaddr} 0x9\r");
    desk
}

const SUM: &str = "crc32 ${loadaddr} 0x9\r\ncrc32 for 40200000 ... 40200008 ==> ";

#[test]
fn from_reset_to_an_equal_check_sum() {
    let mut desk = loaded();
    let acts = desk.says(&format!("{SUM}cbf43926\r\n=> ")).does();
    assert_eq!(acts, [Act::Tell("crc32 cbf43926".to_owned()), Act::End(Ok(()))]);
}

#[test]
fn another_check_sum_is_told_with_the_right_code() {
    let acts = loaded().says(&format!("{SUM}cbf43927\r\n=> ")).does();
    let [Act::End(Err(trouble))] = &acts[..] else { panic!("{acts:?}") };
    assert_eq!(trouble.fault, Fault::Integrity);
    assert!(trouble.say.contains("==> cbf43927"), "{trouble:?}");
}

#[test]
fn a_prompt_is_one_only_if_nothing_follows() {
    let mut desk = Desk::new("uboot", "kermit", &[]);
    desk.does();
    desk.talk.heard(b"text\r\n=> ", desk.now);
    assert_eq!(desk.does(), []);
    desk.says("more text");
    assert_eq!(desk.does(), []);
    desk.exchange("\r\n=> ", "loadb ${loadaddr}\r");
}

#[test]
fn prompts_of_before_the_echo_are_not_answers() {
    let mut desk = loaded();
    assert_eq!(desk.says("<INTERRUPT>\r\n=> ").does(), []);
    let acts = desk.says(&format!("{SUM}cbf43926\r\n=> ")).does();
    assert_eq!(acts.last(), Some(&Act::End(Ok(()))));
}

#[test]
fn a_silent_device_is_asked_again_and_the_user_told() {
    let mut desk = Desk::new("uboot", "ymodem", &[]);
    assert_eq!(desk.does(), [Act::Type(vec![3])]);
    assert_eq!(desk.does(), []);
    assert_eq!(desk.talk.deadline(), Some(desk.now + Duration::from_millis(500)));
    assert_eq!(desk.after(Duration::from_millis(500)).does(), [Act::Type(vec![3])]);
    let acts = desk.after(HINT).does();
    assert!(matches!(&acts[0], Act::Tell(say) if say.contains("reset the board")), "{acts:?}");
    let acts = desk.after(Duration::from_secs(120)).does();
    let Some(Act::End(Err(trouble))) = acts.last() else { panic!("{acts:?}") };
    assert_eq!(trouble.fault, Fault::Timeout);
    assert_eq!(trouble.say, "expected the prompt of U-Boot, got nothing");
}

/// A silent device of any profile: the user is told what to do, and the wait ends.
#[test]
fn no_device_is_waited_for_without_end() {
    for (name, text) in BUILT_IN {
        let device = Device::parse(name, text).unwrap();
        let protocol = device.method[0].protocols[0].as_str();
        let mut desk = Desk::new(name, protocol, &[]);
        let mut acts = desk.does();
        if device.prompt.is_empty() {
            let hint = Act::Tell(device.reach.hint.clone());
            assert_eq!(acts, [hint, Act::Transfer(Vec::new())], "{name}");
            continue;
        }
        acts.extend(desk.after(HINT).does());
        assert!(acts.contains(&Act::Tell(device.reach.hint.clone())), "{name}: {acts:?}");
        let acts = desk.after(Duration::from_secs(device.reach.limit_s)).does();
        let Some(Act::End(Err(trouble))) = acts.last() else { panic!("{name}: {acts:?}") };
        assert_eq!(trouble.fault, Fault::Timeout, "{name}");
        assert_eq!(trouble.say, format!("expected the prompt of {}, got nothing", device.title));
    }
}

/// What may go on, such as a name in a text that ends in `>`, is no refusal yet.
#[test]
fn a_refusal_is_one_only_if_nothing_follows() {
    let mut desk = Desk::new("ios", "xmodem-crc", &[]);
    desk.does();
    desk.talk.heard(b"\r\nRouter>", desk.now);
    assert_eq!(desk.does(), []);
    assert_eq!(desk.talk.deadline(), Some(desk.now + QUIET));
    desk.talk.heard(b"\r\nRouter#", desk.now);
    assert_eq!(desk.does(), []);
    let acts = desk.after(QUIET).does();
    assert_eq!(acts, [Act::Type(b"copy xmodem: flash:k.bin\r".to_vec())]);
}

#[test]
fn a_question_is_left_before_its_refusal_is_told() {
    let question = "copy xmodem: flash:k.bin\r\nDo you want to over write? [confirm]";
    let mut desk = Desk::new("ios", "xmodem-crc", &[]);
    desk.does();
    desk.exchange("\r\nRouter#", "copy xmodem: flash:k.bin\r");
    let acts = desk.says(question).does();
    let [Act::Type(no), Act::End(Err(trouble))] = &acts[..] else { panic!("{acts:?}") };
    assert_eq!(no, b"n");
    assert_eq!(trouble.fault, Fault::Peer);
    assert!(trouble.say.starts_with("flash:k.bin is there already"), "{trouble:?}");
    let mut desk = Desk::new("ios", "xmodem-crc", &["overwrite=yes"]);
    desk.does();
    desk.exchange("\r\nRouter#", "copy xmodem: flash:k.bin\r");
    assert_eq!(desk.says(question).does(), [Act::Type(b"y".to_vec())]);
}

#[test]
fn a_device_that_talks_is_not_interrupted() {
    let mut desk = Desk::new("uboot", "ymodem", &[]);
    assert_eq!(desk.does(), [Act::Type(vec![3])]);
    for _ in 0..5 {
        assert_eq!(desk.after(Duration::from_millis(300)).says("DRAM: ").does(), []);
        assert!(desk.talk.deadline() > Some(desk.now));
    }
    let acts = desk.after(Duration::from_millis(500)).does();
    assert!(acts.contains(&Act::Type(vec![3])), "{acts:?}");
}

#[test]
fn an_unknown_command_is_told_in_the_words_of_the_device() {
    let mut desk = Desk::new("uboot", "ymodem", &["address=0x41000000"]);
    desk.does();
    desk.exchange("\r\n=> ", "loady 0x41000000\r");
    let say = "loady 0x41000000\r\nUnknown command 'loady' - try 'help'\r\n=> ";
    let acts = desk.says(say).does();
    let [Act::End(Err(trouble))] = &acts[..] else { panic!("{acts:?}") };
    assert_eq!(trouble.fault, Fault::Peer);
    assert!(trouble.say.contains("Unknown command 'loady'"), "{trouble:?}");
}

#[test]
fn the_rate_is_switched_up_and_back_even_if_the_transfer_fails() {
    for done in [true, false] {
        let mut desk = Desk::new("uboot", "ymodem", &["baud=921600"]);
        desk.does();
        desk.exchange("\r\n=> ", "loady ${loadaddr} 921600\r");
        let say =
            "loady ${loadaddr} 921600\r\n## Switch baudrate to 921600 bps and press ENTER ...\r\n";
        assert_eq!(desk.says(say).does(), [Act::Rate(Some(921_600))]);
        assert_eq!(desk.does(), []);
        let enter = || Act::Type(b"\r".to_vec());
        assert_eq!(desk.after(Duration::from_millis(200)).does(), [enter()]);
        // It may not have been ready for it.
        assert_eq!(desk.after(Duration::from_secs(1)).does(), [enter()], "{done}");
        assert_eq!(desk.says(READY).does(), [Act::Transfer(Vec::new())]);
        desk.talk.transferred(done, LOADED.as_bytes(), desk.now);
        if !done {
            assert_eq!(desk.does(), [out()]);
        }
        let say = "## Switch baudrate to 115200 bps and press ESC ...\r\n";
        assert_eq!(desk.says(say).does(), [Act::Rate(None)]);
        assert_eq!(desk.after(Duration::from_millis(200)).does(), [Act::Type(vec![0x1B])]);
        let acts = desk.says("\r\n=> ").does();
        let next =
            if done { Act::Type(b"crc32 ${loadaddr} 0x9\r".to_vec()) } else { Act::End(Ok(())) };
        assert_eq!(acts, [next]);
    }
}

/// What brings U-Boot out of its receivers: the key that it may wait for, and what each of them knows.
fn out() -> Act {
    Act::Type(b"\r\x18\x18\x18\x18\x18\x03\x03\x03".to_vec())
}

/// Whatever was being done, from the command on the device has another rate.
#[test]
fn one_who_leaves_puts_the_rate_back() {
    let switch =
        "loady ${loadaddr} 921600\r\n## Switch baudrate to 921600 bps and press ENTER ...\r\n";
    for steps in 0..4 {
        let mut desk = Desk::new("uboot", "ymodem", &["baud=921600"]);
        desk.does();
        assert!(!desk.talk.abandon(desk.now), "nothing has changed yet");
        desk.exchange("\r\n=> ", "loady ${loadaddr} 921600\r");
        if steps > 0 {
            desk.says(switch).does();
        }
        if steps > 1 {
            desk.after(Duration::from_millis(200)).does();
        }
        if steps > 2 {
            assert_eq!(desk.says(READY).does(), [Act::Transfer(Vec::new())]);
            desk.talk.transferred(false, b"", desk.now);
        }
        assert!(desk.talk.abandon(desk.now), "{steps}");
        let mut acts = desk.does();
        if steps == 0 {
            acts.extend(desk.says(switch).does());
        }
        acts.extend(desk.after(Duration::from_millis(200)).does());
        let rates = acts.iter().filter(|act| matches!(act, Act::Rate(Some(921_600)))).count();
        assert_eq!(rates, usize::from(steps == 0), "{steps}: {acts:?}");
        assert_eq!(acts.last(), Some(&out()), "{steps}: {acts:?}");
        if steps == 2 {
            // Its words were heard by the engine.
            assert_eq!(desk.after(MISSED).does(), [Act::Rate(None)]);
        } else {
            let back = "## Switch baudrate to 115200 bps and press ESC ...\r\n";
            assert_eq!(desk.says(back).does(), [Act::Rate(None)], "{steps}");
        }
        assert_eq!(desk.after(Duration::from_millis(200)).does(), [Act::Type(vec![0x1B])]);
        assert!(!desk.talk.abandon(desk.now), "it is back");
        assert_eq!(desk.says("\r\n=> ").does(), [Act::End(Ok(()))]);
    }
}

#[test]
fn a_device_that_is_never_ready_is_brought_back_before_it_is_told() {
    let mut desk = Desk::new("uboot", "ymodem", &["baud=921600"]);
    desk.does();
    desk.exchange("\r\n=> ", "loady ${loadaddr} 921600\r");
    let switch =
        "loady ${loadaddr} 921600\r\n## Switch baudrate to 921600 bps and press ENTER ...\r\n";
    desk.says(switch).does();
    desk.after(Duration::from_millis(200)).does();
    let acts = desk.after(Duration::from_secs(30)).does();
    assert_eq!(acts.last(), Some(&out()), "{acts:?}");
    desk.says("## Switch baudrate to 115200 bps and press ESC ...\r\n").does();
    desk.after(Duration::from_millis(200)).does();
    let acts = desk.says("\r\n=> ").does();
    let [Act::End(Err(trouble))] = &acts[..] else { panic!("{acts:?}") };
    assert!(trouble.say.contains("loady ${loadaddr} 921600 to be ready"), "{trouble:?}");
}

#[test]
fn the_order_of_chunks_does_not_matter() {
    let mut desk = Desk::new("uboot", "ymodem", &[]);
    desk.does();
    desk.says("\r\n=> ").does();
    let echo = format!("loady ${{loadaddr}}\r\n{READY}C");
    let mut acts = Vec::new();
    for byte in echo.as_bytes() {
        desk.talk.heard(&[*byte], desk.now);
        acts.extend(desk.does());
    }
    // It has the bytes from before the start of the engine; later bytes are read from the port.
    assert_eq!(acts, [Act::Transfer(Vec::new())]);
}

/// A transfer is over and its check sum is equal; what is done then.
fn checked(then: &str) -> (Desk, Vec<Act>) {
    let mut desk = Desk::new("uboot", "ymodem", &[&format!("then={then}")]);
    desk.does();
    desk.says("\r\n=> ").does();
    desk.says(&format!("loady ${{loadaddr}}\r\n{READY}")).does();
    assert!(!desk.talk.closed(desk.now), "before the transfer the line may not close");
    desk.talk.transferred(true, LOADED.as_bytes(), desk.now);
    desk.exchange("=> ", "crc32 ${loadaddr} 0x9\r");
    assert!(!desk.talk.closed(desk.now), "nor before the check");
    let acts = desk.says(&format!("{SUM}cbf43926\r\n=> ")).does();
    (desk, acts)
}

fn told(text: &str) -> [Act; 2] {
    [Act::Tell(text.to_owned()), Act::End(Ok(()))]
}

#[test]
fn what_follows_the_last_command_may_never_return() {
    let (mut desk, acts) = checked("bootm ${loadaddr}");
    assert_eq!(acts[1..], [Act::Type(b"bootm ${loadaddr}\r".to_vec())]);
    desk.says("bootm ${loadaddr}\r\n## Booting kernel\r\nStarting kernel ...\r\n");
    assert_eq!(desk.does(), []);
    let said = "bootm ${loadaddr}: the device answers ## Booting kernel / Starting kernel ...";
    assert_eq!(desk.after(SECONDS).does(), told(said));
}

#[test]
fn what_fails_behind_the_last_command_is_shown() {
    let (mut desk, _) = checked("bootm ${loadaddr}");
    let acts = desk.says("bootm ${loadaddr}\r\nWrong Image Format\r\n=> ").does();
    assert_eq!(acts, told("bootm ${loadaddr}: the device answers Wrong Image Format"));
}

/// A board that starts takes its USB port away.
#[test]
fn a_line_that_closes_behind_the_last_command_is_no_fault() {
    let (mut desk, _) = checked("reset");
    assert!(desk.talk.closed(desk.now));
    assert_eq!(desk.does(), told("reset: the device answers nothing"));
}
