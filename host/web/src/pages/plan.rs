//! The files that a restore would put back, as a list.

use super::parts::add_scrolled;
use portcullis_checkpoint::{Difference, PathStatus};
use portcullis_core::text::{count_noun, one_line};
use portcullis_page::Html;
use portcullis_review::checkpoints::restoring::{RestoreOutcome, describe_change};
use std::path::Path;

/// The most paths that are listed.
const MOST: usize = 200;
/// The most bytes of a path.
const MOST_PATH: usize = 400;

/// Adds what a restore would put back, or why it would put nothing back.
pub(super) fn add_plan(main: &mut Html, outcome: &RestoreOutcome) {
    match outcome {
        RestoreOutcome::Refused(paths) => {
            main.put_template(
                "<p class=\"notice bad\">{} changed since the agent's action, so nothing is put \
                 back. In a terminal, <code>portcullis checkpoint restore</code> can leave these out \
                 or overwrite them.</p>",
                &[&count_noun(paths.len() as u64, "path")],
            );
            add_paths(main, paths.iter().map(|one| (one.path.as_path(), Some(one))));
        }
        RestoreOutcome::PutBack(planned) if planned.restored.is_empty() => {
            main.put_template("<p>Nothing: everything is as it was.</p>", &[]);
        }
        RestoreOutcome::PutBack(planned) => {
            let count = planned.restored.len() as u64;
            main.put_template("<p>{}, to the state before:</p>", &[&count_noun(count, "path")]);
            let plan = |path: &Path| planned.planned.iter().find(|one| one.path == path);
            add_paths(main, planned.restored.iter().map(|path| (path.as_path(), plan(path))));
            for (path, why) in planned.not_restored().take(MOST) {
                main.put_template(
                    "<p>Stays: <code>{}</code>, {}</p>",
                    &[&show_path(path), &one_line(&why, 240)],
                );
            }
        }
    }
}

fn add_paths<'a>(
    main: &mut Html,
    paths: impl ExactSizeIterator<Item = (&'a Path, Option<&'a Difference>)>,
) {
    let more = paths.len().saturating_sub(MOST);
    let mut table = Html::new();
    table.put_template(
        "<table class=\"list\"><thead><tr><th scope=\"col\">since then</th><th scope=\"col\">path</th>\
         </tr></thead><tbody>",
        &[],
    );
    for (path, one) in paths.take(MOST) {
        let standing = one
            .filter(|one| one.standing != PathStatus::AsLeft)
            .map(|one| format!("({})", one.standing))
            .unwrap_or_default();
        table.put_template(
            "<tr><td class=\"word\">{}</td><th scope=\"row\"><code>{}</code> {}</th></tr>",
            &[&one.map_or("changed", describe_change), &show_path(path), &standing],
        );
    }
    table.put_template("</tbody></table>", &[]);
    add_scrolled(main, "paths", &table);
    if more > 0 {
        main.put_template("<p>and {} more</p>", &[&more]);
    }
}

/// Formats a path for people.
pub(super) fn show_path(path: &Path) -> String {
    one_line(&path.to_string_lossy(), MOST_PATH)
}
