//! Lists the versions of a bundle in a repository.

use crate::client::Client;
use crate::error::{ErrorReason, RegistryError};
use crate::reference::{Reference, Tag};
use crate::session::{MOST_DOCUMENT, RegistryRequest, RegistrySession, TokenAction};
use semver::Version;
use serde::Deserialize;
use ureq::http::header::LINK;
use ureq::http::{HeaderMap, Method};
use url::Url;

/// The most tags in a repository.
const MOST_TAGS: usize = 10_000;
/// The most pages of tags; a registry may make them shorter than requested.
const MOST_PAGES: usize = 200;

#[derive(Deserialize)]
struct Tags {
    tags: Option<Vec<String>>,
}

impl Client {
    /// Returns the tags of a repository that are versions, the newest last. Other tags are left
    /// out.
    ///
    /// # Errors
    /// Fails if the repository does not exist or is not accessible, or if it has more tags than
    /// supported.
    pub fn list_versions(
        &self,
        reference: &Reference,
    ) -> Result<Vec<(Version, Tag)>, RegistryError> {
        let session = RegistrySession::new(self, reference, TokenAction::Pull)?;
        let asked = format!("the tags of `{}`", reference.path());
        let mut next = Some(session.url("tags/list?n=1000"));
        let (mut found, mut count) = (Vec::new(), 0);
        for _ in 0..MOST_PAGES {
            let Some(url) = next else {
                found.sort();
                return Ok(found);
            };
            let request = RegistryRequest {
                method: Method::GET,
                url: url.clone(),
                accept: "application/json",
                body: None,
                asked: &asked,
            };
            let answer = session.expect(&request, &[200])?;
            next = self::next(&session, &url, answer.headers())
                .map_err(|why| session.error(&asked, why))?;
            let bytes = session.read(answer, &asked, MOST_DOCUMENT, |_| {})?;
            let wrong = |error: serde_json::Error| {
                session.error(
                    &asked,
                    ErrorReason::Malformed(format!("it answered with no list of tags: {error}")),
                )
            };
            let tags =
                serde_json::from_slice::<Tags>(&bytes).map_err(wrong)?.tags.unwrap_or_default();
            count += tags.len();
            if count > MOST_TAGS {
                break;
            }
            let tags = tags.iter().filter_map(|tag| tag.parse::<Tag>().ok());
            found.extend(tags.filter_map(|tag| Some((tag.version()?, tag))));
        }
        let what = format!(
            "there are more than {MOST_TAGS}, or more than {MOST_PAGES} pages of them; name the version that is wanted"
        );
        Err(session.error(&asked, ErrorReason::TooMany(what)))
    }
}

/// Returns the next page that a response's `Link` names, which must be on the registry itself.
pub(crate) fn next(
    session: &RegistrySession<'_>,
    from: &Url,
    headers: &HeaderMap,
) -> Result<Option<Url>, ErrorReason> {
    let links = headers
        .get_all(LINK)
        .iter()
        .filter_map(|link| link.to_str().ok())
        .flat_map(|links| links.split(','));
    let next = links.filter_map(|link| link.trim().strip_prefix('<')?.split_once('>')).find(
        |(_, rest)| {
            let rest = rest.to_ascii_lowercase();
            rest.contains("rel=\"next\"") || rest.contains("rel=next")
        },
    );
    let Some((to, _)) = next else { return Ok(None) };
    let url = session.exchange().led(from, to)?;
    if !session.exchange().is_own(&url) {
        return Err(ErrorReason::Redirect("its next page is on another host".to_owned()));
    }
    Ok(Some(url))
}
