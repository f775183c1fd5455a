//! The embedded components match the list, and are small, self-contained, and the same on any
//! machine.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "tests fail by panicking"
)]

use portcullis_builtin::{ALL, Builtin, COMPONENTS, Kind, SHELL_READER, find};
use std::path::Path;
use wasmparser::{Operator, Parser, Payload};

fn every() -> impl Iterator<Item = &'static Builtin> {
    ALL.iter().chain([&SHELL_READER])
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

#[test]
fn every_plugin_is_there() {
    for (name, kind) in [
        ("blocked-then-bypassed", Kind::Pattern),
        ("cef", Kind::AuditExporter),
        ("checkpoint-rollback", Kind::Intervention),
        ("cloudevents", Kind::AuditExporter),
        ("context-reinforcement", Kind::Intervention),
        ("csv", Kind::AuditExporter),
        ("custom-rules", Kind::RiskCalculator),
        ("ecs", Kind::AuditExporter),
        ("emergency-stop", Kind::Intervention),
        ("goal-drift", Kind::Pattern),
        ("hallucination", Kind::Pattern),
        ("instruction-injection", Kind::Pattern),
        ("jsonl", Kind::AuditExporter),
        ("loop", Kind::Pattern),
        ("ocsf", Kind::AuditExporter),
        ("otlp", Kind::AuditExporter),
        ("otlp-json", Kind::AuditExporter),
        ("rationality", Kind::RiskCalculator),
        ("repetitive-errors", Kind::Pattern),
        ("resource-spiral", Kind::Pattern),
        ("resource-throttling", Kind::Intervention),
        ("risk", Kind::RiskCalculator),
        ("rules", Kind::RiskCalculator),
        ("scope-creep", Kind::Pattern),
        ("secret-egress", Kind::Pattern),
        ("side-effects", Kind::RiskCalculator),
        ("soft-correction", Kind::Intervention),
        ("splunk", Kind::AuditExporter),
    ] {
        assert_eq!(find(name).map(|builtin| builtin.kind), Some(kind), "{name}");
    }
    assert_eq!(ALL.len(), 28);
    assert_eq!(SHELL_READER.kind, Kind::ShellReader);
    assert!(find("shell").is_none(), "the shell reader is not a plugin");
    assert!(ALL.is_sorted_by(|a, b| a.name < b.name));
}

#[test]
fn descriptors_are_in_the_bytes() {
    for builtin in ALL {
        assert!(
            builtin.descriptor.starts_with(&format!("{{\"name\":\"{}\",", builtin.name)),
            "{}",
            builtin.name
        );
        assert!(contains(builtin.component.bytes(), builtin.descriptor), "{}", builtin.name);
    }
    assert_eq!(SHELL_READER.descriptor, "");
}

#[test]
fn outcome_plugins_match_their_descriptors() {
    let waiting: Vec<_> =
        every().filter(|builtin| builtin.waits_for_outcome).map(|builtin| builtin.name).collect();
    let declared: Vec<_> = ALL
        .iter()
        .filter(|builtin| builtin.descriptor.contains("\"outcome\""))
        .map(|builtin| builtin.name)
        .collect();
    assert_eq!(waiting, declared);
    assert_eq!(
        waiting,
        [
            "goal-drift",
            "hallucination",
            "loop",
            "repetitive-errors",
            "resource-spiral",
            "scope-creep"
        ]
    );
}

#[test]
fn digests_are_the_bytes() {
    for component in COMPONENTS {
        assert_eq!(
            blake3::hash(component.bytes()).to_hex().as_str(),
            component.digest,
            "{}",
            component.name
        );
    }
}

/// Each plugin is in one component, which knows it; those of a component with others are selected
/// by name.
#[test]
fn components_hold_the_plugins() {
    let held: Vec<&str> =
        COMPONENTS.iter().flat_map(|component| component.plugins.iter().copied()).collect();
    assert_eq!(held.len(), ALL.len());
    for builtin in ALL {
        assert!(builtin.component.plugins.contains(&builtin.name), "{builtin:?}");
        let shares = builtin.component.plugins.len() > 1;
        assert_eq!(builtin.choice(), shares.then_some(builtin.name));
    }
    let sharing: Vec<_> = COMPONENTS
        .iter()
        .filter(|component| component.plugins.len() > 1)
        .map(|component| component.name)
        .collect();
    assert_eq!(sharing, ["exporters", "interventions", "patterns", "risk-calculators"]);
    assert_eq!(SHELL_READER.choice(), None);
}

/// Descriptors are in one section at the component's top level, and name a plugin, its kind and
/// this version.
#[test]
fn plugins_describe_themselves() {
    for component in COMPONENTS.iter().filter(|component| !component.plugins.is_empty()) {
        let mut depth = 0;
        let mut found = Vec::new();
        for payload in Parser::new(0).parse_all(component.bytes()) {
            match payload.unwrap() {
                Payload::Version { .. } => depth += 1,
                Payload::End(_) => depth -= 1,
                Payload::CustomSection(section) if section.name() == "portcullis-descriptor" => {
                    found.push((depth, section.data().to_vec()))
                }
                _ => {}
            }
        }
        let [(1, descriptors)] = found.as_slice() else { panic!("{}: {found:?}", component.name) };
        let here = || ALL.iter().filter(|builtin| builtin.component.name == component.name);
        assert_eq!(
            descriptors.len(),
            here().map(|builtin| builtin.descriptor.len()).sum::<usize>(),
            "{}",
            component.name
        );
        for builtin in here() {
            for part in [
                format!("\"kind\":\"{}\"", builtin.kind),
                format!("\"version\":\"{}\"", env!("CARGO_PKG_VERSION")),
            ] {
                assert!(
                    builtin.descriptor.contains(&part),
                    "{part} is not in {}",
                    builtin.descriptor
                );
            }
        }
    }
}

/// Each call gets a memory of its own, so its first size counts; a module's own code and data too.
#[test]
fn memories_begin_small() {
    for builtin in every() {
        // The tables of the parsers of Python and JavaScript are 1 MiB of it.
        let most = if builtin.kind == Kind::ShellReader { 3 << 20 } else { 192 << 10 };
        let mut bytes = 0;
        for payload in Parser::new(0).parse_all(builtin.component.bytes()) {
            if let Payload::MemorySection(memories) = payload.unwrap() {
                bytes += memories
                    .into_iter()
                    .map(|memory| memory.unwrap().initial * 65_536)
                    .sum::<u64>();
            }
        }
        assert!((65_536..=most).contains(&bytes), "{}: {bytes} bytes of memory", builtin.name);
    }
}

/// The linker puts the stack first, so its size is what the first global, the stack pointer, begins with.
#[test]
fn only_the_parser_has_a_large_stack() {
    for component in COMPONENTS {
        let mut stack = None;
        for payload in Parser::new(0).parse_all(component.bytes()) {
            if let Payload::GlobalSection(globals) = payload.unwrap() {
                let global = globals.into_iter().next().unwrap().unwrap();
                if let Operator::I32Const { value } =
                    global.init_expr.get_operators_reader().read().unwrap()
                {
                    stack.get_or_insert(value);
                }
            }
        }
        let wanted = if component.name == SHELL_READER.component.name { 1 << 20 } else { 64 << 10 };
        assert_eq!(stack, Some(wanted), "{}", component.name);
    }
}

#[test]
fn nothing_of_the_build_machine_is_inside() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_str().unwrap();
    let home = std::env::home_dir().map(|home| home.join(".cargo").display().to_string()).unwrap();
    for builtin in every() {
        for foreign in [root, home.as_str(), "wasi_snapshot", "wasi:"] {
            assert!(
                !contains(builtin.component.bytes(), foreign),
                "{} holds `{foreign}`",
                builtin.name
            );
        }
    }
}
