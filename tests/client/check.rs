//! Compares the evidence of a run with the expectations of its case, and with the requirements for
//! every run. It reports all mismatches, not only the first one.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::case::{Answer, Case, Entry, Expect, Kept};
use crate::evidence::{Hook, context, hooks, result, shown, tool_results, unheard};
use crate::run::Evidence;
use crate::scratch::Scratch;

/// Fails with every mismatch of the run, one per line.
pub(crate) fn check(case: &Case, scratch: &Scratch, evidence: &Evidence) -> Result<()> {
    let expect = &case.expect;
    let mut wrong = every_run(evidence);
    wrong.extend(end(expect, evidence));
    wrong.extend(files(expect)?);
    wrong.extend(offered(expect, evidence));
    wrong.extend(words(expect, evidence));
    wrong.extend(
        expect.answers.iter().flat_map(|answer| answered(answer, &hooks(&evidence.stream))),
    );
    wrong.extend(journal(expect, evidence));
    wrong.extend(leaks(expect, scratch)?);
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

/// Checks the requirements for every case: our hooks were loaded, each returned one JSON document
/// and a code that the client respects, and none answered for the person.
fn every_run(evidence: &Evidence) -> Vec<String> {
    let hooks = hooks(&evidence.stream);
    let mut wrong: Vec<_> = hooks
        .iter()
        .filter_map(|hook| {
            malformed(hook).map(|why| format!("{} {why}: `{}`", hook.name, hook.stdout))
        })
        .collect();
    wrong.extend(
        unheard(&evidence.stream)
            .into_iter()
            .map(|line| format!("the client got no verdict: {line}")),
    );
    if !hooks.iter().any(|hook| hook.name.starts_with("SessionStart")) {
        wrong.push(
            "the client did not run the SessionStart hook: it dropped the settings".to_owned(),
        );
    }
    if !evidence.success {
        wrong.push("the client did not end with code 0".to_owned());
    }
    wrong
}

fn malformed(hook: &Hook) -> Option<&'static str> {
    let Ok(Value::Object(reply)) = serde_json::from_str(&hook.stdout) else {
        return Some("did not answer with one JSON object");
    };
    let reply = Value::Object(reply);
    let consent = [("/hookSpecificOutput/permissionDecision", "allow"), ("/decision", "approve")];
    if consent
        .iter()
        .any(|(pointer, word)| reply.pointer(pointer).is_some_and(|value| value == word))
    {
        return Some("consented in the person's name");
    }
    (!matches!(hook.exit, Some(0 | 2))).then_some("ended with a code other than 0 and 2")
}

fn end(expect: &Expect, evidence: &Evidence) -> Vec<String> {
    let mut wrong = vec![];
    let reason = result(&evidence.stream)
        .and_then(|line| line.get("terminal_reason"))
        .and_then(Value::as_str);
    if reason != expect.ended.as_deref() {
        wrong.push(format!("the client ended with {reason:?}, not {:?}", expect.ended));
    }
    let conversation = &evidence.conversation;
    if (conversation.unplayed, conversation.overrun) != (expect.unplayed, 0) {
        let (left, over) = (conversation.unplayed, conversation.overrun);
        wrong.push(format!(
            "the client left {left} turns (not {}) and asked for {over} beyond the script",
            expect.unplayed
        ));
    }
    wrong
}

fn files(expect: &Expect) -> Result<Vec<String>> {
    let mut wrong = vec![];
    for (path, text) in &expect.files {
        let found = fs::read_to_string(path).ok();
        if found.as_ref() != Some(text) {
            wrong.push(format!("`{}` holds {found:?}, not {text:?}", path.display()));
        }
    }
    wrong.extend(
        expect
            .absent
            .iter()
            .filter(|path| path.symlink_metadata().is_ok())
            .map(|path| format!("`{}` is there", path.display())),
    );
    for kept in &expect.kept {
        if !holds_file(&kept.below, kept)? {
            wrong.push(format!(
                "no file `{}` with {:?} stands below `{}`",
                kept.name,
                kept.text,
                kept.below.display()
            ));
        }
    }
    Ok(wrong)
}

fn holds_file(folder: &Path, kept: &Kept) -> Result<bool> {
    let mut found = false;
    visit(folder, &mut |path| {
        found |= path.file_name().is_some_and(|name| name == kept.name.as_str())
            && fs::read_to_string(path).is_ok_and(|text| text == kept.text);
        Ok(())
    })?;
    Ok(found)
}

/// Calls `each` with every file below `folder`; a missing folder has none.
fn visit(folder: &Path, each: &mut dyn FnMut(&Path) -> Result<()>) -> Result<()> {
    if !folder.is_dir() {
        return Ok(());
    }
    for entry in
        fs::read_dir(folder).with_context(|| format!("cannot list `{}`", folder.display()))?
    {
        let entry = entry?;
        if entry.file_type()?.is_dir() { visit(&entry.path(), each)? } else { each(&entry.path())? }
    }
    Ok(())
}

/// Checks the tools that the first request, which is the main agent's, offers.
fn offered(expect: &Expect, evidence: &Evidence) -> Option<String> {
    let expected = expect.offered.as_ref()?;
    let request = evidence.conversation.requests.first();
    let tools = request.and_then(|request| request.get("tools")?.as_array());
    let names = tools.into_iter().flatten().filter_map(|tool| tool.get("name")?.as_str());
    let offered: Vec<&str> = names.collect();
    (offered != *expected).then(|| format!("the client offers the tools {}", json!(offered)))
}

/// Checks the texts for model and person.
fn words(expect: &Expect, evidence: &Evidence) -> Vec<String> {
    let results = tool_results(&evidence.conversation);
    let mut wrong = vec![];
    for expected in &expect.results {
        match results.get(&expected.call) {
            Some(result)
                if result.error == expected.error
                    && all(&expected.has, &result.text)
                    && !expected.lacks.iter().any(|text| result.text.contains(text.as_str())) => {}
            Some(result) => wrong.push(format!(
                "of `{}` the model was told (error: {}) {:?}",
                expected.call, result.error, result.text
            )),
            None => wrong.push(format!("the model was told nothing of `{}`", expected.call)),
        }
    }
    let context = context(&evidence.conversation);
    wrong.extend(
        missing(&expect.context, &context)
            .map(|text| format!("the model was not given {text:?} as context")),
    );
    let shown = shown(&evidence.stream).join("\n");
    wrong.extend(
        missing(&expect.shown, &shown)
            .map(|text| format!("the person was not shown {text:?} but {shown:?}")),
    );
    wrong
}

fn answered(answer: &Answer, hooks: &[Hook]) -> Vec<String> {
    let named: Vec<_> = hooks.iter().filter(|hook| hook.name == answer.hook).collect();
    let meant = match answer.nth {
        Some(nth) => named.get(nth).into_iter().copied().collect(),
        None => named,
    };
    if meant.is_empty() {
        return vec![format!("the client did not run the hook {}", answer.hook)];
    }
    meant
        .into_iter()
        .filter(|hook| !fits(answer, hook))
        .map(|hook| format!("{} answered {:?} `{}`", hook.name, hook.exit, hook.stdout))
        .collect()
}

fn fits(answer: &Answer, hook: &Hook) -> bool {
    let reply: Value = serde_json::from_str(&hook.stdout).unwrap_or_default();
    let lacks = answer.lacks.iter().all(|pointer| reply.pointer(pointer).is_none());
    hook.exit == Some(answer.exit) && lacks && agrees(&reply, &answer.holds, &answer.present)
}

fn journal(expect: &Expect, evidence: &Evidence) -> Vec<String> {
    let (expected, records) = match (&expect.journal, &evidence.journal) {
        (Some(expected), Ok(records)) => (expected, records),
        (Some(_), Err(error)) => return vec![format!("{error:#}")],
        (None, Ok(_)) => {
            return vec!["the journal can be read, which this case does not expect".to_owned()];
        }
        (None, Err(_)) => return vec![],
    };
    let mut wrong = vec![];
    for entry in expected {
        let times = records.iter().filter(|record| matches(entry, record)).count();
        if entry.times.map_or(times == 0, |expected| times != expected) {
            let (holds, present, has) = (json!(entry.holds), &entry.present, &entry.has);
            let wanted = entry.times.map_or("at least 1".to_owned(), |times| times.to_string());
            wrong.push(format!("{times} records (not {wanted}) hold {holds}, something at {present:?} and the texts {has:?}"));
        }
    }
    if !wrong.is_empty() {
        wrong.push(format!("the journal's records (kind, subject, verdict): {}", summary(records)));
    }
    wrong
}

fn matches(entry: &Entry, record: &Value) -> bool {
    agrees(record, &entry.holds, &entry.present) && all(&entry.has, &record.to_string())
}

fn agrees(document: &Value, holds: &BTreeMap<String, Value>, present: &[String]) -> bool {
    let there = present
        .iter()
        .all(|pointer| document.pointer(pointer).is_some_and(|value| !value.is_null()));
    there && holds.iter().all(|(pointer, value)| document.pointer(pointer) == Some(value))
}

fn summary(records: &[Value]) -> String {
    let fields = |record: &Value| {
        json!([record.get("kind"), record.get("subject"), record.get("verdict")]).to_string()
    };
    records.iter().map(fields).collect::<Vec<_>>().join(" ")
}

fn leaks(expect: &Expect, scratch: &Scratch) -> Result<Vec<String>> {
    let mut wrong = vec![];
    visit(&scratch.state(), &mut |path| {
        let bytes = fs::read(path).with_context(|| format!("cannot read `{}`", path.display()))?;
        let found = expect
            .hidden
            .iter()
            .filter(|text| bytes.windows(text.len()).any(|window| window == text.as_bytes()));
        wrong.extend(found.map(|text| format!("`{}` holds {text:?}", path.display())));
        Ok(())
    })?;
    Ok(wrong)
}

fn all(texts: &[String], text: &str) -> bool {
    missing(texts, text).next().is_none()
}

fn missing<'a>(texts: &'a [String], text: &'a str) -> impl Iterator<Item = &'a String> {
    texts.iter().filter(move |part| !text.contains(part.as_str()))
}
