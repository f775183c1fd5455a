-- A person who may not sign in for the time being: the name and the role stay.
ALTER TABLE people ADD COLUMN disabled_at timestamptz;
