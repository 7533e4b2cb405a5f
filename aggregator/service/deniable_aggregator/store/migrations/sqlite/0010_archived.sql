-- Archived collections are in no list; everything else of them goes on.
alter table collections add column archived integer not null default 0 check (archived in (0, 1));

-- Manifests of collections that were deleted before their first epoch, in the order of deleting.
-- Their entries stay in the log.
create table deleted_manifests (
    number integer primary key,
    position integer not null unique references log (position),
    collection text not null,
    version integer not null
) strict;

create trigger deleted_manifests_are_not_changed before update on deleted_manifests
begin select raise(abort, 'deleted manifests are append-only'); end;
create trigger deleted_manifests_are_not_deleted before delete on deleted_manifests
begin select raise(abort, 'deleted manifests are append-only'); end;

drop trigger manifests_are_not_deleted;
create trigger manifests_are_not_deleted before delete on manifests
when not exists (select 1 from deleted_manifests where position = old.position)
begin select raise(abort, 'manifests are append-only'); end;
