//! Fuzzes a client's events, and the facts of the calls in them. The shell reader is a stand-in
//! whose answer is made from the text itself, with unusual targets and numbers: the core must
//! handle any answer.

use portcullis_agents::claude::wire as claude;
use portcullis_core::action::{Coverage, Effect, EffectKind, Facts, Reading};
use portcullis_core::event::{Call, Event, EventKind};
use portcullis_core::facts::{self, CallLocation, MOST};
use portcullis_core::run_files::FileReading;

/// The seeds of inputs.
pub(crate) const SEEDS: &[&[u8]] = &[
    include_bytes!("../seeds/wire/bash.json"),
    include_bytes!("../seeds/wire/batch.json"),
    include_bytes!("../seeds/wire/config-change.json"),
    include_bytes!("../seeds/wire/edit.json"),
    include_bytes!("../seeds/wire/mcp.json"),
    include_bytes!("../seeds/wire/post.json"),
    include_bytes!("../seeds/wire/prompt.json"),
    include_bytes!("../seeds/wire/session.json"),
    include_bytes!("../seeds/wire/web.json"),
    include_bytes!("../seeds/wire/write.json"),
];

const KINDS: &[EffectKind] = &[
    EffectKind::FileRead,
    EffectKind::FileModify,
    EffectKind::FileDelete,
    EffectKind::Network,
    EffectKind::UnseenCode,
];

/// Checks the requirements for every input.
pub(crate) fn check(bytes: &[u8]) -> Result<(), String> {
    match claude::parse_event(bytes) {
        Err(error) => one_line("the error", &error.to_string(), 4096),
        Ok(event) => calls(&event).into_iter().try_for_each(|call| facts_hold(call, &event.cwd)),
    }
}

fn calls(event: &Event) -> Vec<&Call> {
    match &event.kind {
        EventKind::BeforeTool(call) | EventKind::AfterTool(call, _) => vec![call],
        EventKind::AfterBatch(batch) => batch.iter().take(16).map(|(call, _)| call).collect(),
        _ => Vec::new(),
    }
}

fn facts_hold(call: &Call, cwd: &str) -> Result<(), String> {
    let place = CallLocation {
        cwd: if cwd.is_empty() { "/srv/shop".to_owned() } else { cwd.to_owned() },
        home: "/home/me".to_owned(),
        roots: vec!["/srv/shop".to_owned()],
        scratch: vec!["/tmp".to_owned(), "~/.cache".to_owned()],
        clients: portcullis_agents::PROFILES,
        ..CallLocation::default()
    };
    let found = facts::of_call(call, &place, &mut |text, _| Ok(read_words(text)));
    bounds(&found.facts)
}

/// Returns a reading whose parts are the words of the text.
fn read_words(text: &str) -> Reading {
    let words: Vec<&str> = text.split(' ').take(600).collect();
    let effects = words.iter().enumerate().map(|(number, word)| Effect {
        kind: KINDS.get(word.len() % KINDS.len()).cloned().unwrap_or(EffectKind::Network),
        target: (*word).to_owned(),
        path: None,
        command: u32::try_from(number * word.len()).ok(),
        recursive: number % 3 == 0,
        certain: number % 2 == 0,
    });
    Reading {
        commands: Vec::new(),
        effects: effects.collect(),
        forms: Vec::new(),
        hosts: words.iter().map(|word| (*word).to_owned()).collect(),
        shape: text.to_owned(),
        coverage: if text.contains('(') { Coverage::Partial } else { Coverage::Full },
        gaps: words.iter().take(40).map(|word| (*word).to_owned()).collect(),
        files: FileReading::default(),
    }
}

fn bounds(facts: &Facts) -> Result<(), String> {
    let table = [
        ("effects", facts.effects.len(), MOST),
        ("paths", facts.paths.len(), MOST),
        ("hosts", facts.hosts.len(), 64),
        ("programs", facts.programs.len(), MOST),
    ];
    if let Some((what, found, most)) = table.iter().find(|(_, found, most)| found > most) {
        return Err(format!("{found} {what}, {most} are allowed"));
    }
    let paths = u32::try_from(facts.paths.len()).unwrap_or(u32::MAX);
    match facts.effects.iter().filter_map(|effect| effect.path).find(|number| *number >= paths) {
        Some(number) => Err(format!("path {number} is named, but there are {paths}")),
        None => Ok(()),
    }
}

fn one_line(what: &str, text: &str, most: usize) -> Result<(), String> {
    if text.is_empty() || text.contains('\n') || text.len() > most {
        return Err(format!("{what} is not a line of at most {most} bytes: {text:?}"));
    }
    Ok(())
}
