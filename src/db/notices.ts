import { sql } from 'kysely'
import type { NoticeEvent, NoticeFacts } from '../contract/notices.ts'
import { listRows, type PageBefore } from './sql.ts'
import { type AtomicStatement, changeOne, type SqlStore, statement } from './sql-store.ts'
import type { LedgerDb, Row } from './tables.ts'

export type StoredNotice = Row<'notices'>
export type StoredWebhook = Row<'webhooks'>
export type StoredDelivery = Row<'notice_deliveries'>

export interface NewNotice {
  readonly id: string
  readonly once: string
  readonly event: NoticeEvent
  readonly account: number | null
  readonly person: number | null
  readonly facts: NoticeFacts
  readonly at: number
}

/** Fails if there is a notice about the same, as with another node that saw it too. */
export const noticeInsert = ({ id, once, event, account, person, facts, at }: NewNotice) =>
  changeOne(
    'INSERT INTO notices (id, once, event, account, person, facts, at) VALUES (?, ?, ?, ?, ?, ?, ?)',
    ...[id, once, event, account, person, JSON.stringify(facts), at],
  )

/** Which of these have been told. */
export const listTold = async (db: LedgerDb, names: readonly string[]): Promise<ReadonlySet<string>> => {
  if (names.length === 0) return new Set()
  const rows = await db.selectFrom('notices').select('once').where('once', 'in', names).execute()
  return new Set(rows.map(({ once }) => once))
}

/** Which notices a person sees: those of an account, those about the person, those for operators. */
export type NoticeSource = { readonly account: number } | { readonly person: number } | { readonly operators: true }

/** Newest first. */
export const listNotices = (
  db: LedgerDb,
  source: NoticeSource,
  { before, limit, since = 0 }: PageBefore & { readonly since?: number },
) => {
  const page = db.selectFrom('notices').selectAll().where('row', '<', before).orderBy('row', 'desc').limit(limit)
  const chosen =
    'account' in source
      ? page.where('account', '=', source.account)
      : 'person' in source
        ? page.where('person', '=', source.person)
        : page.where('account', 'is', null)
  return chosen.where('at', '>=', since).execute()
}

/** The last notice of this kind about a lane. */
export const findLastLaneNotice = (db: LedgerDb, lane: string) =>
  db
    .selectFrom('notices')
    .select(['once', 'event', 'at'])
    .where('once', '>=', `lane:${lane}:`)
    .where('once', '<', `lane:${lane};`)
    .orderBy('once', 'desc')
    .limit(1)
    .executeTakeFirst()

/** Which of these the person has read. */
export const listRead = async (db: LedgerDb, person: number, notices: readonly number[]) => {
  if (notices.length === 0) return new Set<number>()
  const rows = await db
    .selectFrom('notice_reads')
    .select('notice')
    .where('person', '=', person)
    .where('notice', 'in', notices)
    .execute()
  return new Set(rows.map(({ notice }) => notice))
}

export const noticesRead = (person: number, notices: readonly number[]): AtomicStatement => ({
  sql: 'INSERT INTO notice_reads (person, notice) VALUES (?, ?) ON CONFLICT DO NOTHING',
  rows: notices.map((notice) => [person, notice]),
})

export const findLowBalance = async (db: LedgerDb, account: number): Promise<bigint | null> =>
  (await db.selectFrom('notice_settings').select('low_balance_nano').where('account', '=', account).executeTakeFirst())
    ?.low_balance_nano ?? null

export const lowBalancePut = (account: number, amount: bigint | null) =>
  changeOne(
    `INSERT INTO notice_settings (account, low_balance_nano) VALUES (?, ?)
      ON CONFLICT (account) DO UPDATE SET low_balance_nano = excluded.low_balance_nano`,
    ...[account, amount],
  )

export const findPreferences = (db: LedgerDb, person: number) =>
  db.selectFrom('notice_preferences').selectAll().where('person', '=', person).executeTakeFirst()

export const preferencesPut = ({ person, mail, language }: Row<'notice_preferences'>) =>
  changeOne(
    `INSERT INTO notice_preferences (person, mail, language) VALUES (?, ?, ?)
      ON CONFLICT (person) DO UPDATE SET mail = excluded.mail, language = excluded.language`,
    ...[person, mail, language],
  )

/** Who gets mail about an account, or about what operators are told. */
export const listRecipients = (
  db: LedgerDb,
  { account, person }: { readonly account: number | null; readonly person: number | null },
) => {
  const people = db
    .selectFrom('people')
    .leftJoin('notice_preferences', 'notice_preferences.person', 'people.row')
    .select(['people.email', 'notice_preferences.language'])
    .where('people.disabled_at', 'is', null)
    .where((where) => where.or([where('mail', 'is', null), where('mail', '=', 1)]))
    .orderBy('people.row')
    .limit(RECIPIENTS_MAX)
  if (account === null) return people.where('people.role', '=', 'operator').execute()
  return people
    .where('people.account', '=', account)
    .where((where) =>
      where.or([where('people.role', 'in', ['owner', 'admin', 'operator']), where('people.row', '=', person ?? 0)]),
    )
    .execute()
}

const RECIPIENTS_MAX = 50

export const listWebhooks = (db: LedgerDb, account: number | null) => {
  const all = db.selectFrom('webhooks').selectAll().orderBy('row')
  return (account === null ? all.where('account', 'is', null) : all.where('account', '=', account)).execute()
}

export const findWebhook = (db: LedgerDb, id: string) =>
  db.selectFrom('webhooks').selectAll().where('id', '=', id).executeTakeFirst()

export const findWebhookByRow = (db: LedgerDb, row: number) =>
  db.selectFrom('webhooks').selectAll().where('row', '=', row).executeTakeFirst()

type NewWebhook = Pick<
  StoredWebhook,
  'id' | 'account' | 'url' | 'events' | 'ring_key' | 'secret' | 'created_at' | 'created_by'
>

/** While the owner has fewer than the most. */
export const webhookInsert = (hook: NewWebhook, most: number) =>
  changeOne(
    `INSERT INTO webhooks (id, account, url, events, ring_key, secret, created_at, created_by, state)
      SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 'on'
      WHERE (SELECT COUNT(*) FROM webhooks WHERE ${hook.account === null ? 'account IS NULL' : 'account = ?2'}) < ?9`,
    ...[hook.id, hook.account, hook.url, hook.events, hook.ring_key, hook.secret, hook.created_at, hook.created_by],
    most,
  )

export const webhookChange = ({ row }: StoredWebhook, events: string, state: StoredWebhook['state']) =>
  changeOne(
    `UPDATE webhooks SET events = ?, failing_since = CASE WHEN ? = 'on' AND state <> 'on' THEN NULL ELSE failing_since END,
      state = ? WHERE row = ?`,
    ...[events, state, state, row],
  )

/** The secret of now is accepted until `until`. */
export const webhookRotation = (
  { row, secret }: StoredWebhook,
  next: Pick<StoredWebhook, 'ring_key' | 'secret'>,
  until: number,
) =>
  changeOne(
    `UPDATE webhooks SET former_ring_key = ring_key, former_secret = secret, former_until = ?, ring_key = ?, secret = ?
      WHERE row = ? AND secret = ?`,
    ...[until, next.ring_key, next.secret, row, secret],
  )

export const webhookDelete = ({ row }: StoredWebhook): AtomicStatement[] => [
  statement('DELETE FROM notice_deliveries WHERE webhook = ?', row),
  changeOne('DELETE FROM webhooks WHERE row = ?', row),
]

export const webhookArrived = (row: number) =>
  statement('UPDATE webhooks SET failing_since = NULL WHERE row = ? AND failing_since IS NOT NULL', row)

export const webhookFailed = (row: number, now: number) =>
  statement('UPDATE webhooks SET failing_since = ? WHERE row = ? AND failing_since IS NULL', now, row)

/** Only if it has failed all the time since then. */
export const webhookOff = (row: number, failingSince: number) =>
  changeOne(
    "UPDATE webhooks SET state = 'failed' WHERE row = ? AND state = 'on' AND failing_since = ?",
    ...[row, failingSince],
  )

export interface NewDelivery {
  readonly id: string
  readonly event: StoredDelivery['event']
  /** The notice, by its id, which an earlier statement of the same commit may have inserted. */
  readonly notice: string | null
  readonly at: number
}

/** For a webhook that is still there. */
export const webhookDelivery = ({ id, event, notice, at }: NewDelivery, webhook: number): AtomicStatement =>
  statement(
    `INSERT INTO notice_deliveries (id, event, notice, webhook, state, attempts, next_at, created_at)
      SELECT ?1, ?2, (SELECT row FROM notices WHERE id = ?3), row, 'waiting', 0, ?4, ?4 FROM webhooks WHERE row = ?5`,
    ...[id, event, notice, at, webhook],
  )

interface MailRecipient {
  readonly email: string
  /** The account that it is about. */
  readonly account: number | null
  readonly language: 'en' | 'de'
}

interface MailBounds {
  readonly since: number
  readonly most: number
}

/** Nothing where the recipient has got that many mails since then. */
export const mailDelivery = (
  { id, event, notice, at }: NewDelivery,
  { email, account, language }: MailRecipient,
  bounds: MailBounds,
  sealed?: Pick<StoredDelivery, 'ring_key' | 'sealed'>,
): AtomicStatement =>
  statement(
    `INSERT INTO notice_deliveries (id, event, notice, recipient, language, ring_key, sealed, state, attempts, next_at, created_at,
        mail_account)
      SELECT ?1, ?2, (SELECT row FROM notices WHERE id = ?3), ?4, ?5, ?6, ?7, 'waiting', 0, ?8, ?8, ?11
      WHERE (SELECT COUNT(*) FROM notice_deliveries WHERE recipient = ?4 AND created_at > ?9) < ?10`,
    ...[id, event, notice, email, language, sealed?.ring_key ?? null, sealed?.sealed ?? null, at],
    ...[bounds.since, bounds.most, account],
  )

export async function countInvitationMails(db: LedgerDb, account: number, since: number): Promise<number> {
  const { count } = await db
    .selectFrom('notice_deliveries')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where(sql<boolean>`event = 'invitation'`)
    .where('mail_account', '=', account)
    .where('created_at', '>', since)
    .executeTakeFirstOrThrow()
  return Number(count)
}

/** Fails if this account has sent that many invitations since then. */
export const invitationMailRoom = (account: number, { since, most }: MailBounds): AtomicStatement =>
  changeOne(
    `UPDATE accounts SET status = status WHERE row = ? AND (SELECT COUNT(*) FROM notice_deliveries
      WHERE event = 'invitation' AND mail_account = ? AND created_at > ?) < ?`,
    ...[account, account, since, most],
  )

export type DueDelivery = StoredDelivery & { readonly account: number | null }

/** Whose deliveries are bounded together: an account, or the operators, by webhook or by mail. */
export interface DeliveryOwner {
  readonly by: 'webhook' | 'mail'
  /** 0: the operators. */
  readonly account: number
}

export const ownerOfDelivery = ({ webhook, account, mail_account }: DueDelivery): DeliveryOwner =>
  webhook === null ? { by: 'mail', account: mail_account ?? 0 } : { by: 'webhook', account: account ?? 0 }

interface DueOnes {
  readonly limit: number
  /** Owners who have enough of them on the way. */
  readonly full: readonly DeliveryOwner[]
  readonly isMailFull: boolean
}

/** The next ones to send. */
export const listDueDeliveries = (
  db: LedgerDb,
  now: number,
  { limit, full, isMailFull }: DueOnes,
): Promise<DueDelivery[]> => {
  const [accounts, mailAccounts] = (['webhook', 'mail'] as const).map((by) =>
    full.filter((owner) => owner.by === by).map(({ account }) => account),
  ) as [number[], number[]]
  return db
    .selectFrom('notice_deliveries')
    .leftJoin('webhooks', 'webhooks.row', 'notice_deliveries.webhook')
    .selectAll('notice_deliveries')
    .select('webhooks.account')
    .where('notice_deliveries.state', '=', sql.lit('waiting'))
    .where('next_at', '<=', now)
    .$if(isMailFull, (rows) => rows.where('webhook', 'is not', null))
    .$if(mailAccounts.length > 0, (rows) =>
      rows.where((where) =>
        where.or([where('webhook', 'is not', null), where(sql`coalesce(mail_account, 0)`, 'not in', mailAccounts)]),
      ),
    )
    .$if(accounts.length > 0, (rows) =>
      rows.where((where) =>
        where.or([where('webhook', 'is', null), where(sql`coalesce(webhooks.account, 0)`, 'not in', accounts)]),
      ),
    )
    .orderBy('next_at')
    .limit(limit)
    .execute()
}

/** True for one of several nodes that try. It is due again at `until`, unless it has ended. */
export async function claimDelivery(file: SqlStore, { row, next_at }: StoredDelivery, until: number): Promise<boolean> {
  const [claimed] = await file.atomic([
    statement(
      `UPDATE notice_deliveries SET attempts = attempts + 1, next_at = ? WHERE row = ? AND next_at = ? AND state = 'waiting'`,
      ...[until, row, next_at],
    ),
  ])
  return claimed === 1
}

/** What a dead process may have left between sending and its record: due again at once. Only where one process sends. */
export const releaseDeliveries = (file: SqlStore, now: number) =>
  file.atomic([
    statement(
      "UPDATE notice_deliveries SET next_at = ? WHERE state = 'waiting' AND attempts > 0 AND next_at > ? AND error IS NULL",
      now,
      now,
    ),
  ])

export interface Attempted {
  readonly state: StoredDelivery['state']
  readonly status: number | null
  readonly error: string | null
  readonly nextAt: number
  readonly now: number
}

/** The outcome of the attempt that has claimed it. The last one takes with it what only the recipient may read. */
export const deliveryAttempted = (
  { row }: StoredDelivery,
  claimedUntil: number,
  { state, status, error, nextAt, now }: Attempted,
) =>
  statement(
    `UPDATE notice_deliveries SET state = ?1, status = ?2, error = ?3, next_at = ?4,
        ended_at = CASE WHEN ?1 = 'waiting' THEN NULL ELSE ?5 END, sealed = CASE WHEN ?1 = 'waiting' THEN sealed END
      WHERE row = ?6 AND next_at = ?7 AND state = 'waiting'`,
    ...[state, status, error, nextAt, now, row, claimedUntil],
  )

export const findDelivery = (db: LedgerDb, id: string) =>
  db.selectFrom('notice_deliveries').selectAll().where('id', '=', id).executeTakeFirst()

/** Newest first. */
export const listDeliveries = (db: LedgerDb, webhook: number, { before, limit }: PageBefore) =>
  db
    .selectFrom('notice_deliveries')
    .selectAll()
    .where('webhook', '=', webhook)
    .where('row', '<', before)
    .orderBy('row', 'desc')
    .limit(limit)
    .execute()

/** From its first attempt on, with the same id. */
export const deliveryRepeat = ({ row }: StoredDelivery, now: number) =>
  changeOne(
    "UPDATE notice_deliveries SET state = 'waiting', attempts = 0, next_at = ?, ended_at = NULL, error = NULL WHERE row = ?",
    ...[now, row],
  )

export const findNoticeByRow = (db: LedgerDb, row: number) =>
  db
    .selectFrom('notices')
    .leftJoin('accounts', 'accounts.row', 'notices.account')
    .selectAll('notices')
    .select('accounts.id as account_id')
    .where('notices.row', '=', row)
    .executeTakeFirst()

/** Deletes old deliveries and notices. */
export async function forgetNotices(
  file: SqlStore,
  { deliveriesBefore, noticesBefore }: { readonly deliveriesBefore: number; readonly noticesBefore: number },
): Promise<void> {
  const old = 'SELECT row FROM notices WHERE at < ? ORDER BY at LIMIT 500'
  await file.atomic([
    statement(
      'DELETE FROM notice_deliveries WHERE row IN (SELECT row FROM notice_deliveries WHERE created_at < ? ORDER BY created_at LIMIT 2000)',
      deliveriesBefore,
    ),
    statement(`DELETE FROM notice_deliveries WHERE notice IN (${old})`, noticesBefore),
    statement(`DELETE FROM notice_reads WHERE notice IN (${old})`, noticesBefore),
    statement(`DELETE FROM notices WHERE row IN (${old})`, noticesBefore),
  ])
}

/** An agent is told by its answers how its run stands, and a person has thousands of them. */
const RUN_CAPS = 'cap:run:%'

/** Counters and windows from here on are worth a look: a notice is due at 80 % of a limit. */
export const listNearlyUsedCounters = (db: LedgerDb, account: number, now: number) =>
  db
    .selectFrom('spend_counters')
    .select(['subject', 'period_start', 'period_end', 'bound_nano', 'spent_nano'])
    .where('account', '=', account)
    .where('period_start', '<=', now)
    .where('period_end', '>', now)
    .where('subject', 'not like', RUN_CAPS)
    .where(sql<boolean>`spent_nano * 5 >= bound_nano * 4`)
    .execute()

/** The movement of the last credit that brought the wallet up to this amount; 0 if none did. */
export async function findLastTopUp(db: LedgerDb, account: number, amount: bigint): Promise<number> {
  const query = sql<{ movement: number }>`SELECT movement FROM transfers
    WHERE account = ${account} AND unit = 'usd' AND movement IS NOT NULL AND balance_nano >= ${amount}
    ORDER BY movement DESC LIMIT 1`
  return (await listRows(db, query))[0]?.movement ?? 0
}

/** Accounts in a range of rows whose counters, wallet or plan may be worth a notice. */
export const listAccountsToExamine = (
  db: LedgerDb,
  { after, upTo, now }: { readonly after: number; readonly upTo: number; readonly now: number },
): Promise<{ account: number }[]> =>
  listRows(
    db,
    sql`SELECT account FROM spend_counters WHERE account > ${after} AND account <= ${upTo}
        AND period_start <= ${now} AND period_end > ${now} AND subject NOT LIKE ${RUN_CAPS} AND spent_nano * 5 >= bound_nano * 4
      UNION SELECT notice_settings.account FROM notice_settings
        JOIN buckets ON buckets.account = notice_settings.account AND buckets.kind = 'wallet'
        WHERE notice_settings.account > ${after} AND notice_settings.account <= ${upTo}
          AND buckets.posted_nano < low_balance_nano
      UNION SELECT account FROM subscriptions WHERE account > ${after} AND account <= ${upTo}
        AND (ends_at IS NULL OR ends_at > ${now})`,
  )

export const findLastAccount = async (db: LedgerDb): Promise<number> =>
  (await db.selectFrom('accounts').select('row').orderBy('row', 'desc').limit(1).executeTakeFirst())?.row ?? 0

/** Keys in use that expire in this time, with how long they were made for. */
export const listExpiringKeys = (
  db: LedgerDb,
  { from, to, limit }: { readonly from: number; readonly to: number; readonly limit: number },
) =>
  db
    .selectFrom('keys')
    .select(['id', 'name', 'account', 'person', 'expires_at', 'created_at'])
    .where('expires_at', '>', from)
    .where('expires_at', '<=', to)
    .where('revoked_at', 'is', null)
    .where('disabled_at', 'is', null)
    .orderBy('expires_at')
    .limit(limit)
    .execute()

/** Subscriptions that have ended in this time, and that no other has followed. */
export const listEndedPlans = (
  db: LedgerDb,
  { from, to, limit }: { readonly from: number; readonly to: number; readonly limit: number },
): Promise<{ row: number; account: number; plan: string; ends_at: number }[]> =>
  listRows(
    db,
    sql`SELECT row, account, plan, ends_at FROM subscriptions WHERE ends_at > ${from} AND ends_at <= ${to}
        AND row = (SELECT MAX(newer.row) FROM subscriptions AS newer WHERE newer.account = subscriptions.account)
      ORDER BY ends_at LIMIT ${limit}`,
  )

/** The last receipts whose charge the account could not pay in full, newest first. */
export const listShortfalls = (
  db: LedgerDb,
  since: number,
  limit: number,
): Promise<{ request_id: string; account: number; account_id: string; shortfall_nano: bigint; closed_at: number }[]> =>
  listRows(
    db,
    sql`SELECT request_id, receipts.account, accounts.id AS account_id, shortfall_nano, closed_at
      FROM receipts INDEXED BY receipts_with_shortfall CROSS JOIN accounts ON accounts.row = receipts.account
      WHERE shortfall_nano > 0 AND closed_at > ${since} ORDER BY receipts.row DESC LIMIT ${limit}`,
  )

interface Named {
  readonly row: number
  readonly id: string
  readonly name: string
  readonly person: number | null
}

/** The key, the person or the team that a cap belongs to. */
export async function findCapHolder(
  db: LedgerDb,
  holder: 'key' | 'person' | 'team',
  row: number,
): Promise<Named | undefined> {
  if (holder === 'key') {
    return db.selectFrom('keys').select(['row', 'id', 'name', 'person']).where('row', '=', row).executeTakeFirst()
  }
  if (holder === 'team') {
    const team = await db.selectFrom('teams').select(['row', 'id', 'name']).where('row', '=', row).executeTakeFirst()
    return team && { ...team, person: null }
  }
  const person = await db.selectFrom('people').select(['row', 'id', 'email']).where('row', '=', row).executeTakeFirst()
  return person && { row, id: person.id, name: person.email, person: person.row }
}
