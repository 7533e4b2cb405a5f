-- A short number stands for a collection's id in the tables with many rows.
create table collections (
    number integer generated always as identity primary key,
    id text not null unique,
    closed integer not null default 0 check (closed in (0, 1))
);

-- Append-only. head = SHA-256(head before || type || body_hash).
create table log (
    position bigint primary key,
    type text not null,
    body_hash bytea not null check (length(body_hash) = 32),
    head bytea not null check (length(head) = 32)
);

create table manifests (
    position bigint primary key references log (position),
    collection integer not null references collections (number),
    version integer not null,
    name text not null,
    digest bytea not null check (length(digest) = 32),
    envelope bytea not null,
    unique (collection, version)
);

create table key_lists (
    version integer primary key,
    position bigint not null references log (position),
    issued bigint not null,
    expires bigint not null,
    digest bytea not null check (length(digest) = 32),
    envelope bytea not null
);

-- n is 0 until the first deltas of a cell are folded.
create table cells (
    number integer generated always as identity primary key,
    collection integer not null references collections (number),
    epoch bigint not null,
    manifest_version integer not null,
    cohort integer not null,
    n bigint not null default 0 check (n >= 0),
    tally_size integer not null check (tally_size > 0),
    unique (collection, epoch, manifest_version, cohort)
);

-- 4,096 little-endian int64 a page; a page that is all zero is not stored.
create table pages (
    cell integer not null references cells (number),
    page integer not null,
    counts bytea not null,
    primary key (cell, page)
);

-- What one transaction counted in one cell, until the roll-up has folded it: without a timestamp,
-- and without a foreign key, whose locks writers would fight for. counts: little-endian int64, of the
-- whole tally, or of the places (little-endian uint32, rising) alone. Emptied at least once a minute,
-- so that vacuum is due by number, not by share.
create table deltas (
    number bigint generated always as identity primary key,
    cell integer not null,
    n bigint not null check (n > 0),
    places bytea,
    counts bytea not null
) with (
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_insert_threshold = -1, autovacuum_analyze_scale_factor = 0,
    autovacuum_analyze_threshold = 100000,
    toast.autovacuum_vacuum_scale_factor = 0, toast.autovacuum_vacuum_threshold = 1000
);

create table seen (
    collection integer not null,
    epoch bigint not null,
    id bytea not null,
    primary key (collection, epoch, id)
);

create table closed_epochs (
    collection integer not null references collections (number),
    epoch bigint not null,
    closed_at bigint not null,
    primary key (collection, epoch)
);

create table rejections (
    collection integer not null references collections (number),
    reason text not null,
    n bigint not null,
    primary key (collection, reason)
);

-- rowid: in the order they were made, under the name that SQLite gives it.
create table tokens (
    rowid bigint generated always as identity,
    id text primary key,
    role text not null,
    label text not null,
    hash bytea not null unique,
    created bigint not null,
    expires bigint,
    revoked bigint
);

create function refuse() returns trigger language plpgsql as $$
begin
    raise exception using message = tg_argv[0], errcode = 'integrity_constraint_violation';
end $$;

create function refuse_a_gap_in_the_log() returns trigger language plpgsql
set search_path from current as $$
begin
    if new.position <> (select coalesce(max(position), 0) + 1 from log) then
        raise exception using message = 'the log is append-only',
            errcode = 'integrity_constraint_violation';
    end if;
    return new;
end $$;

create function refuse_a_cell_of_a_closed_epoch() returns trigger language plpgsql
set search_path from current as $$
begin
    if exists (select from closed_epochs as c where c.collection = new.collection and c.epoch = new.epoch)
    then
        raise exception using message = 'the counts of a closed epoch are frozen',
            errcode = 'integrity_constraint_violation';
    end if;
    return new;
end $$;

create function refuse_counts_of_a_closed_epoch() returns trigger language plpgsql
set search_path from current as $$
begin
    if exists (
        select from cells join closed_epochs using (collection, epoch) where cells.number = new.cell
    ) then
        raise exception using message = 'the counts of a closed epoch are frozen',
            errcode = 'integrity_constraint_violation';
    end if;
    return new;
end $$;

create trigger log_has_no_gap before insert on log
for each row execute function refuse_a_gap_in_the_log();
create trigger log_is_not_changed before update or delete on log
for each row execute function refuse('the log is append-only');
create trigger log_is_not_emptied before truncate on log
for each statement execute function refuse('the log is append-only');

create trigger manifests_are_not_changed before update or delete on manifests
for each row execute function refuse('manifests are append-only');
create trigger manifests_are_not_emptied before truncate on manifests
for each statement execute function refuse('manifests are append-only');

create trigger key_lists_are_not_changed before update or delete on key_lists
for each row execute function refuse('key lists are append-only');
create trigger key_lists_are_not_emptied before truncate on key_lists
for each statement execute function refuse('key lists are append-only');

create trigger a_closed_collection_stays_closed before update on collections
for each row when (new.closed < old.closed)
execute function refuse('a closed collection stays closed');

create trigger a_closed_epoch_stays_closed before update or delete on closed_epochs
for each row execute function refuse('a closed epoch stays closed');
create trigger closed_epochs_are_not_emptied before truncate on closed_epochs
for each statement execute function refuse('a closed epoch stays closed');

create trigger a_closed_epoch_keeps_its_cells before insert or update on cells
for each row execute function refuse_a_cell_of_a_closed_epoch();
create trigger a_closed_epoch_keeps_its_pages before insert or update on pages
for each row execute function refuse_counts_of_a_closed_epoch();
create trigger a_closed_epoch_gets_no_delta before insert or update on deltas
for each row execute function refuse_counts_of_a_closed_epoch();
