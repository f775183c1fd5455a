//! Judges what an action wants: one ruling for each rule, with everything that it found.

use crate::config::{Config, Strictness};
use crate::ecosystems::Ecosystem;
use crate::likeness::{Likeness, find_likeness};
use crate::packages::{Origin, Package};
use crate::slips::Slip;
use crate::sources::is_accepted;
use crate::wishes::{Found, Wish, Wishes};
use portcullis_plugin::risk_calculator::{Assessment, Evidence, Objection, Ruling, Severity};
use portcullis_plugin::types::Context;

/// The most names that are compared in one action: past it a manifest is too long to be read in
/// one call, and a warning says so.
pub const MOST_COMPARED: usize = 100;
/// The most pieces of evidence of a ruling.
const MOST_EVIDENCE: usize = 8;
/// The longest name or address that a message shows, in bytes.
const LONGEST_SHOWN: usize = 80;

/// What a rule found, worded.
struct Objecting {
    rule: &'static str,
    strictness: Strictness,
    severity: Severity,
    reason: String,
    instead: &'static str,
    value: String,
}

/// Returns the rulings on what an action wants.
pub fn judge(wishes: &Wishes, config: &Config, context: &Context) -> Assessment {
    let mut assessment = Assessment::nothing();
    let mut compared = 0;
    for found in &wishes.found {
        for objecting in judge_wish(&found.wish, config, context, &mut compared) {
            add_ruling(&mut assessment, objecting, found);
        }
    }
    assessment
}

fn judge_wish(
    wish: &Wish,
    config: &Config,
    context: &Context,
    compared: &mut usize,
) -> Vec<Objecting> {
    let one = |objecting: Objecting| vec![objecting];
    match wish {
        Wish::Add(package) => judge_package(package, config, context, compared),
        Wish::Registry { ecosystem, address, extra } => {
            if is_accepted(&config.registries, address) {
                return Vec::new();
            }
            one(judge_registry(*ecosystem, address, *extra, config))
        }
        Wish::Scripts(what) => one(Objecting {
            rule: "package_install_scripts",
            strictness: config.scripts,
            severity: Severity::High,
            reason: format!(
                "{} lets packages run code of their own while they are installed; leave install scripts off",
                shorten(what)
            ),
            instead: "install without scripts, then run the few that are needed by hand",
            value: what.clone(),
        }),
        Wish::Forced(what) => one(Objecting {
            rule: "package_forced",
            strictness: config.forced,
            severity: Severity::Low,
            reason: format!(
                "{} passes over versions that do not fit together; find the conflict and choose versions that do",
                shorten(what)
            ),
            instead: "install without it, and read which versions conflict",
            value: what.clone(),
        }),
        Wish::Unverified(what) => one(Objecting {
            rule: "package_unverified",
            strictness: config.unverified,
            severity: Severity::High,
            reason: format!(
                "{} turns a check of downloaded packages off, so that anybody on the way can replace them",
                shorten(what)
            ),
            instead: "leave the check on, and trust the certificate or checksum that is missing",
            value: what.clone(),
        }),
        Wish::Unlocked(what) => one(Objecting {
            rule: "package_lock_file",
            strictness: config.lock_file,
            severity: Severity::Medium,
            reason: format!(
                "{} drops the lock file's versions, so that every package may change at once; update the one package that has to change",
                shorten(what)
            ),
            instead: "update single packages, and keep the lock file in the commit",
            value: what.clone(),
        }),
        Wish::Unread(what) => one(Objecting {
            rule: "package_unread",
            strictness: config.unread,
            severity: Severity::Low,
            reason: format!(
                "which packages it installs is in {}; name them in the command",
                shorten(what)
            ),
            instead: "name the packages in the command",
            value: what.clone(),
        }),
    }
}

fn judge_registry(ecosystem: Ecosystem, address: &str, extra: bool, config: &Config) -> Objecting {
    let shown = shorten(address);
    let reason = if extra {
        format!(
            "{shown} is asked for {} packages besides the usual registry, and whoever offers the higher version of a name wins; use one registry that mirrors both",
            ecosystem.as_str()
        )
    } else {
        format!(
            "{} packages come from {shown} instead of the public registry; use the public one, or have the registry accepted in the settings",
            ecosystem.as_str()
        )
    };
    Objecting {
        rule: "package_registry",
        strictness: config.registry,
        severity: Severity::High,
        reason,
        instead: "install from the public registry",
        value: address.to_owned(),
    }
}

fn judge_package(
    package: &Package,
    config: &Config,
    context: &Context,
    compared: &mut usize,
) -> Vec<Objecting> {
    let Package { ecosystem, name, .. } = package;
    if !name.is_empty() && config.denies(*ecosystem, name) {
        return vec![Objecting {
            rule: "package_denied",
            strictness: Strictness::Block,
            severity: Severity::High,
            reason: format!(
                "{} is on the list of packages that must not be used here; use another one",
                shorten(name)
            ),
            instead: "use another package",
            value: format!("{}:{name}", ecosystem.as_str()),
        }];
    }
    if !name.is_empty() && config.allows(*ecosystem, name) {
        return Vec::new();
    }
    let mut objecting = Vec::new();
    objecting.extend(judge_origin(package, config, context));
    if name.is_empty() || package.origin != Origin::Registry {
        return objecting;
    }
    if config.only_allowed {
        objecting.push(Objecting {
            rule: "package_not_allowed",
            strictness: Strictness::Ask,
            severity: Severity::Medium,
            reason: format!("{} is not on the list of packages that may be used here; ask for it, or use one that is", shorten(name)),
            instead: "use a package that is on the list",
            value: format!("{}:{name}", ecosystem.as_str()),
        });
        return objecting;
    }
    if config.near_name != Strictness::Off {
        objecting.extend(judge_name(package, config, compared));
    }
    if !package.pinned && config.unpinned != Strictness::Off {
        objecting.push(Objecting {
            rule: "package_unpinned",
            strictness: config.unpinned,
            severity: Severity::Low,
            reason: format!("{} has no fixed version, so that a later release comes in unseen; name one version", shorten(name)),
            instead: "name one version",
            value: format!("{}:{name}", ecosystem.as_str()),
        });
    }
    objecting
}

fn judge_name(package: &Package, config: &Config, compared: &mut usize) -> Option<Objecting> {
    *compared += 1;
    if *compared > MOST_COMPARED {
        return (*compared == MOST_COMPARED + 1).then(|| Objecting {
            rule: "package_unread",
            strictness: config.unread,
            severity: Severity::Low,
            reason: format!("it adds more than {MOST_COMPARED} packages at once, too many to compare all their names; add them in smaller steps"),
            instead: "add fewer packages at once",
            value: package.name.clone(),
        });
    }
    let Package { ecosystem, name, .. } = package;
    let likeness = find_likeness(*ecosystem, name)?;
    Some(Objecting {
        rule: "package_near_name",
        strictness: config.near_name,
        severity: Severity::High,
        reason: format!(
            "{} is not the well-known {}, but {}; check which one is meant",
            shorten(name),
            likeness.popular,
            describe_slip(&likeness)
        ),
        instead: "install the well-known package, or have this name allowed in the settings",
        value: format!("{}:{name}", ecosystem.as_str()),
    })
}

const fn describe_slip(likeness: &Likeness) -> &'static str {
    match likeness.slip {
        Slip::Letters => "one slip of the hand away from it",
        Slip::LookAlike => "looks the same at a glance",
        Slip::Separators => "the same letters with other separators",
        Slip::Swapped => "the same words in another order",
        Slip::Decorated => "the same name with a language added",
        Slip::Owner => "the same kind of name under another owner",
    }
}

fn judge_origin(package: &Package, config: &Config, context: &Context) -> Option<Objecting> {
    let (place, what) = match &package.origin {
        Origin::Registry => return None,
        Origin::Address(address) if is_accepted(&config.sources, address) => return None,
        Origin::Address(address) => (address, "an address that no registry checks"),
        Origin::Archive(path) if !is_outside(path, context) => return None,
        Origin::Folder(path) if !is_scratch(path) => return None,
        Origin::Archive(path) | Origin::Folder(path) => (path, "a place outside the project"),
    };
    let name = if package.name.is_empty() { "the package" } else { &package.name };
    Some(Objecting {
        rule: "package_source",
        strictness: config.source,
        severity: Severity::High,
        reason: format!(
            "{} comes from {}, {what}; install it from the registry, or read its code first",
            shorten(name),
            shorten(place)
        ),
        instead: "install a release from the registry",
        value: place.clone(),
    })
}

/// Returns true for a path that leads out of the project.
fn is_outside(path: &str, context: &Context) -> bool {
    if path.starts_with('/') {
        let inside = |root: &String| {
            path.strip_prefix(root.as_str()).is_some_and(|rest| rest.starts_with('/'))
        };
        return !context.roots.iter().any(inside);
    }
    path.starts_with("../") || path.starts_with('~')
}

/// Returns true for a folder that anything on the machine may write to.
fn is_scratch(path: &str) -> bool {
    ["/tmp/", "/var/tmp/", "/dev/shm/"].iter().any(|folder| path.starts_with(folder))
        || path.split('/').any(|part| part == "Downloads")
}

fn add_ruling(assessment: &mut Assessment, objecting: Objecting, found: &Found) {
    let objection = match objecting.strictness {
        Strictness::Off => return,
        Strictness::Warn => Objection::Warn,
        Strictness::Ask => Objection::Ask,
        Strictness::Block => Objection::Block,
    };
    let value = portcullis_plugin::text::cut(&objecting.value, 200);
    let evidence = Evidence::new("package", value);
    let known = assessment.rulings.iter_mut().find(|ruling| ruling.rule == objecting.rule);
    if let Some(ruling) = known {
        let is_new = ruling.evidence.iter().all(|known| known.value != evidence.value);
        if is_new && ruling.evidence.len() < MOST_EVIDENCE {
            ruling.evidence.push(evidence);
        }
        return;
    }
    let place = portcullis_plugin::text::cut(&found.place, 200);
    let ruling = Ruling {
        rule: objecting.rule.into(),
        objection,
        severity: objecting.severity,
        reason: objecting.reason,
        evidence: vec![evidence, Evidence::new(found.kind, place)],
        alternatives: vec![objecting.instead.into()],
        rewrite: None,
    };
    assessment.rulings.push(ruling);
}

fn shorten(text: &str) -> String {
    let plain: String = text.chars().filter(|letter| !letter.is_control()).collect();
    portcullis_plugin::text::cut(&plain, LONGEST_SHOWN)
}
