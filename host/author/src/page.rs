//! The page of a plugin, its `README.md`: the sections that a person looks for before installing it.
//!
//! `plugin new` writes their placeholders, `plugin publish` names those that a page lacks, and the
//! catalogue's own pages have them.

/// The page's file name.
pub const PAGE: &str = "README.md";
/// Begins a line that `plugin new` writes and the author replaces.
pub const PLACEHOLDER: &str = "To be written:";

/// A section of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageSection {
    /// Its heading.
    pub title: &'static str,
    /// Its content, for the author who writes it.
    pub says: &'static str,
}

const fn section(title: &'static str, says: &'static str) -> PageSection {
    PageSection { title, says }
}

const SETTINGS: PageSection = section(
    "Settings",
    "each setting with its type, its default and what it is for, or that there is none",
);
const COST: PageSection = section(
    "Cost",
    "time, fuel and memory of a call, and the size, as `portcullis plugin bench` prints them",
);
const LIMITS: PageSection = section("Limits", "what it cannot see, and ways around it");

/// The sections of a plugin that objects to something, in their order.
const OBJECTING: &[PageSection] = &[
    section("Objects to", "what it objects to, with an example of each"),
    section("Lets pass", "what looks alike and passes"),
    section(
        "False alarms",
        "harmless actions to which it objects all the same, and how to avoid that",
    ),
    SETTINGS,
    COST,
    LIMITS,
];
/// The sections of one that objects to nothing: an intervention or an exporter.
const OTHER: &[PageSection] = &[SETTINGS, COST, LIMITS];

/// Something that a page lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageGap<'p> {
    /// It has no such section, or one without text.
    Section(PageSection),
    /// It still has a line of the template: its number, from 1, and its text.
    Placeholder(usize, &'p str),
}

/// Returns the sections of a page, in their order, by the name of the plugin's kind.
#[must_use]
pub fn list_sections(kind: &str) -> &'static [PageSection] {
    if ["risk-calculator", "pattern"].contains(&kind) { OBJECTING } else { OTHER }
}

/// Lists what a page lacks, in the order of its sections. The level of a heading does not matter, nor does its case.
#[must_use]
pub fn list_gaps<'p>(page: &'p str, kind: &str) -> Vec<PageGap<'p>> {
    let missing = list_sections(kind).iter().filter(|section| !has_text(page, section.title));
    let placeholders = prose(page)
        .filter(|(_, line)| line.starts_with(PLACEHOLDER))
        .map(|(number, line)| PageGap::Placeholder(number, line));
    missing.map(|section| PageGap::Section(*section)).chain(placeholders).collect()
}

/// Returns true if a page names a setting as code: `` `most` ``, or `most = 3` in an example.
#[must_use]
pub fn names_setting(page: &str, key: &str) -> bool {
    let assigns = |line: &str| {
        line.trim_start().strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with('='))
    };
    page.contains(&format!("`{key}`")) || page.lines().any(assigns)
}

/// Returns true if a section of that title has a line of text.
fn has_text(page: &str, title: &str) -> bool {
    let mut inside = None;
    for (_, line) in prose(page) {
        match (heading(line), inside) {
            (Some((level, found)), _) if found.eq_ignore_ascii_case(title) => inside = Some(level),
            // A heading below it belongs to it.
            (Some((level, _)), Some(own)) if level > own => {}
            (Some(_), _) => inside = None,
            (None, Some(_)) if !line.is_empty() => return true,
            (None, _) => {}
        }
    }
    false
}

/// Returns the level and the title of a heading.
fn heading(line: &str) -> Option<(usize, &str)> {
    let title = line.trim_start_matches('#');
    let level = line.len() - title.len();
    title.strip_prefix(' ').filter(|_| level > 0).map(|title| (level, title.trim()))
}

/// Returns the lines of a page, trimmed, each with its number from 1; of its code only the fences, since a comment in it
/// looks like a heading.
fn prose(page: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_code = false;
    page.lines().enumerate().filter_map(move |(at, line)| {
        let line = line.trim();
        let is_fence = line.starts_with("```");
        is_code ^= is_fence;
        (is_fence || !is_code).then_some((at + 1, line))
    })
}
