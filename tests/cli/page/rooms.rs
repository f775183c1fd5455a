//! Rules with their trial, the configuration, and plugins: they show what people, agents and plugins
//! wrote, and change nothing.

use super::served::{Served, field};
use crate::common::guests;
use anyhow::{Context, Result, ensure};
use std::fs;

/// Encodes a text as a value of a form.
fn encode(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

pub fn rules() -> Result<()> {
    let served = Served::start("page-rules")?;
    let site = served.site();
    let hostile = "<img src=x onerror=alert(1)>\"'\u{202e}";
    let file = site.root().join("<b>rules.toml");
    fs::write(
        &file,
        "[[rule]]\nname = \"no_terraform_destroy\"\nwhen = 'commands.exists(c, c.program == \
         \"terraform\" && \"destroy\" in c.words)'\nverdict = \"block\"\nreason = \"<i>by people</i>\"\n",
    )?;
    site.write("config.toml", format!("rules.files = [{:?}]\n", file.display().to_string()))?;
    let viewer = served.sign_in("viewer")?;
    let page = served.get("/rules", &[&viewer])?;
    ensure!(page.status == 200, "{}", page.body);
    for part in
        ["prevent_recursive_deletion", "builtin", "no_terraform_destroy", "&lt;b&gt;rules.toml:"]
    {
        ensure!(page.body.contains(part), "no `{part}`: {}", page.body);
    }
    let token = field(&page.body, "token")?;
    let project = site.project().display().to_string();
    let before = site.records()?.len();
    let review = |token: &str, tool: &str, action: &str, folder: &str| {
        let form = format!(
            "token={token}&tool={}&action={}&folder={}",
            encode(tool),
            encode(action),
            encode(folder)
        );
        served.post("/rules", &[&viewer], &form)
    };
    let made = site.project().join("made.txt");
    let write = format!("{{\"file_path\": {:?}, \"content\": \"x\"}}", made.display().to_string());
    for (tool, action, says) in [
        ("Bash", "rm -rf /", vec!["badge v-block", "prevent_recursive_deletion"]),
        ("Bash", "terraform destroy", vec!["no_terraform_destroy", "&lt;i&gt;by people"]),
        ("Bash", "ls", vec!["badge v-allow", "No rule objects."]),
        ("Bash", "touch made.txt", vec!["touch made.txt"]),
        ("Bash", "{\"command\": \"rm -rf /\"}", vec!["badge v-block"]),
        ("Write", &write, vec!["made.txt"]),
        ("Write", "not JSON", vec!["have to be a JSON object"]),
        ("Bash", hostile, vec!["alert(1)"]),
        (hostile, "{}", vec!["alert(1)"]),
    ] {
        let answer = review(token, tool, action, &project)?;
        ensure!(answer.status == 200, "{tool} {action}: {}", answer.body);
        for part in says {
            ensure!(answer.body.contains(part), "{tool} {action}: no `{part}`: {}", answer.body);
        }
        for part in ["<img", "\u{202e}", "<i>by"] {
            ensure!(!answer.body.contains(part), "{tool} {action}: `{part}`: {}", answer.body);
        }
    }
    for (folder, says) in [("here", "does not begin with"), (hostile, "does not begin with")] {
        let answer = review(token, "Bash", "ls", folder)?;
        ensure!(answer.body.contains(says) && !answer.body.contains("<img"), "{}", answer.body);
    }
    ensure!(review("x", "Bash", "ls", &project)?.status == 403, "another token");
    ensure!(!made.exists(), "it ran");
    ensure!(site.records()?.len() == before, "it was recorded");
    site.verify()
}

pub fn configuration() -> Result<()> {
    let served = Served::start("page-configuration")?;
    let site = served.site();
    let channel = "[notifications.channels.team]\nkind = \"webhook\"\n";
    let text = format!(
        "mode = \"observe\"\nrules.files = [\"/nowhere/<img src=x>\u{202e}.toml\"]\n{channel}url = \
         \"https://me:word@hooks.example/services/T0P5ECRET?key=T0P5ECRET\"\nbearer = \
         \"env:TEAM_TOKEN\"\n"
    );
    site.write("config.toml", &text)?;
    let viewer = served.sign_in("viewer")?;
    let page = served.get("/configuration", &[&viewer])?;
    ensure!(page.status == 200, "{}", page.body);
    for part in [
        "config.toml:1",
        "observe",
        "https://hooks.example/(hidden)",
        "env:TEAM_TOKEN",
        "default",
        "&lt;img",
    ] {
        ensure!(page.body.contains(part), "no `{part}`: {}", page.body);
    }
    for part in ["T0P5ECRET", "me:word", "<img", "\u{202e}"] {
        ensure!(!page.body.contains(part), "`{part}`: {}", page.body);
    }
    // A mistake is told, and the other pages still show what has happened.
    site.write("config.toml", "mode = 3 # <script>\n")?;
    let broken = served.get("/configuration", &[&viewer])?;
    ensure!(broken.status == 500 && broken.body.contains("mode"), "{}", broken.body);
    ensure!(!broken.body.contains("<script>"), "{}", broken.body);
    for path in ["/", "/charts", "/incidents", "/search"] {
        ensure!(served.get(path, &[&viewer])?.status == 200, "{path}");
    }
    Ok(())
}

/// Plugins that failed are told apart: one is held for a time, the other until a person releases it.
/// Both trap at each call, over a word that is none.
pub fn plugins() -> Result<()> {
    let served = Served::start("page-plugins")?;
    let site = served.site();
    let viewer = served.sign_in("viewer")?;
    let guest = fs::read(guests::web()?)?;
    let host = "http://127.0.0.1:9";
    let plugin = |name: &str| {
        format!(
            "[plugins.{name}]\non_fault = \"warn\"\ngrants.hosts = [\"{host}\"]\n\
             settings.asks = \"GET {host}/ body=none\"\n"
        )
    };
    site.ordinary("before")?;
    let page = served.get("/plugins", &[&viewer])?;
    ensure!(page.status == 200 && !page.body.contains("Not run"), "{}", page.body);
    let mut named = String::new();
    for (name, quarantine_after) in [("sulky", 0), ("broken", 1)] {
        named.push_str(&plugin(name));
        let breaker = format!(
            "[breaker]\nfaults = 1\nback_off_seconds = 86400\nquarantine_after = {quarantine_after}\n"
        );
        site.write("config.toml", format!("{named}{breaker}"))?;
        site.write(&format!("plugins/{name}.wasm"), &guest)?;
        site.hook(&site.calls(name).bash("c1", "ls"))?;
    }
    let page = served.get("/plugins", &[&viewer])?.body;
    let (held, figures) = page.split_once("In the newest").context("no figures")?;
    for part in [
        "Not run",
        "sulky</th>",
        "held until ",
        "broken</th>",
        "in quarantine",
        "trap",
        "portcullis plugin release sulky",
        "portcullis plugin release broken",
    ] {
        ensure!(held.contains(part), "no `{part}`: {held}");
    }
    ensure!(figures.contains("sulky") && figures.contains("broken"), "{figures}");
    site.verify()
}
