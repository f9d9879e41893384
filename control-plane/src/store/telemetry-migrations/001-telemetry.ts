/** What was stored of each node's boot, traffic by minute, and kept requests. */
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table batch (
      node text not null,
      boot_id text not null,
      kind text not null check (kind in ('counters', 'logs')),
      sequence integer not null check (sequence > 0),
      stored_at_ms integer not null,
      primary key (node, boot_id, kind)
    ) strict, without rowid`.execute(db)
  await sql`
    create table traffic (
      minute_ms integer not null check (minute_ms % 60000 = 0),
      node text not null,
      router text not null,
      service text not null,
      informational integer not null,
      success integer not null,
      redirection integer not null,
      client_error integer not null,
      server_error integer not null,
      none integer not null,
      bytes_in integer not null,
      bytes_out integer not null,
      latency blob not null,
      primary key (minute_ms, node, router, service)
    ) strict, without rowid`.execute(db)
  // An id is never used again, so a cursor that names a removed line stays a valid place in the order.
  await sql`
    create table log (
      id integer primary key autoincrement,
      time_ms integer not null,
      node text not null,
      router text not null,
      service text not null,
      server text not null,
      entry_point text not null,
      client_address text not null,
      method text not null,
      host text not null,
      path text not null,
      protocol text not null,
      status integer not null,
      outcome text not null,
      bytes_in integer not null,
      bytes_out integer not null,
      duration_us integer not null,
      first_byte_us integer not null,
      attempts integer not null,
      user_agent text not null,
      weight real not null
    ) strict`.execute(db)
  await sql`create index log_time on log (time_ms, id)`.execute(db)
}
