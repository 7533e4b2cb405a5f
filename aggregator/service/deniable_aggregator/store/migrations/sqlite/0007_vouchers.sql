-- A serial is here while its epoch is open, if and only if a report that carried it was counted.
create table vouchers (
    collection integer not null,
    epoch integer not null,
    serial blob not null,
    primary key (collection, epoch, serial)
) strict, without rowid;
