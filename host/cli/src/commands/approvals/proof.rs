//! `portcullis approvals proof`: the proof that a person answers on the page of the service.

use crate::error::{Error, Result};
use crate::exit::CommandExit;
use crate::password_prompt::read_password;
use crate::{interactive, paint};
use portcullis_config::clock::now_ms;
use portcullis_config::paths::Paths;
use portcullis_store::Home;
use portcullis_web::proof::{ProofSettings, Prover};
use serde_json::json;
use std::env;

#[derive(clap::Args)]
pub struct Arguments {
    /// The proof to choose; without it, the chosen one is shown
    kind: Option<Kind>,
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
    /// A click: a program that runs as you could give it, too
    Click,
    /// None: the page allows nothing
    None,
}

pub(super) fn run_proof(arguments: &Arguments) -> Result<CommandExit> {
    let home = Home::open_root(&Paths::from_environment()?.state)?;
    let Some(kind) = arguments.kind else { return show(&home, arguments.json) };
    interactive::refuse_agents()?;
    let settings = match kind {
        Kind::Code => new_code()?,
        Kind::Password => new_password()?,
        Kind::Click => {
            interactive::confirm_action(
                "Let the page allow actions with a click? A program that runs as you, and an agent \
                 that evades the review, could click as well.",
            )?;
            ProofSettings::Click
        }
        Kind::None => {
            interactive::confirm_action("Let the page allow nothing any more?")?;
            ProofSettings::Missing
        }
    };
    settings.write(&home)?;
    show(&home, arguments.json)
}

fn new_code() -> Result<ProofSettings> {
    let settings = ProofSettings::new_code()?;
    let account = env::var("USER").unwrap_or_default();
    let url = settings.authenticator_url(&account).unwrap_or_default();
    interactive::confirm_action(&format!(
        "Add this to your authenticator, on another device than this one if you can:\n\n  {url}\n\n\
         It is shown once. A secret that was chosen before counts no more."
    ))?;
    let code = read_password("The code that it shows")?;
    if Prover::default().check(&settings, &code, now_ms() / 1000)? {
        return Ok(settings);
    }
    Err(Error::invalid("this is not the code of that secret: nothing was changed")
        .with_hint("check the clocks of both devices, and start again"))
}

fn new_password() -> Result<ProofSettings> {
    let password = read_password("A password that is used for nothing else")?;
    let settings = ProofSettings::new_password(&password)?;
    if read_password("The same again")? != password {
        return Err(Error::invalid("these are two passwords: nothing was changed"));
    }
    Ok(settings)
}

fn show(home: &Home, as_json: bool) -> Result<CommandExit> {
    let (name, meaning) = match ProofSettings::read(home)? {
        ProofSettings::Missing => ("none", "the page can deny, and allows nothing"),
        ProofSettings::Code { .. } => ("code", "a code of an authenticator"),
        ProofSettings::Password { .. } => ("password", "a password"),
        ProofSettings::Click => ("click", "a click, which proves nothing"),
    };
    let text = match as_json {
        true => json!({ "proof": name }).to_string(),
        false => format!("Allowing on the page needs: {meaning}."),
    };
    paint::print_text(&format!("{text}\n"));
    Ok(CommandExit::Success)
}
