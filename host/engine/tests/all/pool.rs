//! Memory that is kept between calls: each call finds it as it is at the start, and every limit
//! ends a guest as without it.

use crate::guests::{
    NOTHING, action, assessor, builtin_entry, component, context, no_details, risk, set,
};
use portcullis_core::plugins::Plugins;
use portcullis_engine::{Engine, Kind, PluginSet};

/// A guest's memory, global and data, of which it changes everything that it looks at.
const STATEFUL: &str = r#"(data (i32.const 40000) "hijk") (global $used (mut i32) (i32.const 0))"#;

/// Risk 500 in a fresh instance, 900 in any other.
const LOOKS: &str = r#"(local $score i32)
    (local.set $score (i32.const 500))
    (drop (memory.grow (i32.const 3)))
    (if (i32.or
            (i32.or (global.get $used) (i32.load (i32.const 30000)))
            (i32.or
                (i32.ne (i32.load (i32.const 40000)) (i32.const 0x6b6a6968))
                (i32.load (i32.const 200000))))
        (then (local.set $score (i32.const 900))))
    (global.set $used (i32.const 1))
    (i32.store (i32.const 30000) (i32.const 7))
    (i32.store (i32.const 40000) (i32.const 8))
    (i32.store (i32.const 200000) (i32.const 9))
    (i32.store8 (i32.const 1028) (i32.const 1))
    (i32.store16 (i32.const 1032) (local.get $score))
    (i32.const 1024)"#;

/// Returns two plugins of one component, which share the memory that is kept.
fn set_of(engine: &Engine, assess: &str, more: &str) -> PluginSet {
    let guest = component(&assessor(assess, NOTHING, more), "risk-calculator");
    let entry = |name| builtin_entry(name, Kind::RiskCalculator, guest.clone());
    set(engine, vec![entry("one"), entry("two")])
}

/// Calls both plugins; returns all that a review gets from them.
fn answers(set: &mut PluginSet) -> Vec<String> {
    let answers = set.assess(&action(), &context(), &no_details);
    answers.iter().map(|answer| format!("{:?} {}", answer.result, answer.fuel)).collect()
}

#[test]
fn kept_memory_is_as_at_the_start() {
    let engine = Engine::new(None).unwrap().with_pool();
    let mut set = set_of(&engine, LOOKS, STATEFUL);
    let first = answers(&mut set);
    assert!(first.iter().all(|answer| answer.contains("500")), "{first:?}");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // Another thread, another part of the pool.
            let mut set = set_of(&engine, LOOKS, STATEFUL);
            (0..20).for_each(|_| assert_eq!(answers(&mut set), first));
        });
        (0..20).for_each(|_| assert_eq!(answers(&mut set), first));
    });
}

#[test]
fn limits_are_those_without_a_pool() {
    let plain = Engine::new(None).unwrap();
    let pooled = plain.clone().with_pool();
    let grows = "(loop $more (br_if $more (i32.ne (memory.grow (i32.const 16)) (i32.const -1)))) \
                 (unreachable)";
    let recurses = "(drop (call $deep (i32.const 1))) (i32.const 1024)";
    let deep = "(func $deep (param i32) (result i32) \
                (i32.add (call $deep (local.get 0)) (i32.const 1)))";
    for (name, assess, more) in [
        ("answers", risk(700).as_str(), ""),
        ("loops", "(loop $on (br $on)) (i32.const 1024)", ""),
        ("traps", "(unreachable)", ""),
        ("grows", grows, ""),
        ("recurses", recurses, deep),
        ("leaves its memory", "(i32.load (i32.const -8))", ""),
    ] {
        let expected = answers(&mut set_of(&plain, assess, more));
        let mut kept = set_of(&pooled, assess, more);
        for _ in 0..3 {
            assert_eq!(answers(&mut kept), expected, "{name}");
        }
    }
}
