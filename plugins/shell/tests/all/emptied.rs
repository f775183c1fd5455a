//! Emptied files: outside the project that is a loss, by whichever program; in the project, in
//! scratch folders and where something is written, it is ordinary work.

use crate::{forms, reading};

/// Calls that empty a file.
const EMPTYING: &[&str] = &[
    ": > {}",
    "> {}",
    ">| {}",
    "true > {}",
    "echo -n > {}",
    "echo > {}",
    "echo '' > {}",
    "printf '' > {}",
    "cat /dev/null > {}",
    "cp /dev/null {}",
    "install -m 600 /dev/null {}",
    "ln -sf /dev/null {}",
    "dd if=/dev/null of={}",
    "truncate -s 0 {}",
    "truncate -s0 {}",
    "truncate --size=0 {}",
    "truncate --size 0 {}",
    "truncate --siz=0 {}",
    "tee {} < /dev/null",
    "sed -i d {}",
    "sed -i '1,$d' {}",
    "sudo truncate -s 0 {}",
    "bash -c ': > {}'",
    "cd / && : > {}",
];

/// Calls that leave something in a file.
const FILLING: &[&str] = &[
    "echo hi > {}",
    "printf '%s' x > {}",
    "cat a > {}",
    ": >> {}",
    "cp a {}",
    "install -m 600 a {}",
    "truncate -s 10M {}",
    "truncate -s +0 {}",
    "tee {} < a",
    "tee -a {} < /dev/null",
    "sed -i 3d {}",
    "ls 2> {}",
    "date > {}",
];

#[test]
fn emptied_files_outside_are_reported() {
    let mut wrong = Vec::new();
    let outside = ["/home/dev/notes/a.csv", "~/a.csv", "../b/a.csv", "/srv/a.csv"];
    let own = ["a.csv", "logs/a.log", "/tmp/a", "/home/dev/project/x", "/dev/null", "~/.cache/a"];
    for (calls, paths, reported) in [
        (EMPTYING, &outside[..3], true),
        (EMPTYING, &outside[3..], true),
        (EMPTYING, &own[..], false),
        (FILLING, &outside[..], false),
    ] {
        for (call, path) in calls.iter().flat_map(|call| paths.iter().map(move |path| (call, path)))
        {
            // Only the beginning of a word stands for the home.
            let moved = call.starts_with("cd ") && !path.starts_with(['/', '~']);
            if moved || call.contains("of=") && path.starts_with('~') {
                continue;
            }
            let command = call.replace("{}", path);
            let read = reading(&command);
            if forms(&read).contains(&"empty-file") != reported {
                wrong.push(format!("`{command}`: {:?}", forms(&read)));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
