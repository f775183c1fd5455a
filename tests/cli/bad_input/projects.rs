//! Unusable configurations of the project and of the organisation.

use super::{Case, Recorded, system};
use crate::common::reply::Answer;
use crate::common::site::Site;
use anyhow::Result;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::PathBuf;

pub fn cases() -> Vec<Case> {
    let mut cases = projects();
    cases.extend(organisations());
    cases
}

fn project_file(site: &Site) -> PathBuf {
    site.project().join(".portcullis/config.toml")
}

/// Creates the folder of the project's file and returns the file's path.
fn prepared(site: &Site) -> Result<PathBuf> {
    let path = project_file(site);
    fs::create_dir_all(site.project().join(".portcullis"))?;
    Ok(path)
}

fn projects() -> Vec<Case> {
    let row = |name, spoil, says: &[&'static str]| {
        let case = Case::new(name, spoil)
            .answers(Answer::Refused, says)
            .recorded(Recorded::Fault("configuration"));
        case.fixed(|site| {
            Ok(fs::rename(site.project().join(".portcullis"), site.person().join("away"))?)
        })
    };
    let held_back = Case {
        held_back: true,
        ..row(
            "a project's file that may not be read",
            |site| {
                fs::write(prepared(site)?, "")?;
                Ok(fs::set_permissions(project_file(site), Permissions::from_mode(0o000))?)
            },
            &[".portcullis/config.toml", "denied", "you can read"],
        )
    };
    vec![
        held_back,
        row(
            "a project's file with slips",
            |site| Ok(fs::write(prepared(site)?, "[limits]\nfile_operation = 3\nx = 1\n")?),
            &[
                ".portcullis/config.toml` has 2 problems: line 2, column 1",
                "did you mean `limits.file_operations`?",
                "line 3",
            ],
        ),
        row(
            "a project's file that is a pipe",
            |site| system("mkfifo", &[&prepared(site)?.to_string_lossy()]),
            &[".portcullis/config.toml", "it is not a file"],
        ),
        row(
            "a project's file that never ends",
            |site| Ok(symlink("/dev/zero", prepared(site)?)?),
            &["it is a link to `/dev/zero`, out of the project"],
        ),
        row(
            "a project's file that is a folder",
            |site| Ok(fs::create_dir(prepared(site)?)?),
            &["it is not a file"],
        ),
        row(
            "a project's file that is huge",
            |site| Ok(fs::write(prepared(site)?, "# huge\n".repeat(200_000))?),
            &["more than 1048576 bytes"],
        ),
        row(
            "a project's file that is not text",
            |site| Ok(fs::write(prepared(site)?, [0xff, 0xfe])?),
            &["not UTF-8 text at byte 0"],
        ),
        row(
            "a project's file that is nested deep",
            |site| Ok(fs::write(prepared(site)?, format!("a = {}", "[".repeat(500_000)))?),
            &["it is not TOML"],
        ),
        row(
            "a project's file that links to a person's",
            |site| {
                let secret = site.person().join("secret");
                fs::write(&secret, "token = \"not to be shown\"\n")?;
                Ok(symlink(secret, prepared(site)?)?)
            },
            &["out of the project; put the file itself there"],
        ),
        row(
            "a project's folder that links elsewhere",
            |site| {
                let other = site.person().join("other");
                fs::create_dir(&other)?;
                fs::write(other.join("config.toml"), "")?;
                Ok(symlink(other, site.project().join(".portcullis"))?)
            },
            &["out of the project"],
        ),
        row(
            "a project's file that links nowhere",
            |site| Ok(symlink("nothing", prepared(site)?)?),
            &["where nothing is"],
        ),
        row(
            "a project's file that links to itself",
            |site| Ok(symlink("config.toml", prepared(site)?)?),
            &[".portcullis/config.toml", "you can read"],
        ),
    ]
}

/// Returns the organisation's file of these cases.
fn organisation(site: &Site) -> PathBuf {
    site.person().join("organisation/config.toml")
}

fn organisations() -> Vec<Case> {
    let row = |name, spoil, says: &[&'static str]| Case {
        hook: |site| {
            site.command(&[
                "hook",
                "claude",
                "--managed-config",
                &organisation(site).to_string_lossy(),
            ])
        },
        ..Case::new(name, spoil)
            .answers(Answer::Refused, says)
            .recorded(Recorded::Fault("configuration"))
    };
    vec![
        row(
            "an organisation's file of another user",
            |site| {
                fs::create_dir(site.person().join("organisation"))?;
                fs::write(organisation(site), "mode = \"observe\"\n")?;
                // Users other than root own it already.
                let _ = chown(organisation(site), Some(65_534), None);
                Ok(())
            },
            &["organisation/config.toml", "belongs to user", "chown root"],
        ),
        row(
            "an organisation's file that others can write",
            |site| {
                fs::create_dir(site.person().join("organisation"))?;
                fs::write(organisation(site), "")?;
                Ok(fs::set_permissions(organisation(site), Permissions::from_mode(0o666))?)
            },
            &["organisation/config.toml"],
        ),
        row(
            "an organisation's file in a folder that others can write",
            |site| {
                fs::create_dir(site.person().join("organisation"))?;
                fs::write(organisation(site), "mode = \"observe\"\n")?;
                Ok(fs::set_permissions(
                    site.person().join("organisation"),
                    Permissions::from_mode(0o777),
                )?)
            },
            &["organisation"],
        ),
        row(
            "an organisation's file that is a pipe",
            |site| {
                fs::create_dir(site.person().join("organisation"))?;
                system("mkfifo", &["-m", "644", &organisation(site).to_string_lossy()])
            },
            &["organisation/config.toml"],
        ),
        row(
            "an organisation's file with a slip",
            |site| {
                fs::create_dir(site.person().join("organisation"))?;
                Ok(fs::write(organisation(site), "mod = \"observe\"\n")?)
            },
            &["organisation/config.toml"],
        ),
        Case {
            hook: |site| site.command(&["hook", "claude", "--state", "relative"]),
            ..Case::new("a pin that is relative", |_| Ok(()))
        }
        .answers(Answer::Refused, &["--state is `relative`: it must be an absolute path"]),
    ]
}
