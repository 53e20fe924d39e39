-- +goose Up

-- One row: the number of the last change. Every change of any test takes the next
-- number while it holds this row, so that whoever reads "all changes after N" never
-- misses one that commits late.
CREATE TABLE revisions (
    id   SMALLINT PRIMARY KEY CHECK (id = 1),
    last BIGINT   NOT NULL
);
INSERT INTO revisions (id, last) VALUES (1, 0);

-- One row a test. document is the whole record as JSON and the only thing that is
-- read back; the other columns repeat what queries need, in the same statement.
-- Times are microseconds since 1970, UTC.
CREATE TABLE tests (
    id                    VARCHAR(36) PRIMARY KEY,
    revision              BIGINT      NOT NULL,
    created_at            BIGINT      NOT NULL,
    held                  BOOLEAN     NOT NULL,
    deletion_requested_at BIGINT,
    control_plane_ref     TEXT        NOT NULL,
    phase                 TEXT        NOT NULL,
    workspace_id          VARCHAR(36),
    document              TEXT        NOT NULL
);
CREATE UNIQUE INDEX tests_revision ON tests (revision);
CREATE INDEX tests_created_at ON tests (created_at, id);
CREATE INDEX tests_workspace_id ON tests (workspace_id);

-- What disappeared lately, for those who watch for changes. Old rows are dropped.
CREATE TABLE disappeared_tests (
    revision BIGINT      PRIMARY KEY,
    id       VARCHAR(36) NOT NULL
);

-- +goose Down
DROP TABLE disappeared_tests;
DROP TABLE tests;
DROP TABLE revisions;
