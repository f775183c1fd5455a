//! Files that a command line changes and then runs: the text on the disk is not the text that runs.
//! Writers x runners, with twins in which nothing that runs was changed.

use crate::effects;
use crate::scripts::{reading_with, text};

/// Files, each with a text and the ways to run it.
const FILES: &[(&str, &str, &[&str])] = &[
    ("x.sh", "echo hello\n", &["bash x.sh", "./x.sh", "source x.sh", "sh < x.sh"]),
    ("x.py", "print('hello')\n", &["python3 x.py"]),
    ("x.js", "console.log(1);\n", &["node x.js"]),
    ("Makefile", "all:\n\techo hello\n", &["make", "make all"]),
    ("justfile", "all:\n    echo hello\n", &["just all"]),
    ("package.json", r#"{"scripts":{"test":"echo hello"}}"#, &["npm test", "npm run test"]),
];

/// Calls that put something unknown into a file.
const WRITERS: &[&str] = &[
    "sed -i 's/h.*o/x/' <f>",
    "sed -i -e '/hello/d' <f>",
    "sed -i.bak -E 's/(h)ello/\\1/' <f>",
    "sed -i \"s/hello/$X/\" <f>",
    "perl -pi -e 's/hello/x/' <f>",
    "perl -i -pe 's/hello/x/' <f>",
    "ruby -pi -e 'gsub(/a/, \"b\")' <f>",
    "awk -i inplace '{ print }' <f>",
    "sd hello x <f>",
    "patch <f> < a.diff",
    "patch -i a.diff <f>",
    "patch -p1 < a.diff",
    "git apply a.diff",
    "git stash pop",
    "git stash -q; git stash apply -q",
    "ed -s <f> < a.ed",
    "vim -es -c '%s/a/b/' -c wq <f>",
    "echo \"$X\" >> <f>",
    "printf '%s\\n' \"$X\" >> <f>",
    "echo \"$X\" | tee -a <f>",
    "echo \"$X\" > <f>; echo hello >> <f>",
];

fn files<'f>(name: &'f str, content: &str) -> Vec<(&'f str, portcullis_shell_reader::Contents)> {
    vec![(name, text(content)), ("a.ed", text("w\nq\n"))]
}

#[test]
fn what_was_changed_is_not_known() {
    let mut wrong = Vec::new();
    for (name, content, runs) in FILES {
        for writer in WRITERS {
            for run in *runs {
                for joint in ["; ", " && ", "\n"] {
                    let command = format!("{}{joint}{run}", writer.replace("<f>", name));
                    let read = reading_with(&command, &files(name, content));
                    let unseen = effects(&read).iter().any(|effect| effect.starts_with("unseen"));
                    if read.gaps.is_empty() && !unseen {
                        wrong.push(format!("`{command}`: {:?}", effects(&read)));
                    }
                }
            }
            // Another file than the one that runs, and a run before the change.
            let whole = !writer.contains("<f>");
            let other = format!("{} && {}", writer.replace("<f>", "notes.txt"), runs[0]);
            let before = format!("{} && {}", runs[0], writer.replace("<f>", name));
            for command in [other, before].iter().take(if whole { 0 } else { 2 }) {
                let read = reading_with(command, &files(name, content));
                if read.gaps.iter().any(|gap| gap.contains("writes as it runs")) {
                    wrong.push(format!("`{command}`: {:?}", read.gaps));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_change_that_is_known_is_made() {
    let diff = "--- a/x.sh\n+++ b/x.sh\n@@ -1 +1 @@\n-echo hello\n+<line>\n";
    for (writer, more) in [
        ("sed -i 's|echo hello|<line>|' x.sh", None),
        ("sed -i 's#echo hello#<line>#g' x.sh", None),
        ("sed -i -e 's/hello/there/' -e 's|echo there|<line>|' x.sh", None),
        ("printf '<line>\\n' >> x.sh", None),
        ("echo '<line>' | tee -a x.sh", None),
        ("cat >> x.sh <<'E'\n<line>\nE\ntrue", None),
        ("patch -p1 < a.diff", Some(diff)),
        ("git apply a.diff", Some(diff)),
        ("patch x.sh a.diff", Some(diff)),
    ] {
        for (line, grave) in [("rm -rf /opt/app", true), ("echo bye", false)] {
            let command = format!("{} && bash x.sh", writer.replace("<line>", line));
            let mut files = files("x.sh", "echo hello\n");
            files.extend(more.map(|diff| ("a.diff", text(&diff.replace("<line>", line)))));
            let read = reading_with(&command, &files);
            let gone = effects(&read).contains(&"delete! /opt/app".to_owned());
            assert_eq!(gone, grave, "`{command}`: {:?} {:?}", effects(&read), read.gaps);
            assert!(read.gaps.is_empty(), "`{command}`: {:?}", read.gaps);
        }
    }
}
