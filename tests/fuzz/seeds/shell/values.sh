a=x.tar.gz; b=${a%%.*}; c=${a#*.}; d=${a/tar/zip}; e=${#a}; f=${!b}; g=${a:0:3}; h=${b^^}; i=(1 2 3); j=${i[1]}; rm "$b$c$d$e$f$g$h$j"
k+=l; declare -A m; m[n]=o; printf -v p '%s' q; : "${r:=s}"; set -- t u; echo "$@" $# $((e + 2 * (3 - 1))) ${v?w}
