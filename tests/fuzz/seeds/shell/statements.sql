DELETE FROM users WHERE id = 1; DROP TABLE users; /* a */ TRUNCATE t; -- b
UPDATE t SET a = 'x;y' WHERE 1=1; WITH d AS (SELECT 1) DELETE FROM t;
