-- Incidents of a group of machines: a rollout that was held.
ALTER TABLE incidents ALTER COLUMN machine DROP NOT NULL, ADD COLUMN group_name text,
    ADD CONSTRAINT incidents_of_one CHECK ((machine IS NULL) <> (group_name IS NULL));
CREATE UNIQUE INDEX incidents_by_group ON incidents (group_name, kind, sequence)
    WHERE machine IS NULL;
