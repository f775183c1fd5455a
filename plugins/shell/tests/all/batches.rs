//! Classes of calls, each generated with its harmless twins: `fd` with a command for what it finds,
//! hooks that a clone brings along, and deletions in a container that the same line makes.

use crate::scripts::{reading_with, text};
use crate::{effects, forms, reading};

/// A text that deletes something.
const GONE: &str = "rm -rf /opt/app\n";

/// Flags of `fd` behind which a command stands, and words that may come before them.
const FLAGS: &[&str] = &["-x", "-X", "--exec", "--exec-batch"];
const SEARCHES: &[&str] =
    &["", ". src", "-e log", "-t f -d 3 x", "-H -I . src", "--glob '*.py' src"];

/// Commands for what was found, each with a mark of its harm; none for a harmless one.
const ORDERS: &[(&str, Option<&str>)] = &[
    ("rm -rf /opt/app", Some("delete! /opt/app")),
    ("sh -c 'rm -rf /opt/app'", Some("delete! /opt/app")),
    ("bash -c \"rm -rf /opt/app\" _ {}", Some("delete! /opt/app")),
    ("rm -rf {}", Some("delete")),
    ("rm", Some("delete")),
    ("env rm {}", Some("delete")),
    ("chmod 777 {}", Some("modify")),
    ("sed -i s/a/b/ {}", Some("modify")),
    ("mv {} /tmp", Some("modify")),
    ("wc -l", None),
    ("cat {}", None),
    ("grep -n TODO {}", None),
    ("sh -c 'wc -l {}'", None),
    ("echo rm {}", None),
    ("ls -la {} ';' --color never", None),
];

#[test]
fn fd_runs_its_command() {
    let mut wrong = Vec::new();
    for program in ["fd", "fdfind"] {
        for flag in FLAGS {
            for search in SEARCHES {
                for (order, mark) in ORDERS {
                    let command = format!("{program} {search} {flag} {order}");
                    let found = effects(&reading(&command));
                    let changes = |effect: &String| {
                        ["delete", "modify", "unseen"].iter().any(|kind| effect.starts_with(kind))
                    };
                    let right = match mark {
                        Some(mark) => found.iter().any(|effect| effect.starts_with(mark)),
                        None => !found.iter().any(changes) && forms(&reading(&command)).is_empty(),
                    };
                    if !right {
                        wrong.push(format!("`{command}`: {found:?}"));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Ways to set something for a clone; `<s>` stands for the key and the value.
const CLONES: &[&str] = &[
    "git clone -c <s> https://github.com/a/b",
    "git clone --config <s> https://github.com/a/b b",
    "git clone --config=<s> https://github.com/a/b",
    "git -c <s> clone https://github.com/a/b",
    "git clone --depth 1 -c <s> git@github.com:a/b.git",
    "gh repo clone a/b -- -c <s>",
    "cd sub && git clone -c <s> ../x",
];

#[test]
fn hooks_that_a_clone_brings_along() {
    let mut wrong = Vec::new();
    for clone in CLONES {
        for (set, harmful) in [
            ("core.hooksPath=./hooks", true),
            ("core.hooksPath=/tmp/hooks", true),
            ("core.hookspath=.githooks", true),
            ("core.fsmonitor=./x.sh", true),
            ("core.sshCommand='sh -c \"rm -rf /opt/app\"'", true),
            ("core.hooksPath=/dev/null", false),
            ("core.autocrlf=false", false),
            ("user.name=x", false),
            ("core.longpaths=true", false),
        ] {
            let command = clone.replace("<s>", set);
            let read = reading_with(&command, &[("x.sh", text(GONE)), ("sub/x.sh", text(GONE))]);
            let hides = forms(&read).contains(&"skip-checks");
            let seen = !read.gaps.is_empty()
                || effects(&read).iter().any(|effect| {
                    ["unseen", "start", "delete"].iter().any(|kind| effect.starts_with(kind))
                });
            if seen != harmful && !hides {
                wrong.push(format!("`{command}`: {:?} {:?}", effects(&read), read.gaps));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn deletions_in_a_container_of_the_lines_own() {
    let loses = |command: &str| {
        let read = reading(command);
        effects(&read)
            .iter()
            .any(|effect| effect.starts_with("delete") || effect.starts_with("remote"))
            || forms(&read).contains(&"recursive-force-delete")
    };
    let mut wrong = Vec::new();
    for engine in ["docker", "podman", "nerdctl"] {
        for (call, lost) in [
            ("run --rm alpine rm -rf /data", false),
            ("run --rm alpine sh -c 'rm -rf /var/lib/x'", false),
            ("run --rm -v \"$PWD/src\":/src:ro alpine rm -rf /tmp/x", false),
            ("run -d --name c alpine sleep 9; <e> exec c rm -rf /srv", false),
            ("run --rm -v /srv/data:/data alpine rm -rf /data", true),
            ("run --rm -v shop_data:/data alpine rm -rf /data", true),
            ("run --rm --mount type=volume,source=d,target=/data alpine rm -rf /data", true),
            ("run --rm --privileged alpine rm -rf /host", true),
            ("exec c rm -rf /srv", true),
            ("run -d --name c -v d:/d alpine sleep 9; <e> exec c rm -rf /d", true),
        ] {
            let command = format!("{engine} {}", call.replace("<e>", engine));
            if loses(&command) != lost {
                wrong.push(format!("`{command}`: {:?}", effects(&reading(&command))));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
