//! Ordinary cleaning passes in silence: a project whose build output git ignores may delete it by
//! any usual command. The same commands on work that only this disk holds are objected to.

use crate::common::site::Site;
use crate::common::trial;
use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use serde_json::Value;
use std::process::Command;

pub fn tests() -> Vec<Trial> {
    vec![
        trial("cleaning: output that a build recreates is deleted in silence", || {
            judge("cleaning-output", OUTPUT, true)
        }),
        trial("cleaning: work that git does not hold is not", || {
            judge("cleaning-work", WORK, false)
        }),
    ]
}

/// A project with build output that git ignores, and with work that it neither holds nor ignores.
const PROJECT: &str = "git init -q -b main . && mkdir -p src/__pycache__ build dist .pytest_cache \
    node_modules/.bin .next/cache .turbo coverage app.egg-info sandbox/.terraform \
    tests/__snapshots__ tmp/pids notes/__mine__ && for d in build dist .pytest_cache node_modules \
    .next/cache .turbo coverage app.egg-info sandbox/.terraform; do echo x > $d/file; done && \
    echo x > src/__pycache__/a.pyc && echo x > src/a.o && echo x > src/main.c && echo {} > package.json \
    && echo x > tests/__snapshots__/a.snap.new && echo 1 > tmp/pids/server.pid && echo x > a.log && \
    printf 'build\\ndist\\n.pytest_cache\\nnode_modules\\n.next\\n.turbo\\ncoverage\\n*.egg-info\\n.terraform\\n__pycache__\\n*.o\\ntmp\\n*.snap.new\\n*.log\\n.env\\n' > .gitignore \
    && git add -A && git -c user.name=a -c user.email=a@example.org commit -qm first && \
    echo draft > notes/draft.md && echo KEY=1 > .env && echo x > notes/__mine__/plan.md";

const OUTPUT: &[&str] = &[
    "rm -rf build dist",
    "rm -rf build dist .pytest_cache *.egg-info",
    "rm -rf node_modules && npm ci",
    "rm -r .next/cache .turbo 2>/dev/null || true",
    "npx rimraf dist coverage",
    "cargo clean",
    "find . -name __pycache__ -type d -prune -exec rm -rf {} +",
    "find . -name __pycache__ -exec rm -rf {} +",
    "find . -name '*.pyc' -delete",
    "find src -name '*.o' -delete",
    "find tests/__snapshots__ -name '*.snap.new' -delete",
    "rm -f build/file",
    "rm -f tmp/pids/server.pid",
    "rm -f a.log",
    "rm -rf sandbox/.terraform",
    "git clean -nfd",
];

const WORK: &[&str] = &[
    "rm -rf notes",
    "rm -rf build notes",
    "find . -name '*.md' -delete",
    "find . -name __mine__ -exec rm -rf {} +",
    "find notes -name '*' -delete",
    "rm -f .env",
    "find . -name .env -delete",
    "rm -rf build/../notes",
    "rm -rf \"$OUT\"",
];

fn judge(name: &str, commands: &[&str], silent: bool) -> Result<()> {
    let site = Site::new(name)?;
    let made = Command::new("sh").args(["-c", PROJECT]).current_dir(site.project()).status()?;
    ensure!(made.success(), "the project was not made");
    let mut wrong = Vec::new();
    for command in commands {
        // A review exits with a code of its own for each verdict.
        let run = site.run(&["review", "--json", "--command", command])?;
        let record: Value = serde_json::from_slice(&run.stdout).context((*command).to_owned())?;
        let verdict = record["decision"]["verdict"].as_str().context((*command).to_owned())?;
        if (verdict == "allow") != silent {
            wrong.push(format!("{verdict}: {command}"));
        }
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}
