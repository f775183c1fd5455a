//! Organisation, person and project: which value holds, and whose it is.

use super::arbitrary::document;
use super::{PERSON, config, file, settled};
use crate::config::keys::toml_text;
use crate::config::layers::{Layer, Scene, Settled, Why, settle};
use crate::config::{Config, keys};
use portcullis_store::Durability;
use proptest::prelude::*;
use std::fs;
use std::path::Path;

/// A value, whose it is, and why the project's word does not count.
fn told(settled: &Settled, path: &str) -> String {
    let entry = settled.entries.get(path);
    let value = entry.map(|entry| entry.said.value.clone()).or_else(|| settled.value(keys::named(path)?));
    let value = value.map(|value| toml_text(&value)).unwrap_or_default();
    let origin = entry.map_or("default".to_owned(), |entry| {
        let tightened = if entry.origin.tightened { " tightened" } else { "" };
        let pipeline = entry.origin.pipeline.as_ref().map(|name| format!(" {name}")).unwrap_or_default();
        format!("{}{pipeline}{tightened}", entry.origin.layer.as_str())
    });
    let ignored: Vec<String> =
        settled.ignored.iter().filter(|ignored| ignored.path == path).map(|ignored| format!(" {:?}", ignored.why)).collect();
    format!("{value} {origin}{}", ignored.concat())
}

#[test]
fn the_organisation_goes_before_the_person_and_the_project_only_tightens() {
    let limit = |number: u32| format!("[limits]\nfile_operations = {number}");
    let (ten, fifty, five_hundred) = (limit(10), limit(50), limit(500));
    let scratch = |folders: &str| format!("[scope]\nscratch = [{folders}]");
    let narrow = scratch("\"/tmp/build\", \"/etc\", \"/var\"");
    let two = scratch("\"/tmp\", \"/var/tmp\"");
    let off = "[plugins.scope-creep]\nenabled = false\n[plugins.mine]\nenabled = false";
    let on = "[plugins.scope-creep]\nenabled = true\n[plugins.mine]\nenabled = true";
    #[rustfmt::skip]
    let rows: &[([&str; 3], bool, &str, &str)] = &[
        (["", "", ""], false, "limits.file_operations", "100 default"),
        (["", &fifty, ""], false, "limits.file_operations", "50 user"),
        ([&ten, &fifty, ""], false, "limits.file_operations", "10 managed Overridden(Managed)"),
        ([&fifty, &ten, ""], false, "limits.file_operations", "50 managed Overridden(Managed)"),
        ([&fifty, &fifty, ""], false, "limits.file_operations", "50 managed"),
        // A project's smaller number counts over everybody's, a larger one over nobody's.
        (["", "", &ten], false, "limits.file_operations", "10 project tightened"),
        (["", &fifty, &ten], false, "limits.file_operations", "10 project tightened"),
        ([&fifty, "", &ten], false, "limits.file_operations", "10 project tightened"),
        (["", "", &five_hundred], false, "limits.file_operations", "100 default Untrusted"),
        (["", &fifty, &five_hundred], false, "limits.file_operations", "50 user Untrusted"),
        (["", &ten, &ten], false, "limits.file_operations", "10 user"),
        // With trust it counts where nobody else speaks.
        (["", "", &five_hundred], true, "limits.file_operations", "500 project"),
        (["", &fifty, &five_hundred], true, "limits.file_operations", "50 user Overridden(User)"),
        ([&fifty, "", &five_hundred], true, "limits.file_operations", "50 managed Overridden(Managed)"),
        ([&fifty, "", &ten], true, "limits.file_operations", "10 project tightened"),
        // Words and flags.
        (["", "", "durability = \"full\""], false, "durability", "\"full\" project tightened"),
        (["", "durability = \"full\"", "durability = \"process\""], false, "durability", "\"full\" user Untrusted"),
        (["", "hold_settings = false", "hold_settings = true"], false, "hold_settings", "true project tightened"),
        (["", "", "hold_settings = false"], false, "hold_settings", "true default Untrusted"),
        (["", "", "hold_settings = false"], true, "hold_settings", "false project"),
        (["", "", "mode = \"observe\""], false, "mode", "\"blocking\" default Untrusted"),
        (["", "", "mode = \"blocking\""], false, "mode", "\"blocking\" default"),
        (["", "", "mode = \"observe\""], true, "mode", "\"observe\" project"),
        (["mode = \"blocking\"", "mode = \"observe\"", ""], false, "mode", "\"blocking\" managed Overridden(Managed)"),
        (["mode = \"blocking\"", "", "mode = \"observe\""], true, "mode", "\"blocking\" managed Overridden(Managed)"),
        // Lists.
        (["", &two, &narrow], false, "scope.scratch", "[\"/tmp/build\", \"/var/tmp\"] project tightened Untrusted"),
        (["", &two, &scratch("")], false, "scope.scratch", "[] project tightened"),
        (["", &two, &scratch("\"/\"")], false, "scope.scratch", "[\"/tmp\", \"/var/tmp\"] user Untrusted"),
        (["", &two, &scratch("\"/tmpx\"")], false, "scope.scratch", "[] project tightened Untrusted"),
        (["", "[mask]\npersonal = []", "[mask]\npersonal = [\"email\"]"], false, "mask.personal", "[\"email\"] project tightened"),
        (["", "", "[mask]\npersonal = [\"email\"]"], false, "mask.personal", "[\"email\", \"payment-card\"] default Untrusted"),
        (["", "", "[scope]\nfolders = [\"/\"]"], false, "scope.folders", "[] default Untrusted"),
        // Plugins.
        (["", off, on], false, "plugins.scope-creep.enabled", "true project tightened"),
        (["", off, on], false, "plugins.mine.enabled", "false user Untrusted"),
        (["", "", off], false, "plugins.scope-creep.enabled", " default Untrusted"),
        (["", "", "[plugins.emergency-stop]\nenabled = false"], false, "plugins.emergency-stop.enabled", " default Untrusted"),
        (["", "", "[interventions]\ndisabled = [\"emergency_stop\"]"], false, "interventions.disabled", "[] default Untrusted"),
        (["", "", "[interventions]\ndisabled = [\"emergency_stop\"]"], true, "interventions.disabled", "[\"emergency_stop\"] project"),
        (["", "", "[plugins.risk]\non_fault = \"warn\""], false, "plugins.risk.on_fault", " default Untrusted"),
        (["", "", "[plugins.risk.settings]\nscope = 0.0"], false, "plugins.risk.settings.scope", " default Untrusted"),
        (["", "[plugins.risk.settings]\nscope = 0.2", "[plugins.risk.settings]\nscope = 0.2"], false, "plugins.risk.settings.scope", "0.2 user"),
        (["", "", "[interventions.templates]\nloop = \"go on\""], false, "interventions.templates.loop", " default Untrusted"),
        // What holds for the whole installation is no project's.
        (["", "", "[audit]\nretention_days = 1"], false, "audit.retention_days", "30 default Global"),
        (["", "", "[audit]\nretention_days = 1"], true, "audit.retention_days", "30 default Global"),
        (["", "", "[audit]\nanchors = [\"/etc/passwd\"]"], true, "audit.anchors", "[] default Global"),
    ];
    for (texts, trusted, path, expected) in rows {
        assert_eq!(told(&settled(*texts, *trusted), path), *expected, "{texts:?}, trusted {trusted}: {path}");
    }
}

#[test]
fn the_first_pipeline_of_the_project_goes_before_the_file() {
    let home = tempfile::tempdir().unwrap();
    let person = home.path().join("me");
    let project = person.join("work/shop");
    fs::create_dir_all(&project).unwrap();
    std::os::unix::fs::symlink(&person, home.path().join("link")).unwrap();
    std::os::unix::fs::symlink(&project, person.join("elsewhere")).unwrap();
    let pipelines = "mode = \"blocking\"\ndurability = \"full\"\n\
        [pipelines.strict]\nprojects = [\"/srv/**\", \"~/work/secret\"]\nlimits.file_operations = 5\n\
        [pipelines.shop]\nprojects = [\"~/work/*\"]\nlimits.file_operations = 7\nmode = \"observe\"\n\
        [pipelines.all]\nprojects = [\"/**\"]\nlimits.file_operations = 9\n";
    let shop = person.join("work/shop");
    for (managed, own, project, trusted, named, path, expected) in [
        ("", pipelines, Some(shop.clone()), false, None, "limits.file_operations", "7 user shop"),
        ("", pipelines, Some(shop.clone()), false, None, "mode", "\"observe\" user shop"),
        ("", pipelines, Some(shop.clone()), false, None, "durability", "\"full\" user"),
        ("", pipelines, Some(person.join("work")), false, None, "limits.file_operations", "9 user all"),
        ("", pipelines, Some(person.join("work/shop/deep")), false, None, "limits.file_operations", "9 user all"),
        ("", pipelines, Some(person.join("elsewhere")), false, None, "limits.file_operations", "7 user shop"),
        ("", pipelines, Some("/srv/a/b".into()), false, None, "limits.file_operations", "5 user strict"),
        ("", pipelines, None, false, None, "limits.file_operations", "100 default"),
        ("", pipelines, None, false, Some("strict"), "limits.file_operations", "5 user strict"),
        (
            pipelines,
            "[limits]\nfile_operations = 3",
            Some(shop.clone()),
            false,
            None,
            "limits.file_operations",
            "7 managed shop Overridden(Managed)",
        ),
    ] {
        let files = [file(Layer::Managed, managed), file(Layer::User, own)];
        for person in [person.clone(), home.path().join("link")] {
            let scene = Scene { person: &person.to_string_lossy(), project: project.as_deref(), trusted, pipeline: named };
            assert_eq!(told(&settle(&files, &scene), path), expected, "{project:?} {path}");
        }
    }
}

#[test]
fn a_project_has_pipelines_with_trust_only() {
    let text = "[pipelines.here]\nprojects = [\"/**\"]\nlimits.file_operations = 5";
    let untrusted = settled(["", "", text], false);
    assert_eq!(told(&untrusted, "limits.file_operations"), "100 default");
    assert_eq!(
        untrusted.ignored.iter().map(|ignored| (ignored.path.as_str(), ignored.why)).collect::<Vec<_>>(),
        [("pipelines.here", Why::Untrusted)]
    );
    assert_eq!(told(&settled(["", "", text], true), "limits.file_operations"), "5 project here");
}

#[test]
fn folders_belong_to_the_file_that_names_them() {
    for (texts, trusted, expected) in [
        (["", "", ""], false, "/home/me/.config/portcullis/plugins"),
        (["", "plugins_dir = \"checks\"", ""], false, "/home/me/.config/portcullis/checks"),
        (["", "plugins_dir = \"~/checks\"", ""], false, "/home/me/checks"),
        (["plugins_dir = \"checks\"", "plugins_dir = \"mine\"", ""], false, "/etc/portcullis/checks"),
        (["", "", "plugins_dir = \"checks\""], false, "/home/me/.config/portcullis/plugins"),
        (["", "", "plugins_dir = \"checks\""], true, "/home/me/work/shop/.portcullis/checks"),
    ] {
        assert_eq!(config(texts, trusted).plugins_dir, Path::new(expected), "{texts:?}");
    }
}

/// What is looser in `with` than in `without`.
fn looser(with: &Config, without: &Config) -> Vec<&'static str> {
    let (a, b) = (&with.policy, &without.policy);
    let at_home = |path: &str| path.strip_prefix("~/").map_or_else(|| path.to_owned(), |below| format!("{PERSON}/{below}"));
    let inside = |path: &String| b.scope.scratch.iter().any(|folder| Path::new(&at_home(path)).starts_with(at_home(folder)));
    let enabled = |config: &Config, name: &str| config.plugins.get(name).and_then(|plugin| plugin.enabled) != Some(false);
    let names = || with.plugins.keys().chain(without.plugins.keys());
    let same_but_enabled = |name: &String| {
        let of = |config: &Config| config.plugins.get(name).cloned().unwrap_or_default();
        (of(with).on_fault, of(with).settings) == (of(without).on_fault, of(without).settings)
    };
    let checks = [
        ("mode", a.mode == b.mode),
        ("durability", with.durability == without.durability || with.durability == Durability::Full),
        ("plugins_dir", with.plugins_dir == without.plugins_dir),
        ("hold_settings", a.hold_settings || !b.hold_settings),
        ("scope.folders", a.scope.folders == b.scope.folders),
        ("scope.scratch", a.scope.scratch.iter().all(inside)),
        ("limits", a.limits.file_operations <= b.limits.file_operations),
        ("interventions", a.interventions == b.interventions),
        ("mask", b.personal_data.iter().all(|kind| a.personal_data.contains(kind))),
        ("audit", with.audit == without.audit),
        ("enabled", names().all(|name| enabled(with, name) || !enabled(without, name))),
        ("others enabled", names().all(|name| portcullis_builtin::find(name).is_some() || enabled(with, name) == enabled(without, name))),
        ("plugins", names().all(same_but_enabled)),
        ("guarded", a.guarded == b.guarded),
    ];
    checks.into_iter().filter(|(_, holds)| !holds).map(|(name, _)| name).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1024, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_project_that_nobody_trusts_loosens_anything(managed in document(), own in document(), project in document()) {
        let (with, without) = (config([&managed, &own, &project], false), config([&managed, &own, ""], false));
        prop_assert_eq!(looser(&with, &without), Vec::<&str>::new(), "{}\n---\n{}\n---\n{}", managed, own, project);
    }

    /// Neither does trust loosen what the organisation says.
    #[test]
    fn no_trust_goes_before_the_organisation(managed in document(), project in document()) {
        let with = settled([&managed, "", &project], true);
        for (path, entry) in settled([&managed, "", ""], false).entries {
            let holds = &with.entries[&path];
            prop_assert!(holds.said.value == entry.said.value || holds.origin.tightened, "{}: {}\n---\n{}", path, managed, project);
        }
    }
}

/// The property above can fail: with trust, every key that a project may change loosens something.
#[test]
fn looser_notices_every_key() {
    let without = config(["", "", ""], false);
    for (text, expected) in [
        ("mode = \"observe\"", "mode"),
        ("plugins_dir = \"x\"", "plugins_dir"),
        ("hold_settings = false", "hold_settings"),
        ("[scope]\nfolders = [\"/\"]", "scope.folders"),
        ("[scope]\nscratch = [\"/\"]", "scope.scratch"),
        ("[limits]\nfile_operations = 101", "limits"),
        ("[interventions]\nmost = 0", "interventions"),
        ("[mask]\npersonal = []", "mask"),
        ("[plugins.risk]\nenabled = false", "enabled"),
        ("[plugins.risk]\non_fault = \"warn\"", "plugins"),
        ("[plugins.risk.settings]\nscope = 0.0", "plugins"),
    ] {
        assert_eq!(looser(&config(["", "", text], true), &without), [expected], "{text}");
    }
}
