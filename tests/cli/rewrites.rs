//! Rewrites keep the meaning: each one that is offered runs beside the command that it stands for,
//! in a copy of the same repository, and both leave the same files, index, refs and stashes, say
//! the same and end with the same code. Only the quarantine and the refs of what is kept may be
//! there besides. What cannot be so is asked.

mod frames;

use crate::common::reply::{Answer, Reply};
use crate::common::site::Site;
use crate::common::trial;
use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Output};

pub fn tests() -> Vec<Trial> {
    let mut tests: Vec<Trial> = (0..SHARES)
        .map(|share| {
            trial(
                format!("rewrites: they do what the command does, share {}", share + 1),
                move || compare(share),
            )
        })
        .collect();
    tests.extend(frames::tests());
    tests.extend([
        trial("rewrites: ambiguous commands are asked about", asked),
        trial(
            "rewrites: nothing is kept from a repository in which something is half done",
            half_done,
        ),
        trial("rewrites: deleted folders get into no commit", into_no_commit),
        trial("rewrites: a quarantine that leads elsewhere is not used", elsewhere),
        trial("rewrites: work discarded by git is restored as the answer says", had_back),
    ]);
    tests
}

/// The comparisons run side by side in so many tests.
const SHARES: usize = 4;

/// A repository with work in it that nothing but it holds: changes, staged and not, stashes, a
/// branch, folders.
const MADE: &str = "git init -q -b main . && echo one > tracked.txt && echo two > staged.txt && mkdir -p sub && echo s > sub/kept.txt \
    && git add . && git commit -qm first && git checkout -qb side && echo side > side.txt && git add . && git commit -qm side \
    && git checkout -q main && echo stash-a > tracked.txt && git stash push -qm a && echo stash-b > tracked.txt && git stash push -qm b \
    && echo changed > tracked.txt && echo in-index > staged.txt && git add staged.txt && echo after-index > staged.txt \
    && echo added > added.txt && git add added.txt && git rm -q --cached sub/kept.txt && echo other > sub/kept.txt \
    && mkdir -p work/deep other a/x b/x sub/inner 'two words' \"it's\" && echo key > work/.env && echo w > work/deep/file && echo o > other/file \
    && echo x > a/x/file && echo y > b/x/file && echo i > sub/inner/file && echo t > 'two words/file' && echo q > \"it's/file\" \
    && mkdir -- -odd && echo d > ./-odd/file && ln -s other link && ln -s nowhere broken && echo loose > loose.txt && chmod 600 loose.txt";

/// Commands for which a rewrite is offered.
const COMMANDS: &[&str] = &[
    "rm -rf work",
    "rm -rf work/",
    "rm -fr ./work",
    "rm -r work",
    "rm -Rf work",
    "rm --recursive --force work",
    "rm -rf -- work",
    "rm -rf -- -odd",
    "rm work -rf",
    "rm -rf 'two words'",
    "rm -rf \"two words\" work",
    "rm -rf two\\ words",
    "rm -rf \"it's\"",
    "rm -rf work other",
    "rm -rf work gone",
    "rm -rf gone work/ missing",
    "rm -rf work work/deep",
    "rm -rf work loose.txt",
    "rm -rf work link",
    "rm -rf work broken",
    "rm -rf work/deep",
    "rm -rf \"$PWD/work\"",
    "rm -rf $PWD/work",
    "rm -rf {work,other}",
    "rm -rf a/x b/x",
    "rm -rf work 2>/dev/null",
    "rm -rf work >/dev/null 2>&1",
    "rm -rf work </dev/null",
    "rm -rf work other 2>&1",
    "d=work; rm -rf \"$d\"",
    "d=two; rm -rf \"$d words\"",
    "cd sub && rm -rf inner",
    "cd sub; rm -rf ./inner/",
    "rm -rf work; rm -rf other",
    "rm -rf work && rm -rf a/x && rm -rf b/x",
    "git reset --hard",
    "git reset --hard HEAD",
    "git reset --hard -q",
    "git reset --hard >/dev/null",
    "git checkout -- .",
    "git checkout .",
    "git checkout -- tracked.txt",
    "git checkout -q -- tracked.txt staged.txt",
    "git checkout HEAD -- tracked.txt",
    "git checkout HEAD -- .",
    "git checkout -f",
    "git restore .",
    "git restore tracked.txt staged.txt",
    "git restore -SW tracked.txt",
    "git restore --staged --worktree .",
    "git restore -- tracked.txt",
    "cd sub && git reset --hard",
    "git -C sub reset --hard",
    "git checkout -- tracked.txt; git checkout -- staged.txt",
    "git stash drop",
    "git stash drop -q",
    "git stash drop 1",
    "git stash drop 'stash@{1}'",
    "git stash drop; git stash drop",
    "git stash drop 9",
    "git branch -D side",
    "git branch -q -D side",
    "git branch --delete --force side",
    "git branch -D side gone",
    "git branch -D gone",
    "git branch -f side main",
    "git branch -f fresh main",
];

/// The text around a command; `{}` is its place.
const CARRIERS: &[&str] = &[
    "{} && echo done",
    "{}; git stash list; git log --oneline --branches",
    "({})",
    "{} || echo failed",
    "echo first; {}; echo $?",
    "if {}; then echo yes; else echo no; fi",
    "{} && git add -A && git commit -qm all; git status --porcelain",
    "true && {} | cat",
    "! { {}; }; echo $?",
    "{}; git stash pop -q; cat tracked.txt",
    "set -eu; {}; git commit -qm staged",
    "{} & wait",
    "case x in x) {};; esac",
    "test -d work && {}",
];

fn lines() -> Vec<String> {
    // The frames try each command in each of many; here the commands are many.
    let around = |(at, command): (usize, &&str)| {
        let carriers = CARRIERS.get(at % CARRIERS.len()).into_iter();
        std::iter::once((*command).to_owned())
            .chain(carriers.map(|carrier| carrier.replace("{}", command)))
            .collect::<Vec<_>>()
    };
    COMMANDS.iter().enumerate().flat_map(around).collect()
}

/// A setup that changes nothing.
const NO_SETUP: &str = "true";

/// All that git knows of a repository. One shell, since it is asked a thousand times.
const REPOSITORY: &str = "echo index; git ls-files -s; echo refs; git for-each-ref | grep -v refs/portcullis/; \
    echo stash; git stash list; echo head; git rev-parse HEAD; git symbolic-ref HEAD; \
    echo status; git status --porcelain -uall";

struct Pair {
    site: Site,
}

impl Pair {
    fn new(name: &str) -> Result<Self> {
        let pair = Self { site: Site::new(name)? };
        fs::create_dir(pair.template())?;
        done(&pair.shell(MADE, &pair.template())?, MADE)?;
        Ok(pair)
    }

    fn template(&self) -> std::path::PathBuf {
        self.site.root().join("template")
    }

    /// The project as it is before a command; what was left there is gone.
    fn fresh(&self, setup: &str) -> Result<()> {
        // A copy has other times: git looks at its files once, so that both runs begin with the
        // same index.
        let line = "rm -rf project && cp -a template project && git -C project update-index -q --refresh || true";
        done(&self.shell(line, self.site.root())?, line)?;
        if setup == NO_SETUP {
            return Ok(());
        }
        done(&self.shell(setup, &self.site.project())?, setup)
    }

    fn shell(&self, line: &str, folder: &Path) -> Result<Output> {
        let mut command = Command::new("bash");
        command
            .args(["-c", line])
            .current_dir(folder)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command
            .env("HOME", self.site.person())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_SYSTEM", "/dev/null");
        for role in ["AUTHOR", "COMMITTER"] {
            command
                .env(format!("GIT_{role}_NAME"), "A")
                .env(format!("GIT_{role}_EMAIL"), "a@example.org");
            command.env(format!("GIT_{role}_DATE"), "1700000000 +0000");
        }
        command.output().with_context(|| format!("`{line}`"))
    }

    fn answer(&self, line: &str) -> Result<Reply> {
        // Each is the first of a session: what came before has no part in it.
        let session = format!(
            "{:x}",
            line.bytes().fold(7_u64, |all, byte| all.wrapping_mul(31).wrapping_add(byte.into()))
        );
        self.site.hook(&self.site.calls(&session).bash("c", line))
    }

    fn ask(&self, setup: &str, line: &str) -> Result<()> {
        self.fresh(setup)?;
        let reply = self.answer(line)?;
        ensure!(
            matches!(reply.answer, Answer::Asked | Answer::Refused),
            "`{setup}`, `{line}`: {reply:?}"
        );
        Ok(())
    }

    fn rewrite(&self, line: &str) -> Result<String> {
        command(line, &self.answer(line)?)
    }

    /// All that is there, in git and in files.
    fn left(&self) -> Result<Vec<String>> {
        let project = self.site.project();
        let mut all =
            vec![String::from_utf8_lossy(&self.shell(REPOSITORY, &project)?.stdout).into_owned()];
        tree(&project, &project, &mut all)?;
        Ok(all)
    }

    /// All that a command leaves and says.
    fn run(&self, line: &str) -> Result<Vec<String>> {
        let project = self.site.project();
        let ended = self.shell(line, &project)?;
        let mut all = vec![format!("code {:?}", ended.status.code())];
        all.extend(
            [("said", &ended.stdout), ("complained", &ended.stderr)]
                .map(|(name, text)| format!("{name} {}", String::from_utf8_lossy(text))),
        );
        all.extend(self.left()?);
        Ok(all)
    }
}

/// The command that an answer puts in the place of another.
fn command(line: &str, reply: &Reply) -> Result<String> {
    ensure!(reply.answer == Answer::Rewritten, "`{line}`: {reply:?}");
    Ok(reply
        .body
        .pointer("/hookSpecificOutput/updatedInput/command")
        .and_then(Value::as_str)
        .context("no command")?
        .to_owned())
}

fn done(output: &Output, line: &str) -> Result<()> {
    ensure!(output.status.success(), "`{line}`: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

/// Everything below a folder but the quarantine and what git writes.
fn tree(root: &Path, folder: &Path, all: &mut Vec<String>) -> Result<()> {
    let mut entries: Vec<_> = fs::read_dir(folder)?.collect::<Result<_, _>>()?;
    entries.sort_by_key(|entry| entry.file_name());
    for entry in entries
        .into_iter()
        .filter(|entry| entry.file_name() != ".git" && entry.file_name() != ".portcullis")
    {
        let path = entry.path();
        let found = fs::symlink_metadata(&path)?;
        let content = if found.is_file() {
            fs::read_to_string(&path)?
        } else if found.is_symlink() {
            fs::read_link(&path)?.display().to_string()
        } else {
            tree(root, &path, all)?;
            String::new()
        };
        all.push(format!("{} {:o} {content}", path.strip_prefix(root)?.display(), found.mode()));
    }
    Ok(())
}

fn compare(share: usize) -> Result<()> {
    let pair = Pair::new(&format!("rewrites-{share}"))?;
    let mut wrong = Vec::new();
    let lines = lines();
    ensure!(lines.len() >= 100, "{} lines", lines.len());
    for line in lines.iter().skip(share).step_by(SHARES) {
        pair.fresh(NO_SETUP)?;
        let rewritten = match pair.rewrite(line) {
            Ok(rewritten) => rewritten,
            Err(error) => {
                wrong.push(format!("{error:#}"));
                continue;
            }
        };
        let expected = pair.run(line)?;
        pair.fresh(NO_SETUP)?;
        let found = pair.run(&rewritten)?;
        let kept = pair.site.project().join(".portcullis/quarantine").exists()
            || !pair
                .shell("git for-each-ref refs/portcullis", &pair.site.project())?
                .stdout
                .is_empty();
        let nothing = ["gone", "fresh", "drop 9"].iter().any(|part| line.contains(part))
            || expected[0] != found[0];
        if found != expected || !(kept || nothing) {
            let differs: Vec<_> = expected.iter().zip(&found).filter(|(a, b)| a != b).collect();
            wrong.push(format!("`{line}` and `{rewritten}` (kept: {kept}): {differs:#?}"));
        }
    }
    ensure!(wrong.is_empty(), "{} of {}: {}", wrong.len(), lines.len() / SHARES, wrong.join("\n"));
    Ok(())
}

fn asked() -> Result<()> {
    let pair = Pair::new("rewrites-asked")?;
    for line in [
        "for i in 1 2; do rm -rf work; done",
        "while true; do rm -rf work; break; done",
        "until rm -rf work; do sleep 1; done",
        "for d in work other; do rm -rf \"$d\"; done",
        "for i in 1 2; do git reset --hard; done",
        "while git stash drop; do :; done",
        "f() { rm -rf work; }; f; f",
        "rm -rfv work",
        "rm -rf --verbose work",
        "rm -ri work",
        "rm -rfI work other",
        "rm -rf work > log.txt",
        "rm -rf work 2>> log.txt",
        "rm -rf work >&3",
        "rm -rf link/",
        "rm -rf work link/",
        "rm -rf work loose.txt/",
        "rm -rf work/.",
        "cd work && rm -rf .",
        "rm -r work gone",
        "set -C; rm -rf work",
        "set -o noclobber; rm -rf work",
        "mv work b2 && rm -rf b2",
        "mv work other && rm -rf other/work",
        "mv work other && rm -rf other",
        "mv work elsewhere; rm -rf work other",
        "mkdir new && rm -rf new work",
        "./make-it && rm -rf new work",
        "rm -rf work; rm -rf work",
        "rm -rf work && rm -rf work/deep",
        "rm -rf work && grep -rn key .",
        "rm -rf work && find . -name file",
        "rm -rf work && tar czf /tmp/all.tgz .",
        "rm -rf work && git clean -fdx",
        "rm -rf work && git add -f .",
        "rm -rf work && git stash --all",
        "alias mv=true; rm -rf work",
        "mv() { :; }; rm -rf work",
        "git merge side; git reset --hard",
        "git stash pop; git checkout -- .",
        "git add -N loose.txt; git reset --hard",
        "git reset --hard side",
        "git reset --hard HEAD~1",
        "git checkout -f side",
        "git switch --discard-changes side",
        "git checkout side -- .",
        "git restore -s side tracked.txt",
        "git branch -D @{-1}",
        "git stash clear",
        "export GIT_DIR=.git; git reset --hard",
    ] {
        pair.ask("true", line)?;
    }
    Ok(())
}

fn half_done() -> Result<()> {
    let pair = Pair::new("rewrites-half-done")?;
    const COMMIT: &str = "git add -A && git commit -qm all";
    for setup in [
        format!(
            "{COMMIT} && git checkout -q side && echo c > tracked.txt && git commit -qam c && ! git merge -q main"
        ),
        format!(
            "{COMMIT} && git checkout -q side && echo c > tracked.txt && git commit -qam c && ! git rebase -q main 2>/dev/null"
        ),
        format!(
            "{COMMIT} && echo c > tracked.txt && git commit -qam c && ! git stash pop -q 2>/dev/null"
        ),
        format!(
            "{COMMIT} && ! git cherry-pick -n side~1 2>/dev/null; ! git revert -n HEAD~1 2>/dev/null; touch .git/REVERT_HEAD; echo e > tracked.txt"
        ),
        "git add -N loose.txt".to_owned(),
        "git checkout -q --orphan empty".to_owned(),
        "rm -rf .git && git init -q . && git add -A".to_owned(),
    ] {
        for line in [
            "git reset --hard",
            "git checkout -- .",
            "git restore .",
            "cd sub && git reset --hard && echo done",
        ] {
            pair.ask(&setup, line)?;
        }
    }
    Ok(())
}

fn into_no_commit() -> Result<()> {
    let pair = Pair::new("rewrites-commit")?;
    let tree = "git worktree add -q ../tree side && cp -a work ../tree/";
    for (setup, line) in [
        ("true", "rm -rf work && git add -A && git commit -qm all"),
        ("true", "rm -rf work; git add . ; git commit -qam all"),
        ("true", "rm -rf work && git add --all . && git commit -qm all"),
        ("true", "rm -rf work; git add .portcullis; git add -A; git commit -qm all"),
        ("true", "rm -rf work; git stash push -u -q; git stash apply -q"),
        ("mkdir -p .portcullis/quarantine", "rm -rf work && git add -A && git commit -qm all"),
        ("echo '!*' > .gitignore", "rm -rf work && git add -A && git commit -qm all"),
        (
            "git init -q sub && mkdir sub/data && echo key > sub/data/.env",
            "cd sub && rm -rf data && git add -A && git commit -qm all",
        ),
        (tree, "cd ../project && rm -rf work && git add -A && git commit -qm all"),
    ] {
        pair.fresh(setup)?;
        let rewritten = pair.rewrite(line)?;
        pair.shell(&rewritten, &pair.site.project())?;
        for question in [
            "git log --all --not --glob=refs/portcullis --name-only --format=",
            "git ls-files",
            "git status --porcelain -uall",
        ] {
            for folder in [pair.site.project(), pair.site.project().join("sub")] {
                let output =
                    String::from_utf8_lossy(&pair.shell(question, &folder)?.stdout).into_owned();
                let leaks = output.contains("quarantine")
                    || output.contains(".env") && !question.contains("status");
                ensure!(!leaks, "`{line}`: `{question}`: {output}");
            }
        }
        let _ = fs::remove_dir_all(pair.site.root().join("tree"));
    }
    Ok(())
}

fn elsewhere() -> Result<()> {
    let pair = Pair::new("rewrites-elsewhere")?;
    let outside = pair.site.root().join("outside");
    fs::create_dir_all(outside.join("quarantine"))?;
    let at = outside.display();
    for setup in [
        format!("ln -s {at} .portcullis"),
        format!("mkdir .portcullis && ln -s {at} .portcullis/quarantine"),
        "mkdir real && ln -s real .portcullis".to_owned(),
        "ln -s nowhere .portcullis".to_owned(),
        "echo x > .portcullis".to_owned(),
        "mkdir .portcullis && echo x > .portcullis/quarantine".to_owned(),
        format!(
            "mkdir -p .portcullis/quarantine && ln -s {at}/file .portcullis/quarantine/.gitignore"
        ),
        "mkdir -p .portcullis/quarantine/.gitignore".to_owned(),
    ] {
        pair.ask(&setup, "rm -rf work")?;
    }
    Ok(())
}

fn had_back() -> Result<()> {
    let pair = Pair::new("rewrites-back")?;
    for (line, file, text) in [
        ("git reset --hard", "tracked.txt", "changed\n"),
        ("git checkout -- .", "staged.txt", "after-index\n"),
        ("git restore tracked.txt", "tracked.txt", "changed\n"),
        ("git reset --hard", "sub/kept.txt", "other\n"),
        ("git stash drop 1", "tracked.txt", "stash-a\n"),
    ] {
        pair.fresh(NO_SETUP)?;
        let reply = pair.answer(line)?;
        let rewritten = command(line, &reply)?;
        done(&pair.shell(&rewritten, &pair.site.project())?, &rewritten)?;
        let way = reply
            .said
            .split('`')
            .find(|part| part.starts_with("git stash apply refs/portcullis/"))
            .context("no way back")?;
        done(&pair.shell("git reset -q --hard && git clean -fdq", &pair.site.project())?, "clean")?;
        done(&pair.shell(way, &pair.site.project())?, way)?;
        let found = fs::read_to_string(pair.site.project().join(file))?;
        ensure!(found == text, "`{line}`, then `{way}`: `{file}` holds {found:?}");
    }
    pair.fresh(NO_SETUP)?;
    let reply = pair.answer("git branch -D side")?;
    let rewritten = command("git branch -D side", &reply)?;
    done(&pair.shell(&rewritten, &pair.site.project())?, &rewritten)?;
    let way = reply
        .said
        .split('`')
        .find(|part| part.starts_with("git branch side refs/portcullis/"))
        .context("no way back")?;
    done(
        &pair.shell(&format!("{way} && git cat-file -e side:side.txt"), &pair.site.project())?,
        way,
    )
}
