//! Native tests of the whole plugin; `cases.toml` has those that need the host's shell reader.

use super::*;
use portcullis_plugin::testing::{self, BuildAction, BuildContext};

fn rules(settings: &[Setting], action: &Action) -> Vec<String> {
    let prepared = DependencyGuard::prepare(settings).unwrap();
    let assessment = DependencyGuard::assess(&prepared, action, &testing::context()).unwrap();
    assessment.rulings.iter().map(|ruling| ruling.rule.clone()).collect()
}

#[test]
fn settings_are_checked() {
    for (setting, message) in [
        (
            Setting::new("near_name", "maybe"),
            "setting `near_name`: should be off, warn, ask or block",
        ),
        (Setting::new("alow", ["a"]), "setting `alow`: unknown; did you mean `allow`?"),
        (
            Setting::new("deny", ["pear:x"]),
            "setting `deny`: pear is no ecosystem; known are npm, pypi, crates, go, gems, packagist, nuget",
        ),
        (Setting::new("sources", [" "]), "setting `sources`: should have no empty entry"),
        (Setting::new("allow", "x"), "setting `allow`: is a text, should be a list of texts"),
    ] {
        let error = DependencyGuard::prepare(&[setting]).unwrap_err();
        assert_eq!(error.message(), message);
    }
}

#[test]
fn an_edit_counts_only_what_is_new() {
    let old = "\"lodahs\": \"^1.0.0\",";
    let new = "\"lodahs\": \"^1.0.1\",\n\"expresss\": \"^4\",";
    let edit = testing::file_edit("package.json", old, new);
    let prepared = DependencyGuard::prepare(&[]).unwrap();
    let assessment = DependencyGuard::assess(&prepared, &edit, &testing::context()).unwrap();
    assert_eq!(assessment.rulings.len(), 1);
    assert_eq!(assessment.rulings[0].evidence[0].value, "npm:expresss");
}

#[test]
fn a_long_manifest_is_read_in_time() {
    let lines: Vec<String> =
        (0..3000).map(|at| format!("    \"package-{at}\": \"^1.0.{at}\"")).collect();
    let text = format!("{{\n  \"dependencies\": {{\n{}\n  }}\n}}", lines.join(",\n"));
    let action = testing::file_write("package.json", &text);
    assert_eq!(rules(&[], &action), ["package_unread"]);
}

#[test]
fn a_request_for_a_new_lock_file_is_respected() {
    let action = testing::shell("rm yarn.lock").deletes("yarn.lock");
    assert_eq!(rules(&[], &action), ["package_lock_file"]);
    let prepared = DependencyGuard::prepare(&[]).unwrap();
    let context = testing::context().goal("regenerate the lock file");
    let assessment = DependencyGuard::assess(&prepared, &action, &context).unwrap();
    assert!(assessment.rulings.is_empty());
}
