import type { AccountId } from '../model/ids.ts'
import type { SqliteFile } from '../sqlite/sqlite-file.ts'
import { listKeyNames } from './account-key-rows.ts'
import { listThere } from './item-rows.ts'
import type { OwnerRow } from './owners.ts'
import { makeRoom } from './response-room.ts'
import { listStates, type ResponseStatus } from './response-rows.ts'
import { bytesOfWrite, type ResponseWrite, statementsOf } from './response-write.ts'
import { createWriteQueue } from './write-queue.ts'

export type WriteOutcome =
  | 'written'
  /** Something that it counted on has gone since it was looked for: it has to be made ready anew. */
  | 'stale'
  /** It has ended already, what it goes on from has gone, or there is no room for it. */
  | 'refused'

/** Every change of stored responses, one group at a time, and what makes room for it. */
export interface ResponseShelf {
  add(write: ResponseWrite): Promise<WriteOutcome>
  /** Between two groups, for whoever takes something away. */
  inTurn<Done>(work: () => Promise<Done>): Promise<Done>
  /** Nothing of this account is written any more. */
  closeAccount(account: AccountId): void
  isClosed(account: AccountId): boolean
}

export function createResponseShelf(file: SqliteFile, bytesMax: number): ResponseShelf {
  const closed = new Set<AccountId>()
  const queue = createWriteQueue<ResponseWrite, WriteOutcome>({
    bytesOf: bytesOfWrite,
    bytesMax,
    async write(group) {
      const bytes = group.reduce((sum, write) => sum + bytesOfWrite(write), 0)
      if (!(await makeRoom(file, bytes, bytesMax))) return group.map(() => 'refused')
      // From here on nothing goes until the group is written.
      const judge = createJudge(await lookAround(file, group), closed)
      const outcomes = group.map((write) => judge(write))
      const written = group.filter((_, at) => outcomes[at]?.outcome === 'written')
      const fresh = new Set(group.filter((_, at) => outcomes[at]?.isFirst))
      if (written.length > 0) await file.atomic(statementsOf(written, (write) => fresh.has(write)))
      return outcomes.map(({ outcome }) => outcome)
    },
  })
  return {
    add: async (write) => (bytesOfWrite(write) > bytesMax ? 'refused' : queue.add(write)),
    inTurn: queue.inTurn,
    closeAccount: (account) => void closed.add(account),
    isClosed: (account) => closed.has(account),
  }
}

/** What the writes of a group find in the file, by names of an account. */
interface Around {
  /** Of the responses that are written, and of those that they go on from. */
  readonly states: ReadonlyMap<string, ResponseStatus>
  readonly keys: ReadonlySet<string>
  readonly items: ReadonlySet<string>
}

interface Judgement {
  readonly outcome: WriteOutcome
  /** Nothing of this response is in the file yet. */
  readonly isFirst: boolean
}

/** One write after the other: what the ones before have written is there for the next ones. */
function createJudge(there: Around, closed: ReadonlySet<AccountId>): (write: ResponseWrite) => Judgement {
  const states = new Map(there.states)
  const no = (outcome: 'stale' | 'refused') => ({ outcome, isFirst: false })
  return (write) => {
    const { account, owner, name } = write.key
    // Asked at the last moment.
    if (closed.has(account)) return no('refused')
    if (!there.keys.has(nameOf(owner, name)) || missesItems(write, there.items)) return no('stale')
    const own = nameOf(owner, write.id)
    const state = states.get(own)
    const parent = write.fresh?.parent
    if (state === undefined && parent !== undefined && !states.has(nameOf(owner, parent))) return no('refused')
    if (state === undefined ? write.fresh === undefined : state !== 'in_progress') return no('refused')
    states.set(own, write.status)
    return { outcome: 'written', isFirst: state === undefined }
  }
}

const nameOf = (owner: OwnerRow, name: string): string => `${owner} ${name}`

const missesItems = (write: ResponseWrite, there: ReadonlySet<string>): boolean =>
  notBrought(write).some((digest) => !there.has(nameOf(write.key.owner, digest)))

/** What the write did not bring along must be there. */
function notBrought({ items, input, output }: ResponseWrite): string[] {
  const brought = new Set(items.map(({ digest }) => digest))
  return [...new Set([...input, ...output.map(({ digest }) => digest)])].filter((digest) => !brought.has(digest))
}

async function lookAround(file: SqliteFile, group: readonly ResponseWrite[]): Promise<Around> {
  const responses = group.flatMap(({ key, id, fresh }) =>
    (fresh?.parent === undefined ? [id] : [id, fresh.parent]).map((name) => [key.owner, name] as const),
  )
  const counted = group.flatMap((write) => notBrought(write).map((digest) => [write.key.owner, digest] as const))
  const [states, keys, items] = await Promise.all([
    listStates(file, responses),
    listKeyNames(file, [...new Set(group.map(({ key }) => key.owner))]),
    counted.length === 0 ? [] : listThere(file, counted),
  ])
  return {
    states: new Map(states.map(({ owner, id, status }) => [nameOf(owner, id), status])),
    keys: new Set(keys.map(({ owner, name }) => nameOf(owner, name))),
    items: new Set(items.map(({ owner, digest }) => nameOf(owner, digest))),
  }
}
