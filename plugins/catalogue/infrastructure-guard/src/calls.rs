//! Tools of servers (MCP) that change infrastructure: their parameters say where.

use crate::commands::judge_place;
use crate::deeds::Deed;
use crate::findings::Finding;
use crate::lines::Judge;
use crate::settings::Config;
use crate::tools::{Family, Sign, Source};
use portcullis_plugin::types::{Action, EffectKind, Facts, ToolCall};

/// The longest parameter that is looked at for names, in bytes: a longer one is a document, whose
/// words name many things.
const LONGEST: usize = 1024;

/// Returns the family of a server's tool, if it changes infrastructure.
pub fn family(call: &ToolCall) -> Option<Family> {
    let server = call.server.as_deref().unwrap_or_default();
    let parts = |name| str::split(name, |c: char| !c.is_ascii_alphanumeric());
    parts(server).chain(parts(&call.name)).find_map(|part| {
        Some(match part.to_ascii_lowercase().as_str() {
            "terraform" | "tofu" | "opentofu" | "terragrunt" => Family::Terraform,
            "pulumi" | "cdk" | "cloudformation" | "serverless" => Family::Stack,
            "kubernetes" | "k8s" | "kubectl" | "helm" | "openshift" | "eks" | "gke" | "aks"
            | "argocd" | "flux" | "nomad" => Family::Kubernetes,
            "aws" | "gcp" | "gcloud" | "azure" | "az" | "digitalocean" | "hetzner" | "ecs"
            | "ec2" | "lambda" | "cloudflare" | "linode" | "scaleway" => Family::Cloud,
            "heroku" | "vercel" | "netlify" | "railway" | "firebase" | "fly" => Family::Hosting,
            "ansible" => Family::Ansible,
            _ => return None,
        })
    })
}

/// Judges a call by where its parameters say that it goes.
pub fn judge(call: &ToolCall, family: Family, action: &Action, config: &Config) -> Option<Finding> {
    let deed = of_effects(&action.facts).max(of_name(&call.name));
    if deed == Deed::Nothing {
        return None;
    }
    let mut judge = Judge::new(&config.patterns);
    let server = call.server.as_deref().unwrap_or_default();
    // `kubernetes-prod`: the server is set up for one environment.
    judge.see(Sign {
        source: Source::Parameter("server"),
        value: server,
        known: true,
        place: true,
    });
    for parameter in &call.arguments {
        let text = parameter.value.as_str();
        if text.len() > LONGEST || text.contains('\n') {
            continue;
        }
        let place = is_place(&parameter.name);
        let is_name =
            |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | ':' | '@');
        for value in text.split(|c| !is_name(c)).filter(|value| !value.is_empty()) {
            let source = Source::Parameter(&parameter.name);
            judge.see(Sign { source, value, known: true, place });
        }
    }
    judge_place(deed, &judge.place(), family, &format!("`{}`", call.name), &action.tool, config)
}

fn of_effects(facts: &Facts) -> Deed {
    let deeds = facts.effects.iter().map(|effect| match effect.kind {
        _ if effect.target == "database" => Deed::Nothing,
        EffectKind::RemoteDelete => Deed::Destroy,
        EffectKind::RemoteChange | EffectKind::Publish => Deed::Change,
        _ => Deed::Nothing,
    });
    deeds.max().unwrap_or(Deed::Nothing)
}

/// Returns what the name of a tool says that it does. Names say that something changes; that it
/// destroys something is left to the effects.
fn of_name(name: &str) -> Deed {
    let mut found = Deed::Nothing;
    for part in name.split(|c: char| !c.is_ascii_alphanumeric()) {
        match part.to_ascii_lowercase().as_str() {
            "get" | "list" | "describe" | "read" | "show" | "plan" | "preview" | "diff" | "dry"
            | "validate" | "search" | "logs" | "status" | "explain" | "docs" | "template" => {
                return Deed::Nothing;
            }
            "apply" | "create" | "update" | "patch" | "scale" | "restart" | "deploy"
            | "upgrade" | "install" | "rollout" | "rollback" | "exec" | "run" | "set" | "put"
            | "start" | "stop" | "attach" | "detach" | "cordon" | "drain" | "edit" | "reboot"
            | "up" => {
                found = Deed::Change;
            }
            _ => {}
        }
    }
    found
}

fn is_place(name: &str) -> bool {
    matches!(
        name.to_ascii_lowercase().replace('-', "_").as_str(),
        "context"
            | "namespace"
            | "cluster"
            | "cluster_name"
            | "clustername"
            | "profile"
            | "region"
            | "project"
            | "project_id"
            | "projectid"
            | "account"
            | "account_id"
            | "subscription"
            | "subscription_id"
            | "stack"
            | "stack_name"
            | "workspace"
            | "env"
            | "environment"
            | "stage"
            | "resource_group"
            | "directory"
            | "dir"
            | "working_directory"
            | "workdir"
            | "cwd"
            | "chdir"
            | "app"
            | "org"
            | "team"
            | "kubeconfig"
            | "inventory"
    )
}
