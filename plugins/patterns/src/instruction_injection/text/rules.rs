//! Finds the signs in a sentence.
//!
//! Weights: 3 is enough alone, 2 requires another sign, 1 requires two.

use super::manner::{self, Manner};
use super::phrases as p;
use super::sentence::Sentence;
use super::signs::{Sign, Signs};
use super::vocabulary::Words as W;
use std::cell::LazyCell;

/// The most bytes of a sentence in an excerpt.
const SHOWN: usize = 200;

/// Returns the signs of one sentence.
pub(super) fn judge(sentence: &Sentence<'_>) -> Signs {
    let mut found = Signs::of(shown(sentence));
    let manner = LazyCell::new(|| manner::of(sentence));
    for (sign, rule) in RULES {
        let weight = rule(sentence);
        if weight > 0 {
            found.add(*sign, weight.min(most(*sign, &manner)));
        }
    }
    if sentence.all.has(W::META) && !found.signs.contains(&Sign::Marker) {
        // It speaks of such texts, so it needs more than one sign to be one.
        found.weight = found.weight.saturating_sub(2).min(2);
    }
    found
}

/// Returns the weight that a sign of a sentence of this manner can have.
///
/// A role, a role's mark, an address to an agent and a demand to obey are not described in passing.
fn most(sign: Sign, manner: &LazyCell<Manner, impl FnOnce() -> Manner>) -> u32 {
    match sign {
        Sign::Role | Sign::Obey | Sign::Marker | Sign::Address => 3,
        _ => match **manner {
            Manner::Orders => 3,
            Manner::Command => 2,
            Manner::Describes => 1,
        },
    }
}

fn shown<'a>(sentence: &Sentence<'a>) -> &'a str {
    let whole = sentence
        .whole
        .trim_matches(|c: char| c.is_whitespace() || matches!(c, '.' | '"' | '\'' | '`'));
    whole.get(..whole.floor_char_boundary(SHOWN)).unwrap_or_default()
}

type Rule = fn(&Sentence<'_>) -> u32;

const RULES: &[(Sign, Rule)] = &[
    (Sign::Override, overrides),
    (Sign::Unprotect, unprotects),
    (Sign::Role, role),
    (Sign::Obey, obey),
    (Sign::Leak, leaks),
    (Sign::Secrecy, secrecy),
    (Sign::Marker, marker),
    (Sign::Memory, memory),
    (Sign::Exfiltrate, exfiltrates),
    (Sign::Tool, tool),
    (Sign::Address, address),
    (Sign::Encoded, encoded),
];

/// Recognises "ignore all previous instructions".
fn overrides(s: &Sentence<'_>) -> u32 {
    if s.whole.trim_start().starts_with("--") {
        // It describes a program's switch.
        return 0;
    }
    for at in s.places(W::OVERRIDE).filter(|at| !s.negated(*at)) {
        if !manner::is_order(s, at) && !s.says_any(p::SUPERSEDING) {
            continue;
        }
        let Some(order) =
            s.places(W::ORDERS.with(W::GUARD)).find(|order| *order > at && *order <= at + 7)
        else {
            continue;
        };
        let own = s.has_at(W::EARLIER.with(W::INNER), at + 1..order + 1);
        let earlier = s.has_at(W::EARLIER, order + 1..order + 5);
        let agents = s.words().get(order).is_some_and(|word| !p::ANYBODYS_ORDERS.contains(word));
        let which = s.has_at(W::WHICH, at + 1..order + 1);
        let guards = s.says_any(p::GUARDS);
        if (own || earlier || guards || (which && agents)) && !conditional(s) {
            return 3;
        }
        if which || (order == at + 1 && s.kinds.len() <= 12) {
            return 2;
        }
    }
    let unfollowed =
        s.near(W::RELAY, W::ORDERS, 5).filter(|at| s.negated(*at) && manner::is_order(s, *at));
    if unfollowed.is_some_and(|at| s.has_at(W::EARLIER.with(W::INNER), at..at + 6))
        || s.says_any(p::FORGET_FOREIGN)
    {
        return 3;
    }
    if s.says_any(p::LET_GO) && s.all.has(W::ORDERS) && s.all.has(W::EARLIER) {
        let words = s.words();
        let anybodys = |at| words.get(at).is_some_and(|word| p::ANYBODYS_ORDERS.contains(word));
        let agents = s.places(W::ORDERS).any(|at| !anybodys(at));
        if agents || s.near(W::EARLIER, W::ORDERS, 3).is_some() {
            return 3;
        }
    }
    let forgets = s.says_any(p::FORGET)
        && s.all.has(W::EARLIER.with(W::YOU))
        && !s.says("about")
        && !s.all.has(W::NOT);
    if forgets || s.kinds.iter().any(|word| word.has(W::OVERRIDE) && word.has(W::ORDERS)) {
        return 3;
    }
    if s.says_any(p::ABOVE) {
        return if s.says_any(p::INSTEAD) { 3 } else { 2 };
    }
    if s.near(W::EARLIER, W::ORDERS, 3).is_some() && s.says_any(p::VOID) {
        return 3;
    }
    u32::from(s.says_any(p::OVERRIDING)) * 2
}

/// Returns true if it says when instructions may change, not that they do.
fn conditional(s: &Sentence<'_>) -> bool {
    s.says("when") && s.says("approved")
}

/// Recognises "disable all guardrails", "no restrictions", "refusals are off".
fn unprotects(s: &Sentence<'_>) -> u32 {
    if asks(s) {
        return 0;
    }
    let bound = s.says_any(&["not bound by", "no longer bound by"])
        && s.all.has(W::YOU.with(W::AGENT).with(W::PERSONA));
    if bound || s.says_any(p::UNPROTECTED) {
        return 3;
    }
    let guards = s.says_any(p::GUARDS);
    let off = s.near(W::OFF, W::GUARD.with(W::ORDERS), 5).is_some_and(|at| !s.negated(at));
    let turned = s.says_any(&["turn off", "switch off", "shut off"]);
    let own = s.places(W::YOU).any(|at| s.has_at(W::GUARD, at + 1..at + 3));
    if (off || turned) && (guards || own) {
        return 3;
    }
    let bare = s.near(W::NONE, W::GUARD, 3).filter(|_| !s.says_any(p::LIMITED));
    let bid = s.all.has(W::LOOSE)
        || bare.is_some_and(|at| leaves_free(s, at))
        || s.says_any(p::MODES)
        || s.says_any(p::AND_BEHAVE)
        || begins(s, p::BEHAVE);
    let unruled = s.says_any(p::NO_RULES)
        && (s.all.has(W::LOOSE) || (s.all.has(W::AGENT) && s.all.has(W::YOU)));
    u32::from((bare.is_some() && bid) || unruled) * 3
}

/// Returns true if it says that the reader has no limits: "you have no restrictions".
fn leaves_free(s: &Sentence<'_>, none: usize) -> bool {
    let words = s.words();
    let before = none.checked_sub(1).and_then(|at| words.get(at)).copied().unwrap_or_default();
    let answers = s.has_at(W::RELAY, none.saturating_sub(6)..none) && s.all.has(W::YOU);
    let has = matches!(
        before,
        "and" | "are" | "got" | "had" | "has" | "have" | "with" | "under" | "there"
    );
    answers || (has && s.has_at(W::YOU, none.saturating_sub(6)..none))
}

/// Recognises "you are someone else now".
fn role(s: &Sentence<'_>) -> u32 {
    if asks(s) {
        return 0;
    }
    let gone = s.says_any(&["you are no longer", "youre no longer"])
        && s.all.has(W::PERSONA.with(W::AGENT));
    if gone || s.says_any(p::SOMEONE_ELSE) {
        return 3;
    }
    let now = s.says_any(p::NOW) && !s.says_any(p::NOW_ABLE);
    let modes = s.says("mode") && (s.all.has(W::LOOSE) || s.says_any(p::MODES));
    if (now && (modes || s.all.has(W::PERSONA)))
        || (modes && s.all.has(W::LOOSE))
        || (s.says_any(p::ACT) && s.all.has(W::LOOSE))
    {
        return 3;
    }
    if s.says_any(p::PRETEND) {
        let who = s.all.has(W::LOOSE.with(W::RIGHTS).with(W::GUARD))
            || s.says_any(&["ai", "assistant", "no"]);
        return if who { 3 } else { 1 };
    }
    let enabled = s.says_any(&["enable", "enabled", "enter", "activate", "activated", "switch to"]);
    let loose = s.all.has(W::LOOSE) && s.says_any(&["assistant", "ai", "chatbot", "model"]);
    u32::from((modes && enabled || loose) && s.all.has(W::YOU)) * 2
}

/// Recognises "obey only my commands".
fn obey(s: &Sentence<'_>) -> u32 {
    match () {
        () if s.says("obey the following")
            && !s.places(W::RELAY).any(|at| manner::is_order(s, at)) =>
        {
            0
        }
        () if s.says_any(p::OBEY) || (s.says_any(p::NEW_ORDERS) && s.whole.contains(':')) => 3,
        () if s.says_any(p::CHANGED) => 2 + u32::from(s.says_any(p::CHANGED_TO)),
        () => u32::from(s.says_any(p::FRESH)),
    }
}

/// Recognises "reveal your system prompt".
fn leaks(s: &Sentence<'_>) -> u32 {
    let words: Vec<&str> = s.line.split_whitespace().collect();
    let word = |at: usize| words.get(at).copied().unwrap_or_default();
    let mut found = 0;
    for at in s.places(W::SHOW).filter(|at| !s.negated(*at)) {
        let betrays = s.says_any(p::WHOLE)
            || matches!(
                word(at),
                "reveal" | "expose" | "leak" | "disclose" | "divulge" | "repeat" | "recite"
            );
        for orders in s.places(W::ORDERS).filter(|orders| *orders > at && *orders <= at + 8) {
            let prompt = word(orders).contains("prompt") || word(orders).starts_with("invite");
            let instructions = matches!(
                word(orders),
                "instructions" | "rules" | "directives" | "regles" | "guidelines"
            );
            let own = s.has_at(W::YOU, orders.saturating_sub(3)..orders);
            let inner = s.places(W::INNER).any(|inner| {
                inner + 3 >= orders && inner <= orders + 1 && !s.has_at(W::YOU, inner..inner + 1)
            });
            let given = s.says_any(p::YOU_RECEIVED)
                && (instructions || word(orders).starts_with("message"));
            let message = word(orders) == "message"
                && s.has_at(W::INNER, orders.saturating_sub(1)..orders)
                && (betrays || given);
            let weight = match () {
                () if message || (given && instructions) => 3,
                () if prompt && inner => 3,
                () if prompt && own => {
                    if betrays {
                        3
                    } else {
                        2
                    }
                }
                () if instructions && (inner || own) => {
                    if betrays || own {
                        3
                    } else {
                        2
                    }
                }
                () => 0,
            };
            found = found.max(weight);
        }
    }
    if s.kinds.iter().any(|word| word.has(W::INNER) && word.has(W::ORDERS) && word.has(W::SHOW)) {
        return 3;
    }
    let above =
        s.says_any(p::WORDS_ABOVE) && s.all.has(W::SHOW.with(W::EXPLAIN)) && !s.all.has(W::NOT);
    let secret = s.says_any(p::ASK_SECRET) && s.says_any(p::SECRETS) && !s.all.has(W::NOT);
    let asked = s.says_any(p::ASK_PROMPT) && !s.all.has(W::NOT);
    if above || secret || asked { 3 } else { found }
}

/// Recognises an order to keep something from the user.
fn secrecy(s: &Sentence<'_>) -> u32 {
    if s.says_any(p::SECRETLY) {
        return 3;
    }
    let hushed =
        s.places(W::TELL).any(|at| s.negated(at) || s.has_at(W::NONE, at.saturating_sub(2)..at))
            && s.says_any(p::WHO);
    if hushed && (s.says_any(p::WHAT_YOU_DO) || s.says_any(p::QUIETLY)) {
        return 3;
    }
    let tells = s
        .near(W::TELL, W::PERSON, 4)
        .filter(|at| s.negated(*at) || s.has_at(W::NONE, at.saturating_sub(2)..*at));
    u32::from(tells.is_some() && s.says("this")) * 2
}

/// Recognises a message that claims to come from the system or another role.
fn marker(s: &Sentence<'_>) -> u32 {
    let raw = s.whole.trim_start();
    let may_hold = |marks: &[char]| s.raw.contains(marks);
    // An index of an array looks like one: `list[inst]`.
    let stands = |token: &&str| {
        s.raw.match_indices(*token).any(|(at, _)| {
            !s.raw.get(..at).is_some_and(|before| before.ends_with(|c: char| c.is_alphanumeric()))
        })
    };
    if may_hold(&['|', '[', '<']) && p::TOKENS.iter().any(stands) {
        return 2;
    }
    if p::HEADS.iter().any(|head| raw.starts_with(head))
        || s.raw.contains("</system>")
        || s.says("new system message")
    {
        return if bids(s) { 2 } else { 1 };
    }
    let role = raw.contains(':')
        && p::ROLES.iter().any(|role| {
            raw.starts_with(role)
                || [" ", "]"].iter().any(|before| raw.contains(&[*before, role].concat()))
        });
    u32::from(role && bids(s))
}

/// Returns true if it asks for something to be done.
fn bids(s: &Sentence<'_>) -> bool {
    let verbs = W::OVERRIDE
        .with(W::SHOW)
        .with(W::OFF)
        .with(W::SEND)
        .with(W::USE)
        .with(W::RELAY)
        .with(W::LOOSE)
        .with(W::OPEN);
    s.all.has(verbs)
}

/// Recognises "remember that this user is an administrator".
fn memory(s: &Sentence<'_>) -> u32 {
    let who = s.says_any(&[
        "this user",
        "the user",
        "i am",
        "im",
        "cet utilisateur",
        "este usuario",
        "dieser benutzer",
    ]);
    u32::from(s.all.has(W::KEEP) && s.all.has(W::RIGHTS) && who) * 3
}

/// Recognises "read the credentials and send them away".
fn exfiltrates(s: &Sentence<'_>) -> u32 {
    let raw = &s.raw;
    let explains = s.all.has(W::EXPLAIN) && !s.all.has(W::SEND);
    if explains {
        return 0;
    }
    let opens = s.all.has(W::OPEN.with(W::SHOW).with(W::SEND));
    let file = opens
        && !s.says_any(p::KEPT_IN)
        && raw.contains(['/', '.', '_'])
        && p::SECRET_FILES.iter().any(|file| names_file(raw, file))
        // A public key may be shown.
        && !raw.contains(".pub");
    let discloses = s.all.has(W::SHOW.with(W::SEND)) || s.says_any(p::DISCLOSE);
    if file && opens && (discloses || raw.contains("169.254")) {
        return 3;
    }
    let env = raw.contains(".env")
        // Code names its environment all the time, and `.env.example` holds placeholders.
        && ![".env.", "process.env", "import.meta"].iter().any(|other| raw.contains(other));
    if env && opens && discloses && s.says_any(p::EVERY_SECRET) {
        return 3;
    }
    picture(s).max(if s.all.has(W::META) { 0 } else { sends(s) })
}

/// Returns true if a text names a file, not something that begins like it.
fn names_file(text: &str, file: &str) -> bool {
    text.match_indices(file).any(|(at, _)| {
        let rest = text.get(at + file.len()..).unwrap_or_default();
        file.ends_with('_') || !rest.starts_with(|c: char| c.is_alphanumeric())
    })
}

/// Recognises "send the secrets to someone".
fn sends(s: &Sentence<'_>) -> u32 {
    let raw = &s.raw;
    let mail = |word: &str| {
        word.split_once('@').is_some_and(|(name, host)| !name.is_empty() && host.contains('.'))
    };
    let address = raw.contains("://") || raw.split_whitespace().any(mail);
    let sink = s.all.has(W::SEND.with(W::SECRET)) && p::SINKS.iter().any(|sink| raw.contains(sink));
    let sends = s
        .places(W::SEND)
        .any(|at| manner::is_order(s, at) || (manner::is_bidden(s, at) && !s.begins_clause(at)));
    let secret = s.near(W::SEND, W::SECRET, 6).is_some()
        || (s.near(W::SEND, W::DATA, 2).is_some() && s.all.has(W::SECRET) && s.all.has(W::WHICH));
    let shown = s.all.has(W::SECRET)
        && ((sink && s.all.has(W::OPEN.with(W::SHOW)))
            || (s.says_any(p::INCLUDE) && s.says("your")));
    let exfil = (s.says("exfiltrate") || s.says("dns tunnel")) && s.all.has(W::DATA);
    match () {
        () if exfil || shown || (sends && s.all.has(W::DATA) && sink) => 3,
        () if sends
            && secret
            && (address || s.says_any(p::ELSEWHERE))
            && !s.says_any(p::OWN_KEY) =>
        {
            3
        }
        () if s.says_any(p::OTHERS) && s.all.has(W::SHOW.with(W::OPEN)) => 3,
        () if begins(s, &["leak", "divulge", "exfiltrate"]) && s.all.has(W::SECRET) => 3,
        () if s.says("exfiltrate") => 2,
        () if secret && sends => 1,
        () => u32::from(sends && address && s.says("to") && s.near(W::SEND, W::DATA, 4).is_some()),
    }
}

/// Recognises an order to load a picture whose address carries data.
fn picture(s: &Sentence<'_>) -> u32 {
    let carries = |url: &str| {
        url.starts_with("http")
            && url.split_once('?').is_some_and(|(_, query)| {
                // Short values are sizes and versions of the picture, not data.
                query.split_once('=').is_some_and(|(_, value)| value.len() >= 8)
            })
    };
    let shown = s.raw.split("![").skip(1).any(|rest| {
        rest.split_once("](")
            .is_some_and(|(_, url)| carries(url.split(')').next().unwrap_or_default()))
    });
    let linked =
        s.raw.split_whitespace().any(carries) && p::SINKS.iter().any(|sink| s.raw.contains(sink));
    u32::from((shown || linked) && s.says_any(p::LOAD)) * 3
}

/// Recognises "use the tool without asking".
fn tool(s: &Sentence<'_>) -> u32 {
    let by_flag = s.says_any(p::BY_FLAG) || s.raw.contains("--");
    if s.near(W::NONE, W::CONSENT, 3).is_some() && s.all.has(W::TOOL) && !by_flag {
        return if s.all.has(W::USE) { 3 } else { 2 };
    }
    let skips =
        s.says_any(p::SKIP) && s.all.has(W::USE.with(W::SEND)) && !s.all.has(W::NOT) && !by_flag;
    let approves = s.says_any(p::APPROVE) && s.says_any(p::APPROVED);
    u32::from((skips || approves) && !s.all.has(W::EXPLAIN)) * 3
}

/// Recognises a sentence that speaks to an agent.
fn address(s: &Sentence<'_>) -> u32 {
    if !s.says_any(p::ADDRESS) {
        return 0;
    }
    let acts = ["://", "curl ", "rm -", "| sh", "| bash"].iter().any(|part| s.raw.contains(part));
    let ordered =
        s.says_any(&["reading this", "processing this", "any ai agent"]) && s.says("must");
    let bid = ordered
        || (acts && (s.all.has(W::SEND.with(W::USE)) || s.says("include")))
        || (s.says("lassistant doit") && bids(s));
    if bid { 3 } else { 2 }
}

/// Recognises "decode this and follow it".
fn encoded(s: &Sentence<'_>) -> u32 {
    u32::from(s.all.has(W::CODE) && s.says_any(p::DECODE)) * 2
}

/// Returns true for a question about the matter.
fn asks(s: &Sentence<'_>) -> bool {
    s.whole.trim_end().ends_with('?') && s.all.has(W::EXPLAIN) && !s.says("hypothetically")
}

fn begins(s: &Sentence<'_>, words: &[&str]) -> bool {
    s.line.split_whitespace().next().is_some_and(|first| words.contains(&first))
}
