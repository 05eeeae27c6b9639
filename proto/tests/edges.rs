//! The edges of the state tables that no run of the laboratory takes are taken by the tests that the list names.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use wetstring_proto::registry::Registered;
use wetstring_proto::states::Diagram;
use wetstring_proto::{arpanet, kermit, netblt, uucp, xymodem, zmodem};
use wetstring_testkit::{ELSEWHERE, Taken, taken};

/// Tests by their names in the list.
macro_rules! tests {
    ($($module:ident::$test:ident),* $(,)?) => {
        &[$((concat!(stringify!($module), "::", stringify!($test)), crate::$module::$test)),*]
    };
}

const TESTS: &[(&str, fn())] = tests![
    arpanet_ftp::broken_data_connection_is_not_end_of_file,
    arpanet_ftp::files_of_every_kind_in_every_form_both_ways,
    arpanet_ftp::refused_files_are_skipped,
    arpanet_ncp::passive_connection_runs_out_without_a_word,
    arpanet_ncp::requests_are_refused_or_run_out,
    arpanet_transcripts::we_call_a_server_at_linux_ncp,
    arpanet_user::account_is_sent_when_asked_for,
    arpanet_user::file_that_the_store_refuses_is_skipped,
    arpanet_user::file_whose_name_cannot_be_sent_is_skipped,
    arpanet_user::user_who_wants_nothing_logs_out,
    kermit_pair::cancel_by_either_side_at_any_moment,
    kermit_server::a_bad_line_does_nothing_twice,
    netblt_files::cancelled_files_are_incomplete,
    netblt_files::file_cancelled_before_its_connection_is_skipped,
    netblt_files::file_cancelled_while_the_store_is_busy,
    netblt_files::refused_files_are_skipped,
    netblt_files::stored_parts_are_resumed_or_replaced,
    uucp_hostile::data_may_come_in_place_of_the_last_init,
    uucp_hostile::file_not_stored_by_the_peer_is_skipped,
    uucp_hostile::job_refused_by_the_store_stays_in_the_queue,
    uucp_pair::a_refused_file_does_not_end_the_session,
    uucp_pair::unencodable_name_is_refused_locally,
    xymodem_hostile::a_name_of_60_kilobytes,
    xymodem_peers::nak_after_ack_of_eot_repeats_eot,
    zmodem_commands::command_follows_the_attention_string,
    zmodem_hostile::a_file_name_of_60_kilobytes,
    zmodem_pair::cancel_by_either_side_at_any_moment,
    zmodem_pair::resume_continues_where_the_receiver_is,
    zmodem_pair::resume_of_another_file_starts_over,
    zmodem_rules::file_left_while_its_check_is_awaited,
    zmodem_states::every_header_in_every_state_of_a_receiver,
    zmodem_states::every_header_in_every_state_of_a_sender,
];

type Tables = &'static [(&'static str, Diagram)];

/// The tables of a protocol, by its display name.
fn tables(protocol: &str) -> Tables {
    fn of<C: Registered>() -> (&'static str, Tables) {
        (C::HEADING.trim_end_matches(" settings"), C::STATES)
    }
    let all = [
        of::<kermit::Config>(),
        of::<xymodem::Config>(),
        of::<zmodem::Config>(),
        of::<netblt::Config>(),
        of::<uucp::Config>(),
        of::<arpanet::Config>(),
    ];
    let found = all.into_iter().find(|(title, _)| *title == protocol);
    found.unwrap_or_else(|| panic!("no protocol is called {protocol}")).1
}

/// Whether one of these is the edge. Where the test does not say who took it, it is no edge of another engine of the
/// protocol.
fn is_taken(edges: &[Taken], protocol: &str, engine: &str, listed: &str) -> bool {
    let here = |table: &Diagram, edge: &Taken| {
        edge.position(table).is_some_and(|at| {
            let edge = &table.edges[at];
            format!("{} {}", edge.from, edge.input) == listed
        })
    };
    let tables = tables(protocol);
    edges.iter().any(|edge| {
        // Not where both ends have one table.
        let by = edge.by.filter(|by| tables.iter().any(|(owner, _)| owner == by));
        tables.iter().all(|(owner, table)| match by {
            _ if *owner == engine => by.is_none_or(|by| by == engine) && here(table, edge),
            Some(by) if by == engine => true,
            _ => edge.position(table).is_none(),
        })
    })
}

#[test]
fn every_listed_edge_is_taken_by_its_test() {
    let mut by_test: BTreeMap<&str, Vec<Taken>> = BTreeMap::new();
    for (name, test) in TESTS {
        by_test.insert(name, taken(test).into_iter().collect());
    }
    let mut wrong = String::new();
    let mut unused: Vec<&str> = by_test.keys().copied().collect();
    for other in ELSEWHERE {
        for (edge, test) in other.edges {
            unused.retain(|name| name != test);
            let taken = by_test
                .get(test)
                .is_some_and(|edges| is_taken(edges, other.protocol, other.engine, edge));
            if !taken {
                let _ = writeln!(wrong, "    {}, {}: {edge}: {test}", other.protocol, other.engine);
            }
        }
    }
    assert!(wrong.is_empty(), "not taken by the test that the list names:\n{wrong}");
    assert!(unused.is_empty(), "no edge is listed for {unused:?}");
}
