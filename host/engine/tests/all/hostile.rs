//! Guests that misbehave: each ends in its own named fault, and the next guest answers as if nothing had been.

use crate::guests::{NOTHING, action, assessor, component, context, file_entry, good, no_details, risk, set};
use portcullis_core::fault::FaultKind;
use portcullis_core::plugins::Plugins;
use portcullis_core::score::Score;
use portcullis_engine::Engine;

struct Case {
    name: &'static str,
    bytes: Vec<u8>,
    fault: FaultKind,
    /// What the detail must say.
    says: &'static str,
}

fn case(name: &'static str, wat: &str, fault: FaultKind, says: &'static str) -> Case {
    Case { name, bytes: component(wat, "risk-calculator"), fault, says }
}

fn at_run_time() -> Vec<Case> {
    use FaultKind as F;
    let assess = |body: &str, more: &str| assessor(body, NOTHING, more);
    vec![
        case("loops", &assess("(loop (br 0)) unreachable", ""), F::OutOfFuel, "units of fuel"),
        case("loops in prepare", &assessor(NOTHING, "(loop (br 0)) unreachable", ""), F::OutOfFuel, "while it prepared itself"),
        case("loops at its start", &assess(NOTHING, "(start $s) (func $s (loop (br 0)))"), F::OutOfFuel, "units of fuel"),
        case(
            "loops over bulk fills",
            &assess("(loop (memory.fill (i32.const 0) (i32.const 0) (i32.const 65536)) (br 0)) unreachable", ""),
            F::OutOfFuel,
            "units of fuel",
        ),
        case("traps", &assess("unreachable", ""), F::Trap, "unreachable"),
        case("divides by zero", &assess("(i32.div_u (i32.const 1) (i32.const 0))", ""), F::Trap, "divide by zero"),
        case("reads past its memory", &assess("(i32.load (i32.const -4))", ""), F::Trap, "out of bounds"),
        case(
            "grows memory",
            &assess("(loop (br_if 0 (i32.ne (memory.grow (i32.const 16)) (i32.const -1)))) unreachable", ""),
            F::OutOfMemory,
            "65536 KiB",
        ),
        case(
            "recurses",
            &assess("(call $r (i32.const 0))", "(func $r (param i32) (result i32) (i32.add (i32.const 1) (call $r (local.get 0))))"),
            F::StackOverflow,
            "too deep",
        ),
        case(
            "grows a table",
            &assess(
                "(loop (br_if 0 (i32.ne (table.grow $t (ref.null func) (i32.const 1000)) (i32.const -1)))) unreachable",
                "(table $t 1 funcref)",
            ),
            F::OutOfMemory,
            "table elements",
        ),
        case("scores too high", &assess(&risk(1001), ""), F::BadValue, "`risk.score` is 1001"),
    ]
}

#[test]
fn each_ends_in_its_own_fault_and_the_next_guest_answers() {
    let engine = Engine::new(None).expect("an engine");
    let folder = tempfile::tempdir().expect("a folder");
    let neighbour = folder.path().join("good.wasm");
    std::fs::write(&neighbour, good(420)).expect("written");
    for case in at_run_time() {
        let path = folder.path().join("hostile.wasm");
        std::fs::write(&path, &case.bytes).expect("written");
        let mut set = set(&engine, vec![file_entry("a-hostile", path), file_entry("b-good", neighbour.clone())]);
        let answers = set.assess(&action(), &context(), &no_details);
        let [hostile, good] = answers.as_slice() else { panic!("{}: two answers, not {answers:?}", case.name) };
        let fault = hostile.result.as_ref().expect_err(case.name);
        assert_eq!(fault.kind, case.fault, "{}: {fault}", case.name);
        assert!(fault.detail.contains(case.says), "{}: {fault}", case.name);
        let assessment = good.result.as_ref().unwrap_or_else(|fault| panic!("after {}: {fault}", case.name));
        assert_eq!(assessment.risk.as_ref().map(|risk| risk.score), Some(Score::new(420)), "after {}", case.name);
    }
}
