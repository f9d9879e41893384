/** What is counted beside status and latency, sums by minute, hour and day, and more fields of log lines. */
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table traffic add column breakdown blob not null default x'00'`.execute(db)
  await sql`alter table traffic add column first_byte blob not null default x'00'`.execute(db)
  await sql`alter table traffic add column retries integer not null default 0`.execute(db)
  // A cube is what rows were summed by: 0 the fleet, 1 the node, 2 router and service. The names that it
  // does not keep apart are empty.
  await sql`
    create table rollup (
      cube integer not null check (cube between 0 and 2),
      level_ms integer not null check (level_ms in (60000, 3600000, 86400000)),
      start_ms integer not null check (start_ms % level_ms = 0),
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
      retries integer not null,
      latency blob not null,
      first_byte blob not null,
      breakdown blob not null,
      primary key (cube, level_ms, start_ms, node, router, service)
    ) strict, without rowid`.execute(db)
  for (const column of ['country', 'query', 'referrer', 'request_id', 'tls_version']) {
    await sql`alter table log add column ${sql.ref(column)} text not null default ''`.execute(db)
  }
}
