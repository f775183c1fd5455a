-- A search for a verdict or a kind reads in the order in which it shows what it finds: the time of
-- storage. By the time of the machine's clock it read whole days in the order of storage instead, and
-- found what it wanted late.
DROP INDEX records_by_verdict;
DROP INDEX records_by_kind;
CREATE INDEX records_by_verdict ON records (verdict, stored_at) WHERE verdict IS NOT NULL AND verdict <> 'allow';
CREATE INDEX records_by_kind ON records (kind, stored_at) WHERE kind <> 'review' AND kind <> 'outcome';
