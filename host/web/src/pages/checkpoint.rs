//! One checkpoint: how files differ from their state before the action, and the form that puts them
//! back.

use super::incident::add_refusal;
use super::parts::{add_hidden, add_notice, add_proof_fields, begin_form, format_time};
use super::plan::{add_plan, show_path};
use super::{Frame, Place, encode_value};
use crate::access::Visitor;
use crate::kept::KeptState;
use crate::people::Approvers;
use crate::site::{Reading, Site};
use anyhow::Result;
use portcullis_checkpoint::{Difference, Vault};
use portcullis_config::Config;
use portcullis_core::mask::Masker;
use portcullis_core::text::{count_noun, one_line};
use portcullis_page::Html;
use portcullis_page::diff::draw_diff;
use portcullis_review::checkpoints::comparing::{describe_node, list_differences, read_both_texts};
use portcullis_review::checkpoints::listing::{describe_action, reported_actions};
use portcullis_review::checkpoints::restoring::{
    RestoreOutcome, change_word, describe_change, digest_plan,
};
use portcullis_review::installed::derive_mask_key;
use portcullis_served::Role;
use serde::Deserialize;

/// The most files that are compared.
const MOST_FILES: usize = 40;
/// The most bytes of text that are compared in all.
const MOST_BYTES: usize = 4 << 20;

#[derive(Deserialize)]
pub(crate) struct CheckpointQuery {
    id: String,
    #[serde(default)]
    said: String,
}

/// Composes the page.
///
/// # Errors
/// Fails if there is no such checkpoint, or if vault or journal cannot be read.
pub(crate) fn compose(
    site: &Site,
    reading: &Reading,
    visitor: &Visitor,
    query: &CheckpointQuery,
) -> Result<Frame> {
    let config = Config::load(&site.places, Some(&reading.home))?;
    let kept = KeptState::open(&reading.home, &config, &query.id)?;
    let listed = &kept.undone.first;
    let reported = reported_actions(&reading.store, listed.at)?;
    let reported = reported.get(listed.id.as_str());
    let mut main = Html::new();
    match query.said.as_str() {
        "restored" => add_notice(
            &mut main,
            true,
            "The files were put back. The newest restore in the list of checkpoints undoes that.",
        ),
        said => add_refusal(&mut main, said),
    }
    main.put_template(
        "<p class=\"lead\">{}: before <code>{}</code></p>",
        &[&format_time(listed.at), &describe_action(listed, reported)],
    );
    if let Some(reported) = reported {
        main.put_template(
            "<p>Session <a href=\"/session?id={}\">{}</a></p>",
            &[&encode_value(&reported.session), &one_line(&reported.session, 60)],
        );
    }
    if site.sees_files() {
        add_restore(&mut main, &kept, visitor, &site.approvers()?)?;
        let masker = Masker::new(derive_mask_key(&reading.home), &config.policy.mask);
        let differences = list_differences(&kept.vault, &listed.id)?;
        add_differences(&mut main, &kept.vault, &differences, &masker)?;
    } else {
        add_kept(&mut main, reading, &kept)?;
    }
    let title = format!("Checkpoint {}", one_line(listed.id.as_str(), 64));
    Ok(Frame { title, place: Place::Checkpoints, is_live: false, main })
}

/// Adds what the action changed, for a process that cannot look at the files as they are now.
fn add_kept(main: &mut Html, reading: &Reading, kept: &KeptState) -> Result<()> {
    let id = &kept.undone.first.id;
    let changes = kept.vault.show_checkpoint(id)?.changes;
    main.put_template("<section><h2>What the action changed</h2>", &[]);
    if changes.is_empty() {
        main.put_template("<p>Nothing, or its end was not noticed.</p>", &[]);
    }
    main.put_template("<ul>", &[]);
    for change in changes.iter().take(MOST_FILES) {
        main.put_template(
            "<li>{} <code>{}</code></li>",
            &[&change_word(change.kind()), &show_path(&change.path)],
        );
    }
    main.put_template("</ul>", &[]);
    let more = changes.len().saturating_sub(MOST_FILES);
    if more > 0 {
        main.put_template("<p>{} more.</p>", &[&count_noun(more as u64, "path")]);
    }
    main.put_template(
        "<p>The files are their user's alone. An administrator compares and restores them: \
         <code>{}</code>, <code>{}</code></p></section>",
        &[
            &reading.commands.spell(&format!("checkpoint diff {id}")),
            &reading.commands.spell(&format!("checkpoint restore {id}")),
        ],
    );
    Ok(())
}

fn add_restore(
    main: &mut Html,
    kept: &KeptState,
    visitor: &Visitor,
    approvers: &Approvers,
) -> Result<()> {
    let outcome = kept.restore()?.plan()?;
    main.put_template("<section><h2>What a restore would put back</h2>", &[]);
    add_plan(main, &outcome);
    if let RestoreOutcome::PutBack(planned) = &outcome
        && !planned.restored.is_empty()
    {
        if visitor.role < Role::Operator {
            main.put_template("<p>An operator restores on this page.</p>", &[]);
        } else if approvers.is_empty() {
            add_notice(
                main,
                false,
                "This page restores nothing yet: set up the proof that a person answers with \
                 `portcullis approvals proof` in a terminal.",
            );
        } else {
            begin_form(main, "/checkpoint/restore", visitor);
            add_hidden(main, "id", kept.undone.first.id.as_str());
            add_hidden(main, "plan", &digest_plan(planned));
            add_proof_fields(main, approvers, "/checkpoint/passkey");
            main.put_template("<button class=\"main\">Put these back</button></form>", &[]);
        }
    }
    main.put_template("</section>", &[]);
    Ok(())
}

fn add_differences(
    main: &mut Html,
    vault: &Vault,
    differences: &[Difference],
    masker: &Masker,
) -> Result<()> {
    let mut bytes = 0;
    for (index, one) in differences.iter().take(MOST_FILES).enumerate() {
        main.put_template(
            "<section><h2><code>{}</code></h2><p class=\"goal\">{} since then; {}</p>",
            &[&show_path(&one.path), &describe_change(one), &one.standing],
        );
        let texts = if bytes < MOST_BYTES { read_both_texts(vault, one)? } else { None };
        match texts {
            Some((before, now)) => {
                bytes += before.len() + now.len();
                // A secret that is known from one side is hidden in the other, too.
                let mask = masker.build_mask(&[&before, &now]);
                main.put_template(
                    "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"difference {}\">",
                    &[&(index + 1)],
                );
                main.add_piece(&draw_diff(&mask.apply_to(&before), &mask.apply_to(&now)));
                main.put_template("</div>", &[]);
            }
            None => main.put_template(
                "<dl><dt>before</dt><dd>{}</dd><dt>now</dt><dd>{}</dd></dl>",
                &[&describe_node(&one.wanted), &describe_node(&one.now)],
            ),
        }
        main.put_template("</section>", &[]);
    }
    let more = differences.len().saturating_sub(MOST_FILES);
    if more > 0 {
        main.put_template(
            "<p>{} more: <code>portcullis checkpoint diff</code> shows all.</p>",
            &[&count_noun(more as u64, "path")],
        );
    }
    Ok(())
}
