-- Blocks of a spool that a job has counted: it does not open them again. Ids alone keep counts right.
create table counted_blocks (
    job text not null,
    block text not null,
    primary key (job, block)
);
