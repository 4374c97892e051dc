import type { z } from 'zod'
import type {
  changePreferencesBody,
  changeSettingsBody,
  NoticeFacts,
  noticePreferences,
  readableNotice,
  readNoticesBody,
} from '../contract/notices.ts'
import type { PageQuery } from '../contract/values.ts'
import { listAccountIds } from '../db/accounts.ts'
import {
  findLowBalance,
  findPreferences,
  listNotices,
  listRead,
  lowBalancePut,
  type NoticeSource,
  noticesRead,
  preferencesPut,
  type StoredNotice,
} from '../db/notices.ts'
import { findPersonByRow } from '../db/people.ts'
import type { LedgerDb } from '../db/tables.ts'
import { formatUsd, parseUsd } from '../model/money.ts'
import { type AnyAccount, type OneAccount, resolveAccount, resolveOpenAccount } from './accounts.ts'
import { actorLogOf } from './audit.ts'
import { done, type Outcome, refuseOperation } from './outcome.ts'
import type { AdminServices } from './services.ts'
import type { Session } from './sessions.ts'
import { isoTime, NEWEST, readPage } from './values.ts'

type ReadServices = Pick<AdminServices, 'db' | 'people'>

/**
 * Operators see what operators are told, and with an account what that is told. Members see what is about their keys and
 * caps, all others of an account everything.
 */
function sourcesOf({ person: { row, role }, account }: Session): NoticeSource[] {
  const own: NoticeSource[] =
    account === undefined ? [] : [role === 'member' ? { person: row } : { account: account.row }]
  return role === 'operator' ? [...own, { operators: true }] : own
}

type ReadableNotice = z.output<typeof readableNotice>

interface Reader {
  readonly sources: readonly NoticeSource[]
  /** What was told before a person came is no news to them. */
  readonly since: number
}

async function readerOf({ db }: Pick<ReadServices, 'db'>, session: Session): Promise<Reader> {
  const person = await findPersonByRow(db, session.person.row)
  return { sources: sourcesOf(session), since: person?.created_at ?? 0 }
}

async function listNewest(
  db: LedgerDb,
  { sources, since }: Reader,
  { before, limit }: { readonly before: number; readonly limit: number },
): Promise<StoredNotice[]> {
  const pages = await Promise.all(sources.map((source) => listNotices(db, source, { before, limit, since })))
  return pages
    .flat()
    .sort((one, other) => other.row - one.row)
    .slice(0, limit)
}

/** Newest first. */
export async function listOwnNotices(
  { db }: ReadServices,
  session: Session,
  page: PageQuery,
): Promise<Outcome<{ readonly items: readonly ReadableNotice[]; readonly next: string | null }>> {
  const reader = await readerOf({ db }, session)
  return readPage(page, {
    first: NEWEST,
    async read(before, limit) {
      const notices = await listNewest(db, reader, { before, limit })
      const read = await listRead(
        db,
        session.person.row,
        notices.map(({ row }) => row),
      )
      const views = await viewsOf(db, notices)
      return notices.map((notice, index) => ({ notice, view: { ...views[index]!, read: read.has(notice.row) } }))
    },
    numberOf: ({ notice }) => notice.row,
    view: ({ view }) => view,
  })
}

async function viewsOf(db: LedgerDb, notices: readonly StoredNotice[]) {
  const rows = [...new Set(notices.flatMap(({ account }) => account ?? []))]
  const ids = new Map((await listAccountIds(db, rows)).map(({ row, id }) => [row, id]))
  return notices.map(({ id, event, at, account, facts }) => ({
    ...{ id, event, at: isoTime(at), account: account === null ? null : (ids.get(account) ?? null) },
    facts: JSON.parse(facts) as NoticeFacts,
  }))
}

/** Beyond, the bell says that there are more. */
const UNREAD_MAX = 100

async function listUnread({ db }: Pick<ReadServices, 'db'>, session: Session): Promise<number[]> {
  const notices = await listNewest(db, await readerOf({ db }, session), { before: NEWEST, limit: UNREAD_MAX })
  const rows = notices.map(({ row }) => row)
  const read = await listRead(db, session.person.row, rows)
  return rows.filter((row) => !read.has(row))
}

/** Of the newest ones. */
export const countUnread = async (services: ReadServices, session: Session) =>
  done({ unread: (await listUnread(services, session)).length })

/** Marks notices as read, for this person alone. Ids of notices that the person does not see have no effect. */
export async function readNotices(
  { db, people }: ReadServices,
  session: Session,
  { ids }: z.output<typeof readNoticesBody>,
) {
  const rows = ids === undefined ? await listUnread({ db }, session) : await findSeen({ db }, session, new Set(ids))
  if (rows.length > 0) await people.file.atomic([noticesRead(session.person.row, rows)])
  return countUnread({ db, people }, session)
}

const SEEN_PAGES_MAX = 20
const SEEN_AT_ONCE = 200

/** The rows of these notices, as far as the person sees them. */
async function findSeen({ db }: Pick<ReadServices, 'db'>, session: Session, ids: ReadonlySet<string>) {
  const reader = await readerOf({ db }, session)
  const found: number[] = []
  let before = NEWEST
  for (let page = 0; page < SEEN_PAGES_MAX && found.length < ids.size; page++) {
    const notices = await listNewest(db, reader, { before, limit: SEEN_AT_ONCE })
    found.push(...notices.filter(({ id }) => ids.has(id)).map(({ row }) => row))
    if (notices.length < SEEN_AT_ONCE) break
    before = notices.at(-1)!.row
  }
  return found
}

type Preferences = z.output<typeof noticePreferences>

export async function showPreferences(
  { db, notices }: Pick<AdminServices, 'db' | 'notices'>,
  { person: { row, email } }: Session,
): Promise<Outcome<Preferences>> {
  const stored = await findPreferences(db, row)
  return done({
    ...{ email, mail: stored?.mail !== 0, language: stored?.language ?? 'en' },
    mail_configured: notices.mailer !== undefined,
  })
}

/** Absent ones stay. */
export async function changePreferences(
  services: Pick<AdminServices, 'db' | 'notices' | 'people'>,
  session: Session,
  change: z.output<typeof changePreferencesBody>,
): Promise<Outcome<Preferences>> {
  const before = await showPreferences(services, session)
  if (before.kind === 'refused') return before
  const mail = change.mail ?? before.value.mail
  const language = change.language ?? before.value.language
  const { row, id, email } = session.person
  const entry = {
    action: 'notice_preferences_changed',
    ...{ target: id, account: session.account?.row },
    detail: `mail ${mail ? 'on' : 'off'}, language ${language}`,
  } as const
  await actorLogOf(services.people.audit, email).act(entry, [
    preferencesPut({ person: row, mail: mail ? 1 : 0, language }),
  ])
  return showPreferences(services, session)
}

/** For operators, newest first: notices of one account, or those that operators are told. */
export async function listNoticesOf(
  { db }: Pick<AdminServices, 'db'>,
  { account: named, ...page }: PageQuery & AnyAccount,
) {
  const resolved = named === undefined ? undefined : await resolveAccount({ db }, named)
  if (resolved?.kind === 'refused') return resolved
  const source = resolved === undefined ? ({ operators: true } as const) : { account: resolved.value.row }
  return readPage(page, {
    first: NEWEST,
    async read(before, limit) {
      const notices = await listNotices(db, source, { before, limit })
      const views = await viewsOf(db, notices)
      return notices.map(({ row }, index) => ({ row, view: views[index]! }))
    },
    numberOf: ({ row }) => row,
    view: ({ view }) => view,
  })
}

export async function showNoticeSettings({ db }: Pick<AdminServices, 'db'>, { account: named }: OneAccount) {
  const resolved = await resolveAccount({ db }, named)
  if (resolved.kind === 'refused') return resolved
  const low = await findLowBalance(db, resolved.value.row)
  return done({ account: resolved.value.id, low_balance: low === null ? null : formatUsd(low) })
}

/** A wallet can hold no more. */
const THRESHOLD_MAX = parseUsd('1000000')!

/** Counts from the next look on: a wallet that is below a new threshold already is told at once. */
export async function changeNoticeSettings(
  services: Pick<AdminServices, 'db' | 'auditLog' | 'notices'>,
  { account: named, low_balance: low }: OneAccount & z.output<typeof changeSettingsBody>,
) {
  const resolved = await resolveOpenAccount(services, named)
  if (resolved.kind === 'refused') return resolved
  const amount = low === null ? null : parseUsd(low)
  if (amount === undefined || (amount !== null && (amount <= 0n || amount > THRESHOLD_MAX))) {
    const message = `${JSON.stringify(low)} is not a threshold: write USD above zero, e.g. 10.00; none removes it.`
    return refuseOperation('invalid_amount', message, { param: 'low_balance' })
  }
  const { row, id } = resolved.value
  const detail = `notice of a balance below ${amount === null ? 'none' : `${formatUsd(amount)} USD`}`
  await services.auditLog.act({ action: 'notice_settings_changed', target: id, account: row, detail }, [
    lowBalancePut(row, amount),
  ])
  services.notices.examine(row)
  return showNoticeSettings(services, { account: id })
}
