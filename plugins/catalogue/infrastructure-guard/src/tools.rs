//! The tools that change infrastructure: what they are called, and where they say where they go.

use portcullis_plugin::types::Command;

/// Tools that say in the same way where they go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Terraform and what drives it: the folder says where it goes.
    Terraform,
    /// Other descriptions of infrastructure that stand in a folder.
    Stack,
    /// Clients of clusters.
    Kubernetes,
    /// Clients of clouds.
    Cloud,
    /// Platforms that run a program.
    Hosting,
    /// Container engines: they concern this plugin where they work on another machine.
    Docker,
    /// Ansible: the inventory says where it goes.
    Ansible,
}

impl Family {
    /// Returns how to name the environment in a command, for messages.
    pub const fn naming(self) -> &'static str {
        match self {
            Self::Terraform => "with TF_WORKSPACE, -chdir or a folder of its own",
            Self::Stack => "with the stack, stage or folder",
            Self::Kubernetes => "with the context and the namespace",
            Self::Cloud => "with the profile, project or subscription",
            Self::Hosting => "with the application or environment",
            Self::Docker => "with --context or -H",
            Self::Ansible => "with the inventory and --limit",
        }
    }

    /// Returns true if the folder in which it runs says where it goes.
    pub const fn goes_by_folder(self) -> bool {
        matches!(self, Self::Terraform | Self::Stack)
    }
}

/// Returns the family of a program.
pub fn family(program: &str) -> Option<Family> {
    Some(match program {
        "terraform" | "tofu" | "terragrunt" | "terramate" | "atmos" | "tflocal" => {
            Family::Terraform
        }
        "pulumi" | "cdk" | "cdktf" | "cdklocal" | "sam" | "samlocal" | "sls" | "serverless"
        | "sst" | "helmfile" | "skaffold" | "kapp" | "tk" | "copilot" | "ecs-cli" | "eb"
        | "chalice" => Family::Stack,
        "kubectl" | "k" | "oc" | "helm" | "kustomize" | "kubectx" | "kubens" | "argocd"
        | "flux" | "istioctl" | "velero" | "eksctl" | "kops" | "kubeadm" | "rancher" | "nomad"
        | "linkerd" | "calicoctl" => Family::Kubernetes,
        "aws" | "awslocal" | "gcloud" | "gsutil" | "bq" | "az" | "azd" | "doctl" | "hcloud"
        | "oci" | "ibmcloud" | "scw" | "openstack" | "linode-cli" | "vultr-cli" | "civo"
        | "upctl" | "exo" | "s3cmd" | "azcopy" | "vault" | "consul" | "etcdctl" | "mc" => {
            Family::Cloud
        }
        "heroku" | "fly" | "flyctl" | "vercel" | "netlify" | "wrangler" | "firebase"
        | "railway" | "supabase" | "cf" | "dokku" | "kamal" | "amplify" => Family::Hosting,
        "docker" | "podman" | "nerdctl" | "docker-compose" => Family::Docker,
        "ansible" | "ansible-playbook" | "ansible-pull" => Family::Ansible,
        _ => return None,
    })
}

/// Returns true for programs that only ever work on a copy on this machine.
pub fn is_emulator(program: &str) -> bool {
    matches!(program, "awslocal" | "tflocal" | "cdklocal" | "samlocal")
}

/// Returns true for a program that runs another one on the far side, or with the credentials of an
/// environment: its own words say where.
pub fn leads_elsewhere(wrapper: &str) -> bool {
    matches!(
        wrapper,
        "kubectl"
            | "k"
            | "oc"
            | "docker"
            | "podman"
            | "nerdctl"
            | "docker-compose"
            | "ssh"
            | "gcloud"
            | "aws"
            | "fly"
            | "flyctl"
            | "heroku"
    )
}

/// Returns true for a program that runs another one with the credentials of an environment.
pub fn lends_credentials(wrapper: &str) -> bool {
    matches!(
        wrapper,
        "aws-vault"
            | "aws-okta"
            | "saml2aws"
            | "chamber"
            | "doppler"
            | "infisical"
            | "op"
            | "envchain"
            | "sops"
            | "granted"
            | "assume"
            | "awsume"
            | "teller"
            | "dotenv"
            | "dotenvx"
            | "env-cmd"
            | "vault"
    )
}

/// Options whose value is a place, in every family.
fn is_place_option(name: &str) -> bool {
    matches!(
        name.trim_start_matches('-'),
        "context"
            | "kube-context"
            | "kubeconfig"
            | "namespace"
            | "cluster"
            | "server"
            | "profile"
            | "region"
            | "project"
            | "account"
            | "configuration"
            | "subscription"
            | "resource-group"
            | "stack"
            | "env"
            | "environment"
            | "stage"
            | "workspace"
            | "chdir"
            | "var-file"
            | "backend-config"
            | "state"
            | "working-dir"
            | "terragrunt-working-dir"
            | "config-dir"
            | "inventory"
            | "inventory-file"
            | "limit"
            | "cwd"
            | "endpoint-url"
            | "host"
            | "connection"
            | "app"
            | "os-cloud"
            | "kube-apiserver"
            | "cluster-name"
            | "org"
            | "as-project"
            | "role-arn"
            | "remote"
    )
}

fn is_short_place(family: Family, name: &str) -> bool {
    match family {
        Family::Kubernetes => matches!(name, "-n" | "-s"),
        Family::Stack => matches!(name, "-s" | "-e" | "-n" | "-C" | "-p"),
        Family::Cloud => matches!(name, "-g" | "-s"),
        Family::Hosting => matches!(name, "-a" | "-e" | "-P" | "-r"),
        Family::Docker => matches!(name, "-H" | "-c"),
        Family::Ansible => matches!(name, "-i" | "-l"),
        Family::Terraform => false,
    }
}

/// Options whose value is prose or a format, and names no place.
fn is_text_option(family: Family, name: &str) -> bool {
    matches!(
        name.trim_start_matches('-'),
        "message"
            | "m"
            | "description"
            | "reason"
            | "comment"
            | "query"
            | "output"
            | "o"
            | "format"
            | "patch"
            | "template"
            | "jsonpath"
            | "cli-input-json"
            | "policy-document"
    ) || (family == Family::Kubernetes && matches!(name, "-p" | "-c" | "--container"))
        || (family == Family::Ansible && matches!(name, "-a" | "-m"))
}

/// Returns true for a variable that a family takes its place from. Variables that it does not read
/// say nothing about it: `ENV=dev kubectl ...` goes wherever `kubectl ...` does.
pub fn is_place_variable(name: &str, family: Family) -> bool {
    let cloud = || {
        matches!(
            name,
            "AWS_PROFILE"
                | "AWS_DEFAULT_PROFILE"
                | "AWS_VAULT"
                | "AWS_REGION"
                | "AWS_DEFAULT_REGION"
                | "AWS_ROLE_ARN"
                | "AWS_ENDPOINT_URL"
                | "CLOUDSDK_CORE_PROJECT"
                | "CLOUDSDK_ACTIVE_CONFIG_NAME"
                | "GOOGLE_CLOUD_PROJECT"
                | "GCLOUD_PROJECT"
                | "GOOGLE_PROJECT"
                | "GOOGLE_APPLICATION_CREDENTIALS"
                | "AZURE_SUBSCRIPTION_ID"
                | "ARM_SUBSCRIPTION_ID"
                | "AZURE_CONFIG_DIR"
                | "OS_CLOUD"
                | "DIGITALOCEAN_CONTEXT"
                | "HCLOUD_CONTEXT"
                | "VAULT_ADDR"
                | "VAULT_NAMESPACE"
                | "CONSUL_HTTP_ADDR"
        )
    };
    let described = || {
        matches!(
            name,
            "TF_WORKSPACE" | "TF_VAR_env" | "TF_VAR_environment" | "TF_DATA_DIR" | "PULUMI_STACK"
        ) || matches!(
            name,
            "ENV" | "ENVIRONMENT" | "STAGE" | "APP_ENV" | "DEPLOY_ENV" | "TARGET_ENV"
        )
    };
    match family {
        Family::Terraform | Family::Stack => described() || cloud(),
        Family::Cloud => cloud(),
        Family::Kubernetes => matches!(
            name,
            "KUBECONFIG" | "KUBE_CONTEXT" | "HELM_KUBECONTEXT" | "HELM_NAMESPACE" | "NOMAD_ADDR"
        ),
        Family::Docker => matches!(
            name,
            "DOCKER_HOST" | "DOCKER_CONTEXT" | "CONTAINER_HOST" | "CONTAINER_CONNECTION"
        ),
        Family::Ansible => name == "ANSIBLE_INVENTORY",
        Family::Hosting => matches!(name, "FLY_APP" | "HEROKU_APP"),
    }
}

/// Where a name stands, for the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source<'a> {
    /// A word that is no option.
    Word,
    /// An option's value.
    Option(&'a str),
    /// A variable.
    Variable(&'a str),
    /// A word of the program that starts the command.
    Wrapper,
    /// An earlier command of the line that switched the environment.
    Switch,
    /// The folder that it runs in.
    Folder,
    /// A parameter of a tool.
    Parameter(&'a str),
}

/// A word that may name an environment.
#[derive(Clone, Copy, Debug)]
pub struct Sign<'a> {
    /// Where it stands.
    pub source: Source<'a>,
    /// The value.
    pub value: &'a str,
    /// All of it is known.
    pub known: bool,
    /// It says where the command goes. Anything else is a name on the way: it can make the
    /// environment stricter, and never milder.
    pub place: bool,
}

/// Calls `visit` for every word that may name an environment, in order. Each word comes with whether
/// all of it is known.
pub fn visit_words<'a>(
    words: impl Iterator<Item = (&'a str, bool)>,
    family: Family,
    mut visit: impl FnMut(Sign<'a>),
) {
    let mut words = words;
    while let Some((word, known)) = words.next() {
        let Some((name, attached)) = split_option(word, family) else {
            visit(Sign { source: Source::Word, value: word, known, place: false });
            continue;
        };
        let place = is_place_option(name) || is_short_place(family, name);
        let text = is_text_option(family, name);
        let (value, known) = match attached {
            Some(value) => (value, known),
            // The word behind any other option may be an operand: it is looked at for itself.
            None if place || text => match words.next() {
                Some(next) => next,
                None => return,
            },
            // `vercel --prod`
            None => (name.trim_start_matches('-'), known),
        };
        if !text {
            visit(Sign { source: Source::Option(name), value, known, place });
        }
    }
}

/// Returns a command's words, each with whether all of it is known.
pub fn words(command: &Command) -> impl Iterator<Item = (&str, bool)> {
    command.words.iter().map(|word| (word.text.as_str(), word.known))
}

/// Returns an option's name, and its value if that stands in the same word.
fn split_option(word: &str, family: Family) -> Option<(&str, Option<&str>)> {
    if !word.starts_with('-') || word.len() < 2 {
        return None;
    }
    if let Some((name, value)) = word.split_once('=') {
        return Some((name, Some(value)));
    }
    // `-nprod`; a stack tool bundles short options instead.
    let bundles = word.starts_with("--") || family == Family::Stack;
    let short = word.get(..2).filter(|name| !bundles && is_short_place(family, name));
    match short.and_then(|name| Some((name, word.get(2..).filter(|value| !value.is_empty())?))) {
        Some((name, value)) => Some((name, Some(value))),
        None => Some((word, None)),
    }
}

/// Returns a command's words that are neither options nor the values of options that say where.
pub fn operands(command: &Command, family: Family) -> Vec<&str> {
    let mut found = Vec::new();
    visit_words(words(command), family, |sign| {
        if sign.source == Source::Word {
            found.push(sign.value);
        }
    });
    found
}
