-- Passkeys: those that people enrolled on the hub's page, those that orders name, and what devices signed.

-- A passkey counts on no machine before an operator has signed it into orders: what is here is only
-- what a person's browser said.
CREATE TABLE passkeys (
    key text PRIMARY KEY,
    person text NOT NULL REFERENCES people ON DELETE CASCADE,
    credential text NOT NULL UNIQUE,
    public_key text NOT NULL,
    synced boolean NOT NULL,
    added_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX passkeys_by_person ON passkeys (person);

-- The passkey of an approver as JSON, and the page on which it signs; none for a key in a file.
ALTER TABLE approvers ADD COLUMN passkey text, ADD COLUMN page text;

-- The rest of what a passkey's device signed, as JSON.
ALTER TABLE approval_answers ADD COLUMN passkey text;
CREATE INDEX approval_answers_by_time ON approval_answers (given_at);
