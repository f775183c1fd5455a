//! Replays one recorded session from its beginning.

use crate::paint;
use portcullis_core::record::Record;
use portcullis_review::recording::Recording;
use portcullis_review::reviewer::Reviewer;
use portcullis_review::session::ReviewSession;
use portcullis_review::timeline::Timeline;
use std::io::IsTerminal;

/// Reviews a whole session; `each` gets the records of every event. Ends early if the reader of the
/// output is gone.
pub fn play_session(
    recording: &Recording,
    reviewer: &mut Reviewer,
    mut each: impl FnMut(&[Record]),
) -> Timeline {
    // On one terminal, progress would stand among the lines.
    let progress = std::io::stderr().is_terminal() && !std::io::stdout().is_terminal();
    let mut timeline = Timeline::new(&recording.name);
    let mut session = ReviewSession::default();
    for (index, item) in recording.items.iter().enumerate() {
        if paint::is_closed() {
            break;
        }
        if progress && index % 50 == 0 {
            anstream::eprint!("\r{}/{} ", index, recording.items.len());
        }
        let records = session.review_step(item, reviewer);
        each(&records);
        timeline.add_event(
            index,
            &records,
            &session.active_interventions(&reviewer.config().policy.limits),
        );
    }
    if progress {
        anstream::eprint!("\r");
    }
    timeline.folder = session.folder().map(str::to_owned);
    timeline
}
