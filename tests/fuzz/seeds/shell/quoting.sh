r""m $'\x61\142\n' "a\"b${c:-"d $(e 'f')"}" '`g`' \
  --h="i"'j'\ k ~/l ~user/m $'n\'o' "$(cat <<'E'
p
E
)" q#r #comment
echo "open
