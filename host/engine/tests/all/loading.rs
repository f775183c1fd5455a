//! Files that are not plugins, and the message for each.

use crate::guests::{
    NOTHING, action, assessor, builtin_entry, component, component_text, context, file_entry, good,
    no_details, reader, set,
};
use portcullis_core::fault::FaultKind;
use portcullis_core::finding::Issue;
use portcullis_core::plugins::Plugins;
use portcullis_core::score::{Score, Severity};
use portcullis_engine::{
    Engine, EngineError, GrantedFolder, Grants, Kind, LoadError, MAX_COMPONENT_BYTES, PluginSet,
    ReviewClock, Tier, inspect_component, read_component,
};
use std::collections::BTreeMap;

const EXPORT: &str = r#"(instance $i) (export "portcullis:plugin/assessor@0.1.0" (instance $i))"#;

fn files() -> Vec<(&'static str, Vec<u8>, FaultKind, &'static str)> {
    use FaultKind::{LoadFailed, MissingGrant};
    let text = |inner: &str| component_text(&format!("(component {inner})"));
    vec![
        ("empty", vec![], LoadFailed, "not WebAssembly"),
        ("an image", b"\x89PNG\r\n\x1a\n".to_vec(), LoadFailed, "not WebAssembly"),
        ("text", b" ;; a plugin\n(component)".to_vec(), LoadFailed, "wasm-tools parse"),
        ("a core module", component_text("(module)"), LoadFailed, "wasm-tools component new"),
        ("only a head", good(1)[..9].to_vec(), LoadFailed, "damaged"),
        ("no export", text(""), LoadFailed, "nothing at all"),
        (
            "another export",
            text(r#"(instance $i) (export "wasi:cli/run@0.2.0" (instance $i))"#),
            LoadFailed,
            "`wasi:cli/run@0.2.0`",
        ),
        (
            "a later version",
            text(r#"(instance $i) (export "portcullis:plugin/assessor@0.2.0" (instance $i))"#),
            LoadFailed,
            "loads 0.1.x",
        ),
        (
            "no version",
            text(r#"(instance $i) (export "portcullis:plugin/assessor" (instance $i))"#),
            LoadFailed,
            "loads 0.1.x",
        ),
        (
            "two kinds",
            text(&format!(r#"{EXPORT} (export "portcullis:plugin/detector@0.1.0" (instance $i))"#)),
            LoadFailed,
            "`risk-calculator` and `pattern`",
        ),
        ("the right name on nothing", text(EXPORT), LoadFailed, "types do not match"),
        (
            "the host's own kind",
            text(r#"(instance $i) (export "portcullis:shell/reader@0.1.0" (instance $i))"#),
            LoadFailed,
            "only the host's own",
        ),
        (
            "sockets",
            text(&format!(r#"(import "wasi:sockets/tcp@0.2.0" (instance)) {EXPORT}"#)),
            MissingGrant,
            "open network connections",
        ),
        (
            "requests",
            text(&format!(r#"(import "wasi:http/outgoing-handler@0.2.0" (instance)) {EXPORT}"#)),
            MissingGrant,
            "web requests (`wasi:http",
        ),
        (
            "a stranger",
            text(&format!(r#"(import "acme:host/secrets" (instance)) {EXPORT}"#)),
            MissingGrant,
            "acme:host/secrets",
        ),
        (
            "a bare function",
            text(&format!(r#"(import "run" (func)) {EXPORT}"#)),
            MissingGrant,
            "`run`",
        ),
        (
            "an unknown host function",
            text(&format!(
                r#"(import "portcullis:plugin/host@0.1.0" (instance (export "shell" (func)))) {EXPORT}"#
            )),
            LoadFailed,
            "shell",
        ),
        (
            "64-bit memory",
            text(&format!("(core module (memory i64 1)) {EXPORT}")),
            LoadFailed,
            "does not compile",
        ),
        (
            "shared memory",
            text(&format!("(core module (memory 1 1 shared)) {EXPORT}")),
            LoadFailed,
            "does not compile",
        ),
        (
            "tail calls",
            text(&format!("(core module (func $f (return_call $f))) {EXPORT}")),
            LoadFailed,
            "does not compile",
        ),
        (
            "exceptions",
            text(&format!("(core module (tag $t) (func (throw $t))) {EXPORT}")),
            LoadFailed,
            "does not compile",
        ),
        (
            "vectors that differ by machine",
            text(&format!(
                "(core module (func (drop (i8x16.relaxed_swizzle (v128.const i64x2 0 0) (v128.const i64x2 0 0))))) {EXPORT}"
            )),
            LoadFailed,
            "does not compile",
        ),
        (
            "a descriptor of another kind",
            text(&format!(
                r#"(@custom "portcullis-descriptor" "{{\"kind\":\"pattern\"}}") {EXPORT}"#
            )),
            LoadFailed,
            "it says `pattern`",
        ),
        (
            "a broken descriptor",
            text(&format!(r#"(@custom "portcullis-descriptor" "{{") {EXPORT}"#)),
            LoadFailed,
            "portcullis-descriptor",
        ),
        (
            "several plugins",
            text(&format!(
                r#"(@custom "portcullis-descriptor" "{{\"name\":\"a\"}}{{\"name\":\"b\"}}") {EXPORT}"#
            )),
            LoadFailed,
            "describes several plugins, but a file holds one",
        ),
        (
            "an empty descriptor",
            text(&format!(r#"(@custom "portcullis-descriptor" "") {EXPORT}"#)),
            LoadFailed,
            "it is empty",
        ),
        (
            "two descriptors",
            text(&format!(
                r#"(@custom "portcullis-descriptor" "{{}}") (@custom "portcullis-descriptor" "{{ }}") {EXPORT}"#
            )),
            LoadFailed,
            "there are two",
        ),
    ]
}

#[test]
fn each_is_a_named_fault_and_never_absent() {
    let engine = Engine::new(None).unwrap();
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes, kind, says) in files() {
        let path = folder.path().join("plugin.wasm");
        std::fs::write(&path, bytes).unwrap();
        let mut set = set(&engine, vec![file_entry("odd", path)]);
        let answers = set.assess(&action(), &context(), &no_details);
        let fault = answers
            .first()
            .unwrap_or_else(|| panic!("{name}: no answer"))
            .result
            .as_ref()
            .expect_err(name);
        assert_eq!((fault.kind, answers.len()), (kind, 1), "{name}: {fault}");
        assert!(fault.detail.contains(says), "{name}: {fault}");
    }
}

#[test]
fn unreadable_files_are_reported() {
    let engine = Engine::new(None).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (absent, large) = (folder.path().join("absent.wasm"), folder.path().join("large.wasm"));
    std::fs::File::create(&large).unwrap().set_len(MAX_COMPONENT_BYTES + 1).unwrap();
    let device = std::path::PathBuf::from("/dev/null");
    let table = [
        (absent, "No such file"),
        (folder.path().to_owned(), "not a file"),
        (device, "not a file"),
        (large, "at most 67108864"),
    ];
    for (path, says) in table {
        let mut set = set(&engine, vec![file_entry("odd", path)]);
        let answers = set.assess(&action(), &context(), &no_details);
        let fault = answers[0].result.as_ref().unwrap_err();
        assert!(fault.kind == FaultKind::LoadFailed && fault.detail.contains(says), "{fault}");
    }
}

/// It might have been meant as any kind, so it is reported once, at the start of the review.
#[test]
fn a_file_that_is_no_plugin_is_reported_once_a_review() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("odd.wasm");
    std::fs::write(&path, "nothing").unwrap();
    let mut set = set(&Engine::new(None).unwrap(), vec![file_entry("odd", path)]);
    let count_reports = |set: &mut PluginSet, before: bool| {
        let assessed =
            if before { set.assess(&action(), &context(), &no_details).len() } else { 0 };
        let detected = set
            .detect(&BTreeMap::new(), &Default::default(), &action(), &context(), &no_details)
            .len();
        (assessed, detected)
    };
    assert_eq!(count_reports(&mut set, true), (1, 0));
    set.begin_review(1);
    assert_eq!(count_reports(&mut set, false), (0, 1));
    let issue = Issue {
        name: "loop".into(),
        severity: Severity::Low,
        confidence: Score::MAX,
        impact: Score::MAX,
        first_step: 0,
        summary: String::new(),
        evidence: vec![],
        recurrences: 0,
    };
    let situation = crate::answers::situation();
    assert!(
        set.intervene("odd", &issue, &situation, &context(), &no_details).unwrap().result.is_err()
    );
    assert!(set.intervene("nobody", &issue, &situation, &context(), &no_details).is_none());
    assert!(set.render_records("odd", &[], true).unwrap().result.is_err());
}

/// Arbitrary changes to a file's bytes never cause more than an error.
#[test]
fn damaged_components_never_do_worse_than_fail() {
    let engine = Engine::new(None).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plugin.wasm");
    let whole = good(420);
    let cut = (0..whole.len()).step_by(whole.len() / 60).map(|length| whole[..length].to_vec());
    let flipped = (0..whole.len()).step_by(whole.len() / 120).map(|at| {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        bytes
    });
    let (mut answered, mut failed) = (0, 0);
    for bytes in cut.chain(flipped) {
        std::fs::write(&path, bytes).unwrap();
        let mut set = set(&engine, vec![file_entry("damaged", path.clone())]);
        match &set.assess(&action(), &context(), &no_details)[..] {
            [answer] if answer.result.is_ok() => answered += 1,
            [_] => failed += 1,
            answers => panic!("one answer, not {answers:?}"),
        }
    }
    assert!(failed > 60, "{failed} of {}", failed + answered);
}

#[test]
fn inspection_tells_what_a_component_is() {
    let describe = r#"(@custom "portcullis-descriptor" (after data) "{\"name\":\"tester\",\"version\":\"1.2.3\",\"description\":\"a\\u001bb\"}")"#;
    let log = r#"(import "portcullis:plugin/host@0.1.0" "log" (func (param i32 i32 i32)))"#;
    let bytes =
        component(&assessor(NOTHING, NOTHING, &format!("{log} {describe}")), "risk-calculator");
    let found = inspect_component(&bytes).unwrap();
    assert_eq!(found.kind, Kind::RiskCalculator);
    assert_eq!(found.wit_version, "0.1.0");
    assert_eq!(found.size, u64::try_from(bytes.len()).unwrap());
    assert_eq!(found.digest, blake3::hash(&bytes).to_hex().as_str());
    assert!(found.imports.iter().all(|import| import.tier == Tier::Own), "{:?}", found.imports);
    let descriptor = found.descriptor.as_ref().unwrap();
    assert_eq!((descriptor.name.as_str(), descriptor.version.as_str()), ("tester", "1.2.3"));
    assert!(!descriptor.description.contains('\u{1b}'), "{descriptor:?}");

    let entry = builtin_entry("tester", Kind::RiskCalculator, bytes);
    let mut set = set(&Engine::new(None).unwrap(), vec![entry]);
    let answers = set.assess(&action(), &context(), &no_details);
    assert_eq!(
        (answers[0].plugin.name.as_str(), answers[0].plugin.version.as_str()),
        ("tester", "1.2.3")
    );
    assert_eq!(answers[0].plugin.digest, found.digest);
}

#[test]
fn an_import_that_is_not_granted_can_still_be_inspected() {
    let bytes = component_text(&format!(
        r#"(component (import "wasi:sockets/tcp@0.2.0" (instance)) {EXPORT})"#
    ));
    let found = inspect_component(&bytes).unwrap();
    let refused = LoadError::Refused {
        import: "wasi:sockets/tcp@0.2.0".into(),
        wants: "open network connections",
        grant: None,
    };
    assert_eq!(found.check_grants(&Grants::default()), Err(refused));
}

#[test]
fn a_granted_folder_needs_a_component_that_opens_files() {
    let folder = GrantedFolder { path: "/".into(), shown: "/project".into() };
    let files = Grants { directories: vec![folder], ..Grants::default() };
    let importing = r#"(import "wasi:filesystem/preopens@0.2.0" (instance))"#;
    for (import, grants, loads) in
        [("", Grants::default(), true), ("", files.clone(), false), (importing, files, true)]
    {
        let found =
            inspect_component(&component_text(&format!("(component {import} {EXPORT})"))).unwrap();
        let granted = found.check_grants(&grants);
        assert_eq!(granted.is_ok(), loads, "{import}: {granted:?}");
        let named = granted.err().is_none_or(|error| error.to_string().contains("`/project`"));
        assert!(named, "{import}: the folder is not named");
    }
}

/// The inspection of a third-party file goes to a terminal, so it must contain nothing but plain
/// text.
#[test]
fn no_word_of_a_component_reaches_people_as_it_is() {
    let clean =
        |text: &str| text.chars().all(|c| c == '\n' || !portcullis_core::text::is_hostile(c));
    let evil = r"acme:\1b[2J\e2\80\ae/x";
    let table = [
        ("an import", format!(r#"(import "{evil}" (instance)) {EXPORT}"#)),
        ("a long import", format!(r#"(import "{}" (instance)) {EXPORT}"#, "y".repeat(90_000))),
        ("an export", format!(r#"(instance $i) (export "{evil}" (instance $i))"#)),
        (
            "a version",
            format!(r#"(instance $i) (export "portcullis:plugin/assessor@{evil}" (instance $i))"#),
        ),
        (
            "a long version",
            format!(
                r#"(instance $i) (export "portcullis:plugin/assessor@0.1.{}" (instance $i))"#,
                "1".repeat(90_000)
            ),
        ),
        (
            "a kind",
            format!(
                r#"(@custom "portcullis-descriptor" "{{\"kind\":\"\e2\80\ae{}\"}}") {EXPORT}"#,
                "z".repeat(50_000)
            ),
        ),
        (
            "a setting",
            format!(
                r#"(@custom "portcullis-descriptor" "{{\"settings\":[{{\"key\":\"\e2\80\ae\"}}]}}") {EXPORT}"#
            ),
        ),
    ];
    for (name, inner) in table {
        let described = match inspect_component(&component_text(&format!("(component {inner})"))) {
            Ok(found) => {
                let settings = found
                    .descriptor
                    .as_ref()
                    .map(|descriptor| descriptor.settings.to_string())
                    .unwrap_or_default();
                let names: Vec<&str> =
                    found.imports.iter().map(|import| import.name.as_str()).collect();
                format!(
                    "{names}{settings}{}",
                    found
                        .check_grants(&Grants::default())
                        .err()
                        .map(|error| error.to_string())
                        .unwrap_or_default(),
                    names = names.concat()
                )
            }
            Err(error) => error.to_string(),
        };
        assert!(clean(&described) && described.len() < 1024, "{name}: {described:?}");
    }
}

/// Reading before compiling costs this process itself, so it has to be bounded.
#[test]
fn inspection_is_bounded_by_count() {
    let many = |what: &str, count: usize| -> String {
        (0..count).map(|at| what.replace('#', &at.to_string())).collect()
    };
    let nested = |depth: usize| format!("{}{}", "(component ".repeat(depth), ")".repeat(depth));
    let table = [
        (many(r#"(import "a:b/c#" (instance))"#, 257), "it has 257 imports"),
        (many(r#"(instance $i#) (export "a:b/c#" (instance $i#))"#, 257), "exports; at most 256"),
        (nested(32), "more than 32 components"),
    ];
    for (inner, says) in table {
        let message = inspect_component(&component_text(&format!("(component {EXPORT} {inner})")))
            .unwrap_err()
            .to_string();
        assert!(message.starts_with("it is damaged") && message.contains(says), "{message}");
    }
    let message = inspect_component(&crate::bombs::nested(3_000)).unwrap_err().to_string();
    assert!(message.contains("more than 32 components"), "{message}");
    let fits = format!("{} {}", many(r#"(import "a:b/c#" (instance))"#, 256), nested(31));
    assert_eq!(
        inspect_component(&component_text(&format!("(component {EXPORT} {fits})")))
            .unwrap()
            .imports
            .len(),
        256
    );
}

/// A pipe or a device in a plugin's place is reported, and is neither waited for nor read without
/// an end.
#[test]
fn only_a_file_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let (pipe, link, large) = (
        folder.path().join("pipe.wasm"),
        folder.path().join("link.wasm"),
        folder.path().join("large.wasm"),
    );
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    std::os::unix::fs::symlink(&pipe, &link).unwrap();
    std::fs::File::create(&large).unwrap().set_len(MAX_COMPONENT_BYTES + 1).unwrap();
    let table = [
        (pipe, "not a file"),
        (link, "not a file"),
        ("/dev/zero".into(), "not a file"),
        (large, "at most 67108864"),
    ];
    for (path, says) in table {
        let message = read_component(&path).unwrap_err().to_string();
        assert!(message.contains(says), "{message}");
    }
}

#[test]
fn names_are_names_and_unique() {
    let entry = |name: &str| file_entry(name, "x.wasm".into());
    let engine = Engine::new(None).unwrap();
    let clock = ReviewClock { now_ms: 0, time_budget: None };
    let make = |names: &[&str]| {
        PluginSet::new(
            engine.clone(),
            reader(),
            names.iter().map(|name| entry(name)).collect(),
            clock,
        )
    };
    for bad in ["", "Upper", "a b", "ü", "../x", &"x".repeat(65)] {
        assert!(matches!(make(&[bad]), Err(EngineError::BadName(_))), "{bad}");
    }
    for reserved in ["agent", "host", "limits", "person", "portcullis"] {
        assert!(matches!(make(&[reserved]), Err(EngineError::ReservedName(_))), "{reserved}");
    }
    for same in [&["a", "a"][..], &["shell"]] {
        assert!(matches!(make(same), Err(EngineError::SameName(_))), "{same:?}");
    }
    assert!(make(&["a", "a-b_1"]).is_ok());
}

#[test]
fn warming_loads_everything_and_describing_tells_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("odd.wasm");
    std::fs::write(&path, "nothing").unwrap();
    let entries =
        vec![file_entry("odd", path), builtin_entry("fine", Kind::RiskCalculator, good(1))];
    let mut set = set(&Engine::new(None).unwrap(), entries);
    let mut steps = Vec::new();
    set.compile_all(|step| {
        let loads = step.result.map(|result| result.is_ok());
        steps.push((step.name.to_owned(), step.number, step.total, loads));
    });
    let reported = [("shell", 1, true), ("fine", 2, true), ("odd", 3, false)];
    let reported: Vec<_> = reported
        .into_iter()
        .flat_map(|(name, number, loads)| {
            [None, Some(loads)].map(|loads| (name.to_owned(), number, 3, loads))
        })
        .collect();
    assert_eq!(steps, reported);
    let described: Vec<_> = set
        .describe_all()
        .iter()
        .map(|it| (it.name.clone(), it.inspection.is_ok(), matches!(it.loaded, Some(Ok(())))))
        .collect();
    assert_eq!(
        described,
        [("shell".into(), true, true), ("fine".into(), true, true), ("odd".into(), false, false)]
    );
    assert_eq!(set.list_names(Kind::RiskCalculator), ["fine"]);
}
