//! The commands about the hub's own people.

use crate::audit::{Act, NewEntry};
use crate::database::Database;
use crate::folder::{HubConfig, read_config};
use crate::operator::Operator;
use crate::output::time;
use crate::page_address::PageAddress;
use crate::passkeys::{list_passkeys, to_toml};
use crate::people::{
    MOST_NAME, PersonSummary, add_person, change_role, end_all_sessions, is_name, list_people,
    make_link, remove_person,
};
use crate::process::{explain_failure, start_runtime};
use anyhow::{Result, anyhow, bail};
use portcullis_core::known_failure::{HintedFailure, KnownFailure};
use portcullis_core::text::{count_noun, one_line};
use portcullis_fleet::hub_command::{
    AddUserArguments, LinkArguments, ListArguments, PasskeysArguments, RoleArguments,
    UserArguments, UserCommand,
};
use portcullis_served::Role;
use portcullis_terminal::paint;
use serde_json::json;
use std::path::Path;

/// The indent of what the list says below a person.
const INDENT: usize = 4;

/// Runs a command about people.
pub fn run_user(command: &UserCommand) -> Result<()> {
    match command {
        UserCommand::Add(arguments) => add(arguments),
        UserCommand::Link(arguments) => link(arguments),
        UserCommand::List(arguments) => list(arguments),
        UserCommand::Role(arguments) => role(arguments),
        UserCommand::SignOut(arguments) => sign_out(arguments),
        UserCommand::Remove(arguments) => remove(arguments),
        UserCommand::Passkeys(arguments) => passkeys(arguments),
    }
}

/// The database and the person of a command.
struct Desk {
    config: HubConfig,
    database: Database,
    operator: Operator,
}

impl Desk {
    fn of_folder(folder: &Path) -> Result<Self> {
        let config = read_config(folder)?;
        let database = Database::configure(&config)?;
        Ok(Self { database, operator: Operator::of_folder(folder)?, config })
    }

    /// Returns the address of the page, which a link begins with.
    fn page(&self) -> Result<PageAddress> {
        self.config.page_address()?.ok_or_else(|| {
            anyhow!(HintedFailure::new(
                "this hub serves no page",
                "set `page = \"ADDRESS:PORT\"` in its `hub.toml`, and start its replicas again",
            ))
        })
    }
}

fn add(arguments: &AddUserArguments) -> Result<()> {
    let AddUserArguments { name, folder, role, lifetime, json } = arguments;
    let desk = Desk::of_folder(folder)?;
    let page = desk.page()?;
    if !is_name(name) {
        bail!(
            "a name has 1 to {MOST_NAME} of the characters a-z, A-Z, 0-9, `.`, `_`, `@`, `+`, `-`"
        );
    }
    let role = parse_role(role)?;
    let made = start_runtime()?.block_on(async {
        desk.database.prepare_tables().await?;
        let adding = async {
            let mut client = desk.database.connect().await?;
            let transaction = client.transaction().await?;
            let by = desk.operator.name();
            let Some(code) = add_person(&transaction, name, role, by, *lifetime).await? else {
                return Ok(None);
            };
            let entry = NewEntry::of_act(Act::AddUser, name).with_detail("role", role.as_str());
            desk.operator.record(&transaction, entry).await?;
            transaction.commit().await?;
            Ok(Some(code))
        };
        adding.await.map_err(explain_failure)
    })?;
    let Some(code) = made else {
        bail!(HintedFailure::new(
            format!("there is a person `{name}` already"),
            "`portcullis hub user link` makes another link, `hub user role` changes the role",
        ));
    };
    print_link(&page, name, &code, role.as_str(), *json);
    Ok(())
}

fn link(arguments: &LinkArguments) -> Result<()> {
    let LinkArguments { name, folder, lifetime, json } = arguments;
    let desk = Desk::of_folder(folder)?;
    let page = desk.page()?;
    let made = start_runtime()?.block_on(async {
        let mut client = desk.database.connect().await?;
        let transaction = client.transaction().await?;
        let Some(code) = make_link(&transaction, name, *lifetime).await? else { return Ok(None) };
        desk.operator.record(&transaction, NewEntry::of_act(Act::MakeLink, name)).await?;
        transaction.commit().await?;
        Ok(Some(code))
    });
    let Some(code) = made.map_err(explain_failure)? else { return Err(no_person(name)) };
    print_link(&page, name, &code, "", *json);
    Ok(())
}

fn role(arguments: &RoleArguments) -> Result<()> {
    let RoleArguments { name, role, folder, json } = arguments;
    let desk = Desk::of_folder(folder)?;
    let role = parse_role(role)?;
    let changed = start_runtime()?.block_on(async {
        let mut client = desk.database.connect().await?;
        let transaction = client.transaction().await?;
        let Some(before) = change_role(&transaction, name, role).await? else { return Ok(None) };
        let entry = NewEntry::of_act(Act::ChangeRole, name)
            .with_detail("from", before.as_str())
            .with_detail("to", role.as_str());
        desk.operator.record(&transaction, entry).await?;
        transaction.commit().await?;
        Ok(Some(before))
    });
    let Some(before) = changed.map_err(explain_failure)? else { return Err(no_person(name)) };
    let text = if *json {
        json!({ "person": name, "role": role.as_str(), "before": before }).to_string()
    } else {
        format!("{name} was {before} and is {} now, from the next request on", role.as_str())
    };
    paint::print_text(&format!("{text}\n"));
    Ok(())
}

fn sign_out(arguments: &UserArguments) -> Result<()> {
    let UserArguments { name, folder, json } = arguments;
    let desk = Desk::of_folder(folder)?;
    let ended = start_runtime()?.block_on(async {
        let mut client = desk.database.connect().await?;
        let transaction = client.transaction().await?;
        let known = "SELECT FROM people WHERE person = $1 FOR UPDATE";
        if transaction.query_opt(known, &[name]).await?.is_none() {
            return Ok(None);
        }
        let ended = end_all_sessions(&transaction, name).await?;
        let entry = NewEntry::of_act(Act::EndSessions, name).with_detail("browsers", ended);
        desk.operator.record(&transaction, entry).await?;
        transaction.commit().await?;
        Ok(Some(ended))
    });
    let Some(ended) = ended.map_err(explain_failure)? else { return Err(no_person(name)) };
    let text = if *json {
        json!({ "person": name, "signed_out": ended }).to_string()
    } else {
        format!("signed {} of {name} out", count_noun(ended, "browser"))
    };
    paint::print_text(&format!("{text}\n"));
    Ok(())
}

fn remove(arguments: &UserArguments) -> Result<()> {
    let UserArguments { name, folder, json } = arguments;
    let desk = Desk::of_folder(folder)?;
    let removed = start_runtime()?.block_on(async {
        let mut client = desk.database.connect().await?;
        let transaction = client.transaction().await?;
        if !remove_person(&transaction, name).await? {
            return Ok(false);
        }
        desk.operator.record(&transaction, NewEntry::of_act(Act::RemoveUser, name)).await?;
        transaction.commit().await?;
        Ok(true)
    });
    if !removed.map_err(explain_failure)? {
        return Err(no_person(name));
    }
    let text = if *json {
        json!({ "person": name, "removed": true }).to_string()
    } else {
        format!("removed {name}: their browsers are signed out with the next request")
    };
    paint::print_text(&format!("{text}\n"));
    Ok(())
}

fn list(arguments: &ListArguments) -> Result<()> {
    let database = Database::configure(&read_config(&arguments.folder)?)?;
    let people = start_runtime()?.block_on(list_people(&database)).map_err(explain_failure)?;
    if arguments.json {
        paint::print_text(&format!("{}\n", json!({ "users": people })));
        return Ok(());
    }
    if people.is_empty() {
        paint::print_text(
            "nobody may see the hub's pages: `portcullis hub user add` adds a person\n",
        );
    }
    people.iter().for_each(print_person);
    Ok(())
}

fn passkeys(arguments: &PasskeysArguments) -> Result<()> {
    let database = Database::configure(&read_config(&arguments.folder)?)?;
    let name = arguments.name.as_deref().unwrap_or_default();
    let found = start_runtime()?.block_on(async {
        let client = database.connect().await?;
        list_passkeys(&client, name).await
    });
    let passkeys = found.map_err(explain_failure)?;
    if arguments.json {
        paint::print_text(&format!("{}\n", json!({ "passkeys": passkeys })));
        return Ok(());
    }
    if passkeys.is_empty() {
        paint::print_text("nobody enrolled a passkey: approvers do, on the hub's page\n");
        return Ok(());
    }
    crate::report_line(
        "compare each fingerprint with the person, in another way than by this hub, before you sign \
         it into orders",
    );
    for kept in &passkeys {
        let named = match kept.groups.as_slice() {
            [] => "in no orders".to_owned(),
            groups => format!("in the newest orders of {}", one_line(&groups.join(", "), 400)),
        };
        let shown = to_toml(kept).unwrap_or_else(|problem| {
            format!("# what the database holds cannot be used: {}\n", one_line(&problem, 200))
        });
        let line = format!(
            "# {}, added {} UTC, {named}\n{shown}\n",
            one_line(&kept.person, MOST_NAME),
            time(kept.added_at),
        );
        paint::print_text(&line);
    }
    Ok(())
}

fn print_person(person: &PersonSummary) {
    let name = one_line(&person.person, MOST_NAME);
    let disabled = if person.is_disabled { ", disabled" } else { "" };
    paint::print_text(&format!("{}  {}{disabled}\n", paint::bold(name), person.role));
    let seen = match person.seen_at {
        Some(at) => format!("signed in {} UTC", time(at)),
        None => "has not signed in yet".to_owned(),
    };
    let line = format!(
        "{:INDENT$}{seen}, {} signed in; added {} UTC by {}\n",
        "",
        count_noun(person.sessions.unsigned_abs(), "browser"),
        time(person.added_at),
        one_line(&person.added_by, MOST_NAME),
    );
    paint::print_wrapped(&line, INDENT);
}

fn print_link(page: &PageAddress, name: &str, code: &str, role: &str, as_json: bool) {
    // The part after `#` is sent to no server, and stands in no log.
    let link = format!("{}/sign-in#{code}", page.door.origin);
    if as_json {
        let role = Some(role).filter(|role| !role.is_empty());
        paint::print_text(&format!("{}\n", json!({ "person": name, "role": role, "link": link })));
        return;
    }
    crate::report_line(&format!(
        "the link signs one browser of {name} in, once; give it to nobody else"
    ));
    paint::print_text(&format!("{link}\n"));
}

fn parse_role(name: &str) -> Result<Role> {
    Role::from_name(name).ok_or_else(|| anyhow!("there is no role `{}`", one_line(name, 32)))
}

fn no_person(name: &str) -> anyhow::Error {
    let shown = one_line(name, MOST_NAME);
    let missing = KnownFailure::NotFound(format!("there is no person `{shown}` to change"));
    let hint = "`portcullis hub user list` lists them; a provider's people are changed there";
    anyhow!(HintedFailure::new(missing.to_string(), hint)).context(missing)
}
