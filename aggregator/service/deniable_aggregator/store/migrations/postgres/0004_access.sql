-- Collections' ids with spaces between; null for all.
alter table tokens add column collections text;

-- password: scrypt's parameters, salt and output.
create table users (
    rowid bigint generated always as identity primary key,
    name text not null unique,
    role text not null,
    collections text,
    password text not null,
    created bigint not null
);

-- hash: SHA-256 of the cookie. via: password, link or oidc.
create table sessions (
    id text primary key,
    hash bytea not null unique check (length(hash) = 32),
    name text not null,
    role text not null,
    collections text,
    via text not null,
    created bigint not null,
    expires bigint not null
);

create table sign_in_links (
    hash bytea primary key check (length(hash) = 32),
    name text not null,
    role text not null,
    collections text,
    expires bigint not null
);

-- entry: canonical JSON. head = SHA-256(head before || "act" || SHA-256(entry)).
create table audit (
    position bigint primary key,
    entry bytea not null,
    head bytea not null check (length(head) = 32)
);

create function refuse_a_gap_in_the_audit() returns trigger language plpgsql
set search_path from current as $$
begin
    if new.position <> (select coalesce(max(position), 0) + 1 from audit) then
        raise exception using message = 'the audit log is append-only',
            errcode = 'integrity_constraint_violation';
    end if;
    return new;
end $$;

create trigger audit_has_no_gap before insert on audit
for each row execute function refuse_a_gap_in_the_audit();
create trigger audit_is_not_changed before update or delete on audit
for each row execute function refuse('the audit log is append-only');
create trigger audit_is_not_emptied before truncate on audit
for each statement execute function refuse('the audit log is append-only');
