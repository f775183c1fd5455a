-- Marks of people: a review of a machine, or a finding about the fleet, was wrong or right; and the
-- changes of the configuration that they propose. Nothing of it takes effect anywhere.

CREATE TABLE review_marks (
    machine text NOT NULL REFERENCES machines,
    journal text NOT NULL,
    sequence bigint NOT NULL,
    record text NOT NULL,
    verdict text NOT NULL,
    summary text NOT NULL,
    rules text[] NOT NULL,
    word text NOT NULL CHECK (word IN ('false-positive', 'right')),
    reason text NOT NULL,
    marked_by text NOT NULL,
    marked_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (machine, journal, sequence)
);
CREATE INDEX review_marks_by_time ON review_marks (marked_at);

CREATE TABLE finding_marks (
    kind text NOT NULL,
    value text NOT NULL,
    reason text NOT NULL,
    marked_by text NOT NULL,
    marked_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (kind, value)
);

-- The counts are those of the test over stored reviews at the moment of the proposal.
CREATE TABLE rule_proposals (
    proposal bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind text NOT NULL CHECK (kind IN ('disable-rule', 'trust-host')),
    value text NOT NULL,
    reason text NOT NULL,
    made_by text NOT NULL,
    made_at timestamptz NOT NULL DEFAULT now(),
    tried bigint NOT NULL,
    passing bigint NOT NULL,
    milder bigint NOT NULL,
    unknown bigint NOT NULL,
    withdrawn_at timestamptz,
    withdrawn_by text
);
CREATE UNIQUE INDEX rule_proposals_open ON rule_proposals (kind, value) WHERE withdrawn_at IS NULL;
