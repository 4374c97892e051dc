import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { listAccountIds } from '../db/accounts.ts'
import {
  adoptContent,
  findContentLedger,
  listOlderCounts,
  listOlderOwners,
  listOlderRequests,
} from '../db/content/content-ledger.ts'
import { findNewestMark, hasReached, type LedgerMark } from '../db/meta.ts'
import type { Database } from '../db/open-database.ts'
import { listKnownRequests } from '../db/receipts.ts'
import { describeTrouble, isDamage } from '../db/sqlite/failure.ts'
import { UnknownContents } from '../db/sqlite/migrate.ts'
import type { SqliteFile } from '../db/sqlite/sqlite-file.ts'
import type { LedgerDb } from '../db/tables.ts'
import { listReceiptsThatAreThere } from '../db/usage-slices.ts'
import type { Clock } from '../lib/clock.ts'
import { type Quarantined, type QuarantineReason, quarantine } from '../lib/files.ts'
import type { Overrides } from './overrides.ts'

/** content.db as it was found. */
export interface ContentFound {
  /** There was none, or it was set aside. */
  readonly isNew: boolean
  readonly quarantine: Quarantined | undefined
}

type OpenedContent<Built> = ContentFound & { readonly built: Built }

/** Makes what the start needs of a file that may be used. Where that cannot be read, the file is damaged. */
type Build<Built> = (file: SqliteFile, mark: LedgerMark) => Promise<Built>

interface Ground {
  readonly config: { readonly storage: { readonly data: string } }
  readonly clock: Clock
  readonly overrides: Pick<Overrides, 'openContent'>
  readonly database: Pick<Database, 'db' | 'ledger'>
  readonly onDeath: (death: Error) => void
}

/**
 * content.db as this ledger may use it. One that is damaged, belongs to another ledger, or knows of requests that this ledger
 * does not have, is renamed and a new one is made: no start fails because of that, and nothing of it is served. One that a newer version
 * has written, or that the disk does not give, does stop the start.
 */
export async function openContentOfLedger<Built>(ground: Ground, build: Build<Built>): Promise<OpenedContent<Built>> {
  const path = join(ground.config.storage.data, 'content.db')
  const wasThere = existsSync(path)
  const first = await openOnce(ground, path, build)
  if (first.kind === 'ours') return { built: first.built, isNew: !wasThere, quarantine: undefined }
  const aside = quarantine(path, first.reason, ground.clock.now())
  const second = await openOnce(ground, path, build)
  if (second.kind !== 'ours') throw new Error(`${path} could not be made anew`)
  return { built: second.built, isNew: true, quarantine: aside }
}

type Opened<Built> =
  | { readonly kind: 'ours'; readonly built: Built }
  | { readonly kind: 'not-ours'; readonly reason: QuarantineReason }

async function openOnce<Built>(
  { overrides, clock, onDeath, database }: Ground,
  path: string,
  build: Build<Built>,
): Promise<Opened<Built>> {
  let file: SqliteFile | undefined
  try {
    file = await overrides.openContent({ path, clock, onDeath })
    const judged = await judge(file, database)
    if (typeof judged !== 'string') return { kind: 'ours', built: await build(file, judged) }
    await file.close()
    return { kind: 'not-ours', reason: judged }
  } catch (error) {
    // Closing what is damaged may fail too.
    await file?.close().catch(() => {})
    if (error instanceof LedgerFailed) throw described(join(dirname(path), 'ledger.db'), error.cause)
    if (isDamage(error) || error instanceof UnknownContents) return { kind: 'not-ours', reason: 'damaged' }
    throw described(path, error)
  }
}

/** A ledger that cannot be read says nothing of content.db, which stays where it is. */
class LedgerFailed extends Error {
  override readonly name = 'LedgerFailed'
}

const ofLedger = <Answer>(answer: Promise<Answer>): Promise<Answer> =>
  answer.catch((cause: unknown) => {
    throw new LedgerFailed('the ledger could not be asked', { cause })
  })

function described(path: string, cause: unknown): unknown {
  const trouble = describeTrouble(path, cause)
  return trouble === undefined ? cause : new Error(trouble, { cause })
}

/** How far this ledger had got, or why the file is not used with it. A file that belongs to none becomes this ledger's. */
async function judge(file: SqliteFile, { db, ledger }: Ground['database']): Promise<LedgerMark | QuarantineReason> {
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

const ASKED_AT_ONCE = 1000

/**
 * The accounts that a file without a ledger knows by their row numbers. Undefined where the ledger does not have one of them, or
 * has another receipt than the one that the file knows: one of the two was put back from a backup.
 */
async function findOlderAccounts(file: SqliteFile, db: LedgerDb): Promise<{ row: number; id: string }[] | undefined> {
  const rows = await listOlderOwners(file)
  const accounts = await inParts(rows, (some) => ofLedger(listAccountIds(db, some)))
  if (accounts.length < rows.length) return undefined
  const requests = await listOlderRequests(file)
  const known = await inParts(requests, (some) =>
    ofLedger(
      listKnownRequests(
        db,
        some.map((each) => each.request_id),
      ),
    ),
  )
  const accountOf = new Map(known.map((each) => [each.request_id, each.account]))
  if (requests.some((each) => accountOf.get(each.request_id) !== each.account)) return undefined
  const counts = await listOlderCounts(file)
  const there = await inParts(counts, (some) => ofLedger(listReceiptsThatAreThere(db, some)))
  return there.length < counts.length ? undefined : accounts
}

async function inParts<Item, Found>(
  items: readonly Item[],
  ask: (some: readonly Item[]) => Promise<readonly Found[]>,
): Promise<Found[]> {
  const found: Found[] = []
  for (let at = 0; at < items.length; at += ASKED_AT_ONCE) {
    for (const each of await ask(items.slice(at, at + ASKED_AT_ONCE))) found.push(each)
  }
  return found
}
