//! Plays one case: installs our hooks, runs the client between them and the scripted model, removes
//! the hooks, and compares.

use crate::Programs;
use crate::case::{Case, Expect, Watching};
use crate::client::ClientKind;
use crate::compiled;
use crate::model::{Conversation, Model};
use anyhow::{Context, Result, bail, ensure};
use portcullis_tests::compiled::copy_state;
use portcullis_tests::driven::{Driven, find_browser, find_packages};
use portcullis_tests::process;
use portcullis_tests::terminal::{Answer, Session, converse, script};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The timeout of a run, and of one of our own commands.
pub(crate) const LIMIT: Duration = Duration::from_secs(300);
/// The size in bytes of the largest file that may be settings. Clients keep programs of 100 MB beside
/// theirs, and reading these took longer than the run.
const LARGEST: u64 = 1 << 20;
/// The password of the person who answers on the page.
const PASSWORD: &str = "correct horse battery";
/// Starts a program that sees another folder as `/etc`.
const WITH_OTHER_ETC: &str = "mount --make-rprivate / && mount --bind \"$0\" /etc && exec \"$@\"";
/// The word after `install` and `uninstall` for the machine's hooks.
const MANAGED: &str = "--managed";

/// The folders of one run: a project, a home, our state.
#[derive(Debug)]
pub(crate) struct Site {
    root: PathBuf,
    /// True if programs see a folder of the run as `/etc`.
    has_own_etc: bool,
}

impl Site {
    fn create(root: &Path) -> Result<Self> {
        let site = Self::create_without_state(root)?;
        copy_state(&compiled()?, &site.home().join(".local/state/portcullis"))?;
        Ok(site)
    }

    /// Creates the folders of a machine on which none of our programs has run yet.
    pub(crate) fn create_without_state(root: &Path) -> Result<Self> {
        if root.exists() {
            fs::remove_dir_all(root)
                .with_context(|| format!("cannot clear `{}`", root.display()))?;
        }
        let site = Self { root: root.to_owned(), has_own_etc: false };
        for folder in [site.project(), site.home(), site.root.join("tmp")] {
            fs::create_dir_all(&folder)
                .with_context(|| format!("cannot make `{}`", folder.display()))?;
        }
        let mut git = Command::new("git");
        git.args(["init", "--quiet", "--initial-branch=main"]).arg(site.project());
        let made = git.status().context("cannot start `git`: install it")?;
        ensure!(made.success(), "`git init` failed");
        Ok(site)
    }

    /// Returns the agent's working folder.
    pub(crate) fn project(&self) -> PathBuf {
        self.root.join("project")
    }

    /// Returns the folder for `~` of the client, its tools and our hooks.
    pub(crate) fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    /// Returns the folder that stands for `/etc`, if one does.
    fn etc(&self) -> PathBuf {
        self.root.join("etc")
    }

    /// Makes a copy of `/etc` that programs see in its place.
    fn copy_etc(&mut self) -> Result<()> {
        let copied = Command::new("cp").args(["-a", "/etc"]).arg(self.etc()).output();
        // What this user cannot read, the client does not need.
        copied.context("cannot start `cp`")?;
        let mut trial = Command::new("unshare");
        trial.args(["--mount", "sh", "-c", WITH_OTHER_ETC]).arg(self.etc()).arg("true");
        let tried = trial.output().context("cannot start `unshare`: install it")?;
        let said = String::from_utf8_lossy(&tried.stderr).into_owned();
        ensure!(tried.status.success(), "another folder cannot stand for `/etc` here: {said}");
        self.has_own_etc = true;
        Ok(())
    }

    /// Returns the words that start a program, which sees the run's own `/etc` if there is one.
    fn words_of(&self, words: &[String]) -> Vec<String> {
        if !self.has_own_etc {
            return words.to_vec();
        }
        let etc = self.etc().to_string_lossy().into_owned();
        let before = ["unshare", "--mount", "sh", "-c", WITH_OTHER_ETC].map(str::to_owned);
        before.into_iter().chain([etc]).chain(words.iter().cloned()).collect()
    }

    /// Returns the same command, which sees the run's own `/etc` if there is one.
    fn enclose(&self, command: Command) -> Command {
        if !self.has_own_etc {
            return command;
        }
        let mut outer = Command::new("unshare");
        outer
            .args(["--mount", "sh", "-c", WITH_OTHER_ETC])
            .arg(self.etc())
            .arg(command.get_program())
            .args(command.get_args());
        outer.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        outer
    }

    fn config(&self) -> PathBuf {
        self.home().join(".config/portcullis")
    }

    /// Replaces the names of folders by their paths.
    pub(crate) fn fill(&self, text: &str) -> String {
        let folders =
            [("@project@", self.project()), ("@home@", self.home()), ("@etc@", self.etc())];
        folders.iter().fold(text.to_owned(), |text, (name, folder)| {
            text.replace(name, &folder.to_string_lossy())
        })
    }

    /// Sets the folder and the environment of a client, its tools and our hooks. The proxy is a
    /// closed port: without a network namespace, requests of tools still end there.
    fn surround(&self, command: &mut Command, client: &Path) {
        let nowhere = "http://127.0.0.1:9";
        let folder = client.parent().unwrap_or(client);
        let path = std::env::var("PATH").unwrap_or_else(|_| "/usr/local/bin:/usr/bin:/bin".into());
        command
            .current_dir(self.project())
            .env_clear()
            .env("PATH", format!("{}:{path}", folder.display()))
            .env("HOME", self.home())
            .env("TMPDIR", self.root.join("tmp"))
            .env("LANG", "C.UTF-8")
            .env("SHELL", "/bin/bash")
            .env("TERM", "dumb")
            .envs([("http_proxy", nowhere), ("https_proxy", nowhere)])
            .env("no_proxy", "127.0.0.1,localhost");
    }

    /// Does the same for the client itself, whose command has variables of its own.
    pub(crate) fn surround_client(&self, command: &mut Command, programs: &Programs) {
        let own: Vec<_> = command
            .get_envs()
            .filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())))
            .collect();
        self.surround(command, &programs.client);
        command.envs(own);
    }

    /// Runs one of our own commands; returns its output.
    pub(crate) fn own(&self, programs: &Programs, arguments: &[&str]) -> Result<String> {
        let mut command = Command::new(&programs.portcullis);
        command.args(arguments);
        let mut command = self.enclose(command);
        self.surround(&mut command, &programs.client);
        let log = self.root.join(arguments.first().unwrap_or(&"own"));
        let ended = process::run(command, &log, LIMIT)?;
        ensure!(
            ended.success,
            "`portcullis {}` failed: {}{}",
            arguments.join(" "),
            ended.stdout,
            ended.stderr.trim()
        );
        Ok(ended.stdout)
    }

    /// Returns every file of the client's folders that people write, with its bytes.
    fn client_files(&self, client: &ClientKind) -> Result<BTreeMap<PathBuf, Vec<u8>>> {
        let (mut open, mut found) = (vec![self.home().join(client.folder)], BTreeMap::new());
        if self.has_own_etc {
            open.extend(client.managed.map(|folder| self.etc().join(folder)));
        }
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(&folder).into_iter().flatten() {
                let path = entry?.path();
                if path.is_dir() && !path.is_symlink() {
                    open.push(path);
                } else if fs::metadata(&path)
                    .is_ok_and(|found| found.is_file() && found.len() <= LARGEST)
                {
                    found.insert(path.clone(), fs::read(&path)?);
                }
            }
        }
        Ok(found)
    }
}

/// Plays a case in `root`, which is kept if it fails.
pub(crate) fn play(
    client: &ClientKind,
    root: &Path,
    file: &Path,
    programs: &Programs,
) -> Result<()> {
    let mut site = Site::create(root)?;
    let case = Case::read(file, &site)?;
    if case.managed {
        site.copy_etc()?;
    }
    let compared = run(client, &site, &case, programs);
    compared.with_context(|| format!("all that the run left is in `{}`", root.display()))?;
    fs::remove_dir_all(root).with_context(|| format!("cannot remove `{}`", root.display()))
}

fn run(client: &ClientKind, site: &Site, case: &Case, programs: &Programs) -> Result<()> {
    for (path, text) in &case.files {
        write(path, text)?;
    }
    if !case.config.is_empty() {
        write(&site.config().join("config.toml"), &case.config)?;
    }
    let model = Model::start(client.wire, case)?;
    let url = model.url();
    (client.furnish)(site, &url)?;
    let before = site.client_files(client)?;
    let program = site.root.join("bin/portcullis");
    match &case.hook {
        None => {
            let scope = case.managed.then_some(MANAGED);
            let words: Vec<&str> =
                ["install", client.name, "--yes"].into_iter().chain(scope).collect();
            site.own(programs, &words)?;
        }
        Some(script) => {
            write(&program, "")?;
            fs::set_permissions(&program, Permissions::from_mode(0o755))?;
            let named = program.to_string_lossy();
            site.own(programs, &["install", client.name, "--yes", "--program", &named])?;
            let ours = programs.portcullis.display();
            write(&program, &format!("#!/bin/sh\nPORTCULLIS='{ours}'\n{script}\n"))?;
        }
    }
    let mut command = (client.command)(site, &programs.client, &case.prompt, &url);
    command.args(&case.arguments);
    let mut command = site.enclose(command);
    site.surround_client(&mut command, programs);
    let person = case.person.map(|person| sit_down(site, programs, person)).transpose()?;
    let ended = process::run(command, &site.root.join("client"), LIMIT);
    process::end_marked(&format!("HOME={}", site.home().display()));
    let conversation = model.finish()?;
    let requests = conversation.main.iter().chain(&conversation.subagents);
    let lines: String = requests.map(|request| format!("{request}\n")).collect();
    fs::write(site.root.join("requests.jsonl"), &lines)?;
    let ended = ended?;
    let mut wrong = Vec::new();
    if let Some(Ok(Err(problem))) = person.map(JoinHandle::join) {
        wrong.push(format!("the person: {problem:#}"));
    }
    if !ended.success {
        wrong.push(format!("the client ended with {:?}: {}", ended.code, ended.stderr.trim()));
    }
    if conversation.unplayed > 0 {
        wrong.push(format!("{} turns were not played", conversation.unplayed));
    }
    let results = (client.wire.tool_results)(&conversation.main);
    wrong.extend(compare_results(&case.expect.results, &results));
    wrong.extend(compare_offered(client, &case.expect, &conversation));
    let leaked = case.expect.hidden.iter().filter(|text| lines.contains(text.as_str()));
    wrong.extend(leaked.map(|text| format!("the model was told `{text}`")));
    wrong.extend(compare_files(case));
    wrong.extend(compare_journal(site, programs, &case.expect.journal)?);
    if let Some(expected) = &case.expect.replayed {
        wrong.extend(compare_replayed(client, site, programs, expected)?);
    }
    if let Some(problem) = case.expect.problem {
        let doctor = site.own(programs, &["doctor", "--agent", client.name]);
        if doctor.is_err() != problem {
            wrong.push(format!("`doctor`: {doctor:?}"));
        }
    }
    wrong.extend(compare_uninstalled(client, site, programs, &before)?);
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

fn compare_results(expected: &[Vec<String>], results: &[String]) -> Vec<String> {
    if expected.len() != results.len() {
        return vec![format!("the model was told of {} calls: {results:#?}", results.len())];
    }
    let mut wrong = Vec::new();
    for (index, (parts, text)) in expected.iter().zip(results).enumerate() {
        for part in parts.iter().filter(|part| !text.contains(part.as_str())) {
            wrong.push(format!("call {index} was told without `{part}`: {text}"));
        }
    }
    wrong
}

fn compare_offered(
    client: &ClientKind,
    expect: &Expect,
    conversation: &Conversation,
) -> Option<String> {
    let expected = expect.offered.as_ref()?;
    let offered = conversation.main.last().map(client.wire.offered_tools).unwrap_or_default();
    (offered != *expected).then(|| format!("the client offers the tools {}", json!(offered)))
}

fn compare_files(case: &Case) -> Vec<String> {
    let differs = |(path, expected): (&PathBuf, &Option<String>)| {
        let found = fs::read_to_string(path).ok();
        (found != *expected).then(|| format!("`{}` holds {found:?}", path.display()))
    };
    case.expect.files.iter().filter_map(differs).collect()
}

fn compare_journal(
    site: &Site,
    programs: &Programs,
    expected: &[Vec<String>],
) -> Result<Vec<String>> {
    site.own(programs, &["audit", "verify"])?;
    let mut found = Vec::new();
    for line in site.own(programs, &["audit", "show", "--json"])?.lines() {
        let record: Value = serde_json::from_str(line)?;
        let text =
            |name: &str| record.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        if matches!(text("kind").as_str(), "review" | "outcome" | "unreviewed" | "fault") {
            let mut words = vec![text("kind"), text("subject"), text("verdict")];
            words.extend(record.get("agent").map(|_| "subagent".to_owned()));
            found.push(words);
        }
    }
    found.sort();
    let mut wanted = expected.to_vec();
    wanted.sort();
    Ok(if found == wanted { Vec::new() } else { vec![format!("the journal holds {found:#?}")] })
}

/// Replays the session from what the client kept of it, or exports.
fn compare_replayed(
    client: &ClientKind,
    site: &Site,
    programs: &Programs,
    expected: &BTreeMap<String, u64>,
) -> Result<Option<String>> {
    let exported = site.root.join("exported.json");
    let shown = if client.exports {
        let mut command = Command::new("sh");
        let export =
            "\"$0\" export $(\"$0\" session list --format json | grep -o 'ses_[0-9A-Za-z]*')";
        command.args(["-c", export]).arg(&programs.client);
        site.surround_client(&mut command, programs);
        let ended = process::run(command, &site.root.join("export"), LIMIT)?;
        ensure!(ended.success, "the session is not exported: {}", ended.stderr.trim());
        write(&exported, &ended.stdout)?;
        site.own(programs, &["replay", "--json", &exported.to_string_lossy()])?
    } else {
        site.own(programs, &["replay", "--json", "--agent", client.name])?
    };
    let sums: Value = serde_json::from_str(shown.lines().next_back().unwrap_or_default())?;
    let counts = sums["verdicts"].as_object().into_iter().flatten();
    let counts = counts.filter_map(|(name, count)| Some((name.clone(), count.as_u64()?)));
    let found: BTreeMap<String, u64> = counts.collect();
    Ok((found != *expected).then(|| format!("`replay` counts {found:?}")))
}

/// Removes our hooks, and compares the client's files with those before the installation. The
/// client writes files of its own while it runs.
fn compare_uninstalled(
    client: &ClientKind,
    site: &Site,
    programs: &Programs,
    before: &BTreeMap<PathBuf, Vec<u8>>,
) -> Result<Vec<String>> {
    let hooks = |files: &BTreeMap<PathBuf, Vec<u8>>| {
        // As one line for a shell, or as an argument of its own.
        let ours = |bytes: &Vec<u8>| {
            let text = String::from_utf8_lossy(bytes);
            text.contains("portcullis hook") || text.contains("\"hook\"")
        };
        // A hook that is a file of its own has no ending.
        let installed = |path: &Path| {
            path.extension()
                .is_none_or(|end| ["json", "toml", "js"].iter().any(|known| end == *known))
        };
        let found = files.iter().filter(|(path, bytes)| installed(path) && ours(bytes));
        found.map(|(path, _)| path.clone()).collect::<Vec<_>>()
    };
    if hooks(&site.client_files(client)?).is_empty() {
        bail!("no file of the client has our hooks after the installation");
    }
    uninstall(client, site, programs)?;
    let after = site.client_files(client)?;
    let mut wrong: Vec<String> = hooks(&after)
        .iter()
        .map(|path| format!("`{}` still has our hooks", path.display()))
        .collect();
    for (path, bytes) in before {
        if after.get(path) != Some(bytes) {
            wrong.push(format!("`{}` is not as it was before", path.display()));
        }
    }
    Ok(wrong)
}

/// Starts the service and a person who looks at its page in a browser, where there is one. The
/// service ends with the run's other processes.
fn open_page(site: &Site, programs: &Programs) -> Result<JoinHandle<Result<()>>> {
    let browser = find_browser().context("there is no browser: install `chromium`")?;
    let packages = find_packages()?;
    let ours = programs.portcullis.to_string_lossy().into_owned();
    let words = |words: &[&str]| -> Vec<String> {
        std::iter::once(ours.clone()).chain(words.iter().map(|word| (*word).to_owned())).collect()
    };
    let mut choose = script(&words(&["approvals", "proof", "password", "--person", "ann"]));
    site.surround(&mut choose, &programs.client);
    let mut session = Session::start(choose)?;
    for question in ["nothing else", "The same again"] {
        session.await_text(question)?;
        session.type_keys(&format!("{PASSWORD}\n"))?;
    }
    session.await_end()?;
    let mut serve = Command::new(&programs.portcullis);
    serve.args(["serve", "--json", "--page-port", "0"]);
    site.surround(&mut serve, &programs.client);
    serve.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut service = serve.spawn()?;
    let mut line = String::new();
    let output = service.stdout.take().context("the service has no output")?;
    BufReader::new(output).read_line(&mut line)?;
    if line.is_empty() {
        let mut error = String::new();
        service.stderr.take().context("no errors")?.read_to_string(&mut error)?;
        bail!("the service did not start: {error}");
    }
    let said: Value = serde_json::from_str(&site.own(programs, &["open", "--json"])?)?;
    let task = json!({
        "profile": site.root.join("browser"),
        "scenario": "client",
        "link": said["link"],
        "password": PASSWORD,
    });
    let mut driven = Driven::start(&browser, &packages, task)?;
    driven.await_point("watching")?;
    Ok(thread::spawn(move || {
        let ended = driven.end();
        // It may have been ended with the others.
        let _ = service.kill();
        let _ = service.wait();
        ended
    }))
}

/// Starts a person who watches at a terminal. Their program ends with the run's other processes.
fn sit_down(site: &Site, programs: &Programs, person: Watching) -> Result<JoinHandle<Result<()>>> {
    if person == Watching::AllowsOnPage {
        return open_page(site, programs);
    }
    let words = [&*programs.portcullis.to_string_lossy(), "approvals", "watch"].map(str::to_owned);
    let mut script = script(&words);
    site.surround(&mut script, &programs.client);
    let mut session = Session::start(script)?;
    session.await_text("Watching")?;
    let act = move || -> Result<()> {
        if person == Watching::Allows {
            session.await_text("Type `")?;
            let word = session.await_text("`")?;
            session.type_keys(&format!("{}\n", word.trim_end_matches('`')))?;
            session.await_text("it runs now")?;
        }
        session.await_end().map(drop)
    };
    Ok(thread::spawn(act))
}

/// Removes our hooks as a person at a terminal, who types the requested word.
fn uninstall(client: &ClientKind, site: &Site, programs: &Programs) -> Result<()> {
    let ours = programs.portcullis.to_string_lossy().into_owned();
    let mut words = vec![ours, "uninstall".to_owned(), client.name.to_owned()];
    if site.has_own_etc {
        words.push(MANAGED.to_owned());
    }
    let mut script = script(&site.words_of(&words));
    site.surround(&mut script, &programs.client);
    let shown = converse(script, Answer::Word)?.text;
    ensure!(shown.contains("uninstalled"), "`portcullis uninstall` said `{}`", shown.trim());
    Ok(())
}

pub(crate) fn write(path: &Path, text: &str) -> Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)
            .with_context(|| format!("cannot make `{}`", folder.display()))?;
    }
    fs::write(path, text).with_context(|| format!("cannot write `{}`", path.display()))
}
