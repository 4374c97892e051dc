import type { AccountId, PersonId } from '../../model/ids.ts'
import { changeOne, changeRows, findRow, type SqlStore, statement, UnexpectedChanges } from '../sql-store.ts'
import {
  type AccountKey,
  createAccountKeys,
  OWNER_OF,
  openBytes,
  openPart,
  type SealedPart,
  type SealingKey,
  sealBytes,
  sealPart,
} from './sealing.ts'

/** One person's conversations in one account. */
export interface ConversationOwner {
  readonly account: AccountId
  readonly person: PersonId
}

export interface ConversationToSave {
  readonly id: string
  readonly title: string
  readonly content: string
}

export type Conversations = ReturnType<typeof createConversations>

interface ConversationsOptions {
  readonly file: SqlStore
  /** The first key wraps the keys of accounts; the others only unwrap. */
  readonly sealingKeys: readonly [SealingKey, ...SealingKey[]]
  readonly isShared: boolean
  readonly now: () => number
  /** False when the operator has disabled the storage of contents. */
  readonly keeps: boolean
  /** Removes what was deleted from the disk, as far as the database can. */
  readonly eraseDeleted?: (() => Promise<void>) | undefined
}

/** Bytes on disk of all conversations of a person. */
const BYTES_MAX = 32 * 1024 * 1024
/** The account's key may be deleted between its lookup and the write, but hardly twice in a row. */
const ATTEMPTS_MAX = 3

/**
 * What people have saved in the playground: sealed with the key of the account, and bound to the person and the id, so that it
 * opens in no other place. It stays until the person deletes it, or leaves.
 */
export function createConversations({ file, now, keeps, eraseDeleted, ...options }: ConversationsOptions) {
  const keys = createAccountKeys({ file, ...options })
  /** Undefined when the account has no readable key. */
  const keyOf = async (account: AccountId): Promise<AccountKey | undefined> => {
    const found = await keys.find(account)
    return found.kind === 'found' ? found.key : undefined
  }
  return {
    keeps,
    /** Newest first. What cannot be opened is left out. */
    async list({ account, person }: ConversationOwner) {
      const key = await keyOf(account)
      const rows = key === undefined ? [] : await file.all<TitleRow>(LIST, [person, key.owner])
      const opened = await Promise.all(
        rows.map(async ({ id, saved_at, title }) => {
          const text = await openBytes(key!.sealing, titleName(key!, person, id), title)
          return text === undefined ? [] : [{ id, savedAt: saved_at, title: Buffer.from(text).toString() }]
        }),
      )
      return opened.flat()
    },
    async read({ account, person }: ConversationOwner, id: string) {
      const key = await keyOf(account)
      const row = key && (await findRow<TitleRow & PartRow>(file, READ, person, id, key.owner))
      if (key === undefined || row === undefined) return undefined
      const title = await openBytes(key.sealing, titleName(key, person, id), row.title)
      const content = await openPart(key, bodyName(person, id), row)
      if (title === undefined || content === undefined) return undefined
      return { id, savedAt: row.saved_at, title: Buffer.from(title).toString(), content: content.toString() }
    },
    /** Adds a conversation, or replaces one. Undefined when the person has as many, or as large ones, as allowed. */
    async save({ account, person }: ConversationOwner, { id, title, content }: ConversationToSave, most: number) {
      const savedAt = now()
      for (let attempt = 1; ; attempt++) {
        const key = await keys.findOrMake(account)
        if (key === undefined) throw new Error(`The key of account ${account} cannot be read with this key ring`)
        const sealedTitle = await sealBytes(key.sealing, titleName(key, person, id), Buffer.from(title))
        const part = await sealPart(key, bodyName(person, id), Buffer.from(content))
        const bytes = sealedTitle.length + part.sealed.length
        try {
          const [, saved] = await file.atomic([
            // Locks the key until the commit, so that the saves of an account are counted one after the other.
            changeOne(KEEP_KEY, key.owner, key.name),
            statement(
              SAVE,
              ...[key.owner, person, id, savedAt, sealedTitle],
              ...[part.encoding, part.raw_bytes, bytes, part.sealed],
              ...[most, BYTES_MAX - bytes],
            ),
          ])
          return saved === 1 ? { id, savedAt, title } : undefined
        } catch (error) {
          if (!(error instanceof UnexpectedChanges) || attempt === ATTEMPTS_MAX) throw error
          keys.drop(account)
        }
      }
    },
    /** False when there is none. */
    remove: async ({ account, person }: ConversationOwner, id: string): Promise<boolean> =>
      (await changeRows(file, REMOVE, [person, id, account])) > 0,
    has: async ({ account, person }: ConversationOwner, id: string): Promise<boolean> =>
      (await findRow(file, HAS, person, id, account)) !== undefined,
    /** The accounts of all conversations of the next people. */
    async listPeople(after: string, limit: number): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
      const rows = await file.all<{ readonly person: string; readonly account: string }>(PEOPLE, [after, limit])
      const people = new Map<string, Set<string>>()
      for (const { person, account } of rows) people.set(person, (people.get(person) ?? new Set()).add(account))
      return people
    },
    async removeAll(person: string, account: string): Promise<void> {
      await changeRows(file, REMOVE_ALL, [person, account])
      await eraseDeleted?.()
    },
  }
}

const titleName = (key: AccountKey, person: PersonId, id: string): string => `${key.sealedAs} title ${person} ${id}`
const bodyName = (person: PersonId, id: string): string => `conversation ${person} ${id}`

interface TitleRow {
  readonly id: string
  readonly saved_at: number
  readonly title: Uint8Array
}

type PartRow = SealedPart

const LIST = `SELECT id, saved_at, title FROM conversations WHERE person = ? AND account = ? ORDER BY saved_at DESC, id`
const READ = `SELECT id, saved_at, title, encoding, raw_bytes, sealed FROM conversations
  WHERE person = ? AND id = ? AND account = ?`
const KEEP_KEY = 'UPDATE account_keys SET ring_key = ring_key WHERE account = ? AND name = ?'
const SAVE = `INSERT INTO conversations (account, person, id, saved_at, title, encoding, raw_bytes, bytes, sealed)
  SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9 FROM (
    SELECT COUNT(*) AS number, COALESCE(SUM(bytes), 0) AS bytes FROM conversations WHERE person = ?2 AND id <> ?3
  ) AS others WHERE others.number < ?10 AND others.bytes <= ?11
  ON CONFLICT (person, id) DO UPDATE SET account = excluded.account, saved_at = excluded.saved_at, title = excluded.title,
    encoding = excluded.encoding, raw_bytes = excluded.raw_bytes, bytes = excluded.bytes, sealed = excluded.sealed`
const THIS = `FROM conversations WHERE person = ? AND id = ? AND account = ${OWNER_OF('?')}`
const HAS = `SELECT id ${THIS}`
const REMOVE = `DELETE ${THIS}`
const PEOPLE = `SELECT page.person AS person, owners.id AS account FROM (
    SELECT person FROM conversations WHERE person > ? GROUP BY person ORDER BY person LIMIT ?
  ) AS page CROSS JOIN conversations ON conversations.person = page.person
  CROSS JOIN owners ON owners.owner = conversations.account`
const REMOVE_ALL = `DELETE FROM conversations WHERE person = ? AND account = ${OWNER_OF('?')}`
