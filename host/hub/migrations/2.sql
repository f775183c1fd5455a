-- Incidents that a person settles, a bound on them, retention, and orders for machines.

ALTER TABLE incidents ADD COLUMN settled_by text, ADD COLUMN settle_reason text;
CREATE INDEX incidents_open ON incidents (machine) WHERE settled_at IS NULL;

-- Incidents that were not stored because the machine has too many open ones.
ALTER TABLE machines ADD COLUMN incidents_omitted bigint NOT NULL DEFAULT 0;

-- Drops the partitions of days that ended more than `days` days ago; returns their names. Heads are
-- elsewhere, so the hub still recognises what does not continue a journal.
CREATE FUNCTION drop_partitions(days integer) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    first_kept text := to_char((now() AT TIME ZONE 'UTC')::date - days, '"records_"YYYYMMDD');
    dropped text;
BEGIN
    FOR dropped IN
        SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
        WHERE i.inhparent = 'records'::regclass AND c.relname ~ '^records_[0-9]{8}$'
        AND c.relname::text COLLATE "C" < first_kept ORDER BY c.relname
    LOOP
        EXECUTE format('DROP TABLE %I', dropped);
        RETURN NEXT dropped;
    END LOOP;
END
$$;

-- Orders, as an operator signed them. The hub cannot make or change one: it has no key for it. The
-- share is the part of the group's machines, in percent, that gets a version.
CREATE TABLE orders (
    group_name text NOT NULL,
    version bigint NOT NULL,
    document text NOT NULL,
    signature text NOT NULL,
    share smallint NOT NULL CHECK (share BETWEEN 0 AND 100),
    expires_at timestamptz NOT NULL,
    published_at timestamptz NOT NULL DEFAULT now(),
    published_by text NOT NULL,
    PRIMARY KEY (group_name, version)
);

ALTER TABLE machines
    ADD COLUMN orders_seen bigint,
    ADD COLUMN orders_refused text;
