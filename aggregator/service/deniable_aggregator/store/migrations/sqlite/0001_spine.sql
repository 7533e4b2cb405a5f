-- A short number stands for a collection's id in the tables with many rows.
create table collections (
    number integer primary key,
    id text not null unique,
    closed integer not null default 0 check (closed in (0, 1))
) strict;

-- Append-only. head = SHA-256(head before || type || body_hash).
create table log (
    position integer primary key,
    type text not null,
    body_hash blob not null check (length(body_hash) = 32),
    head blob not null check (length(head) = 32)
) strict;

create table manifests (
    position integer primary key references log (position),
    collection integer not null references collections (number),
    version integer not null,
    name text not null,
    digest blob not null check (length(digest) = 32),
    envelope blob not null,
    unique (collection, version)
) strict;

create table key_lists (
    version integer primary key,
    position integer not null references log (position),
    issued integer not null,
    expires integer not null,
    digest blob not null check (length(digest) = 32),
    envelope blob not null
) strict;

create table cells (
    number integer primary key,
    collection integer not null references collections (number),
    epoch integer not null,
    manifest_version integer not null,
    cohort integer not null,
    n integer not null check (n > 0),
    tally_size integer not null check (tally_size > 0),
    unique (collection, epoch, manifest_version, cohort)
) strict;

-- 4,096 little-endian int64 a page; a page that is all zero is not stored.
create table pages (
    cell integer not null references cells (number),
    page integer not null,
    counts blob not null,
    primary key (cell, page)
) strict;

create table seen (
    collection integer not null,
    epoch integer not null,
    id blob not null,
    primary key (collection, epoch, id)
) strict, without rowid;

create table closed_epochs (
    collection integer not null references collections (number),
    epoch integer not null,
    closed_at integer not null,
    primary key (collection, epoch)
) strict, without rowid;

create table rejections (
    collection integer not null references collections (number),
    reason text not null,
    n integer not null,
    primary key (collection, reason)
) strict, without rowid;

create table tokens (
    id text primary key,
    role text not null,
    label text not null,
    hash blob not null unique,
    created integer not null,
    expires integer,
    revoked integer
) strict;

create trigger log_has_no_gap before insert on log
when new.position <> (select coalesce(max(position), 0) + 1 from log)
begin select raise(abort, 'the log is append-only'); end;
create trigger log_is_not_changed before update on log
begin select raise(abort, 'the log is append-only'); end;
create trigger log_is_not_cut before delete on log
begin select raise(abort, 'the log is append-only'); end;

create trigger manifests_are_not_changed before update on manifests
begin select raise(abort, 'manifests are append-only'); end;
create trigger manifests_are_not_deleted before delete on manifests
begin select raise(abort, 'manifests are append-only'); end;

create trigger key_lists_are_not_changed before update on key_lists
begin select raise(abort, 'key lists are append-only'); end;
create trigger key_lists_are_not_deleted before delete on key_lists
begin select raise(abort, 'key lists are append-only'); end;

create trigger a_closed_collection_stays_closed before update of closed on collections
when new.closed < old.closed
begin select raise(abort, 'a closed collection stays closed'); end;

create trigger a_closed_epoch_is_not_redated before update on closed_epochs
begin select raise(abort, 'a closed epoch stays closed'); end;
create trigger a_closed_epoch_is_not_reopened before delete on closed_epochs
begin select raise(abort, 'a closed epoch stays closed'); end;

create trigger a_closed_epoch_gets_no_cell before insert on cells
when exists (select 1 from closed_epochs where collection = new.collection and epoch = new.epoch)
begin select raise(abort, 'the counts of a closed epoch are frozen'); end;
create trigger a_closed_epoch_keeps_its_n before update on cells
when exists (select 1 from closed_epochs where collection = old.collection and epoch = old.epoch)
begin select raise(abort, 'the counts of a closed epoch are frozen'); end;
create trigger a_closed_epoch_gets_no_page before insert on pages
when exists (
    select 1 from cells join closed_epochs using (collection, epoch) where number = new.cell
)
begin select raise(abort, 'the counts of a closed epoch are frozen'); end;
create trigger a_closed_epoch_keeps_its_pages before update on pages
when exists (
    select 1 from cells join closed_epochs using (collection, epoch) where number = old.cell
)
begin select raise(abort, 'the counts of a closed epoch are frozen'); end;
