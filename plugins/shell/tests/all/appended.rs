//! Files that a line or a session wrote, then added to or changed, and then runs: what they hold
//! now counts. Ways of adding x ways of running, with harmless twins.

use crate::effects;
use crate::scripts::{downloaded, plain, reading_after, reading_with, text};
use portcullis_shell_reader::types::Coverage;
use portcullis_shell_reader::{Contents, Provenance, Reading};

/// Ways to put a line at the end of `x.sh`, or in the place of its own, word for word.
const WAYS: &[&str] = &[
    "echo '<line>' >> x.sh",
    "printf '%s\\n' '<line>' >> x.sh",
    "echo '<line>' >> ./sub/../x.sh",
    "echo '<line>' | tee -a x.sh",
    "echo '<line>' | tee --append x.sh > /dev/null",
    "echo '<line>' | sudo tee -a x.sh",
    "echo '<line>' | sponge -a x.sh",
    "cat >> x.sh <<'E'\n<line>\nE\ntrue",
    "cat >> x.sh <<< '<line>'",
    "{ echo '<line>'; } >> x.sh",
    "(echo '<line>') >> x.sh",
    "f() { echo '<line>'; }; f >> x.sh",
    "for i in 1; do echo '<line>'; done >> x.sh",
    "exec 3>>x.sh; echo '<line>' >&3",
    "exec 3>>x.sh 4>&3; echo '<line>' 1>&4; exec 3>&-",
    "{ echo '<line>' >&5; } 5>>x.sh",
    "printf '<line>\\n' | dd of=x.sh oflag=append conv=notrunc",
    "echo '<line>' | cat x.sh - > y && mv y x.sh",
    "echo '<line>' > y; cat x.sh y > z; cp z x.sh",
    "echo -n '<line>' | sed -i '$a <line>' x.sh",
    "sed -i '$ a <line>' x.sh",
    "sed -i '1i <line>' x.sh",
    "sed -i '1c\\<line>' x.sh",
    "sed -i -e '1a\\' -e '<line>' x.sh",
    "sed -i '/hello/a <line>' x.sh",
    "sed -i 's|echo hello|<line>|' x.sh",
    "gsed -i '$a <line>' x.sh",
    "python3 -c \"open('x.sh','a').write('<line>\\n')\"",
    "python3 -c \"open('x.sh','w').write('<line>\\n')\"",
    "python3 -c \"f = open('x.sh', mode='a'); f.write('<line>'); f.close()\"",
    "python3 -c \"open('x.sh','a').writelines(['<line>', '\\n'])\"",
    "python3 -c \"print('<line>', file=open('x.sh', 'w'))\"",
    "python3 -c \"import pathlib; pathlib.Path('x.sh').write_text('<line>')\"",
    "python3 -c \"from pathlib import Path; Path('x.sh').open('a').write('<line>')\"",
    "python3 - <<'E'\nwith open('x.sh', 'a') as f:\n    f.write('<line>\\n')\nE\ntrue",
    "node -e \"require('fs').appendFileSync('x.sh', '<line>')\"",
    "node -e \"require('fs').writeFileSync('x.sh', '<line>')\"",
    "node -e \"require('fs').writeFileSync('x.sh', '<line>', {flag: 'a'})\"",
    "ruby -e 'File.write(\"x.sh\", \"<line>\")'",
    "php -r 'file_put_contents(\"x.sh\", \"<line>\", FILE_APPEND);'",
    "python3 -c \"import shutil; open('y','w').write('<line>'); shutil.copy('y', 'x.sh')\"",
    "python3 -c \"import os; open('y','w').write('<line>'); os.replace('y', 'x.sh')\"",
];

/// Ways to put something into `x.sh` that only running them shows.
const UNKNOWN: &[&str] = &[
    "python3 -c \"open('x.sh','a').write(input())\"",
    "python3 -c \"import json; json.dump(x, open('x.sh', 'w'))\"",
    "python3 -c \"f = open('x.sh', 'w'); g(f)\"",
    "python3 -c \"f = open('x.sh', 'r+'); f.write('true')\"",
    "python3 -c \"import sys; open('x.sh','w').write(sys.argv[1])\" \"$X\"",
    "python3 -c \"from pathlib import Path; p = Path('x.sh'); p.write_text(p.read_text() + y)\"",
    "node -e \"require('fs').writeFileSync('x.sh', process.argv[1])\"",
    "node -e \"const s = require('fs').createWriteStream('x.sh'); s.write(process.argv[1])\"",
    "perl -e 'open F, \">>\", \"x.sh\"; print F $ARGV[0]'",
    "ruby -e 'File.open(\"x.sh\", \"a\") { |f| f.puts ARGV[0] }'",
    "php -r 'fwrite(fopen(\"x.sh\", \"a\"), $argv[1]);'",
    "lua -e 'io.open(\"x.sh\", \"a\"):write(arg[1])'",
    "awk '{ print > \"x.sh\" }' list.txt",
    "echo 'set f [open x.sh a]; puts $f $x' | tclsh",
    "exec 3>x.sh; echo \"$X\" >&3",
    "exec 3>x.sh; echo 'true' >&$fd",
    "exec >> x.sh; echo \"$X\"",
    "for i in a b; do echo \"$i\"; done >> x.sh",
    "ed -s x.sh < a.ed",
];

const RUNS: &[&str] =
    &["bash x.sh", "sh ./x.sh", "./x.sh", ". ./x.sh", "bash < x.sh", "cat x.sh | sh"];

fn read(way: &str, line: &str, run: &str) -> (String, Reading) {
    let command = format!("{}\n{run}", way.replace("<line>", line));
    let files = [("x.sh", text("echo hello\n")), ("a.ed", text("w\n")), ("list.txt", text("a\n"))];
    let reading = reading_with(&command, &files);
    (command, reading)
}

fn is_unseen(reading: &Reading) -> bool {
    effects(reading).iter().any(|effect| effect.starts_with("unseen"))
}

#[test]
fn what_was_added_counts_when_it_runs() {
    let mut wrong = Vec::new();
    for way in WAYS {
        for run in RUNS {
            let (command, grave) = read(way, "rm -rf /opt/app", run);
            if !effects(&grave).contains(&"delete! /opt/app".to_owned()) {
                wrong.push(format!("`{command}`: {:?} {:?}", effects(&grave), grave.gaps));
            }
            let (command, plain) = read(way, "echo bye", run);
            let lost = effects(&plain).iter().any(|effect| effect.starts_with("delete"));
            if lost || is_unseen(&plain) || plain.coverage != Coverage::Full {
                wrong.push(format!(
                    "`{command}`, harmless: {:?} {:?}",
                    effects(&plain),
                    plain.gaps
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_nobody_knows_is_never_harmless() {
    let mut wrong = Vec::new();
    for way in UNKNOWN {
        for run in RUNS {
            let (command, reading) = read(way, "", run);
            if reading.coverage == Coverage::Full && !is_unseen(&reading) {
                wrong.push(format!("`{command}`: {:?}", effects(&reading)));
            }
        }
        let (command, reading) = read(way, "", "bash other.sh");
        if reading.gaps.iter().any(|gap| gap.contains("writes as it runs")) {
            wrong.push(format!("`{command}`: {:?}", reading.gaps));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Ways to make another file of `x.sh`, which was downloaded.
const LAUNDRY: &[(&str, &str)] = &[
    ("cat x.sh > y.sh", "y.sh"),
    ("cat x.sh >> y.sh", "y.sh"),
    ("sed s/a/b/ x.sh > y.sh", "y.sh"),
    ("sed s/a/b/ x.sh | tee y.sh", "y.sh"),
    ("grep -v '^#' x.sh > y.sh", "y.sh"),
    ("awk '{ print }' x.sh > y.sh", "y.sh"),
    ("tr -d '\\r' < x.sh > y.sh", "y.sh"),
    ("dos2unix < x.sh > y.sh", "y.sh"),
    ("sort x.sh > y.sh", "y.sh"),
    ("jq -r .run x.sh > y.sh", "y.sh"),
    ("head -5 x.sh > y.sh", "y.sh"),
    ("cp x.sh y.sh", "y.sh"),
    ("mv x.sh y.sh", "y.sh"),
    ("ln -s x.sh y.sh", "y.sh"),
    ("ln x.sh y.sh", "y.sh"),
    ("ln -st sub ../x.sh", "sub/x.sh"),
    ("cp -t sub x.sh", "sub/x.sh"),
    ("install -m 755 x.sh bin/y", "bin/y"),
    ("echo hi >> x.sh", "x.sh"),
    ("sed -i s/a/b/ x.sh", "x.sh"),
    ("chmod +x x.sh", "x.sh"),
    ("python3 -c \"open('y.sh','w').write(open('x.sh').read())\"", "y.sh"),
    ("python3 -c \"import shutil; shutil.copy('x.sh', 'y.sh')\"", "y.sh"),
    (
        "node -e \"const fs=require('fs'); fs.writeFileSync('y.sh', fs.readFileSync('x.sh'))\"",
        "y.sh",
    ),
];
/// Ways after which `x.sh` is a file like any other.
const CLEAN: &[&str] = &[
    "echo 'echo hello' > x.sh",
    "cp other.sh x.sh",
    "python3 -c \"open('x.sh','w').write('echo hello')\"",
];

/// Returns what is known of files after a line.
fn ledger_after(line: &str, before: &[(String, Provenance)]) -> Vec<(String, Provenance)> {
    let known: Vec<(&str, Provenance)> =
        before.iter().map(|(path, from)| (path.as_str(), *from)).collect();
    let mut all = before.to_vec();
    for left in reading_after(line, &[], &known).leaves {
        let path = left.path.strip_prefix("/home/dev/project/").unwrap_or(&left.path).to_owned();
        all.retain(|(known, _)| *known != path);
        if left.provenance != plain() {
            all.push((path, left.provenance));
        }
    }
    all
}

fn runs_unseen(path: &str, ledger: &[(String, Provenance)]) -> bool {
    let known: Vec<(&str, Provenance)> =
        ledger.iter().map(|(path, from)| (path.as_str(), *from)).collect();
    let files: [(&str, Contents); 1] = [(path, text("echo hello\n"))];
    is_unseen(&reading_after(&format!("bash {path}"), &files, &known))
}

#[test]
fn a_download_stays_one_in_other_files_and_steps() {
    let mut wrong = Vec::new();
    let before = [("x.sh".to_owned(), downloaded())];
    for (line, path) in LAUNDRY {
        if !runs_unseen(path, &ledger_after(line, &before)) {
            wrong.push(format!("`{line}`"));
        }
        if runs_unseen(path, &ledger_after(line, &[])) {
            wrong.push(format!("`{line}`, of a file of the project"));
        }
    }
    for line in CLEAN {
        if runs_unseen("x.sh", &ledger_after(line, &before)) {
            wrong.push(format!("`{line}`"));
        }
    }
    for line in [
        "python3 -c \"import requests; open('y.sh','w').write(requests.get('https://e.example').text)\"",
        "python3 -c \"from urllib.request import urlretrieve as u; u('https://e.example/a', 'y.sh')\"",
        "python3 -c \"import wget; wget.download('https://e.example/a', 'y.sh')\"",
        "node -e \"fetch('https://e.example').then(r => r.text()).then(t => require('fs').writeFileSync('y.sh', t))\"",
    ] {
        if !runs_unseen("y.sh", &ledger_after(line, &[])) {
            wrong.push(format!("`{line}`"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
