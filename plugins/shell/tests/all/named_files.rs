//! Files of code and of commands that programs run by a word or an option: their text counts, an
//! ordinary one passes, and one that an option names and that is not there is a gap.

use crate::effects;
use crate::scripts::{reading_with, text};

/// The effect of `rm -rf /opt/app`.
const GONE: &str = "delete! /opt/app";

/// Files by what they are written in: the name, a grave text and an ordinary one.
const FILES: &[(&str, &str, &str)] = &[
    ("x.py", "import os\nos.system('rm -rf /opt/app')\n", "print('hello')\n"),
    ("x.js", "require('child_process').execSync('rm -rf /opt/app');\n", "console.log(1);\n"),
    (
        "x.ts",
        "import { execSync } from 'child_process';\nexecSync('rm -rf /opt/app');\n",
        "const a: number = 1;\nconsole.log(a);\n",
    ),
    ("x.rb", "system('rm -rf /opt/app')\n", "puts 'hello'\n"),
    ("x.exs", "System.cmd(\"rm\", [\"-rf\", \"/opt/app\"])\n", "IO.puts(\"hello\")\n"),
    ("x.R", "system('rm -rf /opt/app')\n", "print(1)\n"),
    ("x.m", "system('rm -rf /opt/app')\n", "disp(1)\n"),
    ("x.lua", "os.execute('rm -rf /opt/app')\n", "print(1)\n"),
    ("x.vim", "set nocompatible\n!rm -rf /opt/app\n", "set number\n%s/a/b/g\nwq\n"),
    ("x.gdb", "break main\nshell rm -rf /opt/app\nrun\n", "break main\nrun\nbacktrace\n"),
    ("x.lldb", "b main\nplatform shell rm -rf /opt/app\n", "b main\nrun\nbt\n"),
    ("x.el", "(shell-command \"rm -rf /opt/app\")\n", "(message \"hello\")\n"),
    ("x.ed", "1,3p\n!rm -rf /opt/app\nq\n", "1,3p\ng/a/s//b/\nw\nq\n"),
    ("x.ftp", "cd a\n!rm -rf /opt/app\n", "cd a\nget b\n"),
    ("x.sed", "s/a/b/\n1e rm -rf /opt/app\n", "s/a/b/\n/c/d\n"),
    ("x.awk", "BEGIN { system(\"rm -rf /opt/app\") }\n", "{ print $1 }\n"),
    ("x.sh", "rm -rf /opt/app\n", "alias l='ls -l'\n"),
    (
        "x.go",
        "package main\nimport \"os\"\nfunc main() { os.RemoveAll(\"/opt/app\") }\n",
        "package main\nfunc main() { println(1) }\n",
    ),
    ("x.sql", "\\! rm -rf /opt/app\n", "select 1;\n"),
];

/// Commands that run such a file. True if an option names it, not a word.
const WAYS: &[(&str, &str, bool)] = &[
    ("x.py", "coverage run x.py", false),
    ("x.py", "python3 -m coverage run --source src x.py", false),
    ("x.py", "python3 -m cProfile -o a.prof x.py", false),
    ("x.py", "python3 -m pdb x.py", false),
    ("x.py", "python3 -m trace --trace x.py", false),
    ("x.py", "uv run x.py", false),
    ("x.py", "streamlit run x.py", false),
    ("x.py", "torchrun --nproc_per_node 2 x.py", false),
    ("x.py", "scrapy runspider x.py", false),
    ("x.py", "py x.py", false),
    ("x.py", "flask --app x run", false),
    ("x.py", "flask --app x:create_app run", false),
    ("x.py", "celery -A x worker", false),
    ("x.py", "locust -f x.py", true),
    ("x.py", "blender -b -P x.py", true),
    ("x.js", "nodemon x.js", false),
    ("x.js", "electron x.js", false),
    ("x.js", "bun x.js", false),
    ("x.js", "bun run x.js", false),
    ("x.js", "deno run -A x.js", false),
    ("x.js", "mocha x.js", false),
    ("x.js", "mongosh db x.js", false),
    ("x.js", "mongosh --file x.js", true),
    ("x.js", "k6 run x.js", false),
    ("x.ts", "tsx x.ts", false),
    ("x.ts", "npx tsx x.ts", false),
    ("x.ts", "ts-node --project tsconfig.json x.ts", false),
    ("x.ts", "bun x.ts", false),
    ("x.ts", "deno run --allow-all x.ts", false),
    ("x.ts", "vitest run x.ts", false),
    ("x.ts", "npx playwright test x.ts", false),
    ("x.rb", "rails runner x.rb", false),
    ("x.rb", "bundle exec rspec x.rb", false),
    ("x.rb", "jruby x.rb", false),
    ("x.exs", "elixir x.exs", false),
    ("x.exs", "mix run x.exs", false),
    ("x.R", "R -f x.R", true),
    ("x.R", "R CMD BATCH x.R", false),
    ("x.m", "octave-cli x.m", false),
    ("x.lua", "nvim -l x.lua", true),
    ("x.lua", "nvim -u x.lua a.txt", true),
    ("x.lua", "redis-cli --eval x.lua", true),
    ("x.vim", "vim -S x.vim a.txt", true),
    ("x.vim", "nvim --headless -S x.vim", true),
    ("x.vim", "vim -u x.vim a.txt", true),
    ("x.vim", "vim -es a.txt < x.vim", false),
    ("x.gdb", "gdb -x x.gdb ./a.out", true),
    ("x.gdb", "gdb -batch --command=x.gdb ./a.out", true),
    ("x.lldb", "lldb -s x.lldb ./a.out", true),
    ("x.el", "emacs --script x.el", true),
    ("x.el", "emacs -Q --batch -l x.el", true),
    ("x.ed", "ed a.txt < x.ed", false),
    ("x.ed", "ex -s a.txt < x.ed", false),
    ("x.ed", "cat x.ed | ed -s a.txt", false),
    ("x.ftp", "lftp -f x.ftp", true),
    ("x.ftp", "sftp -b x.ftp host", true),
    ("x.sed", "sed -f x.sed a.txt", false),
    ("x.sed", "sed --file=x.sed a.txt", false),
    ("x.awk", "awk -f x.awk a.txt", false),
    ("x.sh", "bash --rcfile x.sh", false),
    ("x.sh", "bash --init-file=x.sh -i", false),
    ("x.go", "go run x.go", false),
    ("x.sql", "psql -h db.example.com -f x.sql", true),
    ("x.sql", "mysql -h db.example.com < x.sql", false),
    ("x.sql", "sqlite3 -init x.sql a.db", false),
];

fn named<'f>(name: &str) -> &'f (&'static str, &'static str, &'static str) {
    FILES.iter().find(|(file, ..)| *file == name).expect("the file is listed")
}

#[test]
fn a_file_that_a_program_is_given_does_what_its_text_does() {
    let mut wrong = Vec::new();
    for (name, command, _) in WAYS {
        let (_, grave, ordinary) = named(name);
        for (carrier, file) in [("", *name), ("cd sub && ", "x/")] {
            let file = if file == *name { (*name).to_owned() } else { format!("sub/{name}") };
            let command = format!("{carrier}{command}");
            let run = reading_with(&command, &[(&file, text(grave))]);
            if !effects(&run).contains(&GONE.to_owned()) {
                wrong.push(format!("{command}: {:?} {:?}", effects(&run), run.gaps));
            }
            let run = reading_with(&command, &[(&file, text(ordinary))]);
            let grave = |effect: &String| effect.contains("/opt") || effect.starts_with("unseen");
            if effects(&run).iter().any(grave) || !run.gaps.is_empty() {
                wrong.push(format!("{command}, ordinary: {:?} {:?}", effects(&run), run.gaps));
            }
        }
        let line = format!("cat > {name} <<'E'\n{grave}E\n{command}");
        let run = reading_with(&line, &[]);
        if !effects(&run).contains(&GONE.to_owned()) {
            wrong.push(format!("{line}: {:?} {:?}", effects(&run), run.gaps));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_file_that_an_option_names_has_to_be_there() {
    for (name, command, option) in WAYS {
        let run = reading_with(command, &[]);
        let missing = run.gaps.iter().any(|gap| gap.contains("not there to be read"));
        assert_eq!(missing, *option, "{command} without {name}: {:?}", run.gaps);
    }
    // A database of this machine and a playbook that is only tried out lose nothing.
    for command in [
        "psql -h localhost -f x.sql",
        "psql -f - < x.sql",
        "vim -u NONE a.txt",
        "nvim --clean a.txt",
        "ansible-playbook x.yml --check",
        "ansible-playbook x.yml --syntax-check",
        "tox",
        "tox -e py312",
        "gdb ./a.out",
    ] {
        let run = reading_with(command, &[]);
        assert!(run.gaps.is_empty(), "{command}: {:?}", run.gaps);
    }
    for command in ["ansible-playbook x.yml", "tox -c x.ini", "ant -f x.xml", "fab -f x.py t"] {
        let run = reading_with(command, &[]);
        assert!(!run.gaps.is_empty(), "{command}");
    }
}
