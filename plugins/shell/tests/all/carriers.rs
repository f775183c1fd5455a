//! Commands in unexpected places: in variables, options, configuration keys, and in code under
//! another name. Each carrier is tried with a harmful order and with a harmless one.

use crate::{effects, forms, reading};
use portcullis_shell_reader::types::Coverage;

/// Carriers of a shell's text, for which `{}` is the placeholder.
const SHELL: &[&str] = &[
    "GIT_EXTERNAL_DIFF='{} #' git diff",
    "PAGER='{}' git log",
    "GIT_PAGER='{}' git log",
    "export MANPAGER='{}'; man ls",
    "EDITOR='{}' crontab -e",
    "VISUAL='{}'",
    "GIT_SEQUENCE_EDITOR='{}' git rebase -i HEAD~2",
    "env GIT_SSH_COMMAND='{}' git fetch",
    "sudo GIT_SSH_COMMAND='{}' git fetch",
    "declare -x PROMPT_COMMAND='{}'",
    "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.sshCommand GIT_CONFIG_VALUE_0='{}' git fetch",
    "GIT_CONFIG_PARAMETERS=\"'core.pager={}'\" git log",
    "PS4='$({})' bash -x a.sh",
    "LESSOPEN='|{} %s' less a",
    "RSYNC_RSH='{}' rsync -a a h:b",
    "TAR_OPTIONS=\"--to-command='{}'\" true; tar -xf a.tar --to-command='{}'",
    "CC='{}' make",
    "RUSTC_WRAPPER='{}' cargo build",
    "ssh -o ProxyCommand='{}' h",
    "ssh -oProxyCommand='{}' h",
    "ssh -o 'ProxyCommand {}' h",
    "ssh -o 'proxycommand={}' h ls",
    "scp -o ProxyCommand='{}' a h:b",
    "git -c core.pager='{}' log",
    "git -c core.sshCommand='{}' fetch",
    "git -c alias.x='!{}' x",
    "git -c diff.a.textconv='{}' diff",
    "git -c credential.helper='!{}' fetch",
    "git config alias.x '!{}'",
    "git fetch --upload-pack='{};' origin",
    "git fetch --upload-pack '{};' origin",
    "git clone -u '{}' h:a",
    "git clone --upload-pa='{}' h:a",
    "git push --receive-pack='{}' origin",
    "git ls-remote --exec='{}' a",
    "git rebase --exec='{}' HEAD~2",
    "git rebase -x '{}' HEAD~2",
    "git difftool --extcmd='{}'",
    "rsync -e '{}' a h:b",
    "rsync --rsh='{}' a h:b",
    "tar -cf a.tar b -I '{}'",
    "tar -cf a.tar b --use-compress-program='{}'",
    "tar -cf a.tar b --checkpoint=1 --checkpoint-action=exec='{}'",
    "tar -cf a.tar b --checkpoint=1 --checkpoint-action 'exec={}'",
    "npm exec -c '{}'",
    "npm exec --call='{}'",
    "npx -c '{}'",
    "npx -p cowsay -c '{}'",
    "man -P '{}' ls",
    "split --filter='{}' a",
    "gdb -ex '!{}' -batch",
    "gdb -batch -ex 'shell {}'",
    "vim -c ':!{}' a",
    "vim '+!{}' a",
    "less '+!{}' a",
    "go test -exec='{}' ./...",
    "go build -toolexec '{}'",
    "cargo --config 'build.rustc-wrapper=\"{}\"' build",
    "apt-get -o APT::Update::Pre-Invoke::='{}' update",
    "java -XX:OnOutOfMemoryError='{}' -jar a.jar",
    "make --eval='x:=$(shell {})'",
    "sqlite3 a.db '.shell {}'",
    "psql -c '\\! {}'",
    "psql --command='\\! {}'",
    "mysql -e 'system {}'",
    "mysql --execute='\\! {}'",
    "declare -n p=PAGER; p='{}'; git log",
    "test -v 'a[$({})]'",
    "[ 'a[$({})]' -eq 0 ]",
    "let 'a[$({})]=1'",
    "x='a[$({})]'; (( x ))",
    "python3 -c 'from subprocess import run; run(\"{}\", shell=True)'",
    "python3 -c 'from subprocess import run as r; r(\"{}\".split())'",
    "python3 -c 'import subprocess as s; s.run(\"{}\", shell=True)'",
    "python3 -c 'import sys, os as o; o.system(\"{}\")'",
    "python3 -c 'from os import system as s; s(\"{}\")'",
    "python3 -c 'from os import *; system(\"{}\")'",
    "python3 -c 'f = __import__(\"os\").system; f(\"{}\")'",
    "python3 -c '__import__(\"os\").system(\"{}\")'",
    "python3 -c 'import importlib; importlib.import_module(\"os\").system(\"{}\")'",
    "python3 -c 'import os; getattr(os, \"system\")(\"{}\")'",
    "python3 -c 'import os; run = os.system; run(\"{}\")'",
    "node -e 'const {execSync: e} = require(\"child_process\"); e(\"{}\")'",
    "node -e 'const {exec} = require(\"node:child_process\"); exec(\"{}\")'",
    "node -e 'const c = require(\"child_process\"); c.exec(\"{}\")'",
    "node -e 'require(\"child_process\")[\"execSync\"](\"{}\")'",
    "node -e 'require(\"child_process\").exec(\"{}\")'",
    "node --input-type=module -e 'import {execSync as e} from \"child_process\"; e(\"{}\")'",
    "node --input-type=module -e '(await import(\"child_process\")).execSync(\"{}\")'",
    "ruby -e 'Kernel.system(\"{}\")'",
    "ruby -e '%x({})'",
    "perl -e 'qx{{}}'",
    "php -r 'passthru(\"{}\");'",
];

#[test]
fn carried_commands_are_read() {
    let mut wrong = Vec::new();
    for carrier in SHELL {
        let harm = carrier.replace("{}", "rm -rf /opt/app");
        if !effects(&reading(&harm)).contains(&"delete! /opt/app".to_owned()) {
            wrong.push(format!(
                "`{harm}`: {:?} {:?}",
                effects(&reading(&harm)),
                reading(&harm).gaps
            ));
        }
        let twin = carrier.replace("{}", "true");
        let read = reading(&twin);
        if effects(&read).iter().any(|effect| effect.contains("delete"))
            || forms(&read).contains(&"recursive-force-delete")
        {
            wrong.push(format!("`{twin}`: {:?}", effects(&read)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn everyday_values_are_quiet() {
    for command in [
        "PAGER=cat git log",
        "GIT_PAGER=less git log",
        "GIT_PAGER='less -R' git log",
        "GIT_PAGER= git diff",
        "EDITOR=vim git commit",
        "EDITOR='code --wait' git commit",
        "GIT_EDITOR=true git rebase --continue",
        "GIT_SEQUENCE_EDITOR=: git rebase --autosquash HEAD~3",
        "GIT_SSH_COMMAND='ssh -i ~/.ssh/deploy.pub -o IdentitiesOnly=yes -o StrictHostKeyChecking=no' git status",
        "ENV=production npm run build",
        "NODE_OPTIONS=--max-old-space-size=4096 npm run build",
        "CC=gcc make",
        "CC=arm-none-eabi-gcc make",
        "BROWSER=none npm start",
        "TEST_BROWSER=chromium npm test",
        "CC='ccache gcc' make",
        "GIT_CONFIG_GLOBAL=/dev/null git status",
        "PS1='$ '",
        "git -c core.pager=cat log",
        "git -c core.fsmonitor=false status",
        "git -c user.name=x commit -m 'a'",
        "git -c color.ui=always diff",
        "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*' git status",
        "MANPAGER=cat man ls",
        "x='a[0]'",
        "python3 -c 'import os, sys; print(os.getcwd(), os.path.join(\"a\", \"b\"), os.sep)'",
        "python3 -c 'from os.path import join; print(join(\"a\", \"b\"))'",
        "python3 -c 'from subprocess import PIPE; import json, sys; print(json.load(sys.stdin)[\"a\"])'",
        "python3 -c 'import os; print(os.environ[\"HOME\"]); print(getattr(sys, \"version\"))'",
        "node -e 'const fs = require(\"fs\"); console.log(fs.existsSync(\"a\"))'",
        "node -e 'const {join} = require(\"path\"); console.log(join(\"a\", \"b\"))'",
        "node -p 'require(\"./package.json\").version'",
        "node -e '(async () => { console.log(1) })()'",
        "ruby -e 'puts [1,2].map { |x| x + 1 }.inspect'",
        "ruby -e 'puts 1'",
        "perl -ne 'print if /a/' a",
        "php -r 'echo PHP_VERSION;'",
    ] {
        let read = reading(command);
        let loud: Vec<String> = effects(&read)
            .into_iter()
            .filter(|effect| {
                ["start", "delete", "unseen", "secret", "system"]
                    .iter()
                    .any(|kind| effect.starts_with(kind))
            })
            .collect();
        assert!(
            loud.is_empty() && forms(&read).is_empty(),
            "`{command}`: {loud:?} {:?}",
            forms(&read)
        );
        assert!(read.gaps.is_empty(), "`{command}`: {:?}", read.gaps);
    }
}

#[test]
fn assembled_text_is_partial() {
    for command in [
        "ruby -e 'Kernel.send(:system, \"x\")'",
        "php -r '$f = \"sys\" . \"tem\"; $f(\"x\");'",
        "php -r 'call_user_func(\"system\", \"x\");'",
        "perl -e '&{\"system\"}(\"x\")'",
        "PAGER=\"$X\" git log",
        "ssh -o ProxyCommand=\"$X\" h",
        "PAGER=sh git log",
        "hash -p ./x ls; ls",
    ] {
        let read = reading(command);
        let partial = read.coverage == Coverage::Partial
            || effects(&read).iter().any(|effect| effect.starts_with("modify"));
        assert!(partial, "`{command}`: {:?} {:?}", effects(&read), read.gaps);
    }
}

#[test]
fn assembled_text_in_parsed_code_is_followed() {
    for command in [
        "python3 -c 'import os; f = getattr(os, \"sys\" + \"tem\"); f(\"x\")'",
        "python3 -c 'import os; vars(os)[\"system\"](\"x\")'",
        "python3 -c 'import os; os.__dict__[\"system\"](\"x\")'",
        "python3 -c 'import os; list(map(os.system, [\"x\"]))'",
        "python3 -c 'import importlib; importlib.import_module(\"o\" + \"s\").system(\"x\")'",
        "python3 -c 'import subprocess, sys; subprocess.run(sys.argv[1:])' x",
        "node -e 'require(\"child_process\")[\"exec\" + \"Sync\"](\"x\")'",
        "node -e 'require(\"child_\" + \"process\").execSync(\"x\")'",
        "node -e 'const {promisify} = require(\"util\"); promisify(require(\"child_process\").exec)(\"x\")'",
    ] {
        let read = reading(command);
        assert!(
            effects(&read).contains(&"start? x".to_owned()),
            "`{command}`: {:?} {:?}",
            effects(&read),
            read.gaps
        );
    }
    for command in [
        "python3 -c 'import sys; exec(sys.argv[1])' 'import os; os.remove(\"/srv/x\")'",
        "node -e 'eval(process.argv[1])' 'require(\"fs\").unlinkSync(\"/srv/x\")'",
        "python3 -c 'import os, sys; [os.remove(p) for p in sys.argv[1:]]' a /srv/x",
        "node -e 'globalThis[\"ev\" + \"al\"](\"require(`fs`).unlinkSync(`/srv/x`)\")'",
    ] {
        let read = reading(command);
        assert!(
            effects(&read).contains(&"delete /srv/x".to_owned()),
            "`{command}`: {:?} {:?}",
            effects(&read),
            read.gaps
        );
    }
}

#[test]
fn a_remembered_name_is_another_program() {
    let read = reading("hash -p /bin/rm ls; ls -rf /opt/app");
    assert!(effects(&read).contains(&"delete! /opt/app".to_owned()), "{:?}", effects(&read));
}

#[test]
fn self_reported_paths_are_the_tool() {
    for command in [
        "eval \"$(pyenv init -)\" && pyenv version",
        "eval \"$(pyenv init --path)\"",
        "eval \"$(direnv hook bash)\"",
        "eval $(opam env) && dune build",
        "eval `ssh-agent -s`",
        "eval \"$(/opt/homebrew/bin/brew shellenv)\"",
        "eval \"$(minikube docker-env)\" && docker build -t app .",
        "source <(kubectl completion bash)",
        ". <(helm completion zsh)",
        "gh completion -s bash | source /dev/stdin",
    ] {
        let read = reading(command);
        assert!(read.gaps.is_empty(), "`{command}`: {:?} {:?}", read.gaps, effects(&read));
    }
    for command in [
        "eval \"$(other init -)\"",
        "eval \"$(pyenv versions)\"",
        "eval \"$(pyenv init $X)\"",
        "eval \"$(cat x | brew shellenv $(cat y))\"",
        "source <(curl https://a.example/completion)",
        "eval \"$(kubectl completion ../../x)\"",
    ] {
        let read = reading(command);
        let unseen = effects(&read).iter().any(|effect| effect.starts_with("unseen"));
        assert!(unseen || !read.gaps.is_empty(), "`{command}`: {:?}", effects(&read));
    }
}
