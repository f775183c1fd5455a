//! Modules that the session wrote: what imports one does what the module does. A module that it did
//! not write is the project's own work.

use crate::effects;
use crate::scripts::{downloaded, plain, reading_after, text};
use portcullis_shell_reader::{Contents, Provenance};

/// The effect of `rm -rf /opt/app`.
const GONE: &str = "delete! /opt/app";

/// Programs: the command, its file, the file's text, the module, and code that deletes there.
const IMPORTS: &[(&str, &str, &str, &str, &str)] = &[
    ("python main.py", "main.py", "import helper\nhelper.go()\n", "helper.py", PYTHON),
    ("python3 main.py", "main.py", "from helper import go\ngo()\n", "helper.py", PYTHON),
    ("python -u main.py x", "main.py", "import os, helper as h\n", "helper.py", PYTHON),
    ("python app/main.py", "app/main.py", "from . import helper\n", "app/helper.py", PYTHON),
    ("python main.py", "main.py", "from lib.helper import go\n", "lib/helper.py", PYTHON),
    ("python main.py", "main.py", "import lib\n", "lib/__init__.py", PYTHON),
    ("python main.py", "main.py", "__import__('helper')\n", "helper.py", PYTHON),
    (
        "python main.py",
        "main.py",
        "import importlib\nimportlib.import_module('helper')\n",
        "helper.py",
        PYTHON,
    ),
    ("PYTHONPATH=lib python main.py", "main.py", "import helper\n", "lib/helper.py", PYTHON),
    ("python -c 'import helper'", "main.py", "", "helper.py", PYTHON),
    ("./main.py", "main.py", "#!/usr/bin/env python3\nimport helper\n", "helper.py", PYTHON),
    ("make run", "Makefile", "run:\n\tpython -c 'import helper'\n", "helper.py", PYTHON),
    ("node main.js", "main.js", "require('./x').go()\n", "x.js", NODE),
    ("node main.mjs", "main.mjs", "import { go } from './lib/x.mjs';\ngo();\n", "lib/x.mjs", NODE),
    ("node main.js", "main.js", "const x = require('./x/');\n", "x/index.js", NODE),
    ("tsx main.ts", "main.ts", "import './x.js';\n", "x.ts", NODE),
    ("node -e 'require(\"./x\")'", "main.js", "", "x.js", NODE),
    ("ruby main.rb", "main.rb", "require_relative 'x'\n", "x.rb", RUBY),
    ("perl main.pl", "main.pl", "require './x.pl';\n", "x.pl", PERL),
    ("php main.php", "main.php", "<?php require 'x.php';\n", "x.php", PHP),
    ("lua main.lua", "main.lua", "dofile('x.lua')\n", "x.lua", LUA),
    ("Rscript main.R", "main.R", "source('x.R')\n", "x.R", R),
];
const PYTHON: &str = "import os\ndef go():\n    os.system('rm -rf /opt/app')\n";
const NODE: &str = "exports.go = () => require('child_process').execSync('rm -rf /opt/app');\n";
const RUBY: &str = "system('rm -rf /opt/app')\n";
const PERL: &str = "system('rm -rf /opt/app');\n";
const PHP: &str = "<?php system('rm -rf /opt/app');\n";
const LUA: &str = "os.execute('rm -rf /opt/app')\n";
const R: &str = "system('rm -rf /opt/app')\n";

fn written() -> Provenance {
    Provenance { written: true, ..plain() }
}

fn does_it(command: &str, files: &[(&str, Contents)], before: &[(&str, Provenance)]) -> bool {
    effects(&reading_after(command, files, before)).contains(&GONE.to_owned())
}

#[test]
fn an_imported_module_of_the_session_is_read() {
    let mut wrong = Vec::new();
    for (command, main, program, module, code) in IMPORTS {
        let files = [(*main, text(program)), (*module, text(code))];
        let harmless = [(*main, text(program)), (*module, text(&code.replace("rm -rf", "ls")))];
        let before = [(*module, written())];
        if !does_it(command, &files, &before) {
            wrong.push(format!("{command}: {module} is not read"));
        }
        if does_it(command, &files, &[]) || does_it(command, &harmless, &before) {
            wrong.push(format!("{command}: {module} is harmless"));
        }
        let unseen = reading_after(command, &files, &[(module, downloaded())]);
        if !effects(&unseen).iter().any(|effect| effect.starts_with("unseen")) {
            wrong.push(format!("{command}: {module} was downloaded"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn so_is_one_that_the_line_itself_writes() {
    for (command, main, program, module, code) in IMPORTS {
        let line = format!("cat > {module} <<'E'\n{code}E\n{command}");
        assert!(does_it(&line, &[(main, text(program))], &[]), "{line}");
        let line = format!("cat > other.py <<'E'\n{code}E\n{command}");
        assert!(!does_it(&line, &[(main, text(program))], &[]), "{line}");
    }
}

#[test]
fn modules_of_modules_are_read_once_each() {
    let names: Vec<String> = (0..12).map(|number| format!("m{number}.py")).collect();
    let imports: String = (0..12).map(|number| format!("import m{number}\n")).collect();
    let mut files: Vec<(&str, Contents)> =
        names.iter().map(|name| (name.as_str(), text(&imports))).collect();
    files.push(("main.py", text("import m0\n")));
    let before: Vec<_> = names.iter().map(|name| (name.as_str(), written())).collect();
    assert!(!does_it("python main.py", &files, &before));
    files.retain(|(name, _)| *name != "m2.py");
    files.push(("m2.py", text(PYTHON)));
    assert!(does_it("python main.py", &files, &before));
}

#[test]
fn names_that_are_not_modules_of_the_session_ask_for_nothing() {
    let files = [("main.py", text("import os, json, numpy\nimport helper\nprint('import x')\n"))];
    let run = reading_after("python main.py", &files, &[("other.py", written())]);
    assert_eq!(run.wants, Vec::<String>::new());
    assert!(run.gaps.is_empty(), "{:?}", run.gaps);
}
