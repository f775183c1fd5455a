//! `portcullis mcp wrap` and `unwrap`: the gateway in front of the servers of a client's
//! configuration.
//!
//! The text of each changed entry is kept, sealed, so that it comes back byte for byte, whatever
//! else changes in the file meanwhile.

use crate::error::{Context, Error, Result};
use crate::exit::CommandExit;
use crate::recorded_action::record_action;
use crate::{differ, interactive, paint};
use portcullis_agents::file::{SettingsFile, read_settings};
use portcullis_agents::json::{JsonDocument, JsonSyntax};
use portcullis_agents::mcp_servers::{FILES, McpFile, find_servers, list_clients, mask_servers};
use portcullis_config::clock::now_ms;
use portcullis_config::paths::{PathOverrides, Paths, own_program};
use portcullis_core::text::one_line;
use portcullis_fs::SealedDocument;
use portcullis_store::Home;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The most bytes of a client's file.
const MOST_FILE: u64 = 64 << 20;
/// The most bytes of the kept entries of a file.
const MOST_KEPT: u64 = 16 << 20;
/// The purpose of the key of the kept entries.
const PURPOSE: &str = "portcullis 2026 mcp wrapped servers";
/// The folder of the kept entries in the state folder, and the end of their names.
const KEPT: &str = "mcp";
const WRAPPED: &str = "wrapped";
/// The mode of a file that somebody removed meanwhile.
const MODE: u32 = 0o600;

#[derive(clap::Args)]
pub struct Arguments {
    /// The client whose servers are meant
    #[arg(value_parser = clap::builder::PossibleValuesParser::new(list_clients()), required_unless_present = "file")]
    client: Option<String>,
    /// Another file with `mcpServers`, in place of the client's
    #[arg(long, conflicts_with = "client")]
    file: Option<PathBuf>,
    /// Show the changes and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The entries that were changed in one file.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KeptEntries {
    /// The file.
    file: PathBuf,
    /// By its place, each entry as it was and as it was written.
    entries: BTreeMap<String, KeptEntry>,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KeptEntry {
    before: String,
    after: Value,
}

/// The direction of a change.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Wrap,
    Unwrap,
}

impl Direction {
    /// Returns the word for a server after the change.
    const fn done(self) -> &'static str {
        match self {
            Self::Wrap => "wrapped",
            Self::Unwrap => "unwrapped",
        }
    }

    /// Returns the sentence that a person confirms.
    const fn end(self) -> &'static str {
        match self {
            Self::Wrap => "Portcullis will review the calls to these servers.",
            Self::Unwrap => "Portcullis will no longer review the calls to these servers.",
        }
    }
}

/// A server that the gateway cannot stand in front of.
#[derive(Serialize)]
struct LeftServer {
    server: String,
    file: PathBuf,
    reason: &'static str,
}

/// The change of one file.
struct FileChange {
    file: SettingsFile,
    after: JsonDocument,
    kept: KeptEntries,
    /// The names of the changed servers.
    servers: Vec<String>,
    /// Both documents without credentials; `None` if that cannot be.
    shown: Option<[JsonDocument; 2]>,
}

pub fn run_wrap(arguments: &Arguments) -> Result<CommandExit> {
    change_files(arguments, Direction::Wrap)
}

pub fn run_unwrap(arguments: &Arguments) -> Result<CommandExit> {
    change_files(arguments, Direction::Unwrap)
}

fn change_files(arguments: &Arguments, direction: Direction) -> Result<CommandExit> {
    if !arguments.dry_run {
        interactive::refuse_agents()?;
    }
    let places = Paths::from_environment()?;
    let home = Home::open_root(&places.state)?;
    let gateway = gateway_command()?;
    let mut changes = Vec::new();
    let mut left = Vec::new();
    for (path, form) in files(arguments, &places)? {
        let file = read_settings(&path, MOST_FILE)?;
        if file.bytes.is_some() {
            let change = FileChange::find(file, form, &home, &gateway, direction, &mut left)?;
            changes.extend(change);
        }
    }
    let difference: String = changes.iter().map(FileChange::format).collect();
    if !arguments.json {
        print_plan(&left, &difference);
    }
    let files: Vec<Value> = changes.iter().map(FileChange::to_json).collect();
    let writes = !changes.is_empty() && !arguments.dry_run;
    if writes {
        // Only what protects less needs a person at a terminal.
        if direction == Direction::Unwrap || !arguments.yes {
            let shown = if arguments.json { difference.as_str() } else { "" };
            interactive::confirm_action(&format!("{shown}{}", direction.end()))?;
        }
        for change in changes {
            change.write(&places, &home, direction, arguments.json)?;
        }
    }
    if arguments.json {
        let report = json!({ "changed": writes, "files": files, "left": left });
        paint::print_text(&format!("{report}\n"));
    }
    Ok(CommandExit::Success)
}

/// The changes that put back every server that this home wrapped, whichever client's it is.
pub struct WrappedServers(Vec<FileChange>);

impl WrappedServers {
    /// Finds them by the entries that are kept. A file that is gone has none.
    ///
    /// # Errors
    /// Fails if a file or what is kept of it cannot be read.
    pub fn plan_unwrapping(places: &Paths, home: &Home) -> Result<Self> {
        let folder = home.path().join(KEPT);
        let gateway = gateway_command()?;
        let (mut changes, mut left) = (Vec::new(), Vec::new());
        let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        for path in entries.map(|entry| entry.path()) {
            if path.extension().is_none_or(|end| end != WRAPPED) {
                continue;
            }
            let document = SealedDocument::new(path, home.derive_key(PURPOSE), MOST_KEPT);
            let kept = document.read_content::<KeptEntries>().map_err(|error| {
                Error::invalid(format!("cannot use `{}`: {error}", document.path().display()))
            })?;
            let Some(kept) = kept else { continue };
            let file = read_settings(&kept.file, MOST_FILE)?;
            if file.bytes.is_some() {
                let form = find_form(&kept.file, places);
                let direction = Direction::Unwrap;
                changes.extend(FileChange::find(file, form, home, &gateway, direction, &mut left)?);
            }
        }
        Ok(Self(changes))
    }

    /// Names the files that change.
    pub fn name_files(&self) -> Vec<String> {
        let name = |change: &FileChange| one_line(&change.file.path.display().to_string(), 400);
        self.0.iter().map(name).collect()
    }

    /// Writes the files.
    ///
    /// # Errors
    /// Fails if one cannot be written.
    pub fn put_back(self, places: &Paths, home: &Home, as_json: bool) -> Result<()> {
        let mut changes = self.0.into_iter();
        changes.try_for_each(|change| change.write(places, home, Direction::Unwrap, as_json))
    }
}

/// Returns the form of a file in any project.
fn find_form(file: &Path, places: &Paths) -> ServerForm {
    let person = Path::new(&places.person);
    let fits = |known: &&McpFile| {
        known.find_path(person, Path::new("/")) == file
            || (known.of_project && file.ends_with(known.path))
    };
    FILES.iter().find(fits).map_or(NAMED_FILE, form_of)
}

fn print_plan(left: &[LeftServer], difference: &str) {
    for server in left {
        let file = one_line(&server.file.display().to_string(), 400);
        let name = one_line(&server.server, 128);
        paint::print_text(&format!("left as it is: {name} in `{file}`: {}\n", server.reason));
    }
    let nothing = "there is nothing to change\n";
    paint::print_text(if difference.is_empty() { nothing } else { difference });
}

/// Returns our program with the options that name its folders.
fn gateway_command() -> Result<Vec<String>> {
    let program = own_program().context("cannot find this program")?;
    let words = std::iter::once(program.into_os_string()).chain(PathOverrides::held_arguments());
    words
        .map(|word| word.into_string().map_err(|_| Error::invalid("a path is not UTF-8")))
        .collect()
}

/// The form of a file: the places of servers in it, and the form of JSON.
#[derive(Clone, Copy)]
struct ServerForm {
    places: &'static [&'static str],
    syntax: JsonSyntax,
    older_addresses: &'static [&'static str],
}

/// Returns the files that are meant, each with its form.
fn files(arguments: &Arguments, places: &Paths) -> Result<Vec<(PathBuf, ServerForm)>> {
    if let Some(file) = &arguments.file {
        let path = std::path::absolute(file).context("cannot find the file")?;
        if !path.exists() {
            let shown = one_line(&path.display().to_string(), 400);
            return Err(Error::not_found(format!("there is no `{shown}`")));
        }
        return Ok(vec![(path, NAMED_FILE)]);
    }
    let project = std::env::current_dir().context("cannot determine the current folder")?;
    let of_client = |file: &&McpFile| arguments.client.as_deref() == Some(file.client);
    let person = Path::new(&places.person);
    let found = FILES.iter().filter(of_client);
    Ok(found.map(|file| (file.find_path(person, &project), form_of(file))).collect())
}

/// The form of a file that a person names.
const NAMED_FILE: ServerForm =
    ServerForm { places: &["/mcpServers"], syntax: JsonSyntax::Strict, older_addresses: &[] };

fn form_of(file: &McpFile) -> ServerForm {
    let McpFile { places, syntax, older_addresses, .. } = *file;
    ServerForm { places, syntax, older_addresses }
}

impl FileChange {
    /// Finds the change of a file; `None` if there is none. Servers that cannot be changed are
    /// added to `left`.
    fn find(
        file: SettingsFile,
        form: ServerForm,
        home: &Home,
        gateway: &[String],
        direction: Direction,
        left: &mut Vec<LeftServer>,
    ) -> Result<Option<Self>> {
        let shown = one_line(&file.path.display().to_string(), 400);
        let bytes = file.bytes.as_deref().unwrap_or_default();
        let before = JsonDocument::parse_syntax(bytes, form.syntax).map_err(|error| {
            Error::invalid(format!("`{shown}`, {}: {}", error.place, error.what))
        })?;
        let servers = find_servers(&before, form.places);
        let repeated = before.repeated();
        // Of members with one name, a pointer reaches only the last.
        if let Some(name) = repeated
            .iter()
            .find(|name| servers.iter().any(|server| server.pointer.starts_with(name.as_str())))
        {
            return Err(Error::invalid(format!(
                "`{shown}` has `{}` twice: remove one of them",
                one_line(name, 200)
            )));
        }
        let document = kept_document(home, &file.path);
        let kept = document.read_content::<KeptEntries>().map_err(|error| {
            Error::invalid(format!("cannot use `{}`: {error}", document.path().display()))
                .with_hint("move it away: the servers are then restored from their commands")
        })?;
        let mut kept = kept
            .unwrap_or_else(|| KeptEntries { file: file.path.clone(), entries: BTreeMap::new() });
        let mut after = before.clone();
        let mut names = Vec::new();
        for server in servers {
            let name = format!("{} in `{shown}`", one_line(&server.name, 128));
            let changed = match direction {
                Direction::Wrap if server.is_wrapped() => continue,
                Direction::Wrap => {
                    let entry = match server.wrapped_entry(gateway, form.older_addresses) {
                        Ok(entry) => entry,
                        Err(reason) => {
                            let (server, file) = (server.name.clone(), file.path.clone());
                            left.push(LeftServer { server, file, reason });
                            continue;
                        }
                    };
                    let text = before.find_text(&server.pointer).unwrap_or_default().to_owned();
                    let changed = after.replace_value(&server.pointer, &entry);
                    kept.entries
                        .insert(server.pointer.clone(), KeptEntry { before: text, after: entry });
                    changed
                }
                Direction::Unwrap => {
                    let kept = kept.entries.remove(&server.pointer);
                    let read = |kept: &KeptEntry| {
                        JsonDocument::parse_syntax(kept.before.as_bytes(), form.syntax).ok()
                    };
                    let document = kept.as_ref().and_then(read);
                    let as_it_was = document.as_ref().map(JsonDocument::value);
                    let Some(entry) = server.unwrapped_entry(as_it_was) else { continue };
                    match kept.filter(|kept| kept.after == server.entry) {
                        Some(kept) => after.replace_text(&server.pointer, &kept.before),
                        // Somebody changed it meanwhile.
                        None => after.replace_value(&server.pointer, &entry),
                    }
                }
            };
            after = changed.map_err(|error| {
                Error::invalid(format!("cannot change {name}: {}: {}", error.place, error.what))
            })?;
            names.push(one_line(&server.name, 128));
        }
        if names.is_empty() {
            return Ok(None);
        }
        file.check_writable()?;
        let mask = |document| mask_servers(document, &find_servers(document, form.places));
        let shown = mask(&before).and_then(|before| Some([before, mask(&after)?]));
        Ok(Some(Self { file, after, kept, servers: names, shown }))
    }

    fn format(&self) -> String {
        let path = one_line(&self.file.path.display().to_string(), 400);
        let Some(shown) = &self.shown else {
            let names = one_line(&self.servers.join(", "), 400);
            return format!("the change of `{path}` cannot be shown without secrets: {names}\n");
        };
        let [before, after] =
            shown.each_ref().map(|shown| String::from_utf8_lossy(&shown.bytes()).into_owned());
        differ::painted_diff(&before, &after, &path, &path)
    }

    fn to_json(&self) -> Value {
        json!({ "file": self.file.path, "servers": self.servers })
    }

    fn write(self, places: &Paths, home: &Home, direction: Direction, as_json: bool) -> Result<()> {
        let path = one_line(&self.file.path.display().to_string(), 400);
        let document = kept_document(home, &self.file.path);
        let save = |kept: &KeptEntries| {
            document.write_content(kept).map_err(|error| {
                Error::io(format!("cannot write `{}`: {error}", document.path().display()))
            })
        };
        // The kept entries must exist as long as the wrapped ones are in the file.
        if direction == Direction::Wrap {
            save(&self.kept)?;
        }
        self.file.replace_content(&self.after.bytes(), MODE)?;
        if self.kept.entries.is_empty() {
            document.remove().context("cannot remove the kept entries")?;
        } else if direction == Direction::Unwrap {
            save(&self.kept)?;
        }
        let (verb, names) = (direction.done(), one_line(&self.servers.join(", "), 400));
        let summary = format!("a person {verb} the servers {names} in `{path}`");
        // The person sees the change even if it cannot be recorded.
        let _written = record_action(places, home, "mcp-wrap", &summary, now_ms());
        if !as_json {
            paint::print_text(&format!("{verb} in `{path}`: {names}\n"));
        }
        Ok(())
    }
}

fn kept_document(home: &Home, file: &Path) -> SealedDocument {
    let name = blake3::hash(file.as_os_str().as_encoded_bytes()).to_hex();
    let name = format!("{}.{WRAPPED}", name.get(..32).unwrap_or_default());
    SealedDocument::new(home.path().join(KEPT).join(name), home.derive_key(PURPOSE), MOST_KEPT)
}
