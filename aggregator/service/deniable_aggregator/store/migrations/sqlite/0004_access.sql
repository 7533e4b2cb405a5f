-- Collections' ids with spaces between; null for all.
alter table tokens add column collections text;

-- password: scrypt's parameters, salt and output.
create table users (
    rowid integer primary key,
    name text not null unique,
    role text not null,
    collections text,
    password text not null,
    created integer not null
) strict;

-- hash: SHA-256 of the cookie. via: password, link or oidc.
create table sessions (
    id text primary key,
    hash blob not null unique check (length(hash) = 32),
    name text not null,
    role text not null,
    collections text,
    via text not null,
    created integer not null,
    expires integer not null
) strict, without rowid;

create table sign_in_links (
    hash blob primary key check (length(hash) = 32),
    name text not null,
    role text not null,
    collections text,
    expires integer not null
) strict, without rowid;

-- entry: canonical JSON. head = SHA-256(head before || "act" || SHA-256(entry)).
create table audit (
    position integer primary key,
    entry blob not null,
    head blob not null check (length(head) = 32)
) strict;

create trigger audit_has_no_gap before insert on audit
when new.position <> (select coalesce(max(position), 0) + 1 from audit)
begin select raise(abort, 'the audit log is append-only'); end;
create trigger audit_is_not_changed before update on audit
begin select raise(abort, 'the audit log is append-only'); end;
create trigger audit_is_not_cut before delete on audit
begin select raise(abort, 'the audit log is append-only'); end;
