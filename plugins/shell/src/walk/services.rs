//! Services that are stopped past their manager: by the name of their process, or by a number that
//! was looked up. That is a change of the machine, as `systemctl stop` is one.

use super::environment::UNKNOWN;
use super::expand::Field;
use super::simple::Call;
use super::{Setting, Walker};
use crate::catalogue::Plan;
use crate::places::Place;
use crate::types::EffectKind;

/// Processes of services: whoever stops one takes something away from the whole machine.
const SERVICES: &[&str] = &[
    "NetworkManager",
    "Xorg",
    "apache2",
    "atd",
    "auditd",
    "avahi-daemon",
    "bluetoothd",
    "caddy",
    "cassandra",
    "chronyd",
    "clamd",
    "cloudflared",
    "consul",
    "containerd",
    "coredns",
    "cron",
    "crond",
    "cupsd",
    "dbus-broker",
    "dbus-daemon",
    "dhclient",
    "dnsmasq",
    "dockerd",
    "dovecot",
    "elasticsearch",
    "etcd",
    "exim4",
    "fail2ban-server",
    "falcon-sensor",
    "falco",
    "firewalld",
    "gdm",
    "gitlab-runner",
    "grafana-server",
    "haproxy",
    "httpd",
    "influxd",
    "init",
    "jenkins",
    "journald",
    "kafka",
    "keepalived",
    "kubelet",
    "kube-apiserver",
    "launchd",
    "libvirtd",
    "lightdm",
    "lighttpd",
    "mariadbd",
    "memcached",
    "mongod",
    "mysqld",
    "named",
    "nfsd",
    "nginx",
    "nmbd",
    "node_exporter",
    "ntpd",
    "openvpn",
    "osqueryd",
    "php-fpm",
    "polkitd",
    "postfix",
    "postgres",
    "postgresql",
    "postmaster",
    "prometheus",
    "puppet",
    "rabbitmq-server",
    "redis-server",
    "rpcbind",
    "rsyslogd",
    "salt-minion",
    "sddm",
    "slapd",
    "smbd",
    "snmpd",
    "squid",
    "sshd",
    "strongswan",
    "supervisord",
    "syslogd",
    "systemd",
    "systemd-journald",
    "systemd-logind",
    "systemd-networkd",
    "systemd-resolved",
    "systemd-udevd",
    "tailscaled",
    "tomcat",
    "traefik",
    "udevd",
    "unbound",
    "upstart",
    "vault",
    "vsftpd",
    "wazuh-agentd",
    "wpa_supplicant",
    "xinetd",
    "zabbix_agentd",
];

/// Programs that run others' programs: whoever stops one by its name stops everybody's.
const RUNTIMES: &[&str] = &[
    "bash",
    "beam.smp",
    "bun",
    "code",
    "code-server",
    "cursor",
    "dash",
    "deno",
    "docker",
    "dotnet",
    "electron",
    "erl",
    "fish",
    "java",
    "julia",
    "ksh",
    "lua",
    "mono",
    "node",
    "nodejs",
    "perl",
    "php",
    "powershell",
    "pwsh",
    "pypy",
    "python",
    "ruby",
    "screen",
    "sh",
    "ssh",
    "tcsh",
    "tmux",
    "zsh",
];

/// Ports on which databases, brokers and the machine itself answer.
const PORTS: &[&str] = &[
    "22", "25", "53", "111", "123", "389", "443", "631", "636", "80", "1433", "1521", "2049",
    "2375", "2376", "2379", "2380", "3306", "5432", "5672", "5984", "6379", "6443", "9042", "9092",
    "9200", "9300", "10250", "11211", "15672", "26257", "27017",
];

/// Programs that stop processes by name.
const BY_NAME: &[&str] = &["killall", "pkill", "skill", "stop-process", "taskkill"];
/// Programs that stop whatever answers on a port.
const BY_PORT: &[&str] = &["fkill", "fuser", "kill-port"];
/// Programs that tell the number of a named process.
const LOOK_UP: &[&str] = &["pgrep", "pidof", "ps", "service", "systemctl"];

/// Programs that find it in the list of all.
const FILTERS: &[&str] = &["egrep", "grep", "rg"];

impl Walker<'_> {
    /// Notes a service that a program stops by its name or by a number that was looked up before.
    pub(super) fn stop_service(
        &mut self,
        name: &str,
        rest: &[Field],
        plan: &Plan,
        call: &Call,
        command: Option<u32>,
        setting: &Setting,
    ) {
        let from = self.program_of(call.input.from).unwrap_or("").to_owned();
        let inverts =
            rest.iter().any(|field| matches!(field.text.as_str(), "-v" | "--invert-match"));
        let filters = FILTERS.contains(&name) && from == "ps";
        if filters && inverts {
            // All but some are left.
            self.looked_up_all = true;
            return;
        }
        if LOOK_UP.contains(&name) || filters {
            self.looked_up |= rest.iter().any(|field| service_in(&field.text).is_some());
            self.looked_up_all = rest.iter().any(|field| is_runtime(&field.text))
                && !narrows(rest)
                && !matches!(name, "service" | "systemctl");
            return;
        }
        if FILTERS.contains(&name) && FILTERS.contains(&from.as_str()) && !inverts {
            self.looked_up_all &= rest.iter().any(|field| is_runtime(&field.text));
            return;
        }
        if matches!(name, "awk" | "gawk" | "mawk") && from == "ps" {
            self.looked_up_all =
                rest.iter().any(|field| field.text.split('/').nth(1).is_some_and(is_runtime));
            return;
        }
        if name == "lsof" {
            self.looked_up_all = false;
            self.looked_up |= rest.iter().any(|field| port_in(&field.text).is_some());
            return;
        }
        let operands = || plan.operands.iter().filter_map(|at| rest.get(*at));
        // A container has nobody else's programs.
        let inside = matches!(setting.place, Place::Container(..));
        if !inside && self.stops_all(name, rest, plan) {
            self.out.form("stop-others", command);
            if plan.operands.is_empty() {
                self.plain(EffectKind::ProcessStop, "", false, command, setting);
            }
        }
        let stopped = if BY_NAME.contains(&name) {
            operands().find_map(|field| service_in(&field.text))
        } else if BY_PORT.contains(&name) {
            let kills = name != "fuser" || has_letter(rest, plan, 'k', "--kill");
            kills.then(|| operands().find_map(|field| port_in(&field.text))).flatten()
        } else if name == "kill" {
            let looked_up = self.looked_up && operands().any(|field| field.text.contains(UNKNOWN));
            looked_up.then_some("")
        } else {
            None
        };
        if let Some(service) = stopped {
            self.out.form("stop-service", command);
            self.plain(EffectKind::SystemChange, service, !service.is_empty(), command, setting);
        }
    }

    /// Returns true if a call stops programs by what runs them, by their user, or by what they have
    /// open, and not one in particular.
    fn stops_all(&self, name: &str, rest: &[Field], plan: &Plan) -> bool {
        let operands = || plan.operands.iter().filter_map(|at| rest.get(*at));
        match name {
            "taskkill" | "stop-process" => rest.iter().any(|field| is_runtime(&field.text)),
            "killall" | "pkill" | "skill" if plan.operands.is_empty() => {
                let users = ["-u", "-U", "--user", "--euid", "--uid"];
                rest.iter().any(|field| users.contains(&field.text.as_str()))
            }
            // It asks, in the words of every tutorial; `killall` and flags mean more.
            "pkill" if plan.flags.is_empty() && !operands().any(|field| fits_all(&field.text)) => {
                false
            }
            "killall" | "pkill" | "skill" => {
                let all = |text: &str| is_runtime(text) || (name == "pkill" && fits_all(text));
                !narrows(rest) && operands().any(|field| all(&field.text))
            }
            "fuser" => {
                has_letter(rest, plan, 'k', "--kill") && has_letter(rest, plan, 'm', "--mount")
            }
            "kill" => self.looked_up_all && operands().any(|field| field.text.contains(UNKNOWN)),
            _ => false,
        }
    }

    /// Notes that the file with a service's process number is read.
    pub(super) fn note_process_file(&mut self, path: &str) {
        let kept = ["/run/", "/var/run/"].iter().any(|folder| path.starts_with(folder));
        self.looked_up |= kept && path.ends_with(".pid");
    }
}

/// Returns true if one of the flags leaves all but one process, or all but one's own, out.
fn narrows(rest: &[Field]) -> bool {
    const ONE: &[&str] =
        &["-P", "-n", "-o", "-s", "-t", "--newest", "--oldest", "--parent", "--session"];
    rest.iter().any(|field| ONE.contains(&field.text.as_str()))
}

fn has_letter(rest: &[Field], plan: &Plan, letter: char, long: &str) -> bool {
    plan.flags.iter().filter_map(|at| rest.get(*at)).any(|field| {
        field.text == long || (!field.text.starts_with("--") && field.text.contains(letter))
    })
}

/// Returns true for a name or a pattern that means whatever a runtime runs.
fn is_runtime(text: &str) -> bool {
    let name = text.trim_start_matches(['^', '(']).trim_end_matches(['$', ')', '*']);
    let name = name.rsplit('/').next().unwrap_or(name);
    let bare: String = name.chars().filter(|c| !matches!(c, '[' | ']' | '\\')).collect();
    let bare = bare.to_ascii_lowercase();
    let bare = bare.strip_suffix(".exe").unwrap_or(&bare);
    let plain = bare.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    RUNTIMES.contains(&bare) || (bare.len() > 2 && RUNTIMES.contains(&plain))
}

/// Returns true for a pattern that fits every name.
fn fits_all(text: &str) -> bool {
    text.len() < 2 || text.bytes().all(|byte| b".*+^$".contains(&byte))
}

/// Returns the port of a service in `5432/tcp`, `-ti:5432`, `tcp:5432` and the like.
fn port_in(text: &str) -> Option<&'static str> {
    let text = text.split('/').next().unwrap_or(text);
    let port = text.rsplit(':').next().unwrap_or(text);
    let port = port.trim_start_matches(|c: char| !c.is_ascii_digit());
    PORTS.iter().copied().find(|known| *known == port)
}

/// Returns the service that a name or a pattern for names means: the pattern may be a little
/// shorter, since it fits anywhere in the name.
fn service_in(pattern: &str) -> Option<&'static str> {
    let name = pattern.trim_start_matches(['^', '(']).trim_end_matches(['$', ')', '*', '.']);
    let name = name.rsplit('/').next().unwrap_or(name).trim_end_matches(':');
    let bare: String = name.chars().filter(|c| !matches!(c, '[' | ']' | '\\')).collect();
    SERVICES.iter().copied().find(|service| {
        *service == bare
            || (bare.len() >= 3
                && service.strip_suffix('d') == Some(bare.as_str())
                && *service != "init")
    })
}
