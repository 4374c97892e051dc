import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { listAccountIds } from '../db/accounts.ts'
import {
  adoptContent,
  findContentLedger,
  listOlderCounts,
  listOlderOwners,
  listOlderRequests,
} from '../db/content/open-content.ts'
import { findNewestMark, hasReached, type LedgerMark } from '../db/meta.ts'
import type { Database } from '../db/open-database.ts'
import { listKnownRequests, listReceiptsThatAreThere } from '../db/receipts.ts'
import type { SqlStore } from '../db/sql-store.ts'
import { describeTrouble, isDamage } from '../db/sqlite/failure.ts'
import { UnknownContents } from '../db/sqlite/migrate.ts'
import type { LedgerDb } from '../db/tables.ts'
import type { Clock } from '../lib/clock.ts'
import { type QuarantineReason, quarantine } from '../lib/files.ts'
import type { ContentFound, Core } from './app.ts'

/** Opens the stores in a usable file. A file whose stores cannot be read is damaged. */
type Build<Built> = (file: SqlStore, mark: LedgerMark) => Promise<Built>

interface ContentServices extends Pick<Core, 'onDeath'> {
  readonly config: { readonly storage: { readonly data: string } }
  readonly clock: Clock
  readonly overrides: Pick<Core['overrides'], 'openContent'>
  readonly database: Pick<Database, 'db' | 'ledger'>
}

/**
 * Opens content.db for this ledger. A file that is damaged, belongs to another ledger, or has requests that this ledger does not
 * have, is quarantined: it is renamed, a new one is made, and the start goes on. A file of a newer version, or one that the disk
 * does not return, stops the start.
 */
export async function openContentOfLedger<Built>(
  services: ContentServices,
  build: Build<Built>,
): Promise<ContentFound & { readonly built: Built }> {
  const path = join(services.config.storage.data, 'content.db')
  const wasThere = existsSync(path)
  const first = await openOnce(services, path, build)
  if (first.kind === 'usable') return { built: first.built, isNew: !wasThere, quarantine: undefined }
  const quarantined = quarantine(path, first.reason, services.clock.now())
  const second = await openOnce(services, path, build)
  if (second.kind !== 'usable') throw new Error(`${path} could not be created again`)
  return { built: second.built, isNew: true, quarantine: quarantined }
}

type Opened<Built> =
  | { readonly kind: 'usable'; readonly built: Built }
  | { readonly kind: 'unusable'; readonly reason: QuarantineReason }

async function openOnce<Built>(
  { overrides, clock, onDeath, database }: ContentServices,
  path: string,
  build: Build<Built>,
): Promise<Opened<Built>> {
  let file: SqlStore | undefined
  try {
    file = await overrides.openContent({ path, clock, onDeath })
    const judged = await judge(file, database)
    if (typeof judged !== 'string') return { kind: 'usable', built: await build(file, judged) }
    await file.close()
    return { kind: 'unusable', reason: judged }
  } catch (error) {
    // Closing what is damaged may fail too.
    await file?.close().catch(() => {})
    if (error instanceof LedgerFailed) throw described(join(dirname(path), 'ledger.db'), error.cause)
    if (isDamage(error) || error instanceof UnknownContents) return { kind: 'unusable', reason: 'damaged' }
    throw described(path, error)
  }
}

/** A ledger that cannot be read does not condemn content.db, which stays in place. */
class LedgerFailed extends Error {
  override readonly name = 'LedgerFailed'
}

const ofLedger = <Answer>(answer: Promise<Answer>): Promise<Answer> =>
  answer.catch((cause: unknown) => {
    throw new LedgerFailed('the ledger could not be read', { cause })
  })

function described(path: string, cause: unknown): unknown {
  const trouble = describeTrouble(path, cause)
  return trouble === undefined ? cause : new Error(trouble, { cause })
}

/** The mark of this ledger, or why the file cannot be used with it. A file without a ledger becomes this ledger's. */
async function judge(
  file: SqlStore,
  { db, ledger }: ContentServices['database'],
): Promise<LedgerMark | QuarantineReason> {
  const of = await findContentLedger(file)
  if (of !== undefined) {
    if (of.ledger !== ledger) return 'other-ledger'
    return (await ofLedger(hasReached(db, of.mark))) ? of.mark : 'ahead'
  }
  const accounts = await findOlderAccounts(file, db)
  if (accounts === undefined) return 'ahead'
  const mark = await ofLedger(findNewestMark(db))
  await adoptContent(file, { ledger, mark }, accounts)
  return mark
}

const ROWS_AT_ONCE = 1000

/**
 * The accounts of a file without a ledger, by their row numbers. Undefined when the ledger lacks one of them, or has another
 * receipt than the file: one of the two was restored from a backup.
 */
async function findOlderAccounts(file: SqlStore, db: LedgerDb): Promise<{ row: number; id: string }[] | undefined> {
  const rows = await listOlderOwners(file)
  const accounts = await inParts(rows, (some) => ofLedger(listAccountIds(db, some)))
  if (accounts.length < rows.length) return undefined
  const requests = await listOlderRequests(file)
  const ids = requests.map((each) => each.request_id)
  const known = await inParts(ids, (some) => ofLedger(listKnownRequests(db, some)))
  const accountOf = new Map(known.map((each) => [each.request_id, each.account]))
  if (requests.some((each) => accountOf.get(each.request_id) !== each.account)) return undefined
  const counts = await listOlderCounts(file)
  const there = await inParts(counts, (some) => ofLedger(listReceiptsThatAreThere(db, some)))
  return there.length < counts.length ? undefined : accounts
}

async function inParts<Item, Found>(
  items: readonly Item[],
  find: (some: readonly Item[]) => Promise<readonly Found[]>,
): Promise<Found[]> {
  const found: Found[] = []
  for (let at = 0; at < items.length; at += ROWS_AT_ONCE) {
    for (const each of await find(items.slice(at, at + ROWS_AT_ONCE))) found.push(each)
  }
  return found
}
