/** The internal CA, join tokens, and nodes with what they run. */
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table authority (
      id integer primary key check (id = 1),
      certificate_pem text not null,
      sealed_key blob not null,
      created_at_ms integer not null
    ) strict`.execute(db)
  await sql`
    create table join_token (
      id text primary key,
      secret_hash blob not null unique check (length(secret_hash) = 32),
      labels text not null,
      uses_total integer not null check (uses_total > 0),
      uses_left integer not null check (uses_left between 0 and uses_total),
      created_at_ms integer not null,
      expires_at_ms integer not null
    ) strict`.execute(db)
  await sql`
    create table node (
      id text primary key,
      name text not null,
      labels text not null,
      enrolled_at_ms integer not null,
      revoked_at_ms integer,
      fingerprint text not null,
      previous_fingerprint text,
      certificate_expires_at_ms integer not null,
      connected_at_ms integer,
      last_seen_at_ms integer,
      address text not null default '',
      boot_id text not null default '',
      software_version text not null default '',
      features text not null default '[]',
      workers integer not null default 0,
      version integer not null default 0,
      hash text not null default '',
      applied_at_ms integer,
      took_ms integer,
      rejected_version integer,
      rejected_hash text,
      rejected_at_ms integer,
      rejected_problems text
    ) strict`.execute(db)
  // A name is free again once its node is revoked.
  await sql`create unique index node_name on node (name) where revoked_at_ms is null`.execute(db)
}
