-- How far each spool is counted, by where it is: epochs close once what was taken in time is counted.
create table spools (
    place text primary key,
    counted_until integer not null
) strict, without rowid;
