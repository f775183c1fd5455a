//! The reach of what a call changes on a service: this machine alone, somebody who gets rights, or
//! everybody.
//!
//! An entry says that a call only addresses this machine (`local`): an emulator, a cluster in a
//! container. Then nothing remote changes. Otherwise the words of a call that changes something are
//! searched for those that give rights, or open a thing to everybody. They are the same for all
//! providers: names of roles, of everybody, of the whole address space.

use super::plan::{Item, Plan};
use super::verbs::parts;
use crate::types::EffectKind;

/// The name of this machine in effects.
const HERE: &str = "localhost";

/// Settles the effects on services, when all items of the entry have been applied.
pub(super) fn settle(plan: &mut Plan, words: &[&str]) {
    if plan.local {
        return stay_here(plan);
    }
    let changes = |item: &Item| match item {
        Item::Constant(EffectKind::RemoteChange | EffectKind::Publish, host) => {
            !OF_WORK.contains(host)
        }
        _ => false,
    };
    if plan.nothing || !plan.items.iter().any(changes) {
        return;
    }
    let forms = words.iter().enumerate().flat_map(|(at, word)| {
        let before = at.checked_sub(1).and_then(|before| words.get(before)).copied();
        [
            opens(before.unwrap_or(""), word).then_some("open-to-all"),
            gives_power(word).then_some("grant-rights"),
            names_production(word).then_some("to-production"),
        ]
    });
    let leads = plan.subcommand.iter().chain(&plan.operands).take(PATH);
    let path: Vec<&str> = leads.filter_map(|at| words.get(*at)).copied().collect();
    let names = path.iter().any(|word| is_of_names(word))
        || path.iter().any(|word| matches!(*word, "domain" | "domains"))
            && path.iter().any(|word| matches!(*word, "record" | "records"));
    let mut forms: Vec<&'static str> =
        forms.flatten().chain(names.then_some("dns-change")).collect();
    forms.sort_unstable();
    forms.dedup();
    for form in forms {
        if !plan.items.contains(&Item::Form(form)) {
            plan.items.push(Item::Form(form));
        }
    }
}

/// Turns effects on services into a contact with this machine.
pub(super) fn stay_here(plan: &mut Plan) {
    let is_remote = |kind: &EffectKind| {
        matches!(
            kind,
            EffectKind::Evade
                | EffectKind::Network
                | EffectKind::Publish
                | EffectKind::RemoteChange
                | EffectKind::RemoteDelete
                | EffectKind::SecretRead
                | EffectKind::Send
        )
    };
    let before = plan.items.len();
    plan.items.retain(|item| match item {
        Item::Constant(kind, _) => !is_remote(kind),
        Item::Form(form) => !OF_SERVICES.contains(form),
        _ => true,
    });
    if plan.items.len() < before {
        plan.items.push(Item::Constant(EffectKind::Network, HERE));
    }
}

/// Services that hold the work itself: a branch or an issue there runs nowhere.
const OF_WORK: &[&str] = &["api.github.com", "device", "gitlab.com", "origin"];

/// Forms that say what is lost or given away on a service.
const OF_SERVICES: &[&str] = &[
    "delete-remote",
    "destroy-remote",
    "dns-change",
    "drop-data",
    "grant-rights",
    "mirror-delete",
    "no-approval",
    "open-to-all",
    "state-change",
    "to-production",
];

/// The number of words in which a call says what it is about.
const PATH: usize = 4;

/// Returns true for a word of a path of subcommands that stands for the names of hosts.
fn is_of_names(word: &str) -> bool {
    let low = word.to_ascii_lowercase();
    let exact = ["dns", "recordset", "recordsets", "record-set", "record-sets", "rrset", "rrsets"];
    exact.contains(&low.as_str())
        || ["dns-", "dns_", "dns:", "record-sets:"].iter().any(|start| low.starts_with(start))
        || low.contains("resource-record-set")
        || ["-dns", "_dns", "dns-record", "dns-records", "records-create", "records-update"]
            .iter()
            .any(|end| low.ends_with(end))
}

/// Words that mean everybody, whatever they are the value of.
const EVERYBODY: &[&str] = &[
    "--allow-unauthenticated",
    "--make-public",
    "--publicly-accessible",
    "0.0.0.0-255.255.255.255",
    "0.0.0.0/0",
    "::/0",
    "allauthenticatedusers",
    "allusers",
    "authenticated-read",
    "public-read",
    "public-read-write",
    "publicread",
    "publicreadwrite",
    "system:anonymous",
    "system:unauthenticated",
];

/// Flags and keys whose value opens a thing to everybody, with the values that do.
const OPENED: &[(&str, &[&str])] = &[
    ("access", &["public"]),
    ("access-level", &["public"]),
    ("acl", &["public", "public-read", "public-read-write"]),
    ("allow-blob-public-access", &["true"]),
    ("allow-public-access", &["true"]),
    ("auth-type", &["none"]),
    ("block-public-acls", &["false"]),
    ("block-public-policy", &["false"]),
    ("blockpublicacls", &["false"]),
    ("blockpublicpolicy", &["false"]),
    ("cidr", &["*", "0.0.0.0", "any", "internet"]),
    ("default-action", &["allow"]),
    ("ignore-public-acls", &["false"]),
    ("ignorepublicacls", &["false"]),
    ("principal", &["*"]),
    ("public", &["true"]),
    ("public-access", &["blob", "container", "enabled"]),
    ("public-network-access", &["enabled"]),
    ("restrict-public-buckets", &["false"]),
    ("restrictpublicbuckets", &["false"]),
    ("source-address-prefix", &["*", "0.0.0.0", "any", "internet"]),
    ("source-address-prefixes", &["*", "0.0.0.0", "any", "internet"]),
    ("source-ranges", &["*", "any"]),
    ("start-ip-address", &["0.0.0.0"]),
    ("visibility", &["public"]),
];

/// Returns true if a word, as the value of the one before it or by itself, means everybody.
fn opens(before: &str, word: &str) -> bool {
    let word = word.to_ascii_lowercase();
    let pieces = || {
        word.split([',', '=', ';', '|', '"', '[', ']', '{', '}', ' ', '@'])
            .chain(word.split_once("address:").map(|(_, rest)| rest))
            .chain(word.split(':'))
    };
    if EVERYBODY.contains(&word.as_str()) || pieces().any(|piece| EVERYBODY.contains(&piece)) {
        return true;
    }
    let set = |name: &str, value: &str| {
        let name = name.trim_start_matches('-');
        OPENED.iter().any(|(known, values)| *known == name && values.contains(&value))
    };
    let attached = |(name, value): (&str, &str)| set(name, value);
    (before.starts_with('-') && !before.contains('=') && set(&before.to_ascii_lowercase(), &word))
        || word.split(',').filter_map(|pair| pair.split_once('=')).any(attached)
        || word.split_once('=').is_some_and(attached)
        || word == "--public"
}

/// Names of roles and policies that let their holder do everything, or nearly so.
const POWERS: &[&str] = &[
    "administratoraccess",
    "cluster-admin",
    "iamfullaccess",
    "poweruseraccess",
    "roles/editor",
    "roles/iam.securityadmin",
    "roles/iam.serviceaccounttokencreator",
    "roles/owner",
    "system:masters",
    "user access administrator",
];

/// Returns true if a word names a role or policy of great power.
fn gives_power(word: &str) -> bool {
    let word = word.to_ascii_lowercase();
    let names = || word.rsplit(['/', '=', ',']).next().into_iter().chain(word.split(['=', ',']));
    names().any(|name| POWERS.contains(&name))
}

/// Returns true if one of the parts of a word says production, and none denies it.
fn names_production(word: &str) -> bool {
    let low = word.to_ascii_lowercase();
    let parts = || low.split(|c: char| !c.is_ascii_alphanumeric());
    // A site that is live has it at the end of its name.
    let live = low.ends_with("live") && parts().next_back() == Some("live");
    !low.contains(char::is_whitespace)
        && (live || parts().any(|part| matches!(part, "prd" | "prod" | "production")))
        && !parts().any(|part| matches!(part, "non" | "no" | "not" | "pre" | "preprod"))
}

/// Things that say who may do what.
const RIGHTS: &[&str] = &[
    "acl",
    "acls",
    "admin",
    "admins",
    "binding",
    "bindings",
    "clusterrolebinding",
    "collaborator",
    "collaborators",
    "defacl",
    "grant",
    "grants",
    "iam",
    "member",
    "members",
    "membership",
    "password",
    "permission",
    "permissions",
    "policies",
    "policy",
    "rolebinding",
];
/// Things that a new one of opens a way in.
const WAYS_IN: &[&str] =
    &["apikey", "assignment", "assignments", "binding", "bindings", "invitation", "password"];
/// Policies and passwords that are about something else than rights.
const OTHERWISE: &[&str] = &[
    "alert",
    "autoscaling",
    "backup",
    "cache",
    "compression",
    "contact",
    "cookie",
    "delivery",
    "health",
    "header",
    "headers",
    "lifecycle",
    "log",
    "logging",
    "maintenance",
    "monitoring",
    "notification",
    "origin",
    "quota",
    "replication",
    "restart",
    "retention",
    "retry",
    "rotation",
    "scaling",
    "schedule",
    "snapshot",
    "tag",
    "tags",
    "time",
    "traffic",
    "ttl",
    "update",
    "upgrade",
];
const CHANGES_RIGHTS: &[&str] = &[
    "add",
    "assign",
    "associate",
    "attach",
    "authorize",
    "bind",
    "ch",
    "change",
    "edit",
    "enable",
    "grant",
    "import",
    "invite",
    "modify",
    "put",
    "replace",
    "reset",
    "set",
    "update",
    "upload",
];

/// Returns true if the words of a path of subcommands change who may do what: a verb with an
/// object, in any order. A new policy or role gives nobody anything until it is attached.
pub(super) fn gives_rights(path: &[&str]) -> bool {
    let words: Vec<String> = path.iter().flat_map(|word| parts(word)).collect();
    let has = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
    let pair = |first: &str, second: &str| {
        words.windows(2).any(|pair| matches!(pair, [a, b] if a == first && b == second))
    };
    if has(OTHERWISE) && !has(&["iam"]) {
        return false;
    }
    let keys = pair("access", "key") || pair("login", "profile") || pair("public", "key");
    (has(CHANGES_RIGHTS) && (has(RIGHTS) || keys || pair("security", "ingress")))
        || (has(&["create", "new", "generate"]) && (has(WAYS_IN) || keys))
        || has(&["grant", "authorize", "invite"])
}

#[cfg(test)]
mod tests {
    use super::{gives_power, gives_rights, names_production, opens};

    #[test]
    fn a_verb_and_its_object_tell_who_gets_rights() {
        let gives = [
            "iam attach-user-policy",
            "iam put-role-policy",
            "iam add-user-to-group-members",
            "iam create-access-key",
            "iam create-login-profile",
            "s3api put-bucket-acl",
            "s3api put-bucket-policy",
            "lambda add-permission",
            "projects add-iam-policy-binding",
            "projects set-iam-policy",
            "role assignment create",
            "iam ch",
            "acl set",
            "access:add-member",
            "members invite",
            "ec2 authorize-security-group-ingress",
        ];
        for path in gives {
            assert!(gives_rights(&path.split([' ', ':']).collect::<Vec<_>>()), "{path}");
        }
        let leaves = [
            "ec2 run-instances",
            "iam create-policy",
            "iam create-role",
            "autoscaling put-scaling-policy",
            "ecr put-lifecycle-policy",
            "logs put-retention-policy",
            "s3api put-object",
            "compute instances create",
            "dns record-sets create",
            "access-level list",
        ];
        for path in leaves {
            assert!(!gives_rights(&path.split([' ', ':']).collect::<Vec<_>>()), "{path}");
        }
    }

    #[test]
    fn words_for_everybody_are_known_in_every_notation() {
        let open = [
            ("--cidr", "0.0.0.0/0"),
            ("--cidr-ip", "::/0"),
            ("", "--cidr=0.0.0.0/0"),
            ("--acl", "public-read"),
            ("", "--acl=public-read"),
            ("--member", "allUsers"),
            ("", "--member=allUsers"),
            ("", "allUsers:objectViewer"),
            ("", "--allow-unauthenticated"),
            ("--principal", "*"),
            ("--source-address-prefixes", "*"),
            ("--inbound-rules", "protocol:tcp,ports:22,address:0.0.0.0/0"),
            ("--visibility", "public"),
            ("", "--visibility=public"),
            ("", "--public"),
            ("--public-access", "container"),
            (
                "--ip-permissions",
                "IpProtocol=tcp,FromPort=22,ToPort=22,IpRanges=[{CidrIp=0.0.0.0/0}]",
            ),
            ("", "BlockPublicAcls=false,IgnorePublicAcls=true"),
        ];
        for (before, word) in open {
            assert!(opens(before, word), "{before} {word}");
        }
        let closed = [
            ("--cidr", "10.0.0.0/8"),
            ("--acl", "private"),
            ("--visibility", "private"),
            ("--name", "public"),
            ("--public-access", "off"),
            ("", "--no-public"),
            ("--title", "public"),
            ("", "BlockPublicAcls=true"),
            ("--principal", "lambda.amazonaws.com"),
            ("--allow-blob-public-access", "false"),
        ];
        for (before, word) in closed {
            assert!(!opens(before, word), "{before} {word}");
        }
    }

    #[test]
    fn names_of_great_power_give_rights() {
        for word in [
            "arn:aws:iam::aws:policy/AdministratorAccess",
            "--role=roles/owner",
            "roles/editor",
            "--clusterrole=cluster-admin",
        ] {
            assert!(gives_power(word), "{word}");
        }
        for word in ["arn:aws:iam::aws:policy/ReadOnlyAccess", "roles/viewer", "owner"] {
            assert!(!gives_power(word), "{word}");
        }
    }

    #[test]
    fn production_is_a_word_of_its_own() {
        for word in [
            "production",
            "--prod",
            "values-prod.yaml",
            "--env=production",
            "app/prod",
            "shop-live",
        ] {
            assert!(names_production(word), "{word}");
        }
        for word in [
            "product",
            "reproduce",
            "non-prod",
            "pre-production",
            "prodigy",
            "fix prod",
            "alive",
            "live-reload",
            "oblive",
        ] {
            assert!(!names_production(word), "{word}");
        }
    }
}
