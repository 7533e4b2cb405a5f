-- What views show of manifests and closed epochs. Derived from manifests and tallies, written again
-- by the housekeeping whenever these or the program change, and read by nothing but the views.
create table shown_collections (
    collection integer primary key references collections (number),
    name text not null,
    read text not null check (read in ('live', 'closed', 'releases')),
    epoch_seconds bigint not null
);

-- maker: by which version of the program and of the manifest.
create table shown_epochs (
    collection integer not null,
    epoch bigint not null,
    maker text not null,
    n bigint not null,
    confidence double precision not null,
    primary key (collection, epoch),
    foreign key (collection, epoch) references closed_epochs (collection, epoch)
);

create table shown_estimates (
    collection integer not null,
    epoch bigint not null,
    position integer not null,
    label text not null,
    frequency double precision,
    std_error double precision,
    lower double precision,
    upper double precision,
    primary key (collection, epoch, position),
    foreign key (collection, epoch) references shown_epochs (collection, epoch)
);

create function rational(written text) returns double precision language sql immutable
return (
    split_part(written, '/', 1)::numeric / coalesce(nullif(split_part(written, '/', 2), ''), '1')::numeric
)::double precision;

create view v_estimate as
select
    c.id as collection, s.name, e.epoch,
    to_timestamp(e.epoch * s.epoch_seconds) as starts,
    to_timestamp((e.epoch + 1) * s.epoch_seconds) as ends,
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
    to_timestamp(e.epoch * s.epoch_seconds) as starts,
    to_timestamp((e.epoch + 1) * s.epoch_seconds) as ends,
    case when x.epoch is null then e.n end as n,
    to_timestamp(d.closed_at) as closed,
    to_timestamp(x.expired_at) as expired
from (
    select collection, epoch, sum(n)::bigint as n from (
        select collection, epoch, n from cells
        union all
        select collection, epoch, deltas.n from deltas join cells on cells.number = cell
        union all
        select collection, epoch, 0 from closed_epochs
    ) as found group by collection, epoch
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
    to_timestamp(h.created) as charged,
    h.epochs, h.epsilon, h.rho, h.delta,
    rational(h.epsilon) as epsilon_value,
    rational(h.rho) as rho_value,
    rational(h.delta) as delta_value,
    h.adjacency, case when r.release is null then 'charged' else 'made' end as state
from charges as h
join collections as c on c.number = h.collection
left join shown_collections as s on s.collection = h.collection
left join results as r on r.release = h.release;
