//! Texts of files that reach a shell on another way than by their own name: copies, links, pipes,
//! redirections, substitutions, statements for a database.

use crate::scripts::{reading_with, text};
use crate::{effects, forms};
use portcullis_shell_reader::types::Coverage;

/// Ways to run a copy of `x.txt`.
const COPIES: &[&str] = &[
    "cp x.txt x.sh && sh x.sh",
    "cp -p x.txt x.sh; chmod +x x.sh; ./x.sh",
    "cp x.txt out/; sh out/x.txt",
    "cp -t out x.txt; bash out/x.txt",
    "mv x.txt x.sh && sh x.sh",
    "ln -s x.txt x.sh && ./x.sh",
    "ln x.txt x.sh; . ./x.sh",
    "ln -s ../x.txt sub/x.sh; sh sub/x.sh",
    "cat x.txt > x.sh; sh x.sh",
    "cat < x.txt > x.sh; sh x.sh",
    "cat a.txt x.txt > x.sh; sh x.sh",
    "cat x.txt >> a.txt; sh a.txt",
    "{ echo 'set -e'; cat x.txt; } > x.sh; sh x.sh",
    "install -m755 x.txt x.sh; ./x.sh",
    "dd if=x.txt of=x.sh; sh x.sh",
    "dd < x.txt of=x.sh; sh x.sh",
    "tee x.sh < x.txt; sh x.sh",
    "cat x.txt | tee x.sh > /dev/null; bash x.sh",
    "rsync -a x.txt x.sh; sh x.sh",
    "cp x.txt y && mv y z && sh z",
    "cp x.txt Makefile.sh; timeout 5 sh Makefile.sh",
    "cp -r . /tmp/copy; sh /tmp/copy/x.txt",
    "cat x.txt > /tmp/x.sh; sh /tmp/x.sh",
];

/// Ways in which the text itself reaches a shell.
const TEXTS: &[&str] = &[
    "sh < x.txt",
    "bash -s < x.txt",
    "sudo sh < x.txt",
    "cat x.txt | sh",
    "cat a.txt x.txt | bash -x",
    "head -5 x.txt | sh",
    "cat x.txt | tail -n +1 | sh",
    "{ echo 'set -e'; cat x.txt; } | sh",
    "bash <<< \"$(cat x.txt)\"",
    "bash <<E\n$(cat x.txt)\nE",
    "eval \"$(cat x.txt)\"",
    "eval \"$(<x.txt)\"",
    "eval \"$(cat a.txt)$(cat x.txt)\"",
    "sh -c \"$(cat x.txt)\"",
    "$(cat x.txt)",
    "x=$(cat x.txt); eval \"$x\"",
    "export x=\"$(cat x.txt)\"; sh -c \"$x\"",
    "f() { eval \"$1\"; }; f \"$(cat x.txt)\"",
    "source <(cat x.txt)",
    ". /dev/stdin < x.txt",
    "while read -r l; do eval \"$l\"; done < x.txt",
    "while read -r l; do $l; done < x.txt",
    "cat x.txt | while read -r l; do sh -c \"$l\"; done",
    "read -r l < x.txt; $l",
    "IFS=$'\\n'; for c in $(cat x.txt); do eval \"$c\"; done",
    "parallel < x.txt",
    "parallel -a x.txt",
    "parallel :::: x.txt",
    "cat x.txt | parallel",
    "xargs -I{} sh -c {} < x.txt",
    "xargs -a x.txt -I{} sh -c {}",
    "at now < x.txt",
    "cp x.txt y; cat y | sh",
];

#[test]
fn a_text_counts_wherever_a_shell_gets_it() {
    let mut wrong = Vec::new();
    for command in COPIES.iter().chain(TEXTS) {
        let harmful = [("x.txt", text("rm -rf /opt/app")), ("a.txt", text("true\n"))];
        let run = reading_with(command, &harmful);
        if !effects(&run).contains(&"delete! /opt/app".to_owned()) {
            wrong.push(format!("`{command}`: {:?} {:?}", effects(&run), run.gaps));
        }
        let harmless = [("x.txt", text("echo hello\n")), ("a.txt", text("true\n"))];
        let run = reading_with(command, &harmless);
        let grave =
            |effect: &String| ["delete", "unseen"].iter().any(|kind| effect.starts_with(kind));
        if run.coverage != Coverage::Full || effects(&run).iter().any(grave) {
            wrong.push(format!("`{command}`, harmless: {:?} {:?}", effects(&run), run.gaps));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn code_of_a_file_counts_for_each_interpreter() {
    for command in
        ["python3 < x", "cat x | python3 -", "python3 -c \"$(cat x)\"", "cp x y; python3 y"]
    {
        let run =
            reading_with(command, &[("x", text("import shutil\nshutil.rmtree('/opt/app')\n"))]);
        assert!(effects(&run).contains(&"delete! /opt/app".to_owned()), "{command}: {run:?}");
    }
}

#[test]
fn a_machine_that_gets_a_text_does_what_it_says() {
    for command in
        ["ssh db.example < x.txt", "ssh db.example sh < x.txt", "kubectl exec -i p -- sh < x.txt"]
    {
        let run = reading_with(command, &[("x.txt", text("rm -rf /opt/app"))]);
        let lost = effects(&run).iter().any(|effect| effect.starts_with("remote-delete!"));
        assert!(lost, "{command}: {:?}", effects(&run));
    }
}

/// A text that a program makes of another one is not seen by anybody.
#[test]
fn a_filtered_text_is_unseen_code() {
    let made = [
        "sed s/a/b/ x.txt",
        "tr a b < x.txt",
        "jq -r .c x.txt",
        "yq .c x.txt",
        "zcat x.txt",
        "sort x.txt",
        "awk '{print}' x.txt",
        "grep r x.txt",
        "echo 'em -rf /' | sed s/e/r/",
    ];
    for print in made {
        for run in [
            "<p> | sh",
            "eval \"$(<p>)\"",
            "sh -c \"$(<p>)\"",
            "source <(<p>)",
            "<p> > y.sh; sh y.sh",
            "<p> > y; mv y z.sh; chmod +x z.sh; ./z.sh",
        ] {
            let command = run.replace("<p>", print);
            let read = reading_with(&command, &[("x.txt", text("echo hello\n"))]);
            assert!(
                effects(&read).contains(&"unseen?".to_owned()),
                "{command}: {:?}",
                effects(&read)
            );
        }
        for shown in ["<p> | wc -l", "<p> > y.txt; cat y.txt", "x=$(<p>); echo \"$x\""] {
            let command = shown.replace("<p>", print);
            let read = reading_with(&command, &[("x.txt", text("echo hello\n"))]);
            assert!(
                !effects(&read).contains(&"unseen?".to_owned()),
                "{command}: {:?}",
                effects(&read)
            );
        }
    }
    for command in ["tar xf a.tar; sh x.sh", "unzip a.zip -d t; t/x.sh", "split -b 9 a x; sh xaa"] {
        let read = reading_with(command, &[]);
        assert!(effects(&read).contains(&"unseen?".to_owned()), "{command}: {:?}", effects(&read));
    }
    // A manifest that a filter changes is the project's own still.
    let read = reading_with(
        "jq '.version=\"1\"' package.json > t && mv t package.json && npm test",
        &[("package.json", text("{\"scripts\": {\"test\": \"jest\"}}"))],
    );
    assert!(!effects(&read).contains(&"unseen?".to_owned()), "{:?}", effects(&read));
}

#[test]
fn statements_in_a_file_count_as_on_the_command_line() {
    let mut wrong = Vec::new();
    for command in [
        "psql -h db.example -f x.sql",
        "psql -h db.example --file=x.sql",
        "psql -h db.example < x.sql",
        "cat x.sql | psql -h db.example",
        "psql -h db.example -c '\\i x.sql'",
        "mysql -h db.example < x.sql",
        "mysql -h db.example -e 'source x.sql'",
        "mariadb -h db.example shop < x.sql",
        "sqlite3 /srv/a.db < x.sql",
        "sqlite3 /srv/a.db '.read x.sql'",
        "sqlcmd -S db.example -i x.sql",
        "cp x.sql y; psql -h db.example -f y",
    ] {
        for (statement, sign) in [
            ("DROP DATABASE shop;", Some("drop-data")),
            ("DELETE FROM a;", Some("delete-all-rows")),
            ("SELECT 1;", None),
        ] {
            let run = reading_with(command, &[("x.sql", text(statement))]);
            let grave = forms(&run)
                .into_iter()
                .find(|form| ["drop-data", "delete-all-rows"].contains(form));
            if grave != sign || run.coverage != Coverage::Full {
                wrong.push(format!("`{command}` with `{statement}`: {:?}", forms(&run)));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Everyday work with files that nothing runs, or whose text is harmless, stays as it was.
#[test]
fn everyday_files_are_no_code() {
    for command in [
        "cat package.json | jq .version",
        "export $(grep -v '^#' .env | xargs)",
        "while read -r f; do cp \"$f\" out/; done < list.txt",
        "cat list.txt | xargs -I{} cp {} out/",
        "envsubst < a.tpl > a.yml && kubectl apply -f a.yml",
        "sed -i 's/a/b/' x.sh && sh x.sh",
        "python3 gen.py > out.json",
        "cp .env.example .env && docker compose up -d",
        "mv build/tool bin/tool && bin/tool --version",
        "ln -sf ../shared/config.js config.js && node config.js",
        "eval \"$(ssh-agent -s)\"",
        "source <(kubectl completion bash)",
        "VERSION=$(cat VERSION); git tag v$VERSION",
        "go install github.com/spf13/cobra@latest",
    ] {
        let run = reading_with(command, &[("x.sh", text("echo hello\n"))]);
        let grave = |effect: &String| {
            ["delete", "unseen", "privilege"].iter().any(|kind| effect.starts_with(kind))
        };
        assert!(!effects(&run).iter().any(grave), "{command}: {:?}", effects(&run));
        let go = command.starts_with("go ");
        assert!(go || run.coverage == Coverage::Full, "{command}: {:?}", run.gaps);
    }
    // The output of a program that is run is known only then.
    let run = reading_with("python3 gen.py > x.sh; sh x.sh", &[("x.sh", text("echo hello\n"))]);
    assert_eq!(run.coverage, Coverage::Partial, "{:?}", effects(&run));
}

#[test]
fn files_are_joined_as_the_program_joins_them() {
    let files = [("a", text("rm -")), ("b", text("rf /opt/")), ("c", text("app\n"))];
    for (command, whole) in [
        ("cat a b c | sh", true),
        ("cat a b c > x; sh x", true),
        ("eval \"$(cat a b c)\"", true),
        ("(cat a; cat b c) | sh", true),
        ("cat a > x; cat b c >> x; sh x", true),
        // A line with the name of each file stands between two of them.
        ("head a b c | sh", false),
        ("tail -n 5 a b c | sh", false),
    ] {
        let run = reading_with(command, &files);
        let found = effects(&run).contains(&"delete! /opt/app".to_owned());
        assert_eq!(found, whole, "{command}: {:?}", effects(&run));
    }
}
