-- The first version of the hub's tables. A migration is never changed once it was released.

CREATE TABLE tokens (
    token text PRIMARY KEY,
    digest bytea NOT NULL UNIQUE,
    labels text[] NOT NULL,
    uses_left integer NOT NULL CHECK (uses_left >= 0),
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL
);

CREATE TABLE machines (
    machine text PRIMARY KEY,
    name text NOT NULL,
    labels text[] NOT NULL,
    token text NOT NULL REFERENCES tokens,
    version text NOT NULL,
    detail text,
    joined_at timestamptz NOT NULL DEFAULT now(),
    seen_at timestamptz NOT NULL DEFAULT now(),
    revoked_at timestamptz,
    revoke_reason text
);

-- A certificate counts only if it is here: a row says whose it is, whatever stands in it.
CREATE TABLE certificates (
    digest bytea PRIMARY KEY,
    machine text NOT NULL REFERENCES machines,
    issued_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL,
    used_at timestamptz
);
CREATE INDEX certificates_by_machine ON certificates (machine);

-- The row of a journal is locked while a batch is judged and written: that makes the head the one
-- place where two replicas meet.
CREATE TABLE journals (
    machine text NOT NULL REFERENCES machines,
    journal text NOT NULL,
    -- The place before the first record that the hub has.
    start_sequence bigint NOT NULL,
    start_hash bytea NOT NULL,
    head_sequence bigint NOT NULL,
    head_hash bytea NOT NULL,
    -- The newest record that the machine itself has named.
    claimed_sequence bigint NOT NULL,
    records bigint NOT NULL DEFAULT 0,
    -- Records whose document did not come as it was recorded.
    unproven bigint NOT NULL DEFAULT 0,
    begun_at timestamptz NOT NULL DEFAULT now(),
    grown_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (machine, journal)
);

-- Partitions are by the time of storage, by the database's clock: no machine can choose its
-- partition. The key of a partitioned table has to hold that time, so what keeps a record from
-- being stored twice is the head above; the key makes the second one impossible in one statement.
CREATE TABLE records (
    machine text NOT NULL,
    journal text NOT NULL,
    sequence bigint NOT NULL,
    stored_at timestamptz NOT NULL DEFAULT now(),
    previous bytea NOT NULL,
    hash bytea NOT NULL,
    at bigint NOT NULL,
    id text NOT NULL,
    kind text NOT NULL,
    session text,
    agent text,
    subject text NOT NULL,
    verdict text,
    document text,
    exact boolean NOT NULL,
    PRIMARY KEY (machine, journal, sequence, stored_at)
) PARTITION BY RANGE (stored_at);
CREATE INDEX records_by_time ON records USING brin (at);
CREATE INDEX records_by_session ON records (machine, session, sequence) WHERE session IS NOT NULL;
CREATE INDEX records_by_verdict ON records (verdict, at) WHERE verdict IS NOT NULL AND verdict <> 'allow';
CREATE INDEX records_by_kind ON records (kind, at) WHERE kind <> 'review' AND kind <> 'outcome';

CREATE TABLE incidents (
    incident bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    machine text NOT NULL REFERENCES machines,
    journal text NOT NULL,
    kind text NOT NULL,
    sequence bigint NOT NULL,
    reason text NOT NULL,
    times bigint NOT NULL DEFAULT 1,
    first_at timestamptz NOT NULL DEFAULT now(),
    last_at timestamptz NOT NULL DEFAULT now(),
    settled_at timestamptz,
    UNIQUE (machine, journal, kind, sequence)
);
CREATE INDEX incidents_by_time ON incidents (last_at);

-- Makes the partitions from yesterday to `days` days ahead that do not exist yet.
CREATE FUNCTION make_partitions(days integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    today date := (now() AT TIME ZONE 'UTC')::date;
    begin_day date;
    made integer := 0;
BEGIN
    FOR distance IN -1..days LOOP
        begin_day := today + distance;
        IF to_regclass('records_' || to_char(begin_day, 'YYYYMMDD')) IS NULL THEN
            EXECUTE format(
                'CREATE TABLE %I PARTITION OF records FOR VALUES FROM (%L) TO (%L)',
                'records_' || to_char(begin_day, 'YYYYMMDD'),
                to_char(begin_day, 'YYYY-MM-DD') || ' 00:00:00+00',
                to_char(begin_day + 1, 'YYYY-MM-DD') || ' 00:00:00+00'
            );
            made := made + 1;
        END IF;
    END LOOP;
    RETURN made;
END
$$;
