//! Configurations that are kept between events: each is what a new process loads.

use crate::paths::Paths;
use crate::{Config, KeptConfigs, trust};
use portcullis_store::Home;
use std::fs;
use std::path::Path;
use std::sync::Arc;

type Change = fn(&Path, &Home, &mut Paths);

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn own(root: &Path, text: &str) {
    write(&root.join("config/config.toml"), text);
}

fn of_project(root: &Path, text: &str) {
    write(&root.join("shop/.portcullis/config.toml"), text);
}

fn trust_text(root: &Path, home: &Home, text: &str) {
    trust::add_trusted(home, &root.join("shop"), &blake3::hash(text.as_bytes()), 1).unwrap();
}

const TIGHT: &str = "[limits]\nfile_operations = 7\n";
const LOOSE: &str = "[limits]\nfile_operations = 70000\n";
const TEMPLATES: &str = "[interventions]\ncustom_prompts_path = \"words.toml\"\n";

/// Each change, and whether the configuration is the kept one.
const CHANGES: &[(&str, bool, Change)] = &[
    ("no file", false, |_, _, _| {}),
    ("still none", true, |_, _, _| {}),
    ("a file", false, |root, _, _| own(root, "[limits]\nfile_operations = 10\n")),
    ("another number", false, |root, _, _| own(root, "[limits]\nfile_operations = 11\n")),
    ("the first number again", true, |root, _, _| own(root, "[limits]\nfile_operations = 10\n")),
    ("no file again", true, |root, _, _| {
        fs::remove_file(root.join("config/config.toml")).unwrap();
    }),
    ("a project's that tightens", false, |root, _, _| of_project(root, TIGHT)),
    ("a project's that does not count", false, |root, _, _| of_project(root, LOOSE)),
    ("it is trusted", false, |root, home, _| trust_text(root, home, LOOSE)),
    ("still trusted", true, |_, _, _| {}),
    ("it is not any more", true, |root, home, _| {
        trust::remove_trusted(home, &root.join("shop")).unwrap();
    }),
    ("another person", false, |root, _, places| places.person = root.display().to_string()),
    ("no project", false, |_, _, places| places.project = None),
    ("the project", true, |root, _, places| places.project = Some(root.join("shop"))),
    ("rules", false, |root, _, _| {
        own(root, "[rules]\nfiles = [\"mine.toml\"]\n");
        write(&root.join("config/mine.toml"), "");
    }),
    ("rules are read again", false, |_, _, _| {}),
    ("templates", false, |root, _, _| {
        own(root, TEMPLATES);
        write(&root.join("config/words.toml"), "");
    }),
    ("templates are read again", false, |_, _, _| {}),
    ("a project's templates that do not count", false, |root, _, _| {
        own(root, "");
        of_project(root, TEMPLATES);
        write(&root.join("shop/.portcullis/words.toml"), "");
    }),
    ("their text may be trusted", false, |_, _, _| {}),
];

#[test]
fn a_kept_configuration_is_what_a_new_process_loads() {
    let scratch = tempfile::tempdir().unwrap();
    let root = fs::canonicalize(scratch.path()).unwrap();
    let home = Home::open_root(root.join("state")).unwrap();
    fs::create_dir_all(root.join("shop")).unwrap();
    let mut places = Paths {
        person: root.join("me").display().to_string(),
        config: root.join("config"),
        state: root.join("state"),
        managed: root.join("etc/config.toml"),
        project: Some(root.join("shop")),
        ..super::places()
    };
    let kept = KeptConfigs::default();
    let mut seen: Vec<Arc<Config>> = Vec::new();
    for (name, is_kept, change) in CHANGES {
        change(&root, &home, &mut places);
        let loaded = kept.load(&places, &home).unwrap_or_else(|error| panic!("{name}: {error:#}"));
        assert_eq!(*loaded, Config::load(&places, Some(&home)).unwrap(), "{name}");
        let known = seen.iter().any(|known| Arc::ptr_eq(known, &loaded));
        assert_eq!(known, *is_kept, "{name}");
        seen.push(loaded);
    }
}

#[test]
fn a_mistake_is_reported_each_time() {
    let scratch = tempfile::tempdir().unwrap();
    let root = fs::canonicalize(scratch.path()).unwrap();
    let home = Home::open_root(root.join("state")).unwrap();
    let places = Paths {
        config: root.join("config"),
        state: root.join("state"),
        managed: root.join("etc/config.toml"),
        project: None,
        ..super::places()
    };
    let kept = KeptConfigs::default();
    kept.load(&places, &home).unwrap();
    own(&root, "mode = 3\n");
    for _ in 0..2 {
        let expected = Config::load(&places, Some(&home)).unwrap_err().to_string();
        assert_eq!(kept.load(&places, &home).unwrap_err().to_string(), expected);
    }
    own(&root, "");
    kept.load(&places, &home).unwrap();
}

#[test]
fn the_oldest_is_forgotten() {
    let scratch = tempfile::tempdir().unwrap();
    let home = Home::open_root(scratch.path().join("state")).unwrap();
    let kept = KeptConfigs::default();
    let load = |number: usize| {
        let person = format!("/home/{number}");
        let places = Paths {
            person,
            config: scratch.path().join("config"),
            state: scratch.path().join("state"),
            managed: scratch.path().join("etc/config.toml"),
            project: None,
            ..super::places()
        };
        kept.load(&places, &home).unwrap()
    };
    let first = load(0);
    (1..16).for_each(|number| drop(load(number)));
    assert!(Arc::ptr_eq(&first, &load(0)), "16 are kept");
    let second = load(16);
    assert!(Arc::ptr_eq(&first, &load(0)), "it was used more recently than the others");
    assert!(Arc::ptr_eq(&second, &load(16)));
    (17..33).for_each(|number| drop(load(number)));
    assert!(!Arc::ptr_eq(&first, &load(0)));
}
