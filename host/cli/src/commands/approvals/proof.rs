//! `portcullis approvals proof`: the people who may allow on the page of the service, and what each
//! proves it with.

use crate::commands::open::{announce_link, find_link};
use crate::commands::serve::PASSKEY_OF;
use crate::error::{Error, Result};
use crate::exit::CommandExit;
use crate::password_prompt::read_password;
use crate::{interactive, paint};
use portcullis_config::clock::now_ms;
use portcullis_config::paths::Paths;
use portcullis_store::Home;
use portcullis_web::people::{Approvers, Proof, check_name};
use portcullis_web::proof::{ProofContext, Prover};
use serde_json::json;
use std::env;

/// The name of a person whose user name cannot be one.
const SOMEBODY: &str = "approver";

#[derive(clap::Args)]
pub struct Arguments {
    /// The proof to set up; without it, those that are set up are shown
    kind: Option<Kind>,
    /// The person whose proof it is: your user name by default
    #[arg(long, value_name = "NAME")]
    person: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Kind {
    /// A code of an authenticator, new every 30 seconds
    Code,
    /// A password
    Password,
    /// A passkey: a key on a device that checks who its user is. The service has to run
    Passkey,
    /// A click: a program that runs as you could give it, too
    Click,
    /// None: with `--person` this person can no longer allow, without it nobody can
    None,
}

pub(super) fn run_proof(arguments: &Arguments) -> Result<CommandExit> {
    let places = Paths::from_environment()?;
    let home = Home::open_root(&places.state)?;
    let Some(kind) = arguments.kind else { return show(&home, arguments.json) };
    interactive::refuse_agents()?;
    let name = arguments.person.clone().unwrap_or_else(default_name);
    check_name(&name).map_err(|error| Error::invalid(format!("{error:#}")))?;
    let mut approvers = Approvers::read(&home)?;
    let change = match kind {
        Kind::Code => {
            approvers.add_proof(&name, new_code(&name)?)?;
            format!("{name} set up a code")
        }
        Kind::Password => {
            approvers.add_proof(&name, new_password()?)?;
            format!("{name} set up a password")
        }
        Kind::Passkey => return set_up_passkey(&places, &name, arguments.json),
        Kind::Click => {
            interactive::confirm_action(
                "Let the page allow actions with a click? A program that runs as you, and an agent \
                 that evades the review, could click as well.",
            )?;
            approvers.click = true;
            "a click is enough".to_owned()
        }
        Kind::None => remove(&mut approvers, arguments.person.as_deref())?,
    };
    approvers.write(&home, &change)?;
    show(&home, arguments.json)
}

fn default_name() -> String {
    env::var("USER").ok().filter(|name| check_name(name).is_ok()).unwrap_or_else(|| SOMEBODY.into())
}

fn new_code(name: &str) -> Result<Proof> {
    let proof = Proof::new_code()?;
    let url = proof.authenticator_url(name).unwrap_or_default();
    interactive::confirm_action(&format!(
        "Add this to your authenticator, on another device than this one if you can:\n\n  {url}\n\n\
         It is shown once. A code that {name} had before counts no more."
    ))?;
    let code = read_password("The code that it shows")?;
    let mut alone = Approvers::default();
    alone.add_proof(name, proof.clone())?;
    let context = ProofContext { domain: "", origin: "", purpose: "", now: now_ms() / 1000 };
    if Prover::default().check(&alone, &code, context)?.is_some() {
        return Ok(proof);
    }
    Err(Error::invalid("this is not the code of that secret: nothing was changed")
        .with_hint("check the clocks of both devices, and start again"))
}

fn new_password() -> Result<Proof> {
    let password = read_password("A password that is used for nothing else")?;
    let proof = Proof::new_password(&password)?;
    if read_password("The same again")? != password {
        return Err(Error::invalid("these are two passwords: nothing was changed"));
    }
    Ok(proof)
}

/// Prints a link with which the person's browser makes the passkey.
fn set_up_passkey(places: &Paths, name: &str, as_json: bool) -> Result<CommandExit> {
    interactive::confirm_action(&format!(
        "Set up a passkey for {name}? Whoever opens the link within a minute can."
    ))?;
    let link = find_link(places, &format!("{PASSKEY_OF}{name}"))?;
    announce_link(&link, &json!({ "link": link, "person": name }), as_json, as_json);
    Ok(CommandExit::Success)
}

fn remove(approvers: &mut Approvers, person: Option<&str>) -> Result<String> {
    let Some(name) = person else {
        interactive::confirm_action("Let the page allow nothing any more?")?;
        *approvers = Approvers::default();
        return Ok("nobody can allow on the page".to_owned());
    };
    interactive::confirm_action(&format!("Let {name} allow nothing on the page any more?"))?;
    if !approvers.remove_person(name) {
        return Err(Error::not_found(format!("there is no approver `{name}`"))
            .with_hint("`portcullis approvals proof` lists them"));
    }
    Ok(format!("{name} can allow nothing on the page any more"))
}

fn show(home: &Home, as_json: bool) -> Result<CommandExit> {
    let approvers = Approvers::read(home)?;
    let kinds = |proofs: &[Proof]| proofs.iter().map(Proof::kind).collect::<Vec<_>>();
    if as_json {
        let people: Vec<_> = approvers
            .people
            .iter()
            .map(|person| json!({ "name": person.name, "proofs": kinds(&person.proofs) }))
            .collect();
        let document = json!({ "click": approvers.click, "people": people });
        paint::print_text(&format!("{document}\n"));
        return Ok(CommandExit::Success);
    }
    if approvers.is_empty() {
        paint::print_text("The page can deny, and allows nothing: nobody has set up a proof.\n");
    }
    for person in &approvers.people {
        paint::print_text(&format!("{}: {}\n", person.name, kinds(&person.proofs).join(", ")));
    }
    if approvers.click {
        paint::print_text("A click is enough, which proves nothing.\n");
    }
    Ok(CommandExit::Success)
}
