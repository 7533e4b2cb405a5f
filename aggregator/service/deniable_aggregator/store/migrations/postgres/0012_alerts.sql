-- Webhooks that are called when a comparison finds a change. secret: the key of their signatures.
-- risk: the chance of a false alert in all looks together, a decimal text. compared: the last epoch
-- that was looked at.
create table alerts (
    id text primary key,
    collection integer not null references collections (number),
    url text not null,
    secret bytea not null,
    author text not null,
    created bigint not null,
    periods integer not null,
    risk text not null,
    looks bigint not null,
    compared bigint not null,
    ended bigint
);

-- Calls of webhooks. next: unix seconds of the next attempt, null once it was sent or given up.
create table deliveries (
    id text primary key,
    alert text not null references alerts (id),
    body bytea not null,
    created bigint not null,
    attempts integer not null,
    next bigint,
    sent bigint
);
