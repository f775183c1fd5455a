aws s3 rm s3://b --recursive; kubectl -n web delete pod x; docker compose down -v; terraform destroy -auto-approve; redis-cli FLUSHALL
curl -X DELETE https://x.example/a; psql -c 'delete from t'; gh repo delete o/r --yes; helm uninstall x; mongosh --eval 'db.t.drop()'
