//! `portcullis incident list`.

use super::CommandContext;
use crate::error::Result;
use crate::exit::CommandExit;
use crate::paint;
use portcullis_config::clock::now_ms;
use portcullis_core::text::one_line;
use portcullis_review::incidents::{self, IncidentStatus};
use serde_json::json;

#[derive(clap::Args)]
pub struct Arguments {
    /// Print JSON, one object per line
    #[arg(long)]
    json: bool,
}

pub fn run_list(arguments: &Arguments) -> Result<CommandExit> {
    let context = CommandContext::open()?;
    let known = incidents::list_incidents(
        &context.store,
        &context.home,
        context.incidents().kept_days,
        now_ms(),
    )?;
    for incident in &known.incidents {
        let standing = incidents::incident_status(&context.store, &context.home, incident)?;
        let issue = &incident.state.issue;
        if arguments.json {
            let document = json!({
                "id": incident.id,
                "at": incident.at,
                "session": incident.session,
                "issue": issue.name,
                "severity": issue.severity,
                "summary": issue.summary,
                "standing": standing.as_str(),
            });
            paint::print_text(&format!("{document}\n"));
            continue;
        }
        let mark = format!("{:11}", standing.as_str());
        let mark =
            if standing == IncidentStatus::Stopped { paint::bad(mark) } else { paint::dim(mark) };
        let what = one_line(&format!("{}: {}", issue.name, issue.summary), 240);
        let session = paint::dim(format!("(session {})", one_line(&incident.session, 40)));
        let at = paint::time(incident.at);
        paint::print_wrapped(&format!("{}  {at}  {mark}  {what} {session}\n", incident.id), 2);
    }
    if known.incidents.is_empty() && !arguments.json {
        paint::print_text("no incidents\n");
    }
    for damaged in &known.damaged {
        anstream::eprintln!("{}: {}", paint::bad("damaged"), one_line(damaged, 512));
    }
    Ok(CommandExit::Success)
}
