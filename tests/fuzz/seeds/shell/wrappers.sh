sudo -u root env -i A=1 nice -n 5 timeout 10 nohup sh -c 'rm "$1"' _ x; ssh -p 22 u@h.example 'rm -rf /srv' ; xargs -I{} cp {} /tmp < l
docker run --rm -v "$PWD":/w -w /w alpine sh -c 'rm -rf src'; kubectl exec p -- ls; find . -exec rm {} +; parallel rm ::: a b; watch -n1 ls
