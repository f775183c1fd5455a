//! Guests that misbehave while they run: each ends in its own named fault, and the next guest
//! answers as if nothing had happened.

use crate::guests::{
    NOTHING, action, assessor, component, context, file_entry, good, no_details, risk, set,
};
use portcullis_core::fault::FaultKind;
use portcullis_core::plugins::Plugins;
use portcullis_core::score::Score;
use portcullis_engine::Engine;
use std::path::Path;

struct Case {
    name: &'static str,
    wat: String,
    fault: FaultKind,
    /// The text that the detail must contain.
    says: &'static str,
}

/// Returns a case in which the guest does this when it is called.
fn asked(name: &'static str, body: &str, more: &str, fault: FaultKind, says: &'static str) -> Case {
    Case { name, wat: assessor(body, NOTHING, more), fault, says }
}

/// Returns a case in which the guest does this before it can be called.
fn before(
    name: &'static str,
    prepare: &str,
    more: &str,
    fault: FaultKind,
    says: &'static str,
) -> Case {
    Case { name, wat: assessor(NOTHING, prepare, more), fault, says }
}

const HOST_LOG: &str =
    r#"(import "portcullis:plugin/host@0.1.0" "log" (func $log (param i32 i32 i32)))"#;

fn cases() -> Vec<Case> {
    [time(), space(), depth(), size(), traps()].into_iter().flatten().collect()
}

fn time() -> Vec<Case> {
    let spin = "(loop (br 0)) unreachable";
    let fuel = FaultKind::OutOfFuel;
    vec![
        asked("loops", spin, "", fuel, "50000000 units of fuel"),
        before("loops in prepare", spin, "", fuel, "while it prepared itself: it used up"),
        before(
            "loops at its start",
            NOTHING,
            "(start $s) (func $s (loop (br 0)))",
            fuel,
            "units of fuel",
        ),
        asked(
            "loops over bulk fills",
            "(loop (memory.fill (i32.const 0) (i32.const 0) (i32.const 65536)) (br 0)) unreachable",
            "",
            fuel,
            "fuel",
        ),
        asked(
            "floods the log",
            "(loop (call $log (i32.const 0) (i32.const 0) (i32.const 8)) (br 0)) unreachable",
            HOST_LOG,
            fuel,
            "fuel",
        ),
        asked(
            "floods the log with large lines",
            "(loop (call $log (i32.const 0) (i32.const 0) (i32.const 1000)) (br 0)) unreachable",
            HOST_LOG,
            fuel,
            "fuel",
        ),
        Case {
            name: "loops where the host allocates",
            wat: format!(
                r#"(module (memory (export "memory") 1)
                (func (export "portcullis:plugin/assessor@0.1.0#assess") (param i32) (result i32) {NOTHING})
                (func (export "portcullis:plugin/assessor@0.1.0#prepare") (param i32 i32) (result i32) {NOTHING})
                (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) {spin}))"#
            ),
            fault: fuel,
            says: "units of fuel",
        },
        Case {
            name: "loops after its answer",
            wat: assessor(
                NOTHING,
                NOTHING,
                r#"(func (export "cabi_post_portcullis:plugin/assessor@0.1.0#assess") (param i32) (loop (br 0)))"#,
            ),
            fault: fuel,
            says: "units of fuel",
        },
    ]
}

fn space() -> Vec<Case> {
    let grow = |memory: &str| {
        format!(
            "(loop (br_if 0 (i32.ne (memory.grow {memory} (i32.const 16)) (i32.const -1)))) unreachable"
        )
    };
    let table = "(loop (br_if 0 (i32.ne (table.grow $t (ref.null func) (i32.const 1000)) (i32.const -1)))) unreachable";
    let memory = FaultKind::OutOfMemory;
    vec![
        asked("grows memory", &grow(""), "", memory, "more than 65536 KiB"),
        asked(
            "grows a second memory",
            &grow("$two"),
            "(memory $two 1)",
            memory,
            "more than 65536 KiB",
        ),
        before(
            "has two memories that are too large together",
            NOTHING,
            "(memory 600) (memory 600)",
            memory,
            "more than 65536 KiB",
        ),
        before(
            "has a memory that is too large",
            NOTHING,
            "(memory 65536)",
            memory,
            "more than 65536 KiB",
        ),
        before(
            "has many memories",
            NOTHING,
            &"(memory 1)".repeat(20),
            memory,
            "memory count too high",
        ),
        asked("grows a table", table, "(table $t 1 funcref)", memory, "table elements"),
        before(
            "has a table that is too large",
            NOTHING,
            "(table 10000000 funcref)",
            memory,
            "table elements",
        ),
        before(
            "has many tables",
            NOTHING,
            &"(table 1 funcref)".repeat(20),
            memory,
            "table count too high",
        ),
    ]
}

fn depth() -> Vec<Case> {
    let recursion =
        "(func $r (param i32) (result i32) (i32.add (i32.const 1) (call $r (local.get 0))))";
    vec![asked(
        "recurses",
        "(call $r (i32.const 0))",
        recursion,
        FaultKind::StackOverflow,
        "too deep",
    )]
}

/// Returns code that answers `failed` with `text` at `at` of `length`.
fn failed(at: u32, length: u32) -> String {
    format!(
        "(i32.store8 (i32.const 1024) (i32.const 1)) (i32.store8 (i32.const 1028) (i32.const 2))
         (i32.store (i32.const 1032) (i32.const {at})) (i32.store (i32.const 1036) (i32.const {length})) (i32.const 1024)"
    )
}

/// Returns code that answers `count` issues, each of them the same `length` bytes.
fn aliased(count: u32, length: u32) -> String {
    format!(
        "(local $i i32) (i32.store8 (i32.const 1044) (i32.const 1))
         (i32.store (i32.const 1064) (i32.const 65536)) (i32.store (i32.const 1068) (i32.const {count}))
         (drop (memory.grow (i32.const 100)))
         (loop $next
            (i32.store (i32.add (i32.const 65536) (i32.mul (local.get $i) (i32.const 8))) (i32.const 131072))
            (i32.store (i32.add (i32.const 65540) (i32.mul (local.get $i) (i32.const 8))) (i32.const {length}))
            (local.set $i (i32.add (local.get $i) (i32.const 1)))
            (br_if $next (i32.lt_u (local.get $i) (i32.const {count}))))
         (i32.const 1024)"
    )
}

fn size() -> Vec<Case> {
    let large = FaultKind::OutputTooLarge;
    let bad = FaultKind::BadValue;
    vec![
        asked(
            "answers a huge text",
            &format!("(drop (memory.grow (i32.const 100))) {}", failed(0, 6_000_000)),
            "",
            large,
            "512 KiB",
        ),
        asked("answers one text many times", &aliased(64, 1 << 20), "", large, "512 KiB"),
        asked("answers many empty texts", &aliased(100_000, 0), "", large, "512 KiB"),
        asked(
            "answers too many texts",
            &aliased(65, 1),
            "",
            large,
            "`rationality.issues` has 65 items",
        ),
        asked("answers a long text", &aliased(1, 4097), "", large, "4097 bytes; at most 4096"),
        asked(
            "answers text outside its memory",
            &failed(u32::MAX - 4, 100),
            "",
            bad,
            "out of bounds",
        ),
        asked(
            "answers no text",
            &format!("(i32.store8 (i32.const 100) (i32.const 255)) {}", failed(100, 1)),
            "",
            bad,
            "utf-8",
        ),
        asked("answers from outside its memory", "(i32.const -8)", "", bad, "pointer"),
        asked(
            "answers a case that is none",
            "(i32.store8 (i32.const 1024) (i32.const 9)) (i32.const 1024)",
            "",
            bad,
            "discriminant",
        ),
        asked("scores too high", &risk(1001), "", bad, "`risk.score` is 1001"),
        before("prepares too much", &prepared(1 << 20 | 1), "", large, "at most 1048576"),
        asked(
            "says nothing but escapes",
            &format!(
                "(memory.fill (i32.const 100) (i32.const 27) (i32.const 900)) {}",
                failed(100, 900)
            ),
            "",
            FaultKind::Declined,
            "it said: \"\\u{1b}\\u{1b}",
        ),
        asked(
            "says that it failed",
            &format!("(i32.store (i32.const 100) (i32.const 0x6e6f6f6d)) {}", failed(100, 4)),
            "",
            FaultKind::Declined,
            "it said: \"moon",
        ),
    ]
}

fn prepared(length: u32) -> String {
    format!(
        "(drop (memory.grow (i32.const 100))) (i32.store (i32.const 1032) (i32.const {length})) (i32.const 1024)"
    )
}

fn traps() -> Vec<Case> {
    let complaint = r#"(data (i32.const 200) "index out of range")"#;
    let complains = "(call $log (i32.const 3) (i32.const 200) (i32.const 18)) unreachable";
    let trap = FaultKind::Trap;
    vec![
        asked("gives up", "unreachable", "", trap, "unreachable"),
        asked(
            "gives up in a function that has a name",
            "(call $look_up) (i32.const 0)",
            "(func $look_up unreachable)",
            trap,
            "in `look_up`",
        ),
        asked(
            "complains and gives up",
            complains,
            &format!("{HOST_LOG} {complaint}"),
            trap,
            "it said: \"index out of range",
        ),
        asked(
            "divides by zero",
            "(i32.div_u (i32.const 1) (i32.const 0))",
            "",
            trap,
            "divide by zero",
        ),
        asked("reads past its memory", "(i32.load (i32.const -4))", "", trap, "out of bounds"),
        asked(
            "calls through an empty table",
            "(call_indirect (result i32) (i32.const 0))",
            "(table 1 funcref)",
            trap,
            "uninitialized",
        ),
    ]
}

#[test]
fn each_ends_in_its_own_fault_and_the_next_guest_answers() {
    let engine = Engine::new(None).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let neighbour = folder.path().join("good.wasm");
    std::fs::write(&neighbour, good(420)).unwrap();
    for case in cases() {
        check(&engine, &case, folder.path(), &neighbour);
    }
}

fn check(engine: &Engine, case: &Case, folder: &Path, neighbour: &Path) {
    let path = folder.join("hostile.wasm");
    std::fs::write(&path, component(&case.wat, "risk-calculator")).unwrap();
    let mut set = set(
        engine,
        vec![file_entry("a-hostile", path), file_entry("b-good", neighbour.to_owned())],
    );
    for round in 0..2 {
        let answers = set.assess(&action(), &context(), &no_details);
        let [hostile, good] = answers.as_slice() else {
            panic!("{}: two answers, not {answers:?}", case.name)
        };
        let fault = hostile.result.as_ref().expect_err(case.name);
        assert_eq!(fault.kind, case.fault, "{}, round {round}: {fault}", case.name);
        assert!(fault.detail.contains(case.says), "{}: {fault}", case.name);
        assert!(
            fault.detail.len() <= 1024 && !fault.detail.contains('\n'),
            "{}: {fault}",
            case.name
        );
        let assessment =
            good.result.as_ref().unwrap_or_else(|fault| panic!("after {}: {fault}", case.name));
        assert_eq!(
            assessment.risk.as_ref().map(|risk| risk.score),
            Some(Score::new(420)),
            "after {}",
            case.name
        );
    }
}
