-- What views show of manifests and closed epochs. Derived from manifests and tallies, written again
-- by the housekeeping whenever these or the program change, and read by nothing but the views.
create table shown_collections (
    collection integer primary key references collections (number),
    name text not null,
    read text not null check (read in ('live', 'closed', 'releases')),
    epoch_seconds integer not null
) strict;

-- maker: by which version of the program and of the manifest.
create table shown_epochs (
    collection integer not null,
    epoch integer not null,
    maker text not null,
    n integer not null,
    confidence real not null,
    primary key (collection, epoch),
    foreign key (collection, epoch) references closed_epochs (collection, epoch)
) strict, without rowid;

create table shown_estimates (
    collection integer not null,
    epoch integer not null,
    position integer not null,
    label text not null,
    frequency real,
    std_error real,
    lower real,
    upper real,
    primary key (collection, epoch, position),
    foreign key (collection, epoch) references shown_epochs (collection, epoch)
) strict, without rowid;

create view v_estimate as
select
    c.id as collection, s.name, e.epoch,
    strftime('%Y-%m-%dT%H:%M:%SZ', e.epoch * s.epoch_seconds, 'unixepoch') as starts,
    strftime('%Y-%m-%dT%H:%M:%SZ', (e.epoch + 1) * s.epoch_seconds, 'unixepoch') as ends,
    r.position, r.label, e.n, e.n * r.frequency as count,
    r.frequency, r.std_error, r.lower, r.upper, e.confidence
from shown_estimates as r
join shown_epochs as e on e.collection = r.collection and e.epoch = r.epoch
join shown_collections as s on s.collection = r.collection
join collections as c on c.number = r.collection
where s.read <> 'releases';

create view v_ingest as
select
    c.id as collection, s.name, e.epoch,
    strftime('%Y-%m-%dT%H:%M:%SZ', e.epoch * s.epoch_seconds, 'unixepoch') as starts,
    strftime('%Y-%m-%dT%H:%M:%SZ', (e.epoch + 1) * s.epoch_seconds, 'unixepoch') as ends,
    case when x.epoch is null then e.n end as n,
    strftime('%Y-%m-%dT%H:%M:%SZ', d.closed_at, 'unixepoch') as closed,
    strftime('%Y-%m-%dT%H:%M:%SZ', x.expired_at, 'unixepoch') as expired
from (
    select collection, epoch, sum(n) as n from (
        select collection, epoch, n from cells
        union all
        select collection, epoch, 0 from closed_epochs
    ) group by collection, epoch
) as e
join shown_collections as s on s.collection = e.collection
join collections as c on c.number = e.collection
left join closed_epochs as d on d.collection = e.collection and d.epoch = e.epoch
left join expired_epochs as x on x.collection = e.collection and x.epoch = e.epoch
where s.read = 'live' or (s.read = 'closed' and d.epoch is not null);

create view v_rejection as
select c.id as collection, s.name, r.reason, r.n
from rejections as r
join shown_collections as s on s.collection = r.collection
join collections as c on c.number = r.collection
where s.read <> 'releases';

-- epsilon, rho and delta are exact; the same with _value is a number, good to 12 digits.
create view v_ledger as
select
    h.position, c.id as collection, s.name, h.release,
    strftime('%Y-%m-%dT%H:%M:%SZ', h.created, 'unixepoch') as charged,
    h.epochs, h.epsilon, h.rho, h.delta,
    cast(h.epsilon as real) / cast(
        case when instr(h.epsilon, '/') then substr(h.epsilon, instr(h.epsilon, '/') + 1) else '1' end
    as real) as epsilon_value,
    cast(h.rho as real) / cast(
        case when instr(h.rho, '/') then substr(h.rho, instr(h.rho, '/') + 1) else '1' end
    as real) as rho_value,
    cast(h.delta as real) / cast(
        case when instr(h.delta, '/') then substr(h.delta, instr(h.delta, '/') + 1) else '1' end
    as real) as delta_value,
    h.adjacency, case when r.release is null then 'charged' else 'made' end as state
from charges as h
join collections as c on c.number = h.collection
left join shown_collections as s on s.collection = h.collection
left join results as r on r.release = h.release;
