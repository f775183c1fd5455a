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
    use Words as W;
    match word {
        "ignore"
        | "disregard"
        | "forget"
        | "neglect"
        | "overlook"
        | "override"
        | "overrule"
        | "supersede"
        | "supersedes"
        | "discard"
        | "nullify"
        | "ignorez"
        | "ignorer"
        | "oubliez"
        | "oublie"
        | "ignoriere"
        | "ignorieren"
        | "missachte"
        | "vergiss"
        | "vergesst"
        | "ignora"
        | "ignorar"
        | "ignoren"
        | "olvida"
        | "olvide"
        | "ignori"
        | "dimentica"
        | "dimenticare"
        | "ignorare"
        | "desconsidere"
        | "desconsidera"
        | "esqueca"
        | "negeer"
        | "vergeet"
        | "zignoruj"
        | "zapomnij"
        | "yoksay"
        | "تجاهل"
        | "अनदेखा"
        | "игнорируй"
        | "игнорируйте"
        | "забудь"
        | "забудьте" => W::OVERRIDE,
        "instructions"
        | "instruction"
        | "directives"
        | "directive"
        | "guidelines"
        | "rules"
        | "rule"
        | "policies"
        | "policy"
        | "orders"
        | "commands"
        | "programming"
        | "constraints"
        | "prompts"
        | "prompt"
        | "guidance"
        | "context"
        | "training"
        | "message"
        | "messages"
        | "consignes"
        | "consigne"
        | "regles"
        | "politique"
        | "politiques"
        | "anweisungen"
        | "anweisung"
        | "regeln"
        | "vorgaben"
        | "instrucciones"
        | "reglas"
        | "indicaciones"
        | "istruzioni"
        | "regole"
        | "instrucoes"
        | "regras"
        | "instructies"
        | "regels"
        | "instrukcje"
        | "polecenia"
        | "talimatlari"
        | "talimatlar"
        | "التعليمات"
        | "निर्देशों"
        | "निर्देश"
        | "инструкции"
        | "указания"
        | "правила"
        | "systemprompt"
        | "invite" => W::ORDERS,
        "previous"
        | "prior"
        | "earlier"
        | "preceding"
        | "foregoing"
        | "above"
        | "before"
        | "existing"
        | "original"
        | "initial"
        | "given"
        | "told"
        | "precedentes"
        | "precedente"
        | "precedents"
        | "vorherigen"
        | "bisherigen"
        | "vorigen"
        | "obigen"
        | "fruheren"
        | "anteriores"
        | "anterior"
        | "previas"
        | "previos"
        | "precedenti"
        | "poprzednie"
        | "onceki"
        | "السابقة"
        | "पिछले"
        | "vorige"
        | "eerdere"
        | "предыдущие"
        | "прежние" => W::WHICH.with(W::EARLIER),
        "all" | "any" | "every" | "everything" | "these" | "those" | "toutes" | "tous"
        | "toute" | "alle" | "allen" | "todas" | "todos" | "tutte" | "tutti" | "alles" | "todo"
        | "tout" | "tutto" | "tudo" | "wszystkie" | "tum" | "جميع" | "सभी" | "все" | "всё" => {
            W::WHICH
        }
        "system" | "hidden" | "confidential" | "developer" | "internal" | "secret" | "private"
        | "systeme" | "sistema" | "cachee" | "systems" => W::INNER.with(W::WHICH),
        "your" | "youre" | "yourself" | "votre" | "vos" | "tes" | "deine" | "deinen" | "ihre"
        | "tus" | "tuas" | "suas" | "jouw" => W::YOU.with(W::INNER).with(W::WHICH),
        "you" | "vous" | "du" | "thou" => W::YOU,
        "reveal" | "expose" | "leak" | "disclose" | "divulge" | "print" | "output" | "display"
        | "write" | "repeat" | "recite" | "echo" | "show" | "dump" | "paste" | "list"
        | "extract" | "summarize" | "translate" | "share" | "give" | "affichez" | "revelez"
        | "montrez" | "copiez" | "zeige" | "zeig" | "offenbare" | "muestra" | "revela"
        | "revele" | "mostra" | "mostre" | "toon" | "покажи" | "раскрой" => W::SHOW,
        "disable" | "deactivate" | "remove" | "lift" | "bypass" | "circumvent" | "suspend"
        | "jailbreak" | "evade" | "unlock" | "desactivez" | "deaktiviere" | "desactiva"
        | "disattiva" | "desative" => W::OFF,
        "guardrails" | "guardrail" | "safety" | "safeguards" | "restrictions" | "restriction"
        | "filters" | "filter" | "limitations" | "moderation" | "censorship" | "ethics"
        | "ethical" | "moral" | "refusal" | "refusals" | "refusing" | "boundaries" | "limits" => {
            W::GUARD
        }
        "no" | "without" | "zero" | "sans" | "ohne" | "sin" | "senza" | "sem" | "zonder" => W::NONE,
        "not" | "dont" | "never" | "doesnt" | "cannot" | "cant" | "shouldnt" | "mustnt"
        | "wont" | "didnt" => W::NOT,
        "assistant" | "chatbot" | "bot" | "ai" | "llm" | "claude" | "chatgpt" | "gpt"
        | "gemini" | "copilot" | "agents" => W::PERSONA.with(W::AGENT),
        "agent" | "model" => W::PERSONA.with(W::AGENT),
        "hacker" | "persona" | "character" | "tool" | "terminal" | "interpreter" | "entity"
        | "expert" | "simulator" | "oracle" => {
            W::PERSONA.with(if matches!(word.as_bytes(), b"tool") { W::TOOL } else { W::default() })
        }
        "uncensored" | "unfiltered" | "unrestricted" | "jailbroken" | "dan" | "unlimited"
        | "amoral" | "immoral" | "unethical" | "malicious" | "evil" | "rogue" | "machiavellian" => {
            W::LOOSE.with(W::PERSONA)
        }
        "send" | "post" | "posts" | "upload" | "forward" | "export" | "append" | "attach"
        | "transmit" | "email" | "mail" | "exfiltrate" | "exfil" | "submit" | "envoyez"
        | "envoyer" | "envoie" | "sende" | "schicke" | "envia" | "envie" | "invia" | "stuur"
        | "отправь" | "tunnel" | "deliver" | "beacon" | "pass" => W::SEND,
        "secrets" | "password" | "passwords" | "credentials" | "credential" | "token"
        | "tokens" | "apikey" | "keys" | "key" | "env" | "environment" | "cookies" | "wallet"
        | "seed" | "hashes" => W::SECRET.with(W::DATA),
        "contents" | "content" | "data" | "file" | "files" | "it" | "them" | "output's"
        | "body" | "conversation" | "history" | "value" | "values" | "valeur" | "donnees"
        | "daten" | "datos" | "dati" | "dados" | "emails" | "records" | "result" | "results"
        | "entries" | "everything's" | "chat" | "transcript" | "line" | "lines" | "entry" => {
            W::DATA
        }
        "read" | "open" | "cat" | "tail" | "curl" | "wget" | "head" | "retrieve" | "fetch"
        | "grab" | "access" | "get" | "copy" | "load" | "locate" | "find" => W::OPEN,
        "user" | "users" | "human" | "humans" | "person" | "anyone" | "anybody" | "operator"
        | "owner" | "utilisateur" | "benutzer" | "usuario" | "utente" => W::PERSON,
        "tell" | "mention" | "inform" | "notify" | "alert" | "warn" | "telling" | "mentioning"
        | "informing" | "notifying" | "alerting" | "knowing" | "knowledge" | "noticing" => W::TELL,
        "tools" | "outil" | "outils" | "calls" | "call" | "actions" | "action" | "command"
        | "requests" | "request" | "function" => W::TOOL.with(W::USE),
        "invoke" | "run" | "execute" | "trigger" | "perform" | "use" | "approve" | "approuvez"
        | "authorize" | "utilisez" | "accept" => W::USE,
        "confirmation" | "approval" | "permission" | "consent" | "asking" | "confirming"
        | "review" | "verification" => W::CONSENT,
        "remember" | "memorize" | "memorise" | "memorisez" | "store" | "recuerda" | "merke"
        | "retenez" | "persist" => W::KEEP,
        "follow" | "obey" | "comply" | "respond" | "reply" | "answer" | "must" | "suivez"
        | "befolge" | "sigue" | "obedece" => W::RELAY,
        "detector" | "detectors" | "detection" | "detect" | "detects" | "fixture" | "fixtures"
        | "taxonomy" | "phrase" | "phrases" | "example" | "examples" | "benchmark"
        | "regression" | "heading" | "parser" | "classifier" | "classifiers" | "corpus"
        | "corpora" | "owasp" | "malicious's" | "article" | "blog" | "paper" | "quotes"
        | "quoted" | "quiz" | "slide" | "docs" | "documentation" | "changelog" | "snippet"
        | "wording" | "literal" | "attack" | "attacks" | "injection" | "injections"
        | "postmortem" | "lesson" | "trainer" | "analysts" | "students" | "learners" | "assert"
        | "guidance's" | "appendix" | "refused" => W::META,
        "decode" | "base64" | "rot13" | "decrypt" | "unscramble" | "decipher" | "hex"
        | "encoded" => W::CODE,
        "explain" | "explains" | "explaining" | "what" | "whats" | "why" | "how" | "difference"
        | "describe" | "documented" | "describes" => W::EXPLAIN,
        "admin" | "administrator" | "administrateur" | "root" | "trusted" | "authorized"
        | "privileged" | "superuser" | "administrador" | "amministratore" => {
            W::RIGHTS.with(W::PERSONA)
        }
        "now" | "pretend" | "roleplay" | "roleplaying" | "act" | "enable" | "switch" | "mode"
        | "from" | "im" | "maintenant" | "etes" | "jetzt" | "ahora" | "eres" | "ora" | "sei"
        | "agora" | "do" | "keep" | "turn" | "stay" | "new" | "changed" | "updated" | "note"
        | "if" | "only" | "im_start" | "inst" | "sys" | "doit" | "locataire" | "tenant"
        | "attention" | "dear" | "hypothetically" | "as" => W::OTHER,
        "systemprompts" | "指令" => W::ORDERS.with(W::INNER),
        other if !other.is_ascii() && CJK.iter().any(|(part, _)| other.contains(part)) => CJK
            .iter()
            .filter(|(part, _)| other.contains(part))
            .fold(W::default(), |all, (_, kind)| all.with(*kind)),
        _ => W::default(),
    }
}

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
