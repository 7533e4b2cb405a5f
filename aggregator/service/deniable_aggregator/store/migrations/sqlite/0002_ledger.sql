-- What releases were charged for, in order; exact texts of rationals, "1/2". Committed before a draw.
create table charges (
    position integer primary key,
    collection integer not null references collections (number),
    release text not null unique,
    request blob not null check (length(request) = 32),
    terms blob not null,
    epochs text not null,
    epsilon text,
    rho text,
    delta text not null,
    adjacency text not null,
    created integer not null,
    unique (collection, request)
) strict;

-- What is shown of a release. Its log entry is SHA-256(salt || document).
create table results (
    release text primary key references charges (release),
    position integer not null unique references log (position),
    salt blob not null check (length(salt) = 32),
    document blob not null
) strict;

-- As secret as the tallies.
create table session_records (
    release text not null references charges (release),
    number integer not null,
    record blob not null,
    primary key (release, number)
) strict, without rowid;

create trigger charges_have_no_gap before insert on charges
when new.position <> (select coalesce(max(position), 0) + 1 from charges)
begin select raise(abort, 'charges are append-only'); end;
create trigger charges_are_not_changed before update on charges
begin select raise(abort, 'charges are append-only'); end;
create trigger charges_are_not_deleted before delete on charges
begin select raise(abort, 'charges are append-only'); end;

create trigger results_are_not_replaced before insert on results
when exists (select 1 from results where release = new.release)
begin select raise(abort, 'results are append-only'); end;
create trigger results_are_not_changed before update on results
begin select raise(abort, 'results are append-only'); end;
create trigger results_are_not_deleted before delete on results
begin select raise(abort, 'results are append-only'); end;

create trigger session_records_have_no_gap before insert on session_records
when new.number <> (select count(*) from session_records where release = new.release)
begin select raise(abort, 'session records are append-only'); end;
create trigger session_records_are_not_changed before update on session_records
begin select raise(abort, 'session records are append-only'); end;
create trigger session_records_are_not_deleted before delete on session_records
begin select raise(abort, 'session records are append-only'); end;
