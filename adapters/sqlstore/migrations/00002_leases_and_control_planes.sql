-- +goose Up

-- Which process runs which test. A row stays until its holder releases it or another
-- one takes the test over. No reference to tests: a lease is taken before its test
-- is made, so that nobody can come between. Times are microseconds since 1970, UTC.
CREATE TABLE leases (
    test_id VARCHAR(36) PRIMARY KEY,
    holder  TEXT        NOT NULL,
    until   BIGINT      NOT NULL
);

-- The deployments that tests run against, each with its policy as JSON. Never a
-- token.
CREATE TABLE control_planes (
    ref             VARCHAR(64) PRIMARY KEY,
    url             TEXT        NOT NULL,
    ca_certificates TEXT        NOT NULL,
    policy          TEXT        NOT NULL
);

-- +goose Down
DROP TABLE control_planes;
DROP TABLE leases;
