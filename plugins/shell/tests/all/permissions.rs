//! Permissions in every notation and by every program: set-user bits, and files outside the project
//! that everyone may write.

use crate::scripts::reading_with;
use crate::{effects, forms};

/// Modes, and what they give: a program runs as its owner, everyone may write.
const MODES: &[(&str, bool, bool)] = &[
    ("4755", true, false),
    ("04755", true, false),
    ("004755", true, false),
    ("2755", true, false),
    ("6755", true, false),
    ("06777", true, true),
    ("u+s", true, false),
    ("g+s", true, false),
    ("+s", true, false),
    ("a+s", true, false),
    ("u=rwxs", true, false),
    ("u=rwx,g=rxs", true, false),
    ("u+x,u+s", true, false),
    ("a+rwxs", true, true),
    ("777", false, true),
    ("0777", false, true),
    ("00777", false, true),
    ("666", false, true),
    ("1777", false, true),
    ("602", false, true),
    ("o+w", false, true),
    ("o=rw", false, true),
    ("a+w", false, true),
    ("a=rwx", false, true),
    ("ugo+rw", false, true),
    ("go+w", false, true),
    ("go=rwx", false, true),
    ("uo+w", false, true),
    ("o=u", false, true),
    ("u=rwx,g=rx,o=rwx", false, true),
    ("g-w,o+w", false, true),
    ("755", false, false),
    ("0755", false, false),
    ("00755", false, false),
    ("644", false, false),
    ("600", false, false),
    ("1755", false, false),
    ("+x", false, false),
    ("a+x", false, false),
    ("u+x,go-w", false, false),
    ("a=rx", false, false),
    ("u=rwX,go=rX", false, false),
    ("o-w", false, false),
    ("u-s", false, false),
    ("ug-s", false, false),
    ("g+w", false, false),
    ("+t", false, false),
];

/// Ways to give `<m>` to `<f>`, in shells.
const WAYS: &[&str] = &[
    "chmod <m> <f>",
    "chmod -v <m> <f>",
    "chmod -c <m> <f>",
    "chmod -Rv <m> <f>",
    "chmod -R <m> <f>",
    "chmod --recursive <m> <f>",
    "chmod --changes -- <m> <f>",
    "chmod <m> -R <f>",
    "chmod <m> -- <f>",
    "gchmod <m> <f>",
    "sudo chmod <m> <f>",
    "busybox chmod <m> <f>",
    "find <f> -exec chmod <m> {} +",
    "echo <f> | xargs chmod <m>",
    "install -m <m> a <f>",
    "install -m<m> a <f>",
    "install --mode=<m> a <f>",
    "install --mode <m> a <f>",
    "install -Dm<m> a <f>",
    "install -Dm <m> a <f>",
    "install -o root -g root -m <m> a <f>",
    "install -dm<m> <f>",
    "install -m <m> -t <f> a b",
    "ginstall -m <m> a <f>",
    "mkdir -m <m> <f>",
    "mkdir -pm <m> <f>",
    "mkdir --mode=<m> <f>",
];

/// The same in code, with an octal number in `<m>`.
const CODE: &[&str] = &[
    "python3 -c \"import os; os.chmod('<f>', 0o<m>)\"",
    "python3 -c \"import os; os.chmod(path='<f>', mode=0o<m>)\"",
    "python3 -c \"from pathlib import Path; Path('<f>').chmod(0o<m>)\"",
    "python3 -c \"import os; os.chmod('<f>', os.stat('<f>').st_mode | 0o<m>)\"",
    "python3 -c \"m = 0o<m>; import os; os.chmod('<f>', m)\"",
    "node -e \"require('fs').chmodSync('<f>', 0o<m>)\"",
    "node -e \"require('fs').chmodSync('<f>', '<m>')\"",
    "node -e \"require('fs').promises.chmod('<f>', 0o<m>)\"",
    "deno eval 'Deno.chmodSync(\"<f>\", 0o<m>)'",
    "perl -e 'chmod 0<m>, \"<f>\"'",
    "ruby -e 'File.chmod(0<m>, \"<f>\")'",
    "ruby -rfileutils -e 'FileUtils.chmod(0<m>, \"<f>\")'",
    "php -r 'chmod(\"<f>\", 0<m>);'",
];

fn check(way: &str, mode: &str, (owner, open): (bool, bool), wrong: &mut Vec<String>) {
    let line = |file: &str| way.replace("<m>", mode).replace("<f>", file);
    let outside = line("/opt/app");
    let reading = reading_with(&outside, &[]);
    let found = effects(&reading);
    let opened = found.contains(&"privilege /opt/app".to_owned());
    let runs_as_owner = forms(&reading).contains(&"setuid");
    if (runs_as_owner, opened) != (owner, open) {
        wrong.push(format!("`{outside}`: {:?} {found:?}", forms(&reading)));
    }
    let inside = line("build/app");
    let reading = reading_with(&inside, &[]);
    let found = effects(&reading);
    let known = found.iter().any(|effect| effect.starts_with("privilege "));
    if known || forms(&reading).contains(&"setuid") != owner {
        wrong.push(format!("`{inside}`: {:?} {found:?}", forms(&reading)));
    }
}

#[test]
fn every_notation_by_every_program() {
    let mut wrong = Vec::new();
    for (mode, owner, open) in MODES {
        for way in WAYS {
            check(way, mode, (*owner, *open), &mut wrong);
        }
        let octal = mode.len() < 5 && mode.bytes().all(|byte| byte.is_ascii_digit());
        for way in CODE.iter().filter(|_| octal) {
            check(way, mode.trim_start_matches('0'), (*owner, *open), &mut wrong);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn other_ways_to_open_files_to_everyone() {
    let mut wrong = Vec::new();
    for (line, expected) in [
        ("chmod --reference=/tmp/x /opt/app", true),
        ("chmod --reference /tmp/x /opt/app", true),
        ("chmod \"$MODE\" /opt/app", true),
        ("chmod +a 'everyone allow write' /opt/app", true),
        ("python3 -c \"import os; os.chmod('/opt/app', 511)\"", true),
        ("python3 -c \"import os, stat; os.chmod('/opt/app', stat.S_IRWXU | stat.S_IWOTH)\"", true),
        ("umask 000; touch /opt/app", true),
        ("umask 0 && cp a /opt/app", true),
        ("umask 0000; echo x > /opt/app", true),
        ("umask u=rwx,g=rwx,o=rwx; mkdir /opt/app", true),
        ("umask a=rwx; tee /opt/app < a", true),
        ("umask \"$M\"; touch /opt/app", true),
        ("setfacl -m o::rw /opt/app", true),
        ("setfacl -m other::7 /opt/app", true),
        ("setfacl -R -m u:nobody:rwx /opt/app", true),
        ("setfacl --modify=g:staff:rw,o::r /opt/app", true),
        ("setfacl -m d:o::rwx /opt/app", true),
        ("setfacl --set u::rwx,g::rx,o::rwx /opt/app", true),
        ("setfacl -M acl /opt/app", true),
        ("ln -s /opt/app p; chmod 777 p", true),
        ("chmod --reference=a build/app", false),
        ("chmod \"$MODE\" build/app", false),
        ("umask 022; touch /opt/app", false),
        ("umask 077; cp a /opt/app", false),
        ("(umask 000); touch /opt/app", false),
        ("umask u=rwx,go=rx; touch /opt/app", false),
        ("umask -S; touch /opt/app", false),
        ("umask 000; touch build/app", false),
        ("umask 000; touch /tmp/app", false),
        ("setfacl -m o::r /opt/app", false),
        ("setfacl -m u::rw /opt/app", false),
        ("setfacl -x u:eve /opt/app", false),
        ("setfacl -m m::rw /opt/app", false),
        ("setfacl -m u:dev:rw build/app", false),
        ("getfacl /opt/app", false),
        ("python3 -c \"import os; os.chmod('/opt/app', os.stat('a').st_mode | 0o111)\"", false),
        (
            "python3 -c \"import os, stat; os.chmod('/opt/app', stat.S_IRUSR | stat.S_IXUSR)\"",
            false,
        ),
        ("python3 -c \"import os; os.chmod('/opt/app', os.stat('a').st_mode & ~0o22)\"", false),
    ] {
        let reading = reading_with(line, &[]);
        let found = effects(&reading);
        let opened = found.iter().any(|effect| effect.starts_with("privilege /opt"));
        if opened != expected {
            wrong.push(format!("`{line}`: {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let reading = reading_with("setfacl --restore=acl", &[]);
    assert!(!reading.gaps.is_empty(), "{reading:?}");
    for line in ["chown --reference=a /etc/passwd", "chmod --reference=a /etc/passwd"] {
        let found = effects(&reading_with(line, &[]));
        assert!(found.contains(&"system /etc/passwd".to_owned()), "`{line}`: {found:?}");
    }
}
