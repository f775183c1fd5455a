-- Rollouts that go on and stop by themselves, and the counts by which they are judged.

-- The group that the labels of a machine name.
CREATE FUNCTION group_of(labels text[]) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT coalesce(
        (SELECT substr(label, 7) FROM unnest(labels) label WHERE starts_with(label, 'group=') LIMIT 1),
        'default'
    )
$$;

-- A rollout is a row that any replica moves on, under one lock. `trial_share` is the part of the
-- machines that only tries the version. The `base` columns hold what had been counted when a person
-- let it go on: only what comes after that is judged.
CREATE TABLE rollouts (
    group_name text NOT NULL,
    version bigint NOT NULL,
    plan text NOT NULL,
    tolerance smallint NOT NULL CHECK (tolerance BETWEEN 0 AND 100),
    fallback bigint,
    state text NOT NULL CHECK (state IN ('running', 'paused', 'held', 'done', 'replaced')),
    stage smallint NOT NULL DEFAULT 0,
    stage_at timestamptz NOT NULL DEFAULT now(),
    shares_at timestamptz,
    trial_share smallint NOT NULL DEFAULT 0 CHECK (trial_share BETWEEN 0 AND 100),
    base_actions bigint NOT NULL DEFAULT 0,
    base_disturbed bigint NOT NULL DEFAULT 0,
    base_faults bigint NOT NULL DEFAULT 0,
    reason text NOT NULL DEFAULT '',
    PRIMARY KEY (group_name, version),
    FOREIGN KEY (group_name, version) REFERENCES orders
);
CREATE INDEX rollouts_open ON rollouts (group_name) WHERE state IN ('running', 'paused');

CREATE TABLE rollout_events (
    event bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    group_name text NOT NULL,
    version bigint NOT NULL,
    at timestamptz NOT NULL DEFAULT now(),
    what text NOT NULL,
    by_whom text NOT NULL
);
CREATE INDEX rollout_events_by_version ON rollout_events (group_name, version, event);

-- What a machine reports of a version that it tries: its newest counts, so a repeat changes nothing.
CREATE TABLE rollout_trials (
    group_name text NOT NULL,
    version bigint NOT NULL,
    machine text NOT NULL REFERENCES machines,
    actions bigint NOT NULL,
    stricter bigint NOT NULL,
    milder bigint NOT NULL,
    faults bigint NOT NULL,
    PRIMARY KEY (group_name, version, machine)
);

-- What machines did, by the orders that they did it under and the hour in which it was stored. It is
-- counted in the transaction that stores the records.
CREATE TABLE activity (
    machine text NOT NULL REFERENCES machines,
    orders_version bigint NOT NULL,
    hour timestamptz NOT NULL,
    actions bigint NOT NULL,
    disturbed bigint NOT NULL,
    faults bigint NOT NULL,
    PRIMARY KEY (machine, orders_version, hour)
);
CREATE INDEX activity_by_version ON activity (orders_version, machine);

-- The orders under which the newest record of a machine was made.
ALTER TABLE machines ADD COLUMN activity_version bigint NOT NULL DEFAULT 0;
