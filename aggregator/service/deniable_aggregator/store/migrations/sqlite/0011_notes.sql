-- What people wrote on the time axis. at, created: unix seconds.
create table notes (
    id text primary key,
    collection integer not null references collections (number),
    at integer not null,
    body text not null,
    author text not null,
    created integer not null
) strict, without rowid;
