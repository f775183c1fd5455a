-- What leads from the document of a record that its machine keeps encrypted to the record's hash:
-- random bytes, and the hash of the ciphertext. Both are null for a record without its exact document,
-- and for one that the machine keeps as plain text.
ALTER TABLE records ADD COLUMN salt bytea;
ALTER TABLE records ADD COLUMN stored bytea;
