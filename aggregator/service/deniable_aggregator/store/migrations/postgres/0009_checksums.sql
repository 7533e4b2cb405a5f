-- Checksums of rows, filled by the program: see store/checksums.py. seal: of a row's numbers.
-- body: of the counts of a cell in all of its pages. A row that is written without them is damaged.
alter table cells add column seal bigint not null default 0;
alter table cells add column body bigint not null default 0;
alter table deltas add column seal bigint not null default 0;
alter table deltas add column body bigint not null default 0;
alter table closed_epochs add column seal bigint not null default 0;
alter table expired_epochs add column seal bigint not null default 0;
alter table charges add column checksum bigint not null default 0;
alter table session_records add column checksum bigint not null default 0;

-- n is null for a whole collection where a row of its cells is damaged: its epoch may be what is wrong.
create or replace view v_ingest as
select
    c.id as collection, s.name, e.epoch,
    to_timestamp(e.epoch * s.epoch_seconds) as starts,
    to_timestamp((e.epoch + 1) * s.epoch_seconds) as ends,
    case when x.epoch is null and min(e.sealed) over (partition by e.collection) = 1 then e.n end as n,
    to_timestamp(d.closed_at) as closed,
    to_timestamp(x.expired_at) as expired
from (
    select collection, epoch, sum(n * sealed)::bigint as n, min(sealed) as sealed from (
        select collection, epoch, n, case when cells.seal = (
            1618033988
            + cast(cells.n as bigint) % 2147483647 * 215896063
            + cast(cells.collection as bigint) % 2147483647 * 178232521
            + cast(cells.epoch as bigint) % 2147483647 * 251447909
            + cast(cells.manifest_version as bigint) % 2147483647 * 143118433
            + cast(cells.cohort as bigint) % 2147483647 * 229582513
            + cast(cells.tally_size as bigint) % 2147483647 * 199933907
        ) % 2147483647 then 1 else 0 end as sealed from cells
        union all
        select collection, epoch, deltas.n, case when deltas.seal = (
            1618033988
            + cast(deltas.n as bigint) % 2147483647 * 215896063
            + cast(deltas.cell as bigint) % 2147483647 * 178232521
        ) % 2147483647 then 1 else 0 end
        from deltas join cells on cells.number = cell
        union all
        select collection, epoch, 0, 1 from closed_epochs
    ) as found group by collection, epoch
) as e
join shown_collections as s on s.collection = e.collection
join collections as c on c.number = e.collection
left join closed_epochs as d on d.collection = e.collection and d.epoch = e.epoch
left join expired_epochs as x on x.collection = e.collection and x.epoch = e.epoch
where s.read = 'live' or (s.read = 'closed' and d.epoch is not null);
