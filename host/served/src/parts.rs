//! Pieces that several pages have.

use portcullis_core::text::list_lines;
use portcullis_page::Html;
use portcullis_page::diff::draw_printed_diff;
use portcullis_terminal::paint;

/// The most bytes of an agent's text that are shown: more than an approval keeps, so that nothing is
/// allowed that was not seen.
const MOST: usize = 256 << 10;

/// Returns a time for people; `at` is in milliseconds since 1970.
#[must_use]
pub fn format_time(at: u64) -> String {
    format!("{} UTC", paint::time(at))
}

/// Adds a text that an agent wrote, under a heading that says so: it must not look like ours.
pub fn add_untrusted(html: &mut Html, heading: &str, text: &str) {
    html.put_template(
        "<div class=\"untrusted\"><b>{}</b><pre>{}</pre></div>",
        &[&heading, &list_lines(text, MOST)],
    );
}

/// Adds a difference as `diff -u` prints it. Its lines are an agent's text, too.
pub fn add_diff(html: &mut Html, diff: &str) {
    html.put_template("<div class=\"untrusted\">", &[]);
    html.add_piece(&draw_printed_diff(diff));
    html.put_template("</div>", &[]);
}

/// Adds a notice.
pub fn add_notice(html: &mut Html, is_good: bool, text: &str) {
    let template = match is_good {
        true => "<p class=\"notice good\" role=\"status\">{}</p>",
        false => "<p class=\"notice bad\" role=\"alert\">{}</p>",
    };
    html.put_template(template, &[&text]);
}

/// Begins a form that changes something: the token shows that it is one of this page.
pub fn begin_form(html: &mut Html, action: &'static str, form_token: &str) {
    html.put_template(
        "<form class=\"answer\" method=\"post\" action=\"{}\"><input type=\"hidden\" name=\"token\" \
         value=\"{}\">",
        &[&action, &form_token],
    );
}

/// Adds a hidden field of a form.
pub fn add_hidden(html: &mut Html, name: &'static str, value: &str) {
    html.put_template("<input type=\"hidden\" name=\"{}\" value=\"{}\">", &[&name, &value]);
}

/// Adds the table of a page that is wider than a phone: it scrolls by itself. `name` names it for
/// readers who do not see it.
pub fn add_scrolled(html: &mut Html, name: &str, table: &Html) {
    html.put_template(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\">",
        &[&name],
    );
    html.add_piece(table);
    html.put_template("</div>", &[]);
}
