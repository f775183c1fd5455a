//! Tests that the page on rules is correct: each rule in it satisfies its examples, and its table
//! is complete.

use super::{own, reviewed};
use crate::common::site::Site;
use crate::common::trial;
use anyhow::{Result, anyhow, ensure};
use libtest_mimic::Trial;
use serde_json::Value;

const PAGE: &str = include_str!("../../../host/docs/rules.md");

pub fn tests() -> Vec<Trial> {
    vec![
        trial("rules page: each rule does what its examples say", rules),
        trial("rules page: the first rule and its commands", first),
        trial("rules page: the table has every name as it is", table),
    ]
}

/// Returns the blocks of TOML that contain rules.
fn blocks() -> Vec<&'static str> {
    let blocks = PAGE.split("```toml\n").skip(1).filter_map(|rest| rest.split("\n```").next());
    blocks.filter(|block| block.contains("[[rule]]")).collect()
}

fn rules() -> Result<()> {
    let site = Site::new("rules page")?;
    let blocks = blocks();
    ensure!(blocks.len() == 11, "there are {} rules, not the first and ten more", blocks.len());
    for (at, block) in blocks.iter().enumerate() {
        let examples = ["must_match", "must_not_match"].iter().any(|key| block.contains(key));
        ensure!(at == 0 || examples, "no example tries this: {block}");
    }
    site.write("all.toml", blocks.join("\n"))?;
    let path = site.state().join("all.toml").display().to_string();
    let ended = site.run(&["rules", "check", &path])?;
    ensure!(ended.code == Some(0) && ended.text().contains("ok, 11 rules, "), "{}", ended.all());
    Ok(())
}

fn first() -> Result<()> {
    let site = Site::new("first rule")?;
    own(&site, blocks().first().ok_or_else(|| anyhow!("there is no rule"))?, "")?;
    ensure!(site.output(&["rules", "check"])?.contains("rules.toml: ok, 1 rule,"), "it is not ok");
    for (command, refused) in [
        ("cd infra && terraform destroy -auto-approve", true),
        ("sh -c \"terraform destroy\"", true),
        ("sudo terraform destroy", true),
        ("echo $(terraform destroy)", true),
        ("echo terraform destroy", false),
    ] {
        let record = reviewed(&site, command)?;
        ensure!((record["decision"]["verdict"] == "block") == refused, "{command}: {record}");
    }
    Ok(())
}

fn table() -> Result<()> {
    let site = Site::new("rules fields")?;
    let groups: Value = serde_json::from_str(&site.output(&["rules", "fields", "--json"])?)?;
    let text = site.output(&["rules", "fields"])?;
    let mut expected = String::new();
    for (group, fields) in groups.as_object().ok_or_else(|| anyhow!("it is not an object"))? {
        expected.push_str(&format!("\n### {group}\n\n| name | type | |\n|---|---|---|\n"));
        for field in fields.as_array().into_iter().flatten() {
            let cell = |key: &str| field[key].as_str().unwrap_or_default().to_owned();
            expected.push_str(&format!(
                "| `{}` | {} | {} |\n",
                cell("name"),
                cell("type"),
                cell("about")
            ));
            ensure!(text.contains(&format!("  {} ", cell("name"))), "{text}");
        }
    }
    ensure!(PAGE.contains(&expected), "host/docs/rules.md should have:\n{expected}");
    Ok(())
}
