//! A program that was built without object storage: what it says of a root that is a bucket.

use crate::common::{run, wst};

#[test]
fn a_bucket_is_refused_in_one_line_that_says_how_to_get_it() {
    for root in ["s3://shelf/books", "gs://shelf", "az://shelf", "memory:shelf"] {
        let ran = run(wst(["serve", "tcp-listen://127.0.0.1:0", "--root", root]));
        ran.expect(2);
        let said = format!(
            "wst: expected a directory, got {root}: this wst is built without object storage; \
             cargo install --path cli --features objects builds it in\n"
        );
        assert_eq!(ran.stderr, said);
    }
}
