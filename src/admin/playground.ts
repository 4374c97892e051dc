import { type CallerOutcome, judgeKey, readKnownKey } from '../auth/callers.ts'
import { CONVERSATIONS_MAX } from '../contract/owner.ts'
import { listCapsOf, NEW_KEYS } from '../db/caps.ts'
import type { ConversationOwner, Conversations, ConversationToSave } from '../db/content/conversations.ts'
import { findPlaygroundKey, playgroundKeyInsert } from '../db/keys.ts'
import { listPeopleThatStay } from '../db/people.ts'
import { UnexpectedChanges } from '../db/sql-store.ts'
import type { LedgerDb } from '../db/tables.ts'
import type { KeyKind } from '../model/caller.ts'
import { type AccountRow, mintConversationId, mintKeyId } from '../model/ids.ts'
import { done, refuseOperation } from './outcome.ts'
import type { AdminServices, OwnerServices } from './services.ts'
import { isoTime, quoted } from './values.ts'

export async function listConversations(conversations: Conversations, owner: ConversationOwner) {
  return { keeps: conversations.keeps, items: (await conversations.list(owner)).map(savedView) }
}

const savedView = ({
  id,
  title,
  savedAt,
}: {
  readonly id: string
  readonly title: string
  readonly savedAt: number
}) => ({
  ...{ id, title, saved_at: isoTime(savedAt) },
})

const notFound = (id: string) =>
  refuseOperation('conversation_not_found', `You have no saved conversation ${quoted(id)}.`)

export async function showConversation(conversations: Conversations, owner: ConversationOwner, id: string) {
  const found = await conversations.read(owner, id)
  return found === undefined ? notFound(id) : done({ ...savedView(found), content: found.content })
}

type Saved = Omit<ConversationToSave, 'id'>

/** Without an id a new one. */
export async function saveConversation(
  { conversations, random }: Pick<OwnerServices, 'conversations' | 'random'>,
  owner: ConversationOwner,
  { id, ...saved }: Saved & { readonly id?: string },
) {
  if (!conversations.keeps) {
    const message = 'The operator of this server has disabled the storage of contents, so conversations are not saved.'
    return refuseOperation('conversations_off', message)
  }
  if (id !== undefined && !(await conversations.has(owner, id))) return notFound(id)
  const conversation = { id: id ?? mintConversationId(random), ...saved }
  const outcome = await conversations.save(owner, conversation, CONVERSATIONS_MAX)
  if (outcome !== undefined) return done(savedView(outcome))
  const message = `You have ${CONVERSATIONS_MAX} saved conversations, or 32 MiB of them. Delete some to save this one.`
  return refuseOperation('conversations_full', message)
}

export const removeConversation = async (conversations: Conversations, owner: ConversationOwner, id: string) =>
  (await conversations.remove(owner, id)) ? done({}) : notFound(id)

interface EraserServices {
  readonly db: LedgerDb
  readonly conversations: Conversations
}

const PEOPLE_AT_ONCE = 200

/** Deletes what people saved who were removed or disabled, who are in another account now, or whose account is closed. */
export async function eraseConversationsOfLeavers({ db, conversations }: EraserServices): Promise<void> {
  for (let after = ''; ; ) {
    const owners = await conversations.listPeople(after, PEOPLE_AT_ONCE)
    if (owners.size === 0) return
    const there = await listPeopleThatStay(db, [...owners.keys()])
    const staying = new Map<string, string>(there.map(({ id, account }) => [id, account]))
    for (const [person, accounts] of owners) {
      for (const account of accounts) {
        if (staying.get(person) !== account) await conversations.removeAll(person, account)
      }
      if (person > after) after = person
    }
  }
}

/** As long as the digest of a secret. No secret has this digest. */
const DIGEST_BYTES = 32
/** The key may be revoked between its creation and its use. */
const TRIES_MAX = 3

/** One person's playground, or that of the account (`null`). */
interface Playground {
  readonly account: AccountRow
  readonly person: number | null
}

/**
 * The caller of the console's playground: a key with caps, limits and receipts, but without a secret, so that no program can
 * use it. It is created at its first use with the caps of new keys, and again after it was revoked; disabling it closes the
 * playground. A suspended account is refused, as in the API.
 */
export async function playgroundKey(
  { db, clock, random, files }: Pick<AdminServices, 'db' | 'clock' | 'random'> & { readonly files: LedgerFile },
  { account, person }: Playground,
  kind: KeyKind,
): Promise<CallerOutcome> {
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const key = await findPlaygroundKey(db, { account, person, kind })
    if (key !== undefined) return judgeKey(await readKnownKey(db, key, 'present'), clock.now())
    const row = {
      ...{ id: mintKeyId(random), account, person, kind, name: 'Playground', digest: random(DIGEST_BYTES) },
      ...{ shown: 'no secret', models: null, limits: null, expires_at: null, created_at: clock.now() },
    }
    const caps = (await listCapsOf(db, [account], [NEW_KEYS])).get(NEW_KEYS) ?? {}
    await files.ledger.atomic(playgroundKeyInsert(db, row, caps)).catch((error: unknown) => {
      if (!(error instanceof UnexpectedChanges)) throw error
    })
  }
  throw new Error(`The playground key of account ${account} is revoked as often as it is created`)
}

type LedgerFile = Pick<AdminServices['files'], 'ledger'>
