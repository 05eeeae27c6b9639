//! Where the values of the published tables come from: each is declared, one machine has one value, and a fit is a fit
//! in the table whose cell it is, too.

use std::collections::BTreeMap;
use wetstring_lab::scenario::no_files;
use wetstring_lab::table::{Parameter, Table};

fn tables() -> Vec<Table> {
    let read = |name| Table::named(name).expect("a table").unwrap_or_else(|bad| panic!("{bad}"));
    Table::names().map(read).collect()
}

#[test]
fn every_parameter_of_every_table_is_declared() {
    for table in tables() {
        assert!(!table.jobs().is_empty(), "{}", table.name());
        let (undeclared, idle) = table.undeclared();
        assert!(undeclared.is_empty(), "{}: not declared: {undeclared:?}", table.name());
        assert!(idle.is_empty(), "{}: declared, and not there: {idle:?}", table.name());
    }
    assert!(Table::named("kermit-news-0").is_none());
}

#[test]
fn a_table_with_an_undeclared_parameter_is_found() {
    let text = "title = 'small'\nclass = 'physics'\n[[parameter]]\nof = ['serial: 9600', 'nic: held']\nsource = 'x'\n\
                [common]\nline = '9600,delay=1s'\n[[column]]\nname = 'X'\n[[row]]\nname = 'r'\n\
                cells = [{ column = 'X', secs = 1 }]\n";
    let table = Table::parse("small", "small.toml", text, &no_files).expect("a table");
    let (undeclared, idle) = table.undeclared();
    assert_eq!((undeclared, idle), (vec!["serial: delay=1s".into()], vec!["nic: held".into()]));
    let text = text.replace("source = 'x'", "why = 'x'");
    let said = Table::parse("small", "small.toml", &text, &no_files).unwrap_err().to_string();
    assert!(said.contains("expected one of fitted, source and assumed"), "{said}");
}

/// `KEY=` of a parameter, without the end that it is at: a machine may send here and receive there.
fn key(parameter: &str) -> Option<(String, String)> {
    let (place, word) = parameter.split_once(": ")?;
    let (key, value) = word.split_once('=').unwrap_or((word, ""));
    let place = place.split_once('.').map_or(place, |(_, place)| place);
    Some((format!("{place}: {key}"), value.to_owned()))
}

#[test]
fn one_machine_has_one_value_in_all_tables() {
    let mut values: BTreeMap<(String, String), (String, String)> = BTreeMap::new();
    let mut machines = 0;
    for table in tables() {
        for parameter in table.parameters().iter().filter(|of| of.differs.is_none()) {
            let Some(machine) = &parameter.machine else { continue };
            machines += 1;
            // A PC/AT's two roles in a table cost it different things: the pattern has both.
            for (key, value) in parameter.of.iter().filter_map(|of| key(of)) {
                let role = parameter.of.iter().any(|of| of.starts_with("receiver"))
                    && parameter.of.iter().any(|of| of.starts_with("sender"));
                if role {
                    continue;
                }
                let here = (value.clone(), table.name().to_owned());
                let known = values.entry((machine.clone(), key.clone())).or_insert(here);
                assert_eq!(known.0, value, "{machine}, {key}: {} and {}", known.1, table.name());
            }
        }
    }
    assert!(machines > 20, "{machines}");
}

/// A value that was fitted to a cell of another table makes that cell no prediction there.
#[test]
fn what_was_fitted_elsewhere_is_no_prediction_there() {
    let tables = tables();
    let mut checked = 0;
    for table in &tables {
        let fits = table.parameters().iter().flat_map(|of: &Parameter| &of.fitted);
        for cells in fits.filter(|cells| cells.table.is_some()) {
            let name = cells.table.as_deref().expect("its table");
            let found = tables.iter().find(|table| table.name() == name);
            let other = found.unwrap_or_else(|| panic!("{}: no table {name}", table.name()));
            let (row, column) =
                (cells.row.trim_end_matches('*'), cells.column.trim_end_matches('*'));
            assert!(other.is_fitted(row, column), "{}: {name}, {row}, {column}", table.name());
            checked += 1;
        }
    }
    assert!(checked > 20, "{checked}");
}
