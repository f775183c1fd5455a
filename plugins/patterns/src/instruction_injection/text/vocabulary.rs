//! The possible meanings of single words in an instruction. Most words mean nothing here.
//!
//! Words are folded: lower case, without marks. Besides English there are the usual words of
//! German, French, Spanish, Italian, Portuguese, Dutch and Russian.

/// The possible meanings of a word: a set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Words(u32);

impl Words {
    /// To let instructions go: ignore, forget.
    pub(super) const OVERRIDE: Self = Self(1);
    /// The agent's orders: instructions, rules, a prompt.
    pub(super) const ORDERS: Self = Self(1 << 1);
    /// A part of them: previous, all, your.
    pub(super) const WHICH: Self = Self(1 << 2);
    /// Their earlier time: previous, earlier, original.
    pub(super) const EARLIER: Self = Self(1 << 3);
    /// Their owner: system, hidden, your.
    pub(super) const INNER: Self = Self(1 << 4);
    /// To show: reveal, print, repeat.
    pub(super) const SHOW: Self = Self(1 << 5);
    /// To switch off: disable, remove, bypass.
    pub(super) const OFF: Self = Self(1 << 6);
    /// Protections: guardrails, safety, restrictions.
    pub(super) const GUARD: Self = Self(1 << 7);
    /// No, without.
    pub(super) const NONE: Self = Self(1 << 8);
    /// Not, never.
    pub(super) const NOT: Self = Self(1 << 9);
    /// You, your.
    pub(super) const YOU: Self = Self(1 << 10);
    /// Roles that an agent has or may be given: assistant, hacker, admin.
    pub(super) const PERSONA: Self = Self(1 << 11);
    /// Without limits: uncensored, unrestricted, dan.
    pub(super) const LOOSE: Self = Self(1 << 12);
    /// To send: post, upload, forward.
    pub(super) const SEND: Self = Self(1 << 13);
    /// Secret things: passwords, credentials.
    pub(super) const SECRET: Self = Self(1 << 14);
    /// Any data: contents, output, it.
    pub(super) const DATA: Self = Self(1 << 15);
    /// To get at a file: read, open, cat.
    pub(super) const OPEN: Self = Self(1 << 16);
    /// The person: user, human.
    pub(super) const PERSON: Self = Self(1 << 17);
    /// To say: mention, inform.
    pub(super) const TELL: Self = Self(1 << 18);
    /// A tool, a call, an action.
    pub(super) const TOOL: Self = Self(1 << 19);
    /// To use one: call, invoke, run, approve.
    pub(super) const USE: Self = Self(1 << 20);
    /// Consent: confirmation, approval.
    pub(super) const CONSENT: Self = Self(1 << 21);
    /// To keep in mind: remember, memorize.
    pub(super) const KEEP: Self = Self(1 << 22);
    /// To obey: follow, obey, comply.
    pub(super) const RELAY: Self = Self(1 << 23);
    /// It speaks of such texts: detector, example, phrase.
    pub(super) const META: Self = Self(1 << 24);
    /// An encoding: base64, decode.
    pub(super) const CODE: Self = Self(1 << 25);
    /// It explains: what, how, explain.
    pub(super) const EXPLAIN: Self = Self(1 << 26);
    /// Rights: admin, root, trusted.
    pub(super) const RIGHTS: Self = Self(1 << 27);
    /// An agent by name or kind: assistant, claude, llm.
    pub(super) const AGENT: Self = Self(1 << 28);
    /// Any other word that a phrase of the rules begins with or turns on.
    pub(super) const OTHER: Self = Self(1 << 29);

    pub(super) const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    pub(super) const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// Returns the possible meanings of a word.
pub(super) fn of(word: &str) -> Words {
    let known = WORDS.find(word);
    if known.is_some() || word.is_ascii() {
        return known.unwrap_or_default();
    }
    CJK.iter()
        .filter(|(part, _)| word.contains(part))
        .fold(Words::default(), |all, (_, kind)| all.with(*kind))
}

/// The words of the vocabulary, to be found by their letters: a text has thousands of words, and
/// comparing each with all of these takes longer than everything else.
struct WordTable {
    /// The word that begins to be looked for at a place, counted from 1; 0 for none.
    places: [u16; PLACES],
    words: [(&'static str, Words); COUNT],
}

static WORDS: WordTable = WordTable::new();

/// The number of places: a power of two, so that every second one is free.
const PLACES: usize = 2048;
const COUNT: usize = count_words();
const _: () = assert!(COUNT * 2 < PLACES);

impl WordTable {
    /// Places the words, each after those that want the same place.
    #[allow(clippy::indexing_slicing, reason = "a mistake does not compile")]
    const fn new() -> Self {
        let mut table = Self { places: [0; PLACES], words: [("", Words(0)); COUNT] };
        let (mut group, mut next) = (0, 0);
        while group < VOCABULARY.len() {
            let (kind, words) = VOCABULARY[group];
            let mut at = 0;
            while at < words.len() {
                let mut place = place_of(words[at]);
                while table.places[place] != 0 {
                    place = (place + 1) % PLACES;
                }
                table.words[next] = (words[at], kind);
                next += 1;
                table.places[place] = next as u16;
                at += 1;
            }
            group += 1;
        }
        table
    }

    fn find(&self, word: &str) -> Option<Words> {
        let from = place_of(word);
        let places = self.places.iter().cycle().skip(from).take(PLACES);
        let mut known =
            places.map_while(|place| self.words.get(usize::from(*place).checked_sub(1)?));
        known.find(|(known, _)| *known == word).map(|(_, kind)| *kind)
    }
}

/// Returns the place at which a word begins to be looked for.
#[allow(clippy::indexing_slicing, reason = "the loop ends at the last byte")]
const fn place_of(word: &str) -> usize {
    let bytes = word.as_bytes();
    let (mut hash, mut at) = (0_u32, 0);
    while at < bytes.len() {
        hash = (hash ^ bytes[at] as u32).wrapping_mul(0x0100_0193).rotate_left(5);
        at += 1;
    }
    hash as usize % PLACES
}

#[allow(clippy::indexing_slicing, reason = "a mistake does not compile")]
const fn count_words() -> usize {
    let (mut count, mut group) = (0, 0);
    while group < VOCABULARY.len() {
        count += VOCABULARY[group].1.len();
        group += 1;
    }
    count
}

/// Words by their meaning; none stands here twice.
#[rustfmt::skip]
const VOCABULARY: &[(Words, &[&str])] = &[
    (Words::OVERRIDE, &["ignore", "disregard", "forget", "neglect", "overlook", "override", "overrule", "supersede", "supersedes", "discard", "nullify", "ignorez", "ignorer", "oubliez", "oublie", "ignoriere", "ignorieren", "missachte", "vergiss", "vergesst", "ignora", "ignorar", "ignoren", "olvida", "olvide", "ignori", "dimentica", "dimenticare", "ignorare", "desconsidere", "desconsidera", "esqueca", "negeer", "vergeet", "zignoruj", "zapomnij", "yoksay", "تجاهل", "अनदेखा", "игнорируй", "игнорируйте", "забудь", "забудьте"]),
    (Words::ORDERS, &["instructions", "instruction", "directives", "directive", "guidelines", "rules", "rule", "policies", "policy", "orders", "commands", "programming", "constraints", "prompts", "prompt", "guidance", "context", "training", "message", "messages", "consignes", "consigne", "regles", "politique", "politiques", "anweisungen", "anweisung", "regeln", "vorgaben", "instrucciones", "reglas", "indicaciones", "istruzioni", "regole", "instrucoes", "regras", "instructies", "regels", "instrukcje", "polecenia", "talimatlari", "talimatlar", "التعليمات", "निर्देशों", "निर्देश", "инструкции", "указания", "правила", "systemprompt", "invite"]),
    (Words::WHICH.with(Words::EARLIER), &["previous", "prior", "earlier", "preceding", "foregoing", "above", "before", "existing", "original", "initial", "given", "told", "precedentes", "precedente", "precedents", "vorherigen", "bisherigen", "vorigen", "obigen", "fruheren", "anteriores", "anterior", "previas", "previos", "precedenti", "poprzednie", "onceki", "السابقة", "पिछले", "vorige", "eerdere", "предыдущие", "прежние"]),
    (Words::WHICH, &["all", "any", "every", "everything", "these", "those", "toutes", "tous", "toute", "alle", "allen", "todas", "todos", "tutte", "tutti", "alles", "todo", "tout", "tutto", "tudo", "wszystkie", "tum", "جميع", "सभी", "все", "всё"]),
    (Words::INNER.with(Words::WHICH), &["system", "hidden", "confidential", "developer", "internal", "secret", "private", "systeme", "sistema", "cachee", "systems"]),
    (Words::YOU.with(Words::INNER).with(Words::WHICH), &["your", "youre", "yourself", "votre", "vos", "tes", "deine", "deinen", "ihre", "tus", "tuas", "suas", "jouw"]),
    (Words::YOU, &["you", "vous", "du", "thou"]),
    (Words::SHOW, &["reveal", "expose", "leak", "disclose", "divulge", "print", "output", "display", "write", "repeat", "recite", "echo", "show", "dump", "paste", "list", "extract", "summarize", "translate", "share", "give", "affichez", "revelez", "montrez", "copiez", "zeige", "zeig", "offenbare", "muestra", "revela", "revele", "mostra", "mostre", "toon", "покажи", "раскрой"]),
    (Words::OFF, &["disable", "deactivate", "remove", "lift", "bypass", "circumvent", "suspend", "jailbreak", "evade", "unlock", "desactivez", "deaktiviere", "desactiva", "disattiva", "desative"]),
    (Words::GUARD, &["guardrails", "guardrail", "safety", "safeguards", "restrictions", "restriction", "filters", "filter", "limitations", "moderation", "censorship", "ethics", "ethical", "moral", "refusal", "refusals", "refusing", "boundaries", "limits"]),
    (Words::NONE, &["no", "without", "zero", "sans", "ohne", "sin", "senza", "sem", "zonder"]),
    (Words::NOT, &["not", "dont", "never", "doesnt", "cannot", "cant", "shouldnt", "mustnt", "wont", "didnt"]),
    (Words::PERSONA.with(Words::AGENT), &["assistant", "chatbot", "bot", "ai", "llm", "claude", "chatgpt", "gpt", "gemini", "copilot", "agents"]),
    (Words::PERSONA.with(Words::AGENT), &["agent", "model"]),
    (Words::PERSONA.with(Words::TOOL), &["tool"]),
    (Words::PERSONA, &["hacker", "persona", "character", "terminal", "interpreter", "entity", "expert", "simulator", "oracle"]),
    (Words::LOOSE.with(Words::PERSONA), &["uncensored", "unfiltered", "unrestricted", "jailbroken", "dan", "unlimited", "amoral", "immoral", "unethical", "malicious", "evil", "rogue", "machiavellian"]),
    (Words::SEND, &["send", "post", "posts", "upload", "forward", "export", "append", "attach", "transmit", "email", "mail", "exfiltrate", "exfil", "submit", "envoyez", "envoyer", "envoie", "sende", "schicke", "envia", "envie", "invia", "stuur", "отправь", "tunnel", "deliver", "beacon", "pass"]),
    (Words::SECRET.with(Words::DATA), &["secrets", "password", "passwords", "credentials", "credential", "token", "tokens", "apikey", "keys", "key", "env", "environment", "cookies", "wallet", "seed", "hashes"]),
    (Words::DATA, &["contents", "content", "data", "file", "files", "it", "them", "output's", "body", "conversation", "history", "value", "values", "valeur", "donnees", "daten", "datos", "dati", "dados", "emails", "records", "result", "results", "entries", "everything's", "chat", "transcript", "line", "lines", "entry"]),
    (Words::OPEN, &["read", "open", "cat", "tail", "curl", "wget", "head", "retrieve", "fetch", "grab", "access", "get", "copy", "load", "locate", "find"]),
    (Words::PERSON, &["user", "users", "human", "humans", "person", "anyone", "anybody", "operator", "owner", "utilisateur", "benutzer", "usuario", "utente"]),
    (Words::TELL, &["tell", "mention", "inform", "notify", "alert", "warn", "telling", "mentioning", "informing", "notifying", "alerting", "knowing", "knowledge", "noticing"]),
    (Words::TOOL.with(Words::USE), &["tools", "outil", "outils", "calls", "call", "actions", "action", "command", "requests", "request", "function"]),
    (Words::USE, &["invoke", "run", "execute", "trigger", "perform", "use", "approve", "approuvez", "authorize", "utilisez", "accept"]),
    (Words::CONSENT, &["confirmation", "approval", "permission", "consent", "asking", "confirming", "review", "verification"]),
    (Words::KEEP, &["remember", "memorize", "memorise", "memorisez", "store", "recuerda", "merke", "retenez", "persist"]),
    (Words::RELAY, &["follow", "obey", "comply", "respond", "reply", "answer", "must", "suivez", "befolge", "sigue", "obedece"]),
    (Words::META, &["detector", "detectors", "detection", "detect", "detects", "fixture", "fixtures", "taxonomy", "phrase", "phrases", "example", "examples", "benchmark", "regression", "heading", "parser", "classifier", "classifiers", "corpus", "corpora", "owasp", "malicious's", "article", "blog", "paper", "quotes", "quoted", "quiz", "slide", "docs", "documentation", "changelog", "snippet", "wording", "literal", "attack", "attacks", "injection", "injections", "postmortem", "lesson", "trainer", "analysts", "students", "learners", "assert", "guidance's", "appendix", "refused"]),
    (Words::CODE, &["decode", "base64", "rot13", "decrypt", "unscramble", "decipher", "hex", "encoded"]),
    (Words::EXPLAIN, &["explain", "explains", "explaining", "what", "whats", "why", "how", "difference", "describe", "documented", "describes"]),
    (Words::RIGHTS.with(Words::PERSONA), &["admin", "administrator", "administrateur", "root", "trusted", "authorized", "privileged", "superuser", "administrador", "amministratore"]),
    (Words::OTHER, &["now", "pretend", "roleplay", "roleplaying", "act", "enable", "switch", "mode", "from", "im", "maintenant", "etes", "jetzt", "ahora", "eres", "ora", "sei", "agora", "do", "keep", "turn", "stay", "new", "changed", "updated", "note", "if", "only", "im_start", "inst", "sys", "doit", "locataire", "tenant", "attention", "dear", "hypothetically", "as"]),
    (Words::ORDERS.with(Words::INNER), &["systemprompts", "指令"]),
];

/// Parts of Chinese, Japanese and Korean text, which has no blanks between words.
const CJK: &[(&str, Words)] = &[
    ("忽略", Words::OVERRIDE),
    ("无视", Words::OVERRIDE),
    ("無視", Words::OVERRIDE),
    ("忘记", Words::OVERRIDE),
    ("忘れ", Words::OVERRIDE),
    ("무시", Words::OVERRIDE),
    ("指令", Words::ORDERS),
    ("指示", Words::ORDERS),
    ("规则", Words::ORDERS),
    ("規則", Words::ORDERS),
    ("지시", Words::ORDERS),
    ("提示词", Words::ORDERS),
    ("プロンプト", Words::ORDERS),
    ("프롬프트", Words::ORDERS),
    ("之前", Words::WHICH),
    ("以前", Words::WHICH),
    ("以上", Words::WHICH),
    ("所有", Words::WHICH),
    ("すべて", Words::WHICH),
    ("이전", Words::WHICH),
    ("系统", Words::INNER),
    ("システム", Words::INNER),
    ("시스템", Words::INNER),
    ("显示", Words::SHOW),
    ("透露", Words::SHOW),
    ("泄露", Words::SHOW),
    ("表示", Words::SHOW),
    ("教えて", Words::SHOW),
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn each_word_has_its_meaning() {
        let all =
            VOCABULARY.iter().flat_map(|(kind, words)| words.iter().map(|word| (*word, *kind)));
        let by_word: BTreeMap<&str, Words> = all.clone().collect();
        assert_eq!(by_word.len(), COUNT, "a word stands there twice");
        for (word, kind) in all {
            assert_eq!(of(word), kind, "{word}");
        }
        for other in ["", "i", "ignor", "ignored", "Ignore", "tools's", "wörter", "слово"] {
            assert_eq!(of(other), Words::default(), "{other}");
        }
        assert_eq!(of("请忽略之前的指令"), Words::OVERRIDE.with(Words::WHICH).with(Words::ORDERS));
        assert_eq!(of("指令"), Words::ORDERS.with(Words::INNER));
    }
}
