//! Commands, their order, the ways they are run, shape and coverage.

use crate::{programs, reading};
use portcullis_shell_reader::types::{Coverage, Direction, Origin};

#[test]
fn every_command_is_found_in_order() {
    let table = [
        ("a; b && c || d & e\nf", "a b c d e f"),
        ("a | b |& c", "a b c"),
        ("if a; then b; elif c; then d; else e; fi", "a b c d e"),
        ("while a; do b; done; until c; do d; done", "a b c d"),
        ("for x in 1 2; do a; done", "a"),
        ("for ((i=0;i<3;i++)); do a; done", "a"),
        ("case x in a|b) a;; (c) b ;& *) c; esac", "a b c"),
        ("select x in 1; do a; break; done", "a break"),
        ("{ a; b; } > out; ( c; d )", "a b c d"),
        ("f() { a; }; function g { b; }; f", "f a b"),
        ("a $(b `c`) \"$(d)\" <(e) >(f)", "c b d e f a"),
        ("x=$(a); y=${z:-$(b)}; echo $((1 + $(c)))", "a b c echo"),
        ("[[ -f $(a) && $x =~ ^(b|c)$ ]] && d", "a d"),
        ("a <<E; b\n$(c)\nE\nd", "c a b d"),
        ("a \\\n  b; c", "a c"),
        ("! a; time b", "a b"),
        ("a=(1 2 $(b)); c", "b c"),
        ("sudo env X=1 a; xargs b", "a b"),
        ("sh -c 'a; sh -c \"b\"'", "a b"),
        ("echo a#b; c", "echo c"),
        ("ls !(x|y); c", "ls c"),
        ("a\r\nb\r\n", "a b"),
        ("$UNKNOWN x", ""),
    ];
    for (command, expected) in table {
        assert_eq!(programs(&reading(command)).join(" "), expected, "`{command}`");
    }
}

#[test]
fn commands_say_where_they_stand_and_what_starts_them() {
    let text = "ls | sudo -n nice rm -f \"a b\" 2>> log; sh -c 'rm x'";
    let reading = reading(text);
    let rm = &reading.commands[1];
    assert_eq!(
        (rm.program.as_str(), rm.wrappers.join(" "), rm.privileged),
        ("rm", "sudo nice".to_owned(), true)
    );
    assert_eq!(&text[rm.start as usize..rm.end as usize], "rm -f \"a b\" 2>> log");
    assert_eq!(rm.input_from, Some(0));
    assert_eq!(
        rm.words
            .iter()
            .map(|word| (word.text.as_str(), word.known, word.quoted))
            .collect::<Vec<_>>(),
        [("-f", true, false), ("a b", true, true)]
    );
    assert_eq!(
        (
            rm.redirections[0].descriptor,
            rm.redirections[0].direction,
            rm.redirections[0].target.text.as_str()
        ),
        (2, Direction::Append, "log")
    );
    let nested = &reading.commands[2];
    assert_eq!(
        (nested.wrappers.as_slice(), &text[nested.start as usize..nested.end as usize]),
        (["sh -c".to_owned()].as_slice(), "'rm x'")
    );
    assert!(matches!(nested.origin, Origin::Nested));
}

#[test]
fn assignments_stand_with_their_command() {
    let reading = reading("A=1 B=\"x y\" make");
    let set: Vec<(&str, &str)> = reading.commands[0]
        .assignments
        .iter()
        .map(|set| (set.name.as_str(), set.value.as_str()))
        .collect();
    assert_eq!(set, [("A", "1"), ("B", "x y")]);
}

#[test]
fn unknown_values_stand_as_a_mark() {
    let reading = reading("ls $UNKNOWN/x");
    let word = &reading.commands[0].words[0];
    assert_eq!((word.text.as_str(), word.known), ("\u{fffd}/x", false));
}

#[test]
fn the_shape_leaves_values_out() {
    let same = [
        ("rm -rf a b", "rm -rf /tmp/c"),
        ("git commit -m 'a'", "git commit -m \"b c\""),
        ("head -5 a | wc -l", "head -20 b | wc -l"),
        ("curl --max-time=5 x", "curl --max-time=9 y"),
    ];
    for (one, other) in same {
        assert_eq!(reading(one).shape, reading(other).shape);
    }
    let different =
        [("rm a", "rm -r a"), ("git push", "git pull"), ("a | b", "a; b"), ("ls", "sudo ls")];
    for (one, other) in different {
        assert_ne!(reading(one).shape, reading(other).shape);
    }
}

#[test]
fn coverage_is_partial_where_something_was_not_understood_and_only_there() {
    let partial = [
        "for x in 'open",
        "if a; then b",
        "a; fi",
        "( a",
        "a )",
        "$(",
        "${x",
        "cat <<E\nx",
        "$UNKNOWN x",
        "eval \"$UNKNOWN\"",
        "rm -rf \"$UNKNOWN\"",
        "`a",
        "for x in 1; do a",
    ];
    for command in partial {
        let reading = reading(command);
        assert_eq!(reading.coverage, Coverage::Partial, "`{command}`");
        assert!(!reading.gaps.is_empty(), "`{command}`");
    }
    let full = [
        "",
        "   \n",
        "# x",
        "ls $UNKNOWN",
        "echo \"$(date)\"",
        "a && b",
        "x=1",
        "cat <<< $y",
        "echo {a,b} ~ * $? $$ $! $@",
        "rm -rf build/$UNKNOWN",
        "echo 'it'\\''s'",
        "true;",
        "[ -f x ] && . ./env.sh",
        // mere text to the program, up to the end of the line
        // No shell runs such a line.
        "echo 'open",
        "sh -c 'open",
        "python3 -c \"open",
        "rm 'open",
        "awk '{ print",
        "a >",
        "git add -A && git commit -m \"open",
        "x='open",
    ];
    for command in full {
        assert_eq!(reading(command).gaps, Vec::<String>::new(), "`{command}`");
    }
}

#[test]
fn an_odd_part_costs_that_part_alone() {
    let table = [
        "rm a; )",
        "rm a && if true; then",
        "fi; rm a",
        "echo $( rm a",
        "rm a <<E",
        "for x in 1; do rm a",
        "rm a; $UNKNOWN y",
        ") rm a",
        "echo ${x; rm a\nrm a",
        "a | | rm a",
    ];
    for command in table {
        let reading = reading(command);
        assert!(
            programs(&reading).contains(&"rm") || command.contains("${x"),
            "`{command}`: {:?}",
            programs(&reading)
        );
        assert_eq!(reading.coverage, Coverage::Partial, "`{command}`");
    }
}
