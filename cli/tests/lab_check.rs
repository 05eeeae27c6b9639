//! `wst lab check --quick`: a dozen transfers in real time take what the laboratory says.

use crate::common;
use crate::peers;

use common::{run, wst};

#[test]
fn a_dozen_transfers_take_the_time_of_the_laboratory() {
    let ran = run(wst(["lab", "check", "--quick", "--at-once", "12", "--json"]));
    let events = ran.events();
    let rows: Vec<_> = events.iter().filter(|event| event["event"] == "checked").collect();
    assert_eq!(rows.len(), 12, "{}", ran.stderr);
    for row in rows {
        match row["result"].as_str() {
            Some("met") => {
                let real = row["real_s"].as_f64().expect("a time");
                let range = [0, 1].map(|end| row["range_s"][end].as_f64().expect("a range"));
                assert!(range[0] <= real && real <= range[1], "{row}");
            }
            Some("not run") => peers::missing(row["note"].as_str().unwrap_or_default()),
            _ => panic!("{row}"),
        }
    }
    ran.expect(0);
}
