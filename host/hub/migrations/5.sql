-- Approvals: who may answer, what waits for an answer, and the answers as approvers signed them.

-- The approvers that published orders name. A copy of what the operator signed, so that the hub finds
-- a key; a machine believes the signed orders alone.
CREATE TABLE approvers (
    group_name text NOT NULL,
    version bigint NOT NULL,
    key text NOT NULL,
    name text NOT NULL,
    public_key text NOT NULL,
    roles text[] NOT NULL,
    PRIMARY KEY (group_name, version, key),
    FOREIGN KEY (group_name, version) REFERENCES orders
);
CREATE INDEX approvers_by_key ON approvers (key);

-- The questions of machines. `roles` may answer by now; each of `later_roles` is added at the time in
-- `later_at` of the same place, and `escalated` counts those that were.
CREATE TABLE approval_questions (
    machine text NOT NULL REFERENCES machines,
    question text NOT NULL,
    group_name text NOT NULL,
    document text NOT NULL,
    digest text NOT NULL,
    roles text[] NOT NULL,
    later_roles text[] NOT NULL,
    later_at timestamptz[] NOT NULL,
    escalated integer NOT NULL DEFAULT 0,
    allowed_by text[] NOT NULL DEFAULT '{}',
    received_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL,
    ended_at timestamptz,
    PRIMARY KEY (machine, question)
);
CREATE INDEX approval_questions_open ON approval_questions (group_name) WHERE ended_at IS NULL;
CREATE INDEX approval_questions_by_time ON approval_questions (received_at);

CREATE TABLE approval_answers (
    machine text NOT NULL,
    question text NOT NULL,
    key text NOT NULL,
    approver text NOT NULL,
    answer text NOT NULL,
    signature text NOT NULL,
    allows boolean NOT NULL,
    given_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (machine, question, key),
    FOREIGN KEY (machine, question) REFERENCES approval_questions ON DELETE CASCADE
);
