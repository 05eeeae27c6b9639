//! The edges of the state tables that no run of the laboratory takes.

/// Edges of an engine, and the test of `proto` that takes each.
#[derive(Clone, Copy, Debug)]
pub struct Elsewhere {
    /// The display name of the protocol.
    pub protocol: &'static str,
    /// The owner of the state table.
    pub engine: &'static str,
    /// State and input of the edge as in the table, and the test.
    pub edges: &'static [(&'static str, &'static str)],
}

/// Edges that a run without a user and with a willing store does not take. Of a row for any state (`_`) one edge is
/// enough. `lab/tests/states.rs` checks that these are all, `proto/tests/edges.rs` that the tests take them.
pub const ELSEWHERE: &[Elsewhere] = &[
    Elsewhere {
        protocol: "Kermit",
        engine: "sender",
        edges: &[
            ("Close NoMoreFiles", "kermit_pair::cancel_by_either_side_at_any_moment"),
            ("_ Failed", "kermit_pair::cancel_by_either_side_at_any_moment"),
        ],
    },
    Elsewhere {
        protocol: "Kermit",
        engine: "receiver",
        edges: &[("_ Failed", "kermit_pair::cancel_by_either_side_at_any_moment")],
    },
    Elsewhere {
        protocol: "Kermit",
        engine: "client",
        edges: &[
            ("Start Opened", "kermit_server::a_bad_line_does_nothing_twice"),
            ("Info Introduced", "kermit_server::a_bad_line_does_nothing_twice"),
            ("Command Replied", "kermit_server::a_bad_line_does_nothing_twice"),
            ("Command Files", "kermit_server::a_bad_line_does_nothing_twice"),
            ("_ Failed", "kermit_server::a_bad_line_does_nothing_twice"),
        ],
    },
    Elsewhere {
        protocol: "XMODEM and YMODEM",
        engine: "sender",
        edges: &[
            ("Next Closed", "xymodem_hostile::a_name_of_60_kilobytes"),
            ("Confirm Refused", "xymodem_peers::nak_after_ack_of_eot_repeats_eot"),
        ],
    },
    Elsewhere {
        protocol: "ZMODEM",
        engine: "sender",
        edges: &[
            ("Init ReadyForCommand", "zmodem_states::every_header_in_every_state_of_a_sender"),
            ("Attention ReadyForCommand", "zmodem_commands::command_follows_the_attention_string"),
            ("Next Unusable", "zmodem_hostile::a_file_name_of_60_kilobytes"),
            ("File Skipped", "zmodem_pair::cancel_by_either_side_at_any_moment"),
            ("Data Skipped", "zmodem_pair::cancel_by_either_side_at_any_moment"),
            ("Data Lost", "zmodem_states::every_header_in_every_state_of_a_sender"),
            ("Data GivenUp", "zmodem_pair::cancel_by_either_side_at_any_moment"),
            ("Eof Skipped", "zmodem_pair::cancel_by_either_side_at_any_moment"),
            ("Skip Left", "zmodem_pair::cancel_by_either_side_at_any_moment"),
            ("Command Completed", "zmodem_states::every_header_in_every_state_of_a_sender"),
            ("Close NoMoreFiles", "zmodem_pair::cancel_by_either_side_at_any_moment"),
            ("_ Failed", "zmodem_pair::cancel_by_either_side_at_any_moment"),
        ],
    },
    Elsewhere {
        protocol: "ZMODEM",
        engine: "receiver",
        edges: &[
            ("Init Refused", "zmodem_pair::cancel_by_either_side_at_any_moment"),
            ("Offer File", "zmodem_pair::resume_of_another_file_starts_over"),
            ("Offer Unsure", "zmodem_states::every_header_in_every_state_of_a_receiver"),
            ("Offer Refused", "zmodem_states::every_header_in_every_state_of_a_receiver"),
            ("Offer FileOver", "zmodem_pair::cancel_by_either_side_at_any_moment"),
            ("Check File", "zmodem_states::every_header_in_every_state_of_a_receiver"),
            ("Check Accepted", "zmodem_pair::resume_continues_where_the_receiver_is"),
            ("Check FileOver", "zmodem_states::every_header_in_every_state_of_a_receiver"),
            ("Check LeftUnopened", "zmodem_rules::file_left_while_its_check_is_awaited"),
            ("Skip File", "zmodem_pair::cancel_by_either_side_at_any_moment"),
            ("Skip Refused", "zmodem_pair::cancel_by_either_side_at_any_moment"),
            ("Skip SkipHeard", "zmodem_states::every_header_in_every_state_of_a_receiver"),
            ("Skip Done", "zmodem_pair::cancel_by_either_side_at_any_moment"),
            ("Close Refused", "zmodem_pair::cancel_by_either_side_at_any_moment"),
            ("_ Failed", "zmodem_pair::cancel_by_either_side_at_any_moment"),
        ],
    },
    Elsewhere {
        protocol: "UUCP",
        engine: "either end",
        edges: &[
            ("Next Refused", "uucp_pair::unencodable_name_is_refused_locally"),
            ("Offer Refused", "uucp_pair::a_refused_file_does_not_end_the_session"),
            ("Confirm Refused", "uucp_hostile::file_not_stored_by_the_peer_is_skipped"),
            ("Slave Refused", "uucp_hostile::job_refused_by_the_store_stays_in_the_queue"),
            ("Weigh Refused", "uucp_hostile::job_refused_by_the_store_stays_in_the_queue"),
        ],
    },
    Elsewhere {
        protocol: "UUCP",
        engine: "packet driver",
        edges: &[("C Data", "uucp_hostile::data_may_come_in_place_of_the_last_init")],
    },
    Elsewhere {
        protocol: "NETBLT",
        engine: "sender",
        edges: &[
            ("Waiting Over", "netblt_files::file_cancelled_before_its_connection_is_skipped"),
            ("Opening Over", "netblt_files::refused_files_are_skipped"),
            ("Opening GivenUp", "netblt_files::file_cancelled_before_its_connection_is_skipped"),
            ("Moving Await", "netblt_files::stored_parts_are_resumed_or_replaced"),
            ("Moving Open", "netblt_files::stored_parts_are_resumed_or_replaced"),
            ("Moving GivenUp", "netblt_files::cancelled_files_are_incomplete"),
            ("Quitting Over", "netblt_files::cancelled_files_are_incomplete"),
            ("Closing NoMoreFiles", "netblt_files::cancelled_files_are_incomplete"),
        ],
    },
    Elsewhere {
        protocol: "NETBLT",
        engine: "receiver",
        edges: &[
            ("Offering Await", "netblt_files::refused_files_are_skipped"),
            ("Offering Dropped", "netblt_files::file_cancelled_while_the_store_is_busy"),
            ("Offering Quit", "netblt_files::stored_parts_are_resumed_or_replaced"),
            ("Moving Dropped", "netblt_files::cancelled_files_are_incomplete"),
            ("Moving Quit", "netblt_files::cancelled_files_are_incomplete"),
            ("Checking Dropped", "netblt_files::file_cancelled_while_the_store_is_busy"),
            ("Checking Quit", "netblt_files::stored_parts_are_resumed_or_replaced"),
            ("Checking Await", "netblt_files::cancelled_files_are_incomplete"),
            ("Checking Open", "netblt_files::cancelled_files_are_incomplete"),
            ("Quitting Await", "netblt_files::stored_parts_are_resumed_or_replaced"),
            ("Quitting Open", "netblt_files::stored_parts_are_resumed_or_replaced"),
            ("Quitting Dropped", "netblt_files::cancelled_files_are_incomplete"),
            ("Opening Begin", "netblt_files::stored_parts_are_resumed_or_replaced"),
        ],
    },
    Elsewhere {
        protocol: "FTP over NCP",
        engine: "user",
        edges: &[
            ("User Password", "arpanet_user::account_is_sent_when_asked_for"),
            ("User Account", "arpanet_user::account_is_sent_when_asked_for"),
            ("Pass Account", "arpanet_user::account_is_sent_when_asked_for"),
            ("Pass LoggedIn", "arpanet_transcripts::we_call_a_server_at_linux_ncp"),
            ("Acct LoggedIn", "arpanet_user::account_is_sent_when_asked_for"),
            ("Structure Start", "arpanet_ftp::refused_files_are_skipped"),
            ("Structure NoMoreFiles", "arpanet_user::user_who_wants_nothing_logs_out"),
            ("Next Start", "arpanet_ftp::broken_data_connection_is_not_end_of_file"),
            ("Next Refused", "arpanet_user::file_whose_name_cannot_be_sent_is_skipped"),
            ("Start Offered", "arpanet_ftp::refused_files_are_skipped"),
            ("Start Refused", "arpanet_ftp::refused_files_are_skipped"),
            ("Start Start", "arpanet_ftp::refused_files_are_skipped"),
            ("Start NoMoreFiles", "arpanet_transcripts::we_call_a_server_at_linux_ncp"),
            ("Offer Begun", "arpanet_ftp::refused_files_are_skipped"),
            ("Offer DataOver", "arpanet_user::file_that_the_store_refuses_is_skipped"),
            ("Result Start", "arpanet_user::file_that_the_store_refuses_is_skipped"),
            ("Result NoMoreFiles", "arpanet_user::file_that_the_store_refuses_is_skipped"),
            ("Close Start", "arpanet_ftp::files_of_every_kind_in_every_form_both_ways"),
            ("Close NoMoreFiles", "arpanet_ftp::refused_files_are_skipped"),
        ],
    },
    Elsewhere {
        protocol: "FTP over NCP",
        engine: "connection",
        edges: &[
            ("New Dropped", "arpanet_ncp::passive_connection_runs_out_without_a_word"),
            ("Asked ClsHeard", "arpanet_ncp::requests_are_refused_or_run_out"),
            ("Withdrawn ClsHeard", "arpanet_ncp::requests_are_refused_or_run_out"),
            ("Refused ClsSaid", "arpanet_ncp::requests_are_refused_or_run_out"),
        ],
    },
];
