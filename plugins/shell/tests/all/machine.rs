//! Accounts, mounts, settings of the kernel, the firewall and services: whatever changes them says
//! so, by whichever program and wrapper, and looking at them changes nothing.

use crate::{effects, forms, reading};

/// A call, and an effect or form (`form NAME`) that it has to have.
const CHANGES: &[(&str, &str)] = &[
    ("useradd -m eve", "modify? /etc/passwd"),
    ("useradd -ms /bin/bash eve", "modify? /etc/passwd"),
    ("adduser --disabled-password --gecos '' eve", "modify? /etc/passwd"),
    ("usermod -s /bin/zsh eve", "modify? /etc/passwd"),
    ("usermod -l old new", "modify? /etc/passwd"),
    ("chsh -s /bin/zsh", "modify? /etc/passwd"),
    ("newusers list.txt", "modify? /etc/passwd"),
    ("passwd eve", "modify? /etc/shadow"),
    ("echo eve:x | chpasswd", "modify? /etc/shadow"),
    ("chage -E -1 eve", "modify? /etc/shadow"),
    ("groupadd -g 900 x", "modify? /etc/group"),
    ("gpasswd -a eve adm", "modify? /etc/group"),
    ("userdel -r eve", "form remove-account"),
    ("visudo", "modify? /etc/sudoers"),
    ("mount /dev/sdb1 /mnt", "modify? /etc/mtab"),
    ("mount -a", "modify? /etc/mtab"),
    ("mount -o remount,rw /", "modify? /etc/mtab"),
    ("umount -l /mnt", "modify? /etc/mtab"),
    ("sysctl -w net.ipv4.ip_forward=1", "modify? /proc/sys"),
    ("sysctl -p", "modify? /proc/sys"),
    ("sysctl vm.swappiness=10", "modify? /proc/sys"),
    ("modprobe vfio", "form kernel-module"),
    ("insmod x.ko", "form kernel-module"),
    ("rmmod kvm", "modify? /sys/module"),
    ("hostname evil", "modify? /etc/hostname"),
    ("setenforce 0", "form protection-off"),
    ("iptables -A INPUT -j ACCEPT", "form firewall-change"),
    ("iptables -F", "form firewall-off"),
    ("ufw allow 22", "form firewall-change"),
    ("ufw disable", "form firewall-off"),
    ("nft add rule x y accept", "form firewall-change"),
    ("firewall-cmd --add-port=80/tcp", "form firewall-change"),
    ("systemctl stop nginx", "form stop-service"),
    ("service nginx stop", "form stop-service"),
    ("launchctl unload x.plist", "form stop-service"),
    ("pkill sshd", "form stop-service"),
    ("pkill -9 -f '^nginx'", "form stop-service"),
    ("pkill -f /usr/sbin/sshd", "form stop-service"),
    ("killall -9 mysqld", "form stop-service"),
    ("kill $(pidof sshd)", "form stop-service"),
    ("kill -9 `pgrep -x nginx`", "form stop-service"),
    ("kill -9 $(pgrep -f dockerd | head -1)", "form stop-service"),
    ("pidof sshd | xargs kill", "form stop-service"),
    ("p=$(pidof rsyslogd); kill $p", "form stop-service"),
    ("kill $(cat /var/run/sshd.pid)", "form stop-service"),
    ("kill -TERM $(< /run/nginx.pid)", "form stop-service"),
    ("kill $(systemctl show -p MainPID --value sshd)", "form stop-service"),
    ("ps aux | grep '[n]ginx' | awk '{print $2}' | xargs kill", "form stop-service"),
    ("crontab -", "persist?"),
    ("crontab f", "persist?"),
    ("at now", "persist?"),
    ("launchctl load x.plist", "persist x.plist"),
];

/// Wrappers of this machine.
const WRAPPERS: &[&str] =
    &["", "sudo ", "sudo -n -u root ", "doas ", "env -i ", "nohup ", "timeout 9 ", "nice -n 5 "];

#[test]
fn changes_of_the_machine_are_seen() {
    let mut wrong = Vec::new();
    for (command, expected) in CHANGES {
        for wrapper in WRAPPERS {
            let line = match command.split_once([' ', '|']) {
                Some((first, _)) if first.contains('=') || command.contains('|') => {
                    (*command).to_owned()
                }
                _ => format!("{wrapper}{command}"),
            };
            let read = reading(&line);
            let found = match expected.strip_prefix("form ") {
                Some(form) => forms(&read).contains(&form),
                None => effects(&read).contains(&(*expected).to_owned()),
            };
            if !found {
                wrong.push(format!("`{line}`: {:?} {:?}", effects(&read), forms(&read)));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Calls that look at the same things, or stop a process of one's own.
const QUIET: &[&str] = &[
    "adduser --help",
    "chage -l eve",
    "chsh -l",
    "crontab -l",
    "firewall-cmd --list-all",
    "getent passwd eve",
    "groups eve",
    "hostname",
    "hostname -f",
    "id eve",
    "iptables -nvL",
    "iptables -S",
    "kill $(cat server.pid)",
    "kill $(lsof -ti :3000)",
    "kill $!",
    "kill %1",
    "kill -9 4711",
    "lsmod",
    "mount",
    "mount | grep home",
    "nft list ruleset",
    "passwd -S eve",
    "pgrep -fl nginx",
    "pidof sshd",
    "pkill -f vite",
    "pkill -f 'node server.js'",
    "pkill node",
    "ps aux | grep nginx",
    "service nginx status",
    "sysctl -a",
    "sysctl kernel.hostname",
    "systemctl status nginx",
    "ufw status",
    "useradd --help",
];

#[test]
fn looking_at_the_machine_changes_nothing() {
    let mut wrong = Vec::new();
    for command in QUIET {
        for wrapper in WRAPPERS.iter().filter(|wrapper| !wrapper.contains("sudo")) {
            let line = format!("{wrapper}{command}");
            let read = reading(&line);
            let loud = ["system", "persist", "modify /", "modify? /", "evade"];
            let found = effects(&read);
            if found.iter().any(|effect| loud.iter().any(|kind| effect.starts_with(kind)))
                || !forms(&read).is_empty()
            {
                wrong.push(format!("`{line}`: {found:?} {:?}", forms(&read)));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
