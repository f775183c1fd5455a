//! Compares the table of keys with the core and with the documentation.

use crate::keys::{ConfigKey, KeyLookup, ValueKind, all_keys, find_by_name, look_up};
use crate::plugins::declared_settings;
use portcullis_core::fault::OnFault;
use portcullis_core::intervene;
use portcullis_core::policy::{Detail, Mode, Strategy};

#[test]
fn words_are_those_of_the_core() {
    let words = |path: &str| match find_by_name(path).unwrap().kind {
        ValueKind::Choice(words) | ValueKind::Choices(words) => words.to_vec(),
        other => panic!("{path} is {other:?}"),
    };
    for (path, mut expected) in [
        (
            "mode",
            Mode::ALL
                .iter()
                .filter(|mode| **mode != Mode::Off)
                .map(ToString::to_string)
                .collect::<Vec<String>>(),
        ),
        ("interventions.strategy", Strategy::ALL.iter().map(ToString::to_string).collect()),
        ("audit.level", Detail::ALL.iter().map(ToString::to_string).collect()),
        ("plugins.*.on_fault", OnFault::ALL.iter().map(ToString::to_string).collect()),
    ] {
        let mut words = words(path);
        words.sort_unstable();
        expected.sort_unstable();
        assert_eq!(words, expected, "{path}");
    }
    for kind in intervene::InterventionKind::ALL {
        assert!(
            find_by_name(&format!("interventions.{kind}"))
                .is_some_and(|key| key.kind == ValueKind::Flag),
            "{kind}"
        );
    }
    for word in words("mask.personal") {
        let kind: portcullis_core::mask::SecretKind = serde_json::from_value(word.into()).unwrap();
        assert_eq!(kind.to_string(), word);
    }
}

#[test]
fn paths_are_found() {
    for (path, expected) in [
        (&["mode"][..], "key mode"),
        (&["mode", "x"], "nothing"),
        (&["limits"], "table"),
        (&["rules", "files"], "key rules.files"),
        (&["rules", "limit_file_operations"], "table"),
        (&["limits", "file_operations"], "key limits.file_operations"),
        (&["plugins", "x"], "table"),
        (&["plugins", "x", "settings"], "table"),
        (&["plugins", "x", "settings", "a", "b"], "key plugins.*.settings.**"),
        (&["plugins", "x", "setting"], "nothing"),
        (&["interventions", "templates", "loop"], "key interventions.templates.*"),
    ] {
        let path: Vec<String> = path.iter().map(ToString::to_string).collect();
        let found = match look_up(&path) {
            KeyLookup::Key(key) => format!("key {}", key.path),
            KeyLookup::Table => "table".into(),
            KeyLookup::Nothing => "nothing".into(),
        };
        assert_eq!(found, expected, "{path:?}");
    }
}

/// Returns the rows of keys in a section of a page.
fn rows<'a>(page: &'a str, from: &str, to: &str) -> Vec<&'a str> {
    let section = page.split_once(from).and_then(|(_, rest)| rest.split_once(to)).unwrap().0;
    section.lines().filter(|line| line.starts_with("| `")).collect()
}

#[test]
fn the_documentation_has_every_key_as_it_is() {
    let row = |cells: &[&str]| format!("| {} |", cells.join(" | ")).replace("|  |", "| |");
    let expected: Vec<String> = all_keys()
        .map(|key| {
            let (name, default) = (format!("`{}`", shown(key)), key.default_in_words());
            row(&[&name, &default, &key.kind.in_words(), &key.project.in_words(), key.doc])
        })
        .collect();
    let page = rows(include_str!("../../../docs/configuration.md"), "\n## Keys\n", "\n## ");
    assert_eq!(page, expected, "host/docs/configuration.md should have:\n{}", expected.join("\n"));
}

#[test]
fn the_documentation_has_every_setting_of_a_builtin_plugin() {
    let page = include_str!("../../../docs/configuration.md");
    let mut lacking = Vec::new();
    for builtin in portcullis_builtin::ALL {
        let begin = format!("\n## {}\n", builtin.name);
        let section = page
            .split_once(&begin)
            .and_then(|(_, rest)| rest.split("\n## ").next())
            .unwrap_or_default();
        for setting in declared_settings(builtin.name).unwrap_or_default() {
            let row =
                section.lines().find(|line| line.starts_with(&format!("| `{}` |", setting.key)));
            if row.is_none_or(|row| !row.contains(&setting.description)) {
                lacking
                    .push(format!("{}: `{}`: {}", builtin.name, setting.key, setting.description));
            }
        }
    }
    assert_eq!(
        lacking,
        Vec::<String>::new(),
        "host/docs/configuration.md lacks these or says something else of them"
    );
}

/// A key that an incident's advice names can be set, also where it is a setting of a plugin.
#[test]
fn the_advice_of_incidents_names_keys_that_exist() {
    let advice = include_str!("../../../../plugins/interventions/src/emergency_stop/advice.rs");
    let is_key = |word: &&str| {
        let part = |part: &str| {
            !part.is_empty()
                && part.bytes().all(|byte| byte.is_ascii_lowercase() || b"-_".contains(&byte))
        };
        word.contains('.') && word.split('.').all(part)
    };
    let keys: Vec<&str> = advice.split('`').skip(1).step_by(2).filter(is_key).collect();
    assert!(keys.len() >= 8, "{keys:?}");
    for key in keys {
        let path: Vec<String> = key.split('.').map(str::to_owned).collect();
        assert!(matches!(look_up(&path), KeyLookup::Key(_)), "`{key}` is not a key");
        if let [section, plugin, settings, setting] = path.as_slice()
            && (section.as_str(), settings.as_str()) == ("plugins", "settings")
        {
            let declared = declared_settings(plugin).unwrap_or_default();
            assert!(declared.iter().any(|known| known.key == *setting), "`{key}` is not a setting");
        }
    }
}

/// Formats a key as in prose.
fn shown(key: &ConfigKey) -> String {
    key.path
        .replace("templates.*", "templates.ISSUE")
        .replace("ladders.*", "ladders.PATTERN")
        .replace("interventions.plugins.*", "interventions.plugins.INTERVENTION")
        .replace(".**", ".KEY")
        .replace('*', "NAME")
}
