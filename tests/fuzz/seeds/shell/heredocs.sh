cat > run.sh <<'END' && sh run.sh
rm -rf "$1" # not here
END
psql -h db <<SQL
select * from $t; -- drop table t
SQL
python3 - <<-"PY"
	import os; os.remove("x")
	PY
