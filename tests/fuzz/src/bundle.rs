//! Fuzzes the parsers of bundles and their documents, which run before anything is trusted:
//! indexes, archives, signatures, policies, locks. Errors are shown to people; valid input must be
//! reproduced by writing it again.

use portcullis_bundle::{
    About, Bundle, BundleIndex, Component, ComponentRequests, Digest, Lock, LockedBundle,
    NewComponent, Plugin, SecretKey, Signature, Statement, TrustPolicy, read_archive,
    write_archive,
};

/// The longest error that is shown, in bytes.
const SHOWN: usize = 4096;

/// Returns one document of each kind, as we write them; none if that fails, which the run reports.
pub(crate) fn seeds() -> Vec<&'static [u8]> {
    made().unwrap_or_default().into_iter().map(|seed| &*seed.leak()).collect()
}

fn made() -> Option<Vec<Vec<u8>>> {
    let bytes = b"\0asm\x0d\0\x01\0 no real component";
    let plugin = Plugin {
        name: "loops".into(),
        kind: "pattern".into(),
        version: "0.1.0".into(),
        description: "says so".into(),
        settings: serde_json::json!({ "most": 5 }).as_object().cloned()?,
        schema: vec![serde_json::json!({ "key": "most", "type": "integer" })],
    };
    let component = Component {
        digest: Digest::of_bytes(bytes),
        size: bytes.len() as u64,
        world: "pattern@0.1.0".into(),
        wants: ComponentRequests {
            imports: vec!["wasi:clocks/wall-clock@0.2.3".into()],
            grants: vec!["clocks = true".into()],
        },
        plugins: vec![plugin],
    };
    let about = About {
        name: "acme/checks".parse().ok()?,
        version: "1.0.0".parse().ok()?,
        description: "What we check.".into(),
        licence: "Apache-2.0".into(),
        source: "https://git.example.com/acme/checks".into(),
        components: vec![component],
    };
    let bundle = Bundle::from_components(
        about,
        &[NewComponent { bytes, exports: &["portcullis:plugin/detector@0.1.0".into()] }],
    )
    .ok()?;
    let key = SecretKey::of_seed(&[7; 32]);
    let signature = Signature::sign_statement(
        &Statement::about_index(bundle.index(), Some(1_800_000_000_000), None),
        &key,
    )
    .ok()?;
    let mut archive = Vec::new();
    write_archive(&bundle, std::slice::from_ref(&signature), &mut archive).ok()?;
    let mut lock = Lock::default();
    lock.put_bundle(LockedBundle::for_bundle(
        &bundle,
        Some("ghcr.io/acme/checks".into()),
        vec![key.public().id().ok()?],
    ));
    let policy = format!(
        "[[key]]\nname = \"release\"\npublic = \"\"\"\n{}\"\"\"\n\n[[rule]]\nnames = [\"acme/\", \"acme/one\"]\npublishers = [\"release\"]\n\
         vetters = [\"release\"]\nvetting_days = 30\nregistries = [\"ghcr.io/acme/\"]\ngrants = [\"hosts\"]\n\n[revoked]\ndigests = [\"{}\"]\nkeys = [\"release\"]\n",
        key.public().to_pem().ok()?,
        Digest::of_bytes(b"revoked")
    );
    Some(vec![
        bundle.index().bytes().to_vec(),
        archive,
        signature.file().to_vec(),
        lock.to_text().ok()?.into_bytes(),
        policy.into_bytes(),
    ])
}

/// Checks the requirements for every file.
pub(crate) fn check(bytes: &[u8]) -> Result<(), String> {
    match BundleIndex::parse_index(bytes) {
        Ok(index) if index.digest() != Digest::of_bytes(bytes) || index.bytes() != bytes => {
            return Err("an index is not what it was read from".into());
        }
        Ok(_) => {}
        Err(error) => one_line("an index", &error.to_string())?,
    }
    match Signature::parse_envelope(bytes) {
        Ok(signature) if signature.file() != bytes => {
            return Err("a signature is not what it was read from".into());
        }
        Ok(_) => {}
        Err(error) => one_line("a signature", &error.to_string())?,
    }
    match read_archive(bytes) {
        Ok((bundle, signatures)) => again(&bundle, &signatures)?,
        Err(error) => one_line("an archive", &error.to_string())?,
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return Ok(()) };
    if let Err(error) = TrustPolicy::parse_policy(text) {
        one_line("a policy", &error.to_string())?;
    }
    match Lock::parse_lock(text) {
        Ok(lock) => {
            let text = lock.to_text().map_err(|error| error.to_string())?;
            if Lock::parse_lock(&text) != Ok(lock) {
                Err(format!("a lock is not what it was written as: {text}"))
            } else {
                Ok(())
            }
        }
        Err(error) => one_line("a lock", &error.to_string()),
    }
}

/// Checks that a written bundle reads as the same.
fn again(bundle: &Bundle, signatures: &[Signature]) -> Result<(), String> {
    let mut archive = Vec::new();
    write_archive(bundle, signatures, &mut archive).map_err(|error| error.to_string())?;
    let (read, signed) = read_archive(archive.as_slice()).map_err(|error| error.to_string())?;
    if read != *bundle || signed.len() != signatures.len() {
        Err("an archive is not what it was written as".into())
    } else {
        Ok(())
    }
}

fn one_line(what: &str, text: &str) -> Result<(), String> {
    if text.is_empty() || text.len() > SHOWN || text.chars().any(char::is_control) {
        return Err(format!(
            "what is wrong with {what} is not a line of at most {SHOWN} bytes: {text:?}"
        ));
    }
    Ok(())
}
