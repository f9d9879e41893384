/** Users, their second factors, API tokens, and sessions of users. Sessions from before stood for the admin token alone, and end. */
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table user (
      name text primary key,
      role text not null check (role in ('admin', 'editor', 'viewer')),
      password text not null,
      is_disabled integer not null default 0,
      created_at_ms integer not null,
      password_changed_at_ms integer not null
    ) strict`.execute(db)
  await sql`
    create table second_factor (
      user text primary key references user (name) on delete cascade,
      sealed blob not null,
      used_step integer not null
    ) strict`.execute(db)
  await sql`
    create table recovery_code (
      user text not null references second_factor (user) on delete cascade,
      code_hash blob not null check (length(code_hash) = 32),
      primary key (user, code_hash)
    ) strict`.execute(db)
  await sql`
    create table api_token (
      name text primary key,
      secret_hash blob not null unique check (length(secret_hash) = 32),
      role text not null check (role in ('admin', 'editor', 'viewer')),
      scopes text,
      author text not null,
      created_at_ms integer not null,
      expires_at_ms integer,
      used_at_ms integer
    ) strict`.execute(db)
  await sql`drop table session`.execute(db)
  await sql`
    create table session (
      secret_hash blob primary key,
      id text not null unique,
      user text references user (name) on delete cascade,
      address text not null,
      created_at_ms integer not null,
      used_at_ms integer not null,
      expires_at_ms integer not null
    ) strict`.execute(db)
  await sql`create index session_user on session (user)`.execute(db)
}
