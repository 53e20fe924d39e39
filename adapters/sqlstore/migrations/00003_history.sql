-- +goose Up

-- What tests are looked for by. NULL in template marks a row that an older version wrote:
-- opening the database fills these columns in.
ALTER TABLE tests ADD COLUMN template TEXT;
ALTER TABLE tests ADD COLUMN version_asked TEXT;
ALTER TABLE tests ADD COLUMN version_name TEXT;
ALTER TABLE tests ADD COLUMN version_id VARCHAR(36);
ALTER TABLE tests ADD COLUMN outcome_class TEXT;
ALTER TABLE tests ADD COLUMN unfinished BOOLEAN;
CREATE INDEX tests_template ON tests (template, created_at, id);
CREATE INDEX tests_template_outcome ON tests (template, outcome_class, created_at, id);
CREATE INDEX tests_phase ON tests (phase, created_at, id);
CREATE INDEX tests_outcome_class ON tests (outcome_class, created_at, id);
CREATE INDEX tests_control_plane ON tests (control_plane_ref, created_at, id);
CREATE INDEX tests_unfinished ON tests (created_at, id) WHERE unfinished;

-- How tests went. seq is the revision of the change; rows stay when the test's own row
-- goes, for a time. Times are microseconds since 1970, UTC.
CREATE TABLE transitions (
    seq      BIGINT      PRIMARY KEY,
    test_id  VARCHAR(36) NOT NULL,
    at       BIGINT      NOT NULL,
    gone     BOOLEAN     NOT NULL,
    document TEXT        NOT NULL
);
CREATE INDEX transitions_test ON transitions (test_id, seq);
CREATE INDEX transitions_gone ON transitions (at) WHERE gone;

-- Which test a caller's idempotency key made.
CREATE TABLE idempotency_keys (
    caller      TEXT        NOT NULL,
    key         TEXT        NOT NULL,
    fingerprint TEXT        NOT NULL,
    test_id     VARCHAR(36) NOT NULL,
    expires_at  BIGINT      NOT NULL,
    PRIMARY KEY (caller, key)
);
CREATE INDEX idempotency_keys_expires_at ON idempotency_keys (expires_at);

-- What was read about failed tests, masked, until it expires.
CREATE TABLE evidence (
    test_id    VARCHAR(36) PRIMARY KEY,
    expires_at BIGINT      NOT NULL,
    document   TEXT        NOT NULL
);
CREATE INDEX evidence_expires_at ON evidence (expires_at);

-- Messages that must reach their receivers.
CREATE TABLE notices (
    id         VARCHAR(36) PRIMARY KEY,
    receiver   TEXT        NOT NULL,
    test_id    VARCHAR(36) NOT NULL,
    event      TEXT        NOT NULL,
    body       TEXT        NOT NULL,
    created_at BIGINT      NOT NULL,
    due_at     BIGINT      NOT NULL,
    attempts   INTEGER     NOT NULL,
    last_error TEXT        NOT NULL
);
CREATE INDEX notices_due_at ON notices (due_at, created_at);

-- +goose Down
DROP TABLE notices;
DROP TABLE evidence;
DROP TABLE idempotency_keys;
DROP TABLE transitions;
DROP INDEX tests_unfinished;
DROP INDEX tests_control_plane;
DROP INDEX tests_outcome_class;
DROP INDEX tests_phase;
DROP INDEX tests_template_outcome;
DROP INDEX tests_template;
ALTER TABLE tests DROP COLUMN unfinished;
ALTER TABLE tests DROP COLUMN outcome_class;
ALTER TABLE tests DROP COLUMN version_id;
ALTER TABLE tests DROP COLUMN version_name;
ALTER TABLE tests DROP COLUMN version_asked;
ALTER TABLE tests DROP COLUMN template;
