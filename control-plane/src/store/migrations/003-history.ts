/**
 * States of resources outlive the version that brought them, since old versions are removed and what they
 * brought may still be current. Also drafts, and the answers that repeated creates get.
 */
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  // SQLite cannot drop a foreign key from a table.
  await sql`alter table resource rename to resource_before`.execute(db)
  await sql`
    create table resource (
      kind text not null,
      name text not null,
      since_version integer not null,
      until_version integer check (until_version > since_version),
      revision integer not null,
      body text not null,
      digest blob not null check (length(digest) = 32),
      created_at_ms integer not null,
      updated_at_ms integer not null,
      primary key (kind, name, since_version)
    ) strict`.execute(db)
  await sql`insert into resource select * from resource_before`.execute(db)
  await sql`drop table resource_before`.execute(db)
  await sql`
    create unique index resource_current on resource (kind, name) where until_version is null`.execute(
    db,
  )
  await sql`create index version_created on version (created_at_ms)`.execute(db)
  await sql`
    create table draft (
      name text primary key,
      author text not null,
      base_version integer not null,
      created_at_ms integer not null,
      updated_at_ms integer not null
    ) strict`.execute(db)
  await sql`
    create table draft_change (
      draft text not null references draft (name) on delete cascade,
      kind text not null,
      name text not null,
      base text,
      body text,
      updated_at_ms integer not null,
      primary key (draft, kind, name)
    ) strict`.execute(db)
  await sql`
    create table idempotency_key (
      key text primary key,
      fingerprint blob not null check (length(fingerprint) = 32),
      status integer,
      headers text,
      body text,
      created_at_ms integer not null
    ) strict`.execute(db)
  await sql`create index idempotency_key_created on idempotency_key (created_at_ms)`.execute(db)
}
