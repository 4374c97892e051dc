import { CONVERSATIONS_MAX } from '../contract/owner.ts'
import type { ConversationOwner, Conversations, ConversationToSave } from '../db/content/conversations.ts'
import { listPeopleThatStay } from '../db/people.ts'
import type { LedgerDb } from '../db/tables.ts'
import { mintConversationId } from '../model/ids.ts'
import { done, refuseOperation } from './outcome.ts'
import type { OwnerServices } from './services.ts'
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
