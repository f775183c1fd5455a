//! Loops in code that never end, and each time keep more memory or start another program.

use super::super::expand::Field;
use super::super::{Setting, Walker};
use super::signs::mask;
use crate::types::EffectKind;

/// The longest text that is looked at: longer ones have loops for many purposes.
const LENGTH: usize = 2048;

/// Heads of loops that never end, without blanks.
const HEADS: &[&str] = &[
    "while(true)",
    "while(1)",
    "while(!0)",
    "whiletrue",
    "while1",
    "whilenotfalse",
    "for(;;)",
    "for{",
    "for;;{",
    "loop{",
    "loopdo",
    "untilfalse",
    "foreach(;;)",
    "itertools.count(",
    "itertools.repeat(",
    "forever(",
];
/// Signs that a round waits for something, or that the loop ends, as words.
const ENDS: &[&str] = &[
    "accept",
    "await",
    "break",
    "catch",
    "close",
    "die",
    "exit",
    "gets",
    "input",
    "join",
    "last",
    "leave",
    "listen",
    "next",
    "poll",
    "raise",
    "read",
    "readline",
    "recv",
    "return",
    "select",
    "sleep",
    "stdin",
    "throw",
    "wait",
    "waitpid",
    "yield",
    "usleep",
    "setTimeout",
    "receive",
];
/// Calls that start a program or a thread, without blanks.
const STARTS: &[&str] = &[
    "fork",
    "spawn",
    "popen(",
    "os.system(",
    "exec.command(",
    "subprocess.",
    "child_process",
    "thread.new",
    "threading.thread(",
    "newworker(",
    "gofunc",
    "process.new",
    "system(",
];
/// Calls that keep what they are given, without blanks.
const KEEPS: &[&str] = &[
    ".append(", ".push(", ".add(", ".extend(", ".concat(", "push@", "[]=", "+1]=", "<<", "*=2",
    "append(",
];

impl Walker<'_> {
    /// Notes code that uses up the memory or the processes of the machine.
    pub(super) fn note_endless(
        &mut self,
        language: &str,
        field: &Field,
        command: Option<u32>,
        setting: &Setting,
    ) {
        if field.text.len() > LENGTH {
            return;
        }
        let masked = mask(&field.text, language);
        if let Some(target) = uses_up(&masked) {
            self.out.form("endless-use", command);
            self.plain(EffectKind::ResourceUse, target, true, command, setting);
        }
    }
}

/// Returns what code without its texts uses up.
fn uses_up(code: &str) -> Option<&'static str> {
    let lower = code.to_ascii_lowercase();
    let tight: String = lower.chars().filter(|c| !c.is_whitespace()).collect();
    // The loop may follow what it repeats: `push @a, 1 while 1`.
    let endless = HEADS.iter().any(|head| tight.contains(head));
    let ends = lower
        .split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .any(|word| ENDS.iter().any(|end| word.eq_ignore_ascii_case(end)));
    if !endless || ends {
        return None;
    }
    let has = |signs: &[&str]| signs.iter().any(|sign| tight.contains(sign));
    if has(STARTS) {
        Some("processes")
    } else if has(KEEPS) {
        Some("memory")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::uses_up;

    #[test]
    fn loops_that_end_or_wait_use_up_nothing() {
        for code in [
            "for(;;) a.push(b.alloc(1))",
            "while True: a.append(bytearray(10**8))",
            "loop { a << 1 }",
            "loop do spawn() end",
            "push @a, 1 while 1",
            "while (true) $a[] = 1;",
            "for { a = append(a, 1) }",
            "while(1){ fork }",
        ] {
            assert!(uses_up(code).is_some(), "{code}");
        }
        for code in [
            "while True:\n  a.append(1)\n  time.sleep(1)",
            "for(;;){ const l = read(); if(!l) break; a.push(l) }",
            "while (n < 10) a.push(n++)",
            "loop { print 1 }",
            "for x in y: a.append(x)",
            "while True:\n  c, _ = s.accept()\n  threading.Thread(target=f).start()",
        ] {
            assert!(uses_up(code).is_none(), "{code}");
        }
    }
}
