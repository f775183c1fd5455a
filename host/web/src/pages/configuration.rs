//! The configuration in effect: each key with its value and its origin.

use super::parts::{add_notice, add_scrolled};
use super::{Frame, Place};
use crate::site::{Reading, Site};
use anyhow::Result;
use portcullis_config::keys::toml_text;
use portcullis_config::layers::MergedSettings;
use portcullis_config::listing::{ListedKey, describe_place, list_keys, list_notes};
use portcullis_config::{CHANNEL, EXPORT, settle_layers};
use portcullis_core::mask::Masker;
use portcullis_core::text::one_line;
use portcullis_page::Html;
use portcullis_review::installed::derive_mask_key;

/// The most bytes of a value or a name.
const MOST: usize = 200;
/// Keys of a channel whose values open something.
const CREDENTIALS: [&str; 3] = ["bearer", "password", "token"];
/// Keys of a channel whose addresses may have a secret in them.
const ADDRESSES: [&str; 2] = ["url", "proxy"];
/// The beginnings of values that only say where a secret is.
const REFERENCES: [&str; 2] = ["env:", "file:"];

/// Composes the page.
///
/// # Errors
/// Fails if a file of the configuration is unusable, and says so in words.
pub(crate) fn compose(site: &Site, reading: &Reading) -> Result<Frame> {
    let settled = settle_layers(&site.places, Some(&reading.home), None)?;
    // The policy names personal data, which is masked too; it may be unusable for another reason.
    let personal = site.config(&reading.home).map(|config| config.policy.mask);
    let masker = Masker::new(derive_mask_key(&reading.home), &personal.unwrap_or_default());
    let mut main = Html::new();
    for note in list_notes(&settled) {
        add_notice(&mut main, false, note);
    }
    add_files(&mut main, &settled);
    add_keys(&mut main, &settled, &masker);
    add_ignored(&mut main, &settled, &masker);
    Ok(Frame { title: "Configuration".into(), place: Place::Configuration, is_live: false, main })
}

fn add_files(main: &mut Html, settled: &MergedSettings) {
    if settled.files.is_empty() {
        main.put_template("<p class=\"lead\">No file: every key has its default.</p>", &[]);
        return;
    }
    main.put_template("<ul>", &[]);
    for (layer, path) in &settled.files {
        let path = one_line(&path.display().to_string(), 1024);
        main.put_template("<li>{}: <code>{}</code></li>", &[&layer.as_str(), &path]);
    }
    main.put_template("</ul>", &[]);
}

fn add_keys(main: &mut Html, settled: &MergedSettings, masker: &Masker) {
    let mut table = Html::from_template(
        "<table class=\"list keys\"><thead><tr><th scope=\"col\">key</th><th scope=\"col\">value</th>\
         </tr></thead><tbody>",
        &[],
    );
    for listed in list_keys(settled) {
        let template = match listed.entry {
            Some(_) => {
                "<tr><th scope=\"row\"><b>{}</b><span class=\"goal\">{}</span></th><td>{}</td></tr>"
            }
            None => "<tr><th scope=\"row\">{}<span class=\"goal\">{}</span></th><td>{}</td></tr>",
        };
        let path = one_line(&name_of(&listed), MOST);
        let value = listed.value.as_ref().map(toml_text).unwrap_or_default();
        let value = one_line(&hide_credentials(&listed.path, &value, masker), MOST);
        table.put_template(template, &[&path, &listed.describe_origin(settled), &value]);
    }
    table.put_template("</tbody></table>", &[]);
    main.put_template("<section>", &[]);
    add_scrolled(main, "keys", &table);
    main.put_template("</section>", &[]);
}

fn name_of(listed: &ListedKey<'_>) -> String {
    listed.entry.map_or_else(|| listed.path.clone(), |entry| entry.said.written())
}

fn add_ignored(main: &mut Html, settled: &MergedSettings, masker: &Masker) {
    if settled.ignored.is_empty() {
        return;
    }
    main.put_template("<section><h2>What does not count</h2><ul>", &[]);
    for ignored in &settled.ignored {
        let value = hide_credentials(&ignored.path, &ignored.value, masker);
        main.put_template(
            "<li><code>{} = {}</code> ({}: {})</li>",
            &[
                &one_line(&ignored.path, MOST),
                &one_line(&value, MOST),
                &describe_place(settled, ignored.layer, ignored.line),
                &ignored.why.in_words(),
            ],
        );
    }
    main.put_template("</ul></section>", &[]);
}

/// Returns a value without what opens something. A reference to a secret only says where it is.
fn hide_credentials(path: &str, value: &str, masker: &Masker) -> String {
    let plain = value.trim_matches('"');
    let is_below = |table: &str| path.starts_with(table.split('*').next().unwrap_or_default());
    let of_channel = is_below(CHANNEL) || is_below(EXPORT);
    let key = path.rsplit('.').next().unwrap_or_default();
    let is_reference = REFERENCES.iter().any(|begin| plain.starts_with(begin));
    if !of_channel || is_reference || plain.is_empty() {
        return masker.mask_text(value);
    }
    if CREDENTIALS.contains(&key) {
        return "(hidden)".to_owned();
    }
    if ADDRESSES.contains(&key) {
        return show_host(plain);
    }
    masker.mask_text(value)
}

/// Returns the part of an address that names a machine: user, path and query may be secrets.
fn show_host(address: &str) -> String {
    let Some((scheme, rest)) = address.split_once("://") else { return "(hidden)".to_owned() };
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = host.rsplit('@').next().unwrap_or_default();
    format!("\"{scheme}://{host}/(hidden)\"")
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_core::mask::MaskPolicy;

    #[test]
    fn what_opens_something_is_hidden() {
        let masker = Masker::new([7; 32], &MaskPolicy::default());
        let key = |key: &str| format!("notifications.channels.team.{key}");
        for (path, value, expected) in [
            (key("bearer"), "\"abc\"", "(hidden)"),
            (key("password"), "\"hunter2\"", "(hidden)"),
            (key("password"), "\"env:MAIL_PASSWORD\"", "\"env:MAIL_PASSWORD\""),
            (key("bearer"), "\"file:~/.token\"", "\"file:~/.token\""),
            (key("url"), "\"https://a.example/s/KEY?t=1\"", "\"https://a.example/(hidden)\""),
            (key("url"), "\"https://a.example?t=1\"", "\"https://a.example/(hidden)\""),
            (key("proxy"), "\"http://me:pw@p.example:3128\"", "\"http://p.example:3128/(hidden)\""),
            (key("url"), "\"nonsense KEY\"", "(hidden)"),
            (key("host"), "\"mail.example\"", "\"mail.example\""),
            ("exports.siem.token".to_owned(), "\"abc\"", "(hidden)"),
            ("exports.siem.key".to_owned(), "\"/k.pem\"", "\"/k.pem\""),
            (
                "exports.siem.url".to_owned(),
                "\"https://a.example/s/KEY\"",
                "\"https://a.example/(hidden)\"",
            ),
            ("mode".to_owned(), "\"blocking\"", "\"blocking\""),
        ] {
            assert_eq!(hide_credentials(&path, value, &masker), expected, "{path} {value}");
        }
        let token = "\"ghp_16C7e42F292c6912E7710c838347Ae178B4a\"";
        assert!(hide_credentials("plugins.x.key", token, &masker).contains("<secret:"));
    }
}
