//! The bounds of an index's document, and what may not contradict itself in it.

use super::document::{IndexDocument, ListedBundle, ListedPlugin, ListedVersion};
use super::vettings::ListedVetting;
use crate::name::BundleName;

/// The most bundles.
const MOST_BUNDLES: usize = 4096;
/// The most versions of a bundle.
const MOST_VERSIONS: usize = 64;
/// The most entries of any other list.
const MOST_ENTRIES: usize = 256;
/// The longest validity, in milliseconds: a publisher who signs rarely still has to sign each year.
const LONGEST_LIFE: u64 = 366 * 24 * 60 * 60 * 1000;
/// The most bytes of a name, a version or a kind.
const LONGEST_WORD: usize = 128;
/// The most bytes of any other text.
const LONGEST_TEXT: usize = 1000;

/// Checks a document.
///
/// # Errors
/// Says what is wrong with it.
pub(super) fn check_document(document: &IndexDocument) -> Result<(), String> {
    if document.expires <= document.made {
        return Err("it expires before it was made".to_owned());
    }
    if document.expires - document.made > LONGEST_LIFE {
        return Err("it is valid for more than a year".to_owned());
    }
    check_count("bundles", document.bundles.len(), MOST_BUNDLES)?;
    check_order(&document.bundles, |bundle| &bundle.name, |a, b| a < b, "bundles")?;
    document.bundles.iter().try_for_each(check_bundle)
}

fn check_bundle(bundle: &ListedBundle) -> Result<(), String> {
    let name = &bundle.name;
    if reads_as_reference(name) {
        return Err(format!(
            "`{name}` cannot be installed by its name, which reads as a registry or a file"
        ));
    }
    let here = |what: String| format!("`{name}`: {what}");
    if bundle.versions.is_empty() {
        return Err(here("it has no version".to_owned()));
    }
    check_count("versions", bundle.versions.len(), MOST_VERSIONS).map_err(here)?;
    check_order(&bundle.versions, |listed| &listed.version, |a, b| a > b, "versions")
        .map_err(here)?;
    for listed in &bundle.versions {
        check_version(listed).map_err(|what| format!("`{name} {}`: {what}", listed.version))?;
    }
    Ok(())
}

/// Returns true if `install` would take the name for an archive or for a repository of a registry.
fn reads_as_reference(name: &BundleName) -> bool {
    let first = name.as_str().split('/').next().unwrap_or_default();
    name.as_str().ends_with(".tar") || first.contains('.') || first == "localhost"
}

fn check_version(listed: &ListedVersion) -> Result<(), String> {
    check_text("version", &listed.version.to_string(), LONGEST_WORD)?;
    for (what, text) in [
        ("reference", &listed.reference),
        ("description", &listed.description),
        ("licence", &listed.licence),
        ("source", &listed.source),
        ("change", &listed.change),
    ] {
        check_text(what, text, LONGEST_TEXT)?;
    }
    if !is_repository(&listed.reference) {
        return Err(format!(
            "its reference `{}` is not a registry and a repository, without a tag or a digest",
            listed.reference
        ));
    }
    if let Some(reason) = &listed.yanked {
        check_text("reason for withdrawing it", reason, LONGEST_TEXT)?;
        if reason.is_empty() {
            return Err("it is withdrawn without a reason".to_owned());
        }
    }
    check_count("plugins", listed.plugins.len(), MOST_ENTRIES)?;
    if listed.plugins.is_empty() {
        return Err("it has no plugin".to_owned());
    }
    listed.plugins.iter().try_for_each(check_plugin)?;
    for (at, plugin) in listed.plugins.iter().enumerate() {
        if listed.plugins.iter().take(at).any(|other| other.name == plugin.name) {
            return Err(format!("it lists the plugin `{}` twice", plugin.name));
        }
    }
    check_count("grants", listed.grants.len(), MOST_ENTRIES)?;
    check_order(&listed.grants, |grant| grant, |a, b| a < b, "grants")?;
    listed.grants.iter().try_for_each(|grant| check_text("grant", grant, LONGEST_TEXT))?;
    check_count("signatures", listed.signatures.len(), MOST_ENTRIES)?;
    check_count("vettings", listed.vettings.len(), MOST_ENTRIES)?;
    listed.vettings.iter().try_for_each(check_vetting)
}

fn is_repository(reference: &str) -> bool {
    let path = reference.split_once('/').map(|(_, path)| path);
    path.is_some_and(|path| !path.is_empty() && !path.contains([' ', '@', ':']))
}

fn check_plugin(plugin: &ListedPlugin) -> Result<(), String> {
    check_text("plugin's name", &plugin.name, LONGEST_WORD)?;
    check_text("plugin's kind", &plugin.kind, LONGEST_WORD)?;
    check_text("plugin's version", &plugin.version, LONGEST_WORD)?;
    check_text("plugin's description", &plugin.description, LONGEST_TEXT)?;
    check_count("inputs of a plugin", plugin.reads.len(), MOST_ENTRIES)?;
    plugin.reads.iter().try_for_each(|input| check_text("plugin's input", input, LONGEST_WORD))
}

fn check_vetting(vetting: &ListedVetting) -> Result<(), String> {
    check_text("reviewer", &vetting.reviewer, LONGEST_TEXT)?;
    check_text("reason to vet it", vetting.despite.as_deref().unwrap_or_default(), LONGEST_TEXT)?;
    check_count("kinds of material", vetting.material.len(), MOST_ENTRIES)?;
    check_count("labels", vetting.corpus.len(), MOST_ENTRIES)?;
    check_count("vetted plugins", vetting.plugins.len(), MOST_ENTRIES)?;
    let words = vetting.material.iter().map(|material| &material.kind);
    let words = words.chain(vetting.corpus.iter().map(|counts| &counts.label));
    let mut words = words.chain(vetting.plugins.iter().map(|row| &row.name));
    words.try_for_each(|word| check_text("vetting", word, LONGEST_WORD))
}

fn check_count(what: &str, count: usize, most: usize) -> Result<(), String> {
    if count > most {
        return Err(format!("it has {count} {what}, at most {most} are read"));
    }
    Ok(())
}

/// Checks that each entry comes strictly after the one before it, so that none is there twice.
fn check_order<T, K: std::fmt::Display>(
    entries: &[T],
    key: impl Fn(&T) -> &K,
    is_before: impl Fn(&K, &K) -> bool,
    what: &str,
) -> Result<(), String> {
    let out_of_order = entries.windows(2).find_map(|pair| match pair {
        [before, after] if !is_before(key(before), key(after)) => Some(key(after)),
        _ => None,
    });
    out_of_order.map_or(Ok(()), |entry| {
        Err(format!("its {what} are not sorted, or `{entry}` is there twice"))
    })
}

/// Checks that a text is short, in one line, and shown as it is written.
fn check_text(what: &str, text: &str, most: usize) -> Result<(), String> {
    if text.len() > most {
        return Err(format!("its {what} has {} bytes, at most {most} are read", text.len()));
    }
    match text.chars().find(|character| character.is_control() || is_invisible(*character)) {
        Some(character) => Err(format!(
            "its {what} has the character U+{:04X}, which is not shown",
            u32::from(character)
        )),
        None => Ok(()),
    }
}

/// Returns true for characters that are not shown, end a line, or change the direction of others.
const fn is_invisible(character: char) -> bool {
    matches!(
        character,
        '\u{ad}'
            | '\u{61c}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{e0000}'..='\u{e007f}'
    )
}
