/** Versions, the states of resources over versions, and sealed private keys. */
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table version (
      number integer primary key,
      hash text not null,
      author text not null,
      message text not null,
      created_at_ms integer not null,
      is_empty_on_purpose integer not null check (is_empty_on_purpose in (0, 1)),
      entry_points integer not null,
      routers integer not null,
      services integer not null,
      certificates integer not null
    ) strict`.execute(db)
  await sql`
    create table resource (
      kind text not null,
      name text not null,
      since_version integer not null references version (number),
      until_version integer references version (number) check (until_version > since_version),
      revision integer not null,
      body text not null,
      digest blob not null check (length(digest) = 32),
      created_at_ms integer not null,
      updated_at_ms integer not null,
      primary key (kind, name, since_version)
    ) strict`.execute(db)
  // Names are unique within a kind, among what is current.
  await sql`
    create unique index resource_current on resource (kind, name) where until_version is null`.execute(
    db,
  )
  await sql`
    create table private_key (
      public_key_id text primary key,
      sealed blob not null,
      created_at_ms integer not null
    ) strict`.execute(db)
}
