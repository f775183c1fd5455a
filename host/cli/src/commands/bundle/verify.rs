//! `portcullis bundle verify`: shows what these very bytes are, who signed them, and which
//! requirements of the trust policy are met or missed.
//!
//! It changes nothing. Its findings hold for the bytes that it read; installing or loading a bundle
//! verifies again.

use super::build::render_contents;
use crate::bundles::archive;
use crate::error::{Context, Error, Result};
use crate::exit::CommandExit;
use crate::paint;
use portcullis_bundle::{
    Bundle, BundleName, BundleStore, CandidateBundle, Judgement, Requirement, Signature,
};
use portcullis_config::amount::format_size;
use portcullis_config::clock::now_ms;
use portcullis_config::paths::Paths;
use portcullis_core::text::one_line;
use portcullis_review::bundles::policies::{Policies, PolicyTexts};
use portcullis_review::bundles::{BUNDLES_FOLDER, check_description};
use semver::Version;
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub struct Arguments {
    /// Archives, folders of an OCI image layout, or names of installed bundles
    #[arg(required = true, value_name = "BUNDLE")]
    bundles: Vec<PathBuf>,
    /// Verify with this trust policy only, instead of the organisation's and yours
    #[arg(long, value_name = "FILE")]
    trust: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A bundle that was verified.
struct VerificationResult {
    /// The name by which it was given.
    what: String,
    bundle: Bundle,
    signatures: Vec<Signature>,
    judgement: Judgement,
}

/// A bundle to verify, with its signatures and its origin.
type BundleToVerify = (Bundle, Vec<Signature>, Option<String>);

pub fn run_verify(arguments: &Arguments) -> Result<CommandExit> {
    let places = Paths::from_environment()?;
    let policies = match &arguments.trust {
        Some(file) => PolicyTexts::read_named(file)?.parse_texts()?,
        None => Policies::read_policies(&places)?,
    };
    let now = now_ms();
    let installed =
        if arguments.trust.is_none() { Installed::read(&places)? } else { Installed::default() };
    let mut all = Vec::new();
    for path in &arguments.bundles {
        for (bundle, signatures, from) in found(path, &places)? {
            let newest = installed.newest(&bundle);
            let subject = CandidateBundle {
                index: bundle.index(),
                signatures: &signatures,
                from: from.as_deref(),
                installed: newest.as_ref(),
                now,
            };
            let mut judgement = policies.judge_bundle(&subject);
            judgement.requirements.insert(0, truly(&bundle));
            all.push(VerificationResult {
                what: path.display().to_string(),
                bundle,
                signatures,
                judgement,
            });
        }
    }
    let trusted = all.iter().all(|looked| looked.judgement.is_trusted());
    if arguments.json {
        let bundles =
            all.iter().map(|looked| document(looked, &policies)).collect::<Result<Vec<_>>>()?;
        paint::print_text(&format!("{}\n", json!({ "trusted": trusted, "bundles": bundles })));
    } else {
        let pages: Vec<String> = all.iter().map(|looked| page(looked, &policies, now)).collect();
        paint::print_text(&pages.join("\n"));
    }
    Ok(CommandExit::of_check(trusted))
}

/// Finds the bundles that an argument names; an installed name means all its versions.
fn found(path: &Path, places: &Paths) -> Result<Vec<BundleToVerify>> {
    let name = path
        .to_str()
        .filter(|text| !text.ends_with(".tar"))
        .and_then(|text| text.parse::<BundleName>().ok());
    let named = |name: &BundleName| {
        installed(places).is_ok_and(|all| all.iter().any(|one| one.name == *name))
    };
    // An installed name takes precedence over a file with the same name; `./` before it means the
    // file.
    if path.symlink_metadata().is_ok() && !name.as_ref().is_some_and(named) {
        let (bundle, signatures) = archive::read_archive_file(path)?;
        return Ok(vec![(bundle, signatures, None)]);
    }
    let shown = one_line(&path.to_string_lossy(), 400);
    let Some(name) = name else {
        return Err(Error::not_found(format!("there is no `{shown}`"))
            .with_hint("name an archive, or a bundle that is installed"));
    };
    let folder = places.state.join(BUNDLES_FOLDER);
    let mut all = Vec::new();
    if folder.is_dir() {
        let store = BundleStore::open_folder(&folder)?;
        for installed in store.installed()?.into_iter().filter(|installed| installed.name == name) {
            let (bundle, signatures) = store.read_bundle(&installed)?;
            all.push((bundle, signatures, installed.from));
        }
    }
    if all.is_empty() {
        return Err(Error::not_found(format!(
            "there is no file `{shown}`, and no bundle of that name is installed"
        )));
    }
    Ok(all)
}

/// Lists what is installed, without creating a folder for it.
fn installed(places: &Paths) -> Result<Vec<portcullis_bundle::InstalledBundle>> {
    let folder = places.state.join(BUNDLES_FOLDER);
    Ok(if folder.is_dir() { BundleStore::open_folder(&folder)?.installed()? } else { Vec::new() })
}

/// The installed versions: an older bundle is not trusted.
#[derive(Default)]
struct Installed(Vec<(BundleName, Version)>);

impl Installed {
    /// Reads those of this machine, without creating a folder for them.
    fn read(places: &Paths) -> Result<Self> {
        let installed = installed(places).context("cannot read what is installed")?;
        Ok(Self(
            installed.into_iter().map(|installed| (installed.name, installed.version)).collect(),
        ))
    }

    fn newest(&self, bundle: &Bundle) -> Option<Version> {
        let named = self.0.iter().filter(|(name, _)| *name == bundle.about().name);
        named.map(|(_, version)| version).max().cloned()
    }
}

fn truly(bundle: &Bundle) -> Requirement {
    let met = match check_description(bundle) {
        Ok(()) => Ok("read from their bytes".to_owned()),
        Err(error) => Err(one_line(&format!("{error:#}"), 1000)),
    };
    Requirement { what: "its components match its description".to_owned(), met }
}

fn page(looked: &VerificationResult, policies: &Policies, now: u64) -> String {
    let VerificationResult { what, bundle, signatures, judgement } = looked;
    let (about, digest) = (bundle.about(), bundle.index().digest());
    let mut text =
        format!("{}  {digest}\n", paint::bold(format!("{} {}", about.name, about.version)));
    for words in [&about.description, &about.source].into_iter().filter(|words| !words.is_empty()) {
        let _ = writeln!(text, "{}", one_line(words, 400));
    }
    if !about.licence.is_empty() {
        let _ = writeln!(text, "licence {}", one_line(&about.licence, 200));
    }
    text.push_str(&render_contents(about));
    let bytes = about.components.iter().map(|component| component.size).sum();
    let _ = writeln!(text, "\nsigned by");
    if signatures.is_empty() {
        let _ = writeln!(text, "  nobody");
    }
    for signature in signatures {
        let _ = writeln!(text, "  {}", signed(signature, bundle, policies, now));
    }
    text.push('\n');
    for Requirement { what, met } in &judgement.requirements {
        let (mark, how) = match met {
            Ok(how) => (paint::good("ok     "), how),
            Err(why) => (paint::bad("missed "), why),
        };
        let _ = writeln!(text, "{mark} {what}: {how}");
    }
    let missed =
        judgement.requirements.iter().filter(|requirement| requirement.met.is_err()).count();
    let these = format!("{} of `{}`, as read just now", format_size(bytes), one_line(what, 400));
    let verdict = match (judgement.is_trusted(), missed) {
        (true, _) => {
            let until = judgement
                .until
                .map_or_else(String::new, |end| format!(", until {} UTC", paint::time(end)));
            format!("{}: {these}{until}", paint::good("trusted"))
        }
        (false, missed) => {
            let all = judgement.requirements.len();
            format!("{}, {missed} of {all} requirements missed: {these}", paint::bad("not trusted"))
        }
    };
    let _ = writeln!(text, "\n{verdict}");
    text
}

/// Formats who signed, what, and for how long.
fn signed(signature: &Signature, bundle: &Bundle, policies: &Policies, now: u64) -> String {
    let keys = policies.keys_of(signature);
    let named = |(name, revoked): (&String, &bool)| {
        let end =
            if *revoked { format!(", {}", paint::bad("which is revoked")) } else { String::new() };
        format!("`{}`{end}", one_line(name, 64))
    };
    let who = if keys.is_empty() {
        format!(
            "{}, which calls itself {}",
            paint::warn("a key that no policy has"),
            one_line(&signature.hint(), 100)
        )
    } else {
        keys.iter().map(named).collect::<Vec<_>>().join(" and ")
    };
    let Ok(statement) = signature.unverified_statement() else {
        return format!("{who}: nothing about a bundle");
    };
    let about = if statement.digest == bundle.index().digest()
        && statement.name == bundle.about().name.as_str()
    {
        String::new()
    } else {
        format!(
            ", {}: `{}` ({})",
            paint::bad("about another bundle"),
            one_line(&statement.name, 128),
            statement.digest
        )
    };
    let vetting = statement.vetting.map_or_else(String::new, |vetting| {
        format!(
            ", as a vetting by {} at {} UTC",
            one_line(&vetting.reviewer, 100),
            paint::time(vetting.at)
        )
    });
    let end = match statement.expires {
        None => ", without end".to_owned(),
        Some(end) if end <= now => {
            format!(", {}", paint::bad(format!("expired at {} UTC", paint::time(end))))
        }
        Some(end) => format!(", until {} UTC", paint::time(end)),
    };
    format!("{who}{vetting}{end}{about}")
}

fn document(looked: &VerificationResult, policies: &Policies) -> Result<Value> {
    let VerificationResult { what, bundle, signatures, judgement } = looked;
    let requirements = judgement.requirements.iter().map(|requirement| {
        let (met, how) = match &requirement.met {
            Ok(how) => (true, how),
            Err(why) => (false, why),
        };
        json!({ "what": requirement.what, "met": met, "how": how })
    });
    let signatures = signatures.iter().map(|signature| {
        let statement = signature.unverified_statement().ok();
        let of_this = statement.as_ref().is_some_and(|said| {
            said.digest == bundle.index().digest() && said.name == bundle.about().name.as_str()
        });
        json!({
            "keys": policies.keys_of(signature).into_iter().map(|(name, revoked)| json!({
                "name": name,
                "revoked": revoked,
            })).collect::<Vec<_>>(),
            "calls_itself": signature.hint(),
            "of_this_bundle": of_this,
            "expires": statement.as_ref().and_then(|said| said.expires),
            "vetting": statement.and_then(|said| said.vetting),
        })
    });
    Ok(json!({
        "what": what,
        "digest": bundle.index().digest(),
        "about": bundle.about(),
        "trusted": judgement.is_trusted(),
        "until": judgement.until,
        "requirements": requirements.collect::<Vec<_>>(),
        "signatures": signatures.collect::<Vec<_>>(),
    }))
}
