//! Native tests of whole sessions; `cases.toml` has those that need the host's shell reader.

use super::*;
use portcullis_plugin::testing::{self, BuildAction};

#[test]
fn settings_are_checked() {
    for (setting, message) in [
        (Setting::new("most_files", 0), "setting `most_files`: should be from 1 to 100000"),
        (Setting::new("branch", ["a"]), "setting `branch`: unknown; did you mean `branches`?"),
        (Setting::new("protected", [""]), "setting `protected`: should have no empty entry"),
        (Setting::new("every_push", 1), "setting `every_push`: is an integer, should be a flag"),
    ] {
        assert_eq!(PushReview::prepare(&[setting]).unwrap_err().message(), message);
    }
}

#[test]
fn a_push_begins_anew() {
    let prepared = PushReview::prepare(&[]).unwrap();
    let history = testing::history([]);
    let context = testing::context();
    let mut state = Vec::new();
    let mut play = |action: &Action| {
        let report = PushReview::detect(&prepared, &state, &history, action, &context).unwrap();
        if let Some(new) = report.state {
            state = new;
        }
        report.detections.into_iter().map(|detection| detection.summary).collect::<Vec<_>>()
    };
    play(&testing::file_edit("Dockerfile", "FROM a", "FROM b").succeeded());
    let push = testing::shell("git push origin topic");
    assert_eq!(
        play(&push),
        [
            "this is a push to topic; of 1 file (1 line added, 1 removed) these need a reviewer: Dockerfile"
        ]
    );
    play(&push.clone().succeeded());
    assert!(play(&push).is_empty());
}
