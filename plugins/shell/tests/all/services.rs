//! Effects on services, by program and verb: rows are generated, with a harmless twin for each.

use crate::{effects, forms, reading};

/// A program, the words that name a kind of thing before the verb, and the words behind it.
const PROGRAMS: &[(&str, &str, &str)] = &[
    ("gcloud", "compute instances", "a --zone b"),
    ("gcloud", "pubsub topics", "a"),
    ("az", "vm", "-g a -n b"),
    ("az", "network vnet", "-g a -n b"),
    ("doctl", "compute droplet", "a"),
    ("oci", "compute instance", "--instance-id a"),
    ("ibmcloud", "resource service-instance", "a"),
    ("linode-cli", "linodes", "1"),
    ("hcloud", "server", "a"),
    ("scw", "instance server", "a"),
    ("openstack", "server", "a"),
    ("flyctl", "machine", "a"),
    ("heroku", "addons", "a"),
    ("supabase", "functions", "a"),
    ("wrangler", "kv key", "a"),
    ("vercel", "certs", "a"),
    ("netlify", "sites", "a"),
    ("render", "services", "a"),
    ("eksctl", "nodegroup", "--cluster a"),
    ("argocd", "app", "a"),
    ("knife", "node", "a"),
    ("gh", "label", "a"),
    ("glab", "label", "a"),
    ("confluent", "kafka topic", "a"),
];
const LOOKS: &[&str] = &["list", "describe", "get", "show"];
const DESTROYS: &[&str] = &["delete", "remove", "destroy", "terminate", "purge"];
const CHANGES: &[&str] = &["update", "create", "start", "frobnicate"];

fn does(line: &str, kind: &str) -> bool {
    effects(&reading(line))
        .iter()
        .any(|effect| effect.split([' ', '?']).next().is_some_and(|name| name == kind))
}

fn lines(verbs: &[&str]) -> Vec<String> {
    let of = |(program, things, rest): &(&str, &str, &str)| {
        verbs.iter().map(|verb| format!("{program} {things} {verb} {rest}")).collect::<Vec<_>>()
    };
    PROGRAMS.iter().flat_map(of).collect()
}

#[test]
fn a_verb_that_destroys_does_so_for_every_program() {
    let missed: Vec<String> =
        lines(DESTROYS).into_iter().filter(|line| !does(line, "remote-delete")).collect();
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

#[test]
fn a_verb_that_looks_changes_nothing() {
    let changed: Vec<String> = lines(LOOKS)
        .into_iter()
        .filter(|line| ["remote", "remote-delete", "publish"].iter().any(|kind| does(line, kind)))
        .collect();
    assert!(changed.is_empty(), "{}", changed.join("\n"));
}

#[test]
fn any_other_verb_changes_something() {
    let silent: Vec<String> = lines(CHANGES)
        .into_iter()
        .filter(|line| !["remote", "publish"].iter().any(|kind| does(line, kind)))
        .collect();
    assert!(silent.is_empty(), "{}", silent.join("\n"));
}

/// A line that reaches a service, and the words that lead it to this machine.
const TWINS: &[(&str, &str)] = &[
    ("aws s3 rb s3://a --force", "--endpoint-url http://localhost:4566"),
    ("aws dynamodb delete-table --table-name a", "--endpoint-url=http://127.0.0.1:8000"),
    ("aws dynamodb delete-table --table-name a", "--region local"),
    ("kubectl delete ns a", "--context minikube"),
    ("kubectl delete ns a", "--context=kind-a"),
    ("kubectl scale deployment/a --replicas=0", "--context k3d-a"),
    ("kubectl create clusterrolebinding a --clusterrole=cluster-admin", "--context docker-desktop"),
    ("helm uninstall a", "--kube-context kind-a"),
    ("celery -A a purge -f", "-b redis://localhost"),
    ("redis-cli flushdb", "-n 3"),
    ("redis-cli flushall", "-p 6399"),
    ("wrangler kv key delete a", "--local"),
    ("adb uninstall a", "-s emulator-5554"),
];

#[test]
fn twins_on_this_machine_lose_nothing_of_a_service() {
    for (line, here) in TWINS {
        let (program, rest) = line.split_once(' ').unwrap();
        let twin = format!("{program} {here} {rest}");
        let lost =
            |line: &str| ["remote", "remote-delete", "publish"].iter().any(|kind| does(line, kind));
        assert!(lost(line), "`{line}` should change a service");
        assert!(!lost(&twin), "`{twin}`: {:?}", effects(&reading(&twin)));
        assert_eq!(forms(&reading(&twin)), Vec::<&str>::new(), "`{twin}`");
    }
}
