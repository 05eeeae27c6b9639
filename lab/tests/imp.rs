//! The ARPANET's subnet against what was published of it, and RFC 662's experiment over it.

use wetstring_lab::explain::{Account, Advice, Part, header};
use wetstring_lab::host::{HostModel, Hosted};
use wetstring_lab::imp::{Content, Experiment, Report, Subnet, SubnetModel};
use wetstring_lab::pair::Stop;
use wetstring_lab::scenario::{Scenario, no_files};
use wetstring_lab::slip::TypingModel;
use wetstring_lab::{Element, End, Recorder};
use wetstring_proto::arpanet::Config;
use wetstring_proto::arpanet::leader::{Form, Kind, Leader};
use wetstring_proto::arpanet::ncp::Buffers;
use wetstring_proto::{Cx, Duration, Instant, NoTrace, Span};

fn subnet(words: &str) -> Subnet {
    Subnet::new(&words.parse::<SubnetModel>().unwrap())
}

/// A message to the host of the peer, with this many bits behind its leader.
fn message(from: End, link: u8, bits: usize) -> Vec<u8> {
    let mut octets = vec![0; 4 + bits.div_ceil(8)];
    let leader = Leader::regular(SubnetModel::HOSTS[from.other().index()], link);
    leader.put(Form::Old, &mut octets).unwrap();
    octets
}

fn cx(now: Instant, trace: &mut NoTrace) -> Cx<'_> {
    Cx { now, trace }
}

/// What came at which end, and when, in milliseconds.
type Arrivals = Vec<(End, Leader, f64)>;

/// Sends messages from A as fast as the IMP takes them, `ahead` without their RFNM, and notes what comes.
fn generate(subnet: &mut Subnet, messages: &[Vec<u8>], ahead: usize) -> Arrivals {
    let (mut now, mut came, mut sent, mut rfnms) = (Instant::ZERO, Vec::new(), 0, 0);
    let mut into = vec![0; 2048];
    for _ in 0..1_000_000 {
        while sent < messages.len() && sent - rfnms < ahead {
            let taken = subnet.offer(&mut cx(now, &mut NoTrace), End::A, &messages[sent]);
            if taken == 0 {
                break;
            }
            sent += 1;
        }
        for end in End::BOTH {
            let len = subnet.emit(&mut cx(now, &mut NoTrace), end, &mut into);
            if len > 0 {
                let leader = Leader::parse(Form::Old, &into[..len]).unwrap();
                rfnms += usize::from(leader.kind == Kind::Rfnm);
                came.push((end, leader, now.as_nanos() as f64 / 1e6));
            }
        }
        let next = End::BOTH.into_iter().filter_map(|end| subnet.next(end)).min();
        match next {
            Some(at) => now = at.max(now),
            None if sent == messages.len() => return came,
            None => {}
        }
    }
    panic!("it does not end");
}

#[test]
fn messages_come_in_order_and_each_has_its_rfnm() {
    for words in [
        "imp:0",
        "imp:1",
        "imp:3",
        "imp:3,damage=5%",
        "imp:2,buffers=8,damage=2%,window=8",
        "imp:1,asks=no",
    ] {
        let bits = |n: usize| [16, 1008, 1009, 8000, 40, 3000][n % 6];
        let messages: Vec<_> =
            (0..90).map(|n| message(End::A, 2 + n as u8 % 60, bits(n))).collect();
        let came = generate(&mut subnet(words), &messages, 8);
        for (end, kind) in [(End::A, Kind::Rfnm), (End::B, Kind::Regular)] {
            let mut links: Vec<u8> = came
                .iter()
                .filter(|(at, ..)| *at == end)
                .map(|(_, leader, _)| leader.link)
                .collect();
            let mut expected: Vec<u8> = (0..90).map(|n| 2 + n % 60).collect();
            if end == End::A {
                // One RFNM may pass another that was damaged.
                links.sort_unstable();
                expected.sort_unstable();
            }
            assert_eq!(links, expected, "{words} {kind:?}");
        }
        let [a, b] = SubnetModel::HOSTS;
        for (end, leader, _) in came {
            assert_eq!(leader.kind, if end == End::A { Kind::Rfnm } else { Kind::Regular });
            assert_eq!(leader.address, if end == End::A { b } else { a });
        }
    }
}

#[test]
fn messages_refused_by_an_imp_are_answered() {
    let elsewhere = {
        let mut octets = vec![0; 20];
        Leader::regular(SubnetModel::HOSTS[0], 5).put(Form::Old, &mut octets).unwrap();
        octets
    };
    let cases = [
        (elsewhere, Kind::Dead),
        (message(End::A, 5, 8072), Kind::Incomplete),
        (vec![0, 6], Kind::LeaderError),
        (vec![11, 6, 5, 0], Kind::LeaderError),
    ];
    for (octets, kind) in cases {
        let came = generate(&mut subnet("imp:1"), &[octets, message(End::A, 9, 16)], 2);
        let told: Vec<Kind> = came
            .iter()
            .filter(|(end, ..)| *end == End::A)
            .map(|(_, leader, _)| leader.kind)
            .collect();
        assert_eq!(told, [kind, Kind::Rfnm]);
    }
}

#[test]
fn files_delay_interactive_traffic() {
    let echo = |buffers, transfers, large_count| {
        let mut experiment = experiment(buffers, transfers);
        experiment.hosts.iter_mut().for_each(|host| host.ncp.large_count = large_count);
        experiment.typing = Some(typing());
        let report = run("imp:1", "send=85900us", &experiment);
        assert_eq!(report.stop, Stop::Over);
        let echoes = report.echoes.unwrap();
        assert!(echoes.echoed > 40);
        let echo = echoes.median_ns / 1000;
        println!("{transfers} files, {buffers:?}, {large_count} large buffers: {echo} us");
        echo
    };
    // Long messages keep a character waiting longer than short ones, and more files longer than one.
    let (short, long) = (echo(Buffers::Small, 1, 8), echo(Buffers::Both, 1, 8));
    assert!(short < long);
    assert!(long < echo(Buffers::Both, 3, 8));
    // A buffer of its own gains a character little: it waits for the line, and goes before files in any case.
    let (own, shared) = (echo(Buffers::Both, 1, 1), echo(Buffers::Large, 1, 1));
    assert!(own.abs_diff(shared) * 10 < own);
    assert_eq!(long, echo(Buffers::Large, 1, 8));
}

#[test]
fn a_run_is_the_same_twice() {
    let digest = || {
        let mut recorder = Recorder::digest_only();
        let mut element = subnet("imp:2,damage=2%");
        let report = experiment(Buffers::Both, 2).run(&mut element, &mut recorder);
        assert_eq!(report.stop, Stop::Over);
        assert!(report.right);
        assert_eq!(report.written, 2 * 312_498);
        (recorder.digest(), report)
    };
    assert_eq!(digest(), digest());
}

#[test]
fn a_subnet_says_itself() {
    for words in [
        "imp:1",
        "imp:3,line=230400,host=1M,overhead=100,window=8,buffers=24,spare=1,delay=4ms,processing=0s,hold=125ms,repeat=100ms,asks=no,rfnm=last,damage=0.5%,seed=7",
    ] {
        let model: SubnetModel = words.parse().unwrap();
        let said = model.to_string();
        assert_eq!(said.parse::<SubnetModel>().unwrap(), model, "{said}");
    }
    for (words, expected) in [
        ("imp:17", "imp: hops: expected 0 to 16 lines, got `17`"),
        ("imp:1,rfnm=now", "imp: rfnm: expected first or last, got `now`"),
        ("imp:1,speed=5", "imp: speed: expected one of hops, line,"),
    ] {
        let said = words.parse::<SubnetModel>().unwrap_err().to_string();
        assert!(said.starts_with(expected), "{said}");
    }
}

fn typing() -> TypingModel {
    TypingModel::of("2s", "sender").unwrap()
}

fn experiment(buffers: Buffers, transfers: u8) -> Experiment<'static> {
    let mut config = Config::default();
    config.ncp.buffers = buffers;
    config.ftp.byte = 36;
    Experiment {
        hosts: [config.clone(), config],
        transfers,
        content: Content::Pattern(312_498),
        same: &|_| false,
        typing: None,
        seed: 1,
        time_limit: Duration::from_secs(3600),
    }
}

fn run(words: &str, host: &str, experiment: &Experiment<'_>) -> Report {
    let host: HostModel = host.parse().unwrap();
    let mut element: Box<dyn Element> = Box::new(subnet(words));
    if host != HostModel::default() {
        element = Box::new(Hosted::new(element, &[host, host]));
    }
    experiment.run(element.as_mut(), &mut Recorder::off())
}

/// RFNMs of 200 messages, every fourth of which is a single packet, with four under way.
fn rfnms(words: &str) -> usize {
    const COUNT: usize = 200;
    let mut subnet = subnet(words);
    let (mut now, mut sent, mut rfnms) = (Instant::ZERO, 0, 0);
    let mut into = vec![0; 2048];
    for _ in 0..100_000 {
        let bits = if sent % 4 == 3 { 500 } else { 8000 };
        let next = message(End::A, 2 + sent as u8 % 60, bits);
        let may = sent < COUNT && sent - rfnms < 4;
        if may && subnet.offer(&mut cx(now, &mut NoTrace), End::A, &next) > 0 {
            sent += 1;
            continue;
        }
        for end in End::BOTH {
            let len = subnet.emit(&mut cx(now, &mut NoTrace), end, &mut into);
            let leader = Leader::parse(Form::Old, &into[..len]);
            rfnms += usize::from(leader.is_ok_and(|leader| leader.kind == Kind::Rfnm));
        }
        let Some(at) = End::BOTH.into_iter().filter_map(|end| subnet.next(end)).min() else {
            break;
        };
        now = at.max(now);
    }
    rfnms
}

#[test]
fn the_lockup_of_rfc_626() {
    // Three messages of eight packets have all 24 buffers when a single packet comes before its turn.
    assert!(rfnms("imp:1,buffers=24,rfnm=last") < 8);
    // One buffer that is set aside for such is enough, as RFC 626 says; so are the 58 of the IMPs of its time.
    assert_eq!(rfnms("imp:1,buffers=24,rfnm=last,spare=1"), 200);
    assert_eq!(rfnms("imp:1,rfnm=last"), 200);
}

#[test]
fn a_slow_line_causes_no_timeout() {
    // As long as something moves, whatever it is, neither process loses its patience: here for half an hour.
    let mut slow = experiment(Buffers::Small, 1);
    slow.hosts.iter_mut().for_each(|host| host.ftp.timeout = Span::from_secs(10));
    let report = run("imp:1,line=2400", "send=200ms", &slow);
    assert_eq!(report.stop, Stop::Over);
    assert!(report.right, "{:?}", report.outcomes);
    assert!(report.elapsed > Duration::from_secs(600), "{:?}", report.elapsed);
}

#[test]
fn eight_files_at_a_time_have_a_place() {
    let mut eight = experiment(Buffers::Both, 8);
    eight.content = Content::Pattern(20_000);
    eight.typing = Some(typing());
    let report = run("imp:1,window=8", "", &eight);
    assert_eq!(report.stop, Stop::Over);
    assert!(report.right, "{:?}", report.outcomes);
    assert_eq!(report.written, 8 * 20_000);
}

#[test]
fn the_priority_flag_lets_a_character_pass() {
    let echo = |priority| {
        let mut experiment = experiment(Buffers::Both, 3);
        experiment.hosts.iter_mut().for_each(|host| host.ncp.priority = priority);
        experiment.typing = Some(typing());
        let echo = run("imp:1", "send=85900us", &experiment).echoes.unwrap().median_ns / 1000;
        println!("priority {priority}: {echo} us");
        echo
    };
    let (without, with) = (echo(false), echo(true));
    assert!(with < without);
}

fn lines(scenario: &str) -> (Scenario, Vec<String>) {
    let scenario = Scenario::parse("s", scenario, &no_files).unwrap();
    let mut recorder = Recorder::keep();
    assert!(scenario.run(&mut recorder).is_done());
    (scenario, recorder.lines().to_vec())
}

/// The account of a scenario, with its advice.
fn account(text: &str) -> (Account, Advice) {
    let (scenario, lines) = lines(text);
    let head = header("s", text, &[], &scenario).unwrap();
    let all = head.iter().chain(&lines).map(String::as_str);
    let account = Account::read(all, None).unwrap();
    assert_eq!(account.budget.total(), account.elapsed_ns, "every nanosecond has its part");
    let advice = account.advise(&no_files).unwrap();
    (account, advice)
}

const MULTICS: &str = "protocol = 'ncp'\nline = 'imp:1'\nfile = { made = 'pattern', bytes = 60000 }\n\
                       [both]\nhost = 'send=85900us'\nbyte = 36\n";

#[test]
fn where_the_time_of_the_old_system_went() {
    let (account, advice) = account(&format!("{MULTICS}buffers = 'small'"));
    print!("{}{}", account.page(), advice.page());
    let of = |part| account.budget.permille(part);
    // Single packets: a sixth of the time is line, most is what a message costs the host.
    assert!((60..250).contains(&of(Part::Payload)), "{}", of(Part::Payload));
    assert!(of(Part::ThinkTime) > 500 && of(Part::Rfnm) > 20);
    let (best, ns) = advice.best.clone().unwrap();
    assert_eq!(best.setting, "ncp.buffers");
    // Taken, it gives what was predicted.
    let taken = format!("{MULTICS}buffers = '{}'", best.to);
    let outcome = Scenario::parse("s", &taken, &no_files).unwrap().run(&mut Recorder::off());
    assert_eq!(u64::try_from(outcome.elapsed.as_nanos()).unwrap(), ns);
}

#[test]
fn with_long_messages_a_window_is_what_helps() {
    let (account, advice) = account(MULTICS);
    print!("{}{}", account.page(), advice.page());
    assert!(account.budget.permille(Part::Payload) > 400);
    assert_eq!(advice.best.unwrap().0.setting, "ncp.window");
}

#[test]
fn a_small_allocation_is_seen() {
    let text = "protocol = 'ncp'\nline = 'imp:1'\nfile = { made = 'pattern', bytes = 60000 }\n\
                [both]\nbyte = 36\nwindow = 4\n[receiver]\nbuffer = 1024\nhost = 'send=200ms'\n";
    let (account, advice) = account(text);
    print!("{}{}", account.page(), advice.page());
    assert!(account.budget.permille(Part::Allocation) > 300);
    assert_eq!(advice.best.unwrap().0.setting, "ncp.buffer");
}

#[test]
fn lines_of_a_text_go_as_lines() {
    let text = "protocol = 'ncp'\nline = 'imp:1'\nfile = { made = 'text', bytes = 5000, text = true }\n\
                [both]\ntype = 'ascii'\n";
    let scenario = Scenario::parse("s", text, &no_files).unwrap();
    let outcome = scenario.run(&mut Recorder::off());
    assert!(outcome.is_done(), "{}", outcome.ending);
}
