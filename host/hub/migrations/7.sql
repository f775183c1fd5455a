-- Messages to webhooks, which are sent at least once: written with the step that they name, and kept until
-- a webhook has taken them, or nobody waits for an answer any more.
CREATE TABLE webhook_messages (
    message bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- A digest of the webhook's address, which may hold a secret.
    webhook text NOT NULL,
    machine text NOT NULL,
    question text NOT NULL,
    role text NOT NULL,
    document text NOT NULL,
    made_at timestamptz NOT NULL DEFAULT now(),
    -- The time from which a replica may take it. One that sends it moves the time on, so that another
    -- one takes over if it dies.
    due_at timestamptz NOT NULL DEFAULT now(),
    attempts integer NOT NULL DEFAULT 0,
    sent_at timestamptz,
    given_up_at timestamptz,
    failure text,
    UNIQUE (webhook, machine, question, role),
    FOREIGN KEY (machine, question) REFERENCES approval_questions ON DELETE CASCADE
);
-- For the removal of a question.
CREATE INDEX webhook_messages_by_question ON webhook_messages (machine, question);
CREATE INDEX webhook_messages_due ON webhook_messages (due_at)
    WHERE sent_at IS NULL AND given_up_at IS NULL;
