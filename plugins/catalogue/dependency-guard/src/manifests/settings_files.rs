//! Files of settings of package managers: `.npmrc`, `.yarnrc.yml`, `pip.conf` and their like.

use crate::commands::{node, python};
use crate::wishes::Wish;

pub(super) fn read_node(text: &str, wishes: &mut Vec<Wish>) {
    for (key, value) in list_settings(text) {
        node::read_setting(key, value, wishes);
    }
}

pub(super) fn read_python(text: &str, wishes: &mut Vec<Wish>) {
    for (key, value) in list_settings(text) {
        python::read_setting(key, value, wishes);
    }
}

/// Adds a wish where an edit takes a line away that kept install scripts from running.
pub(super) fn find_lost_protection(old: &str, new: &str, wishes: &mut Vec<Wish>) {
    let protects = |text: &str| {
        list_settings(text).any(|(key, value)| {
            (key == "ignore-scripts" && value == "true")
                || (key == "enableScripts" && value == "false")
        })
    };
    if protects(old) && !protects(new) {
        wishes.push(Wish::Scripts("the setting that keeps scripts off is taken away".to_owned()));
    }
}

/// Returns the settings of a text, written `key=value`, `key: value` or `key "value"`.
fn list_settings(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.lines().filter_map(|line| {
        let line = line.trim();
        if line.starts_with(['#', ';', '[']) {
            return None;
        }
        let end = find_separator(line)?;
        let (key, value) = line.split_at_checked(end)?;
        let value = value.get(1..)?.trim();
        Some((key.trim().trim_matches(['"', '\'']), value.trim_matches(['"', '\''])))
    })
}

/// Returns the place of what divides key and value. A scope's key has a colon in it.
fn find_separator(line: &str) -> Option<usize> {
    line.find('=').or_else(|| line.find(": ")).or_else(|| line.find(' '))
}
