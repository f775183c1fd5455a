//! Commands that stand in the words, the options and the files of other programs, and code of
//! languages that nothing here parses.

use crate::scripts::{reading_with, text};
use crate::{effects, forms};
use portcullis_shell_reader::Reading;
use portcullis_shell_reader::types::Coverage;

/// Programs that start a command: `<c>` is the command, `<t>` the same as one text.
const CARRIERS: &[&str] = &[
    "ls | entr -s <t>",
    "ls | entr <c>",
    "ls | ifne <c>",
    "yarn run -T <c>",
    "yarn exec <c>",
    "bazel run --run_under=<t> //x",
    "devcontainer exec --workspace-folder . <c>",
    "bwrap --bind / / <c>",
    "bwrap --ro-bind / / --dev /dev --unshare-net -- <c>",
    "proot -r / <c>",
    "setarch x86_64 <c>",
    "prlimit --nofile=10 <c>",
    "micromamba run -n x <c>",
    "guix shell -- <c>",
    "distrobox enter x -- <c>",
    "toolbox run <c>",
    "ssh-agent <c>",
    "sem -j1 <c>",
    "retry -n 3 <c>",
    "tsp <c>",
    "pueue add -- <c>",
    "pueue add <t>",
    "lckdo /tmp/l <c>",
    "pee <t>",
    "capsh -- -c <t>",
    "screen -dm <c>",
    "zellij run -- <c>",
    "dtach -n /tmp/s <c>",
    "abduco -n x <c>",
    "foreman run <c>",
    "honcho run <c>",
    "wsl <c>",
    "xterm -e <t>",
    "gnome-terminal -- <c>",
    "kitty <c>",
    "alacritty -e <c>",
    "nodemon --exec <t>",
    "chokidar '*.js' -c <t>",
    "pm2 start <t>",
    "fd -x <c>",
    "fzf --preview <t>",
    "bat --pager <t> x",
    "ag --pager <t> x",
    "sort --compress-program=<t> x",
    "rsync --rsync-path=<t> a b:",
    "svn --editor-cmd <t> ci",
    "hg --config hooks.pre-status=<t> status",
    "jj --config ui.pager=<t> log",
    "just -c <t>",
    "rclone --password-command <t> ls x:",
    "dpkg --pre-invoke=<t> -r x",
    "git daemon --access-hook=<t>",
    "git clone -c core.fsmonitor=<t> https://github.com/a/b",
    "git clone --config core.sshCommand=<t> git@github.com:a/b",
    "unknown-tool --exec <t>",
    "unknown-tool --on-exit=<t>",
    "unknown-tool go -- <c>",
    "dc -e <e>",
    "nu -c <t>",
];

/// Files of commands: the call, the file, and its text with `<c>` for the command.
const FILES: &[(&str, &str, &str)] = &[
    ("rg --pre ./x.sh a .", "x.sh", "<c>\n"),
    ("pandoc --filter ./x.sh a", "x.sh", "<c>\n"),
    ("svn --diff-cmd ./x.sh diff", "x.sh", "<c>\n"),
    ("vim -S x.vim", "x.vim", "set nocompatible\n!<c>\n"),
    ("nvim -es -S x.vim", "x.vim", "silent !<c>\n"),
    ("tmux source x.conf", "x.conf", "set -g mouse on\nrun-shell \"<c>\"\n"),
    ("tmux source-file x.conf", "x.conf", "run-shell '<c>'\n"),
    ("tmux -f x.conf new -d", "x.conf", "run-shell \"<c>\"\n"),
    ("pwsh x.ps1", "x.ps1", "<c>\n"),
    ("pwsh -NoProfile -File x.ps1", "x.ps1", "<c>\n"),
    ("nu x.nu", "x.nu", "<c>\n"),
    ("m4 x.m4", "x.m4", "define(`a', 1)syscmd(`<c>')\n"),
    ("dc x", "x", "2 3 + p\n!<c>\n"),
    ("dc < x", "x", "!<c>\n"),
];

fn fill(carrier: &str, command: &str) -> String {
    let quoted = format!("'{command}'");
    carrier.replace("<c>", command).replace("<t>", &quoted).replace("<e>", &format!("'!{command}'"))
}

fn loses(run: &Reading) -> bool {
    let lost = |effect: &String| effect.starts_with("delete!") && effect.ends_with("/opt/app");
    effects(run).iter().any(lost)
}

#[test]
fn a_command_counts_in_the_words_and_options_of_any_program() {
    let mut wrong = Vec::new();
    for carrier in CARRIERS {
        let run = reading_with(&fill(carrier, "rm -rf /opt/app"), &[]);
        if !loses(&run) {
            wrong.push(format!("`{carrier}`: {:?} {:?}", effects(&run), run.gaps));
        }
        let run = reading_with(&fill(carrier, "rm -rf build"), &[]);
        let outside = |effect: &String| effect.starts_with("delete") && effect.contains('/');
        if effects(&run).iter().any(outside) || run.coverage != Coverage::Full {
            wrong.push(format!("`{carrier}`, harmless: {:?} {:?}", effects(&run), run.gaps));
        }
    }
    for (call, file, template) in FILES {
        for (command, harmful) in [("rm -rf /opt/app", true), ("echo hello", false)] {
            let run = reading_with(call, &[(file, text(&template.replace("<c>", command)))]);
            if loses(&run) != harmful {
                wrong.push(format!("`{call}` of `{command}`: {:?} {:?}", effects(&run), run.gaps));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_program_that_gets_files_to_destroy_is_reported() {
    for command in ["rg --pre rm a /opt/app", "tcpdump -z shred -w x"] {
        let run = reading_with(command, &[]);
        let lost = effects(&run).iter().any(|effect| effect.starts_with("delete"));
        assert!(lost, "{command}: {:?}", effects(&run));
    }
    for command in ["rg --pre cat a .", "sort --compress-program=gzip x", "tcpdump -z gzip -w x"] {
        let run = reading_with(command, &[]);
        let lost = effects(&run).iter().any(|effect| effect.starts_with("delete"));
        assert!(!lost && run.coverage == Coverage::Full, "{command}: {:?}", effects(&run));
    }
}

#[test]
fn hooks_of_another_folder_are_a_gap() {
    for (command, full) in [
        ("git clone -c core.hooksPath=/tmp/h https://github.com/a/b", false),
        ("git clone --template=/tmp/t https://github.com/a/b", false),
        ("git config core.hooksPath /tmp/h", false),
        ("git config core.hooksPath .husky", true),
        ("git clone https://github.com/a/b", true),
    ] {
        let run = reading_with(command, &[]);
        assert_eq!(run.coverage == Coverage::Full, full, "{command}: {:?}", run.gaps);
    }
}

/// A text about a command is not the command.
#[test]
fn a_command_that_is_only_mentioned_is_not_followed() {
    for command in [
        "unknown-tool --message 'rm -rf /opt/app is dangerous'",
        "unknown-tool rm x",
        "unknown-tool install git",
        "retry npm test",
        "yarn run build",
        "nodemon --exec 'node app.js'",
        "bazel run //x -- --port 80",
    ] {
        let run = reading_with(command, &[]);
        assert!(!effects(&run).iter().any(|e| e.starts_with("delete")), "{:?}", effects(&run));
        assert!(forms(&run).is_empty(), "{command}: {:?}", forms(&run));
    }
}

#[test]
fn code_of_a_language_that_is_not_read_is_unseen_code() {
    for (command, unseen) in [
        ("nim r --eval:'removeDir(\"/opt/app\")'", true),
        ("nim --eval:'echo 1'", false),
        ("swift -e 'try FileManager.default.removeItem(atPath: \"/opt/app\")'", true),
        ("swift -e 'print(1 + 2)'", false),
        ("swift build", false),
        ("ghc -e 'System.Process.callCommand \"rm -rf /opt/app\"'", true),
        ("ghc -e 'sum [1..10]'", false),
        ("ocaml -e 'Sys.command \"rm -rf /opt/app\"'", true),
        ("gnuplot -e 'system(\"rm -rf /opt/app\")'", true),
        ("gnuplot -e 'set terminal png; plot sin(x)'", false),
        ("clojure -M -e '(clojure.java.shell/sh \"rm\" \"-rf\" \"/opt/app\")'", true),
        ("clj -e '(println 1)'", false),
        ("bb -e '(babashka.fs/delete-tree \"/opt/app\")'", true),
        ("sbcl --non-interactive --eval '(uiop:run-program \"rm -rf /opt/app\")'", true),
        ("crystal eval 'Process.run(\"rm\", [\"-rf\", \"/opt/app\"])'", true),
        ("crystal build x.cr", false),
        ("node -e \"process.binding('spawn_sync')\"", true),
        ("node -e \"process.on('exit', () => {})\"", false),
    ] {
        let run = reading_with(command, &[]);
        let grave = |effect: &String| effect == "unseen?" || effect.starts_with("delete");
        assert_eq!(effects(&run).iter().any(grave), unseen, "{command}: {:?}", effects(&run));
    }
}
