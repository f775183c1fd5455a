//! The versions of a bundle that a repository has.

use crate::client::Client;
use crate::error::{Error, Why};
use crate::reference::{Reference, Tag};
use crate::session::{Action, MOST_DOCUMENT, Request, Session};
use semver::Version;
use serde::Deserialize;
use ureq::http::header::LINK;
use ureq::http::{HeaderMap, Method};
use url::Url;

/// Tags of a repository.
const MOST_TAGS: usize = 10_000;
/// Pages of them; a registry may make them shorter than is asked for.
const MOST_PAGES: usize = 200;

#[derive(Deserialize)]
struct Tags {
    tags: Option<Vec<String>>,
}

impl Client {
    /// The tags of a repository that are versions, the newest last. Other tags are left out.
    ///
    /// # Errors
    /// The repository is not there or not for us, or has more tags than anybody needs.
    pub fn versions(&self, reference: &Reference) -> Result<Vec<(Version, Tag)>, Error> {
        let session = Session::new(self, reference, Action::Pull)?;
        let asked = format!("the tags of `{}`", reference.path());
        let mut next = Some(session.url("tags/list?n=1000"));
        let (mut found, mut count) = (Vec::new(), 0);
        for _ in 0..MOST_PAGES {
            let Some(url) = next else {
                found.sort();
                return Ok(found);
            };
            let request = Request { method: Method::GET, url: url.clone(), accept: "application/json", body: None, asked: &asked };
            let answer = session.expect(&request, &[200])?;
            next = self::next(&session, &url, answer.headers()).map_err(|why| session.error(&asked, why))?;
            let bytes = session.read(answer, &asked, MOST_DOCUMENT, |_| {})?;
            let wrong =
                |error: serde_json::Error| session.error(&asked, Why::Malformed(format!("it answered with no list of tags: {error}")));
            let tags = serde_json::from_slice::<Tags>(&bytes).map_err(wrong)?.tags.unwrap_or_default();
            count += tags.len();
            if count > MOST_TAGS {
                break;
            }
            let tags = tags.iter().filter_map(|tag| tag.parse::<Tag>().ok());
            found.extend(tags.filter_map(|tag| Some((tag.version()?, tag))));
        }
        let what = format!("there are more than {MOST_TAGS}, or more than {MOST_PAGES} pages of them; name the version that is wanted");
        Err(session.error(&asked, Why::TooMany(what)))
    }
}

/// The next page that an answer's `Link` leads to: one of the registry itself.
pub(crate) fn next(session: &Session<'_>, from: &Url, headers: &HeaderMap) -> Result<Option<Url>, Why> {
    let links = headers.get_all(LINK).iter().filter_map(|link| link.to_str().ok()).flat_map(|links| links.split(','));
    let next = links.filter_map(|link| link.trim().strip_prefix('<')?.split_once('>')).find(|(_, rest)| {
        let rest = rest.to_ascii_lowercase();
        rest.contains("rel=\"next\"") || rest.contains("rel=next")
    });
    let Some((to, _)) = next else { return Ok(None) };
    let url = session.led(from, to)?;
    if !session.is_own(&url) {
        return Err(Why::Redirect("its next page is on another host".to_owned()));
    }
    Ok(Some(url))
}
