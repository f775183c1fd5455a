//! The settings from the host, and the bytes that `prepare` returns for them.
//!
//! | setting | type | |
//! |---|---|---|
//! | `files` | texts | the name and the text of each file, in turn |
//! | `disabled` | texts | rules that do not apply |
//! | `on_fault` | text | the verdict for a failure of this plugin |
//! | `project` | flag | the files are a project's |

use portcullis_plugin::risk_calculator::Objection;
use portcullis_plugin::risk_calculator::{Error, Setting};
use portcullis_plugin::types::SettingValue;
use portcullis_rule_language::code::{self, Rule};
use portcullis_rule_language::place::line_and_column;
use portcullis_rule_language::read;

/// Rules that are ready to be evaluated.
pub(crate) struct Prepared<'a> {
    files: Vec<(&'a str, Vec<Rule<'a>>)>,
    /// The verdict for a failure.
    pub(crate) on_fault: Objection,
    /// A repository wrote the rules.
    pub(crate) of_a_project: bool,
}

/// Encodes settings: flags, and the name and code of each file with its length.
pub(crate) fn prepare(settings: &[Setting]) -> Result<Vec<u8>, Error> {
    let (mut files, mut disabled, mut on_fault, mut of_a_project) =
        (&[][..], &[][..], Objection::Block, false);
    for setting in settings {
        match (setting.key.as_str(), &setting.value) {
            ("files", SettingValue::Texts(texts)) => files = texts,
            ("disabled", SettingValue::Texts(texts)) => disabled = texts,
            ("on_fault", SettingValue::Text(word)) => on_fault = verdict(word)?,
            ("project", SettingValue::Flag(flag)) => of_a_project = *flag,
            (key, _) => {
                return Err(Error::setting(
                    key,
                    "is not a setting of this plugin, or has another type; the files are named by `rules.files`",
                ));
            }
        }
    }
    let mut out = vec![tag(on_fault), u8::from(of_a_project)];
    for pair in files.chunks(2) {
        let [name, text] = pair else {
            return Err(Error::setting("files", "holds a name without a text"));
        };
        let rules = read(text).map_err(|problems| {
            let described = problems.first().map(|problem| {
                let (line, column) = line_and_column(text, problem.span.start);
                format!("{name}:{line}:{column}: {}", problem.what)
            });
            Error::setting("files", &described.unwrap_or_default())
        })?;
        let active: Vec<Rule<'_>> = rules
            .into_iter()
            .map(|read| read.rule)
            .filter(|rule| !disabled.iter().any(|name| *name == rule.name))
            .collect();
        for bytes in [name.as_bytes(), &code::to_bytes(&active)] {
            out.extend_from_slice(&u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_le_bytes());
            out.extend_from_slice(bytes);
        }
    }
    Ok(out)
}

impl<'a> Prepared<'a> {
    /// Decodes the output of `prepare`.
    pub(crate) fn read(bytes: &'a [u8]) -> Option<Self> {
        let [on_fault, of_a_project, rest @ ..] = bytes else { return None };
        let (mut rest, mut files) = (rest, Vec::new());
        while !rest.is_empty() {
            let name = std::str::from_utf8(part(&mut rest)?).ok()?;
            files.push((name, code::from_bytes(part(&mut rest)?)?));
        }
        Some(Self { files, on_fault: from_tag(*on_fault)?, of_a_project: *of_a_project == 1 })
    }

    /// Returns every rule with its file.
    pub(crate) fn rules(&self) -> impl Iterator<Item = (&str, &Rule<'a>)> {
        self.files.iter().flat_map(|(name, rules)| rules.iter().map(move |rule| (*name, rule)))
    }
}

fn part<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, after) = rest.split_first_chunk::<4>()?;
    let (part, after) =
        after.split_at_checked(usize::try_from(u32::from_le_bytes(*length)).ok()?)?;
    *rest = after;
    Some(part)
}

const FAULTS: &[(&str, Objection, u8)] =
    &[("warn", Objection::Warn, 1), ("ask", Objection::Ask, 2), ("block", Objection::Block, 3)];

fn verdict(word: &str) -> Result<Objection, Error> {
    let found = FAULTS.iter().find(|(known, _, _)| *known == word).map(|(_, verdict, _)| *verdict);
    found.ok_or_else(|| Error::setting("on_fault", "should be one of `warn`, `ask`, `block`"))
}

fn tag(verdict: Objection) -> u8 {
    FAULTS.iter().find(|(_, known, _)| *known == verdict).map_or(3, |(_, _, tag)| *tag)
}

fn from_tag(tag: u8) -> Option<Objection> {
    FAULTS.iter().find(|(_, _, known)| *known == tag).map(|(_, verdict, _)| *verdict)
}
