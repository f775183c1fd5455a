-- Ways to the days in which something was stored, partitions that are made and dropped without
-- stopping anybody for long, and what tells how far a standby is behind.

-- The days on which a journal grew, with the records of each: a look-up by sequence reads the
-- partitions of those days, and of no other.
CREATE TABLE journal_days (
    machine text NOT NULL,
    journal text NOT NULL,
    day date NOT NULL,
    first_sequence bigint NOT NULL,
    last_sequence bigint NOT NULL,
    PRIMARY KEY (machine, journal, day)
);
CREATE INDEX journal_days_by_day ON journal_days (day);
INSERT INTO journal_days (machine, journal, day, first_sequence, last_sequence)
    SELECT machine, journal, (stored_at AT TIME ZONE 'UTC')::date, min(sequence), max(sequence)
    FROM records GROUP BY 1, 2, 3;

-- The time from which on a session has records, by the database's clock, as `grown_at` is.
ALTER TABLE sessions ADD COLUMN begun_at timestamptz;
UPDATE sessions SET begun_at = coalesce(
    (SELECT min(stored_at) FROM records r
     WHERE r.machine = sessions.machine AND r.session = sessions.session),
    grown_at
);
ALTER TABLE sessions ALTER COLUMN begun_at SET NOT NULL, ALTER COLUMN begun_at SET DEFAULT now();

-- The order of storage needs the time alone: the few records of one moment are sorted when they are
-- read. With the keys of a record, this index took a twentieth of all bytes.
DROP INDEX records_by_storage;
CREATE INDEX records_by_storage ON records (stored_at);

-- Makes the partitions from yesterday to `days` days ahead that do not exist yet. A table that is
-- attached stops no query and no batch; one that is created as a partition stops all of them.
CREATE OR REPLACE FUNCTION make_partitions(days integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    today date := (now() AT TIME ZONE 'UTC')::date;
    begin_day date;
    partition text;
    made integer := 0;
BEGIN
    FOR distance IN -1..days LOOP
        begin_day := today + distance;
        partition := 'records_' || to_char(begin_day, 'YYYYMMDD');
        IF to_regclass(partition) IS NULL THEN
            EXECUTE format(
                'CREATE TABLE %I (LIKE records INCLUDING DEFAULTS INCLUDING COMPRESSION)', partition
            );
            EXECUTE format(
                'ALTER TABLE records ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)',
                partition,
                to_char(begin_day, 'YYYY-MM-DD') || ' 00:00:00+00',
                to_char(begin_day + 1, 'YYYY-MM-DD') || ' 00:00:00+00'
            );
            made := made + 1;
        END IF;
    END LOOP;
    RETURN made;
END
$$;

-- Drops the partitions of days that ended more than `days` days ago, with the ways to them; returns
-- their names. Heads are elsewhere, so the hub still recognises what does not continue a journal.
CREATE OR REPLACE FUNCTION drop_partitions(days integer) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    first_day date := (now() AT TIME ZONE 'UTC')::date - days;
    first_kept text := to_char(first_day, '"records_"YYYYMMDD');
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
    DELETE FROM journal_days WHERE day < first_day;
END
$$;

-- The database's own time, written again and again by replicas that read from a standby: its copy
-- there says how far the standby is behind.
CREATE TABLE pulse (
    single boolean PRIMARY KEY DEFAULT true CHECK (single),
    at timestamptz NOT NULL DEFAULT now()
);
INSERT INTO pulse DEFAULT VALUES;
