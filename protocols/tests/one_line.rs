//! A protocol costs its folder and one line: nothing in the repository but the line below knows of this one.

use crate::echo;
use wetstring_lab::store::{Content, MemoryFile, MemorySink, MemorySource};
use wetstring_lab::swarm::Swarm;
use wetstring_lab::{LineModel, Pair, Recorder, Serial};
use wetstring_proto::{Duration, LineFacts};
use wetstring_protocols::{Configs, Family, Protocol};

/// The list, with one additional line.
static FAMILIES: &[Family] = &[Family::of::<echo::Config>()];

fn echo(name: &str) -> Protocol {
    FAMILIES[0].named(name).expect("it is in the list")
}

#[test]
fn its_settings_are_set_and_shown_with_those_of_all_others() {
    let mut configs = Configs::of(FAMILIES);
    configs.set("echo.block", "30").expect("a setting of the list");
    assert!(configs.set("echo.block", "201").is_err() && configs.set("echo.bloc", "1").is_err());
    let mut shown = String::new();
    configs.show("echo.block", &mut shown).expect("a setting of the list");
    assert_eq!(shown, "30");
    assert_eq!(FAMILIES[0].table()[0].name, "echo.block");
}

#[test]
fn echo_transfers_files_over_a_laboratory_line() {
    for (name, limit) in [("echo", 20.0), ("echo-1", 200.0)] {
        let files = [0, 1, 700].map(|len| MemoryFile::made("f", Content::Random(1), len));
        let mut source = MemorySource::new(files.to_vec());
        let (mut sink, line) = (MemorySink::new(), LineModel::clean(9600));
        let mut wire = Serial::new(&line);
        let mut config = echo(name).config();
        config.on_line(LineFacts { rate_bps: 9600, ..LineFacts::default() });
        let (mut sender, mut receiver) = (config.sender(), config.receiver());
        let report = Pair::new(&mut wire).run(
            (&mut *sender, &mut source),
            (&mut *receiver, &mut sink),
            &mut Recorder::off(),
        );
        assert!(report.is_done(), "{name}: {report:?}");
        let came: Vec<_> = sink.complete().map(|file| file.bytes.clone()).collect();
        assert_eq!(came, files.map(|file| file.bytes.to_vec()), "{name}");
        let seconds = report.elapsed.as_secs_f64();
        assert!(seconds < limit, "{name}: {seconds}");
    }
}

#[test]
fn the_swarm_tries_it() {
    for name in ["echo", "echo-1"] {
        let swarm =
            Swarm::of(echo(name)).times(Duration::from_secs(600), Duration::from_secs(500_000));
        let tally = swarm.run(0..200).unwrap_or_else(|failed| panic!("{failed}"));
        assert!(tally.done > 100 && tally.hits > 1000, "{name}: {tally:?}");
    }
}
