-- Archived collections are in no list; everything else of them goes on.
alter table collections add column archived integer not null default 0 check (archived in (0, 1));

-- Manifests of collections that were deleted before their first epoch, in the order of deleting.
-- Their entries stay in the log.
create table deleted_manifests (
    number bigint primary key,
    position bigint not null unique references log (position),
    collection text not null,
    version integer not null
);

create function refuse_a_manifest_that_was_not_deleted() returns trigger language plpgsql
set search_path from current as $$
begin
    if not exists (select from deleted_manifests where position = old.position) then
        raise exception using message = 'manifests are append-only',
            errcode = 'integrity_constraint_violation';
    end if;
    return old;
end $$;

create trigger deleted_manifests_are_not_changed before update or delete on deleted_manifests
for each row execute function refuse('deleted manifests are append-only');
create trigger deleted_manifests_are_not_emptied before truncate on deleted_manifests
for each statement execute function refuse('deleted manifests are append-only');

drop trigger manifests_are_not_changed on manifests;
create trigger manifests_are_not_changed before update on manifests
for each row execute function refuse('manifests are append-only');
create trigger manifests_are_not_deleted before delete on manifests
for each row execute function refuse_a_manifest_that_was_not_deleted();
