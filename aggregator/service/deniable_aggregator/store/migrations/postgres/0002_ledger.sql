-- What releases were charged for, in order; exact texts of rationals, "1/2". Committed before a draw.
create table charges (
    position bigint primary key,
    collection integer not null references collections (number),
    release text not null unique,
    request bytea not null check (length(request) = 32),
    terms bytea not null,
    epochs text not null,
    epsilon text,
    rho text,
    delta text not null,
    adjacency text not null,
    created bigint not null,
    unique (collection, request)
);

-- What is shown of a release. Its log entry is SHA-256(salt || document).
create table results (
    release text primary key references charges (release),
    position bigint not null unique references log (position),
    salt bytea not null check (length(salt) = 32),
    document bytea not null
);

-- As secret as the tallies.
create table session_records (
    release text not null references charges (release),
    number integer not null,
    record bytea not null,
    primary key (release, number)
);

create function refuse_a_gap_in_the_charges() returns trigger language plpgsql
set search_path from current as $$
begin
    if new.position <> (select coalesce(max(position), 0) + 1 from charges) then
        raise exception using message = 'charges are append-only',
            errcode = 'integrity_constraint_violation';
    end if;
    return new;
end $$;

create function refuse_a_gap_in_a_session() returns trigger language plpgsql
set search_path from current as $$
begin
    if new.number <> (select count(*) from session_records where release = new.release) then
        raise exception using message = 'session records are append-only',
            errcode = 'integrity_constraint_violation';
    end if;
    return new;
end $$;

create trigger charges_have_no_gap before insert on charges
for each row execute function refuse_a_gap_in_the_charges();
create trigger charges_are_not_changed before update or delete on charges
for each row execute function refuse('charges are append-only');
create trigger charges_are_not_emptied before truncate on charges
for each statement execute function refuse('charges are append-only');

create trigger results_are_not_changed before update or delete on results
for each row execute function refuse('results are append-only');
create trigger results_are_not_emptied before truncate on results
for each statement execute function refuse('results are append-only');

create trigger session_records_have_no_gap before insert on session_records
for each row execute function refuse_a_gap_in_a_session();
create trigger session_records_are_not_changed before update or delete on session_records
for each row execute function refuse('session records are append-only');
create trigger session_records_are_not_emptied before truncate on session_records
for each statement execute function refuse('session records are append-only');
