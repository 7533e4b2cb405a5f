-- Closed epochs whose counts were deleted when the collection's retention_days were over.
create table expired_epochs (
    collection integer not null,
    epoch bigint not null,
    expired_at bigint not null,
    primary key (collection, epoch),
    foreign key (collection, epoch) references closed_epochs (collection, epoch)
);

create function refuse_a_loss_of_cells() returns trigger language plpgsql
set search_path from current as $$
begin
    if exists (
        select from closed_epochs as c where c.collection = old.collection and c.epoch = old.epoch
    ) and not exists (
        select from expired_epochs as e where e.collection = old.collection and e.epoch = old.epoch
    ) then
        raise exception using message = 'the counts of a closed epoch are frozen',
            errcode = 'integrity_constraint_violation';
    end if;
    return old;
end $$;

create function refuse_a_loss_of_pages() returns trigger language plpgsql
set search_path from current as $$
begin
    if exists (
        select from cells join closed_epochs using (collection, epoch) where cells.number = old.cell
    ) and not exists (
        select from cells join expired_epochs using (collection, epoch) where cells.number = old.cell
    ) then
        raise exception using message = 'the counts of a closed epoch are frozen',
            errcode = 'integrity_constraint_violation';
    end if;
    return old;
end $$;

create trigger an_expired_epoch_stays_expired before update or delete on expired_epochs
for each row execute function refuse('an expired epoch stays expired');
create trigger expired_epochs_are_not_emptied before truncate on expired_epochs
for each statement execute function refuse('an expired epoch stays expired');

create trigger only_an_expired_epoch_loses_cells before delete on cells
for each row execute function refuse_a_loss_of_cells();
create trigger only_an_expired_epoch_loses_pages before delete on pages
for each row execute function refuse_a_loss_of_pages();
