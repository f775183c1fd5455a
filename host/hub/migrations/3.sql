-- People of the hub, apart from machines: who may see its pages, and what each of them has done.

-- A person whom a provider vouches for has an issuer. The name of such a person begins with `oidc:`,
-- so that no provider can name somebody whom an operator has added.
CREATE TABLE people (
    person text PRIMARY KEY,
    role text NOT NULL CHECK (role IN ('viewer', 'approver', 'operator')),
    issuer text,
    added_by text NOT NULL,
    added_at timestamptz NOT NULL DEFAULT now(),
    seen_at timestamptz
);

-- Codes and cookies are here as digests: who can read the database signs in with none of them.
CREATE TABLE sign_in_links (
    digest bytea PRIMARY KEY,
    person text NOT NULL REFERENCES people ON DELETE CASCADE,
    expires_at timestamptz NOT NULL
);
CREATE TABLE browser_sessions (
    digest bytea PRIMARY KEY,
    person text NOT NULL REFERENCES people ON DELETE CASCADE,
    begun_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL
);
CREATE INDEX browser_sessions_by_person ON browser_sessions (person, begun_at);

-- Acts of people, chained as a journal is. The seal is a signature of the hub's receipt key over the
-- hash: who can write the database alone can remove the newest entries and change none.
CREATE TABLE audit (
    sequence bigint PRIMARY KEY,
    previous bytea NOT NULL,
    hash bytea NOT NULL,
    seal bytea NOT NULL,
    document text NOT NULL
);
-- Its row is locked while an entry is written: the one place where two writers meet.
CREATE TABLE audit_head (
    single boolean PRIMARY KEY DEFAULT true CHECK (single),
    sequence bigint NOT NULL,
    hash bytea NOT NULL
);
INSERT INTO audit_head (sequence, hash) VALUES (0, decode(repeat('00', 32), 'hex'));

-- The words by which people find a record, and the order in which they see what was found. Records
-- that came before have no words: columns find them.
ALTER TABLE records ADD COLUMN words tsvector;
CREATE INDEX records_by_words ON records USING gin (words);
CREATE INDEX records_by_storage ON records (stored_at, machine, journal, sequence);
CREATE INDEX records_by_subject ON records (subject, stored_at);

-- A session as its machine names it, counted as its records arrive.
CREATE TABLE sessions (
    machine text NOT NULL REFERENCES machines,
    session text NOT NULL,
    records bigint NOT NULL,
    reviews bigint NOT NULL,
    asked bigint NOT NULL,
    blocked bigint NOT NULL,
    first_at bigint NOT NULL,
    last_at bigint NOT NULL,
    grown_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (machine, session)
);
CREATE INDEX sessions_by_growth ON sessions (machine, grown_at);
INSERT INTO sessions (machine, session, records, reviews, asked, blocked, first_at, last_at, grown_at)
    SELECT machine, session, count(*), count(*) FILTER (WHERE kind = 'review'),
        count(*) FILTER (WHERE verdict = 'ask'), count(*) FILTER (WHERE verdict = 'block'),
        min(at), max(at), max(stored_at)
    FROM records WHERE session IS NOT NULL AND session <> '' GROUP BY machine, session;

-- The findings of `doctor` on a machine, as it reported them last; the machine's word.
ALTER TABLE machines
    ADD COLUMN protection text,
    ADD COLUMN protection_findings text,
    ADD COLUMN protection_omitted integer NOT NULL DEFAULT 0,
    ADD COLUMN protection_at timestamptz;

-- Things that records name and that many machines may have in common: a destination, a package, a text
-- that told an agent what to do. One row for each machine, whatever it repeats.
CREATE TABLE traits (
    kind text NOT NULL,
    value text NOT NULL,
    machine text NOT NULL REFERENCES machines,
    session text,
    record text NOT NULL,
    times bigint NOT NULL,
    first_at timestamptz NOT NULL DEFAULT now(),
    last_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (kind, value, machine)
);
CREATE INDEX traits_by_beginning ON traits (first_at);
CREATE INDEX traits_by_machine ON traits (machine);
