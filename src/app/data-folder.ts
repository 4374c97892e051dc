import { existsSync, readdirSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { JournalFindings } from '../db/settle-journal.ts'
import { ASIDE_NAME, type QuarantineReason } from '../lib/files.ts'
import { findLedgerOfKeyring } from './key-ring.ts'
import type { ContentFound } from './open-content.ts'

/** What only a folder has in which a ledger was begun. A ring may be there before one, and then names none. */
const OF_A_LEDGER = ['content.db', 'settles.journal']

/** Whether the folder has a ledger, or traces of one. */
export const hasLedger = (data: string): boolean =>
  ['ledger.db', 'keyring.json', ...OF_A_LEDGER].some((name) => existsSync(join(data, name)))

/** The files in the data folder that a ledger has left there, whether or not ledger.db is still beside them. */
export function filesOfLedger(data: string): string[] {
  const files = OF_A_LEDGER.filter((name) => (statSync(join(data, name), { throwIfNoEntry: false })?.size ?? 0) > 0)
  return findLedgerOfKeyring(data) === undefined ? files : [...files, 'keyring.json']
}

/** Files that were set aside, now or before, and are still in the data folder. */
export const listQuarantined = (data: string): string[] =>
  statSync(data, { throwIfNoEntry: false })?.isDirectory()
    ? readdirSync(data)
        .filter((name) => ASIDE_NAME.test(name))
        .sort()
    : []

interface Notice {
  readonly message: string
  readonly facts: Readonly<Record<string, string | number>>
}

const REASONS: Readonly<Record<QuarantineReason, string>> = {
  damaged: 'is damaged',
  'other-ledger': 'belongs to another ledger than ledger.db',
  ahead: 'knows of requests that ledger.db does not have; one of the two was restored from a backup',
}

/** What the operator has to know of the files beside the ledger: what was found, and what cannot be served because of it. */
export function noticesOf(
  journal: JournalFindings,
  content: ContentFound,
  /** Whether anything was ever asked of this ledger. */
  isUsed: boolean,
): Notice[] {
  const notices: Notice[] = []
  const say = (message: string, facts: Notice['facts']) => notices.push({ message, facts })
  if (content.quarantine !== undefined) {
    const file = basename(content.quarantine.file)
    const { reason } = content.quarantine
    const lost = 'its stored responses and kept answers are not served, and usage is counted again from the ledger'
    say(`content.db ${REASONS[reason]}. It is set aside as ${file}: ${lost}.`, { file, reason })
  } else if (content.isNew && isUsed) {
    say('content.db was missing and is made anew: stored responses and kept answers from before are gone.', {})
  }
  if (journal.quarantine !== undefined) {
    const file = basename(journal.quarantine.file)
    const { reason } = journal.quarantine
    say(`settles.journal ${REASONS[reason]}. It is set aside as ${file}: nothing of it is charged.`, { file, reason })
  } else if (journal.isNew && isUsed) {
    say(
      'settles.journal was missing and is made anew: ends of answers that only it had are charged by what was marked as delivered.',
      {},
    )
  }
  if (journal.damaged > 0) {
    const { damaged } = journal
    say('settles.journal has damaged records, which were skipped; the holds are resolved by what was marked.', {
      damaged,
    })
  }
  if (journal.cutOff) say('settles.journal ends with a record that was cut off; it was never told to be durable.', {})
  return notices
}
