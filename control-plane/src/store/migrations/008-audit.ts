/**
 * The audit log. Rows are added in order and never changed; the oldest may be removed once audit_start has the
 * number and the hash of the last one that goes, so that what is left can still be verified.
 */
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table audit (
      number integer primary key,
      time_ms integer not null,
      who text not null,
      via text not null,
      address text not null,
      action text not null,
      object text not null,
      changes text not null,
      result text not null check (result in ('done', 'refused', 'failed')),
      hash blob not null check (length(hash) = 32)
    ) strict`.execute(db)
  await sql`create index audit_time on audit (time_ms)`.execute(db)
  await sql`create index audit_who on audit (who, number)`.execute(db)
  await sql`create index audit_action on audit (action, number)`.execute(db)
  await sql`
    create table audit_start (
      id integer primary key check (id = 1),
      number integer not null,
      hash blob not null check (length(hash) = 32)
    ) strict`.execute(db)
  await sql`insert into audit_start values (1, 0, zeroblob(32))`.execute(db)
  await guardRows(db)
  await guardStart(db)
}

async function guardRows(db: Kysely<unknown>): Promise<void> {
  await sql`
    create trigger audit_insert before insert on audit
    when new.number <> 1 + coalesce((select max(number) from audit), (select number from audit_start))
    begin select raise(abort, 'rows of the audit log are added in order'); end`.execute(db)
  await sql`
    create trigger audit_update before update on audit
    begin select raise(abort, 'the audit log is append-only'); end`.execute(db)
  await sql`
    create trigger audit_delete before delete on audit
    when old.number > (select number from audit_start)
    begin select raise(abort, 'the audit log is append-only'); end`.execute(db)
}

async function guardStart(db: Kysely<unknown>): Promise<void> {
  await sql`
    create trigger audit_start_insert before insert on audit_start
    begin select raise(abort, 'the audit log has one start'); end`.execute(db)
  await sql`
    create trigger audit_start_update before update on audit_start
    when new.number <= old.number
      or not exists (select 1 from audit where number = new.number and hash = new.hash)
    begin select raise(abort, 'the audit log begins after one of its rows'); end`.execute(db)
  await sql`
    create trigger audit_start_delete before delete on audit_start
    begin select raise(abort, 'the audit log has one start'); end`.execute(db)
}
