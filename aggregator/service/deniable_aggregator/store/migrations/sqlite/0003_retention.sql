-- Closed epochs whose counts were deleted when the collection's retention_days were over.
create table expired_epochs (
    collection integer not null,
    epoch integer not null,
    expired_at integer not null,
    primary key (collection, epoch),
    foreign key (collection, epoch) references closed_epochs (collection, epoch)
) strict, without rowid;

create trigger an_expired_epoch_is_not_redated before update on expired_epochs
begin select raise(abort, 'an expired epoch stays expired'); end;
create trigger an_expired_epoch_is_not_brought_back before delete on expired_epochs
begin select raise(abort, 'an expired epoch stays expired'); end;

create trigger only_an_expired_epoch_loses_cells before delete on cells
when exists (select 1 from closed_epochs where collection = old.collection and epoch = old.epoch)
    and not exists (
        select 1 from expired_epochs where collection = old.collection and epoch = old.epoch
    )
begin select raise(abort, 'the counts of a closed epoch are frozen'); end;
create trigger only_an_expired_epoch_loses_pages before delete on pages
when exists (
    select 1 from cells join closed_epochs using (collection, epoch) where number = old.cell
) and not exists (
    select 1 from cells join expired_epochs using (collection, epoch) where number = old.cell
)
begin select raise(abort, 'the counts of a closed epoch are frozen'); end;
