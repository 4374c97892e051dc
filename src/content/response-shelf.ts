import type { AccountRow } from '../model/ids.ts'
import type { SqliteFile } from '../sqlite/sqlite-file.ts'
import { makeRoom } from './response-room.ts'
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
}

export function createResponseShelf(deps: {
  readonly file: SqliteFile
  readonly bytesMax: number
  /** Asked at the last moment: nothing of an account that was closed is written any more. */
  readonly isClosed: (account: AccountRow) => boolean
}): ResponseShelf {
  const { file, bytesMax } = deps
  const queue = createWriteQueue<ResponseWrite, WriteOutcome>({
    bytesOf: bytesOfWrite,
    bytesMax,
    async write(group) {
      const bytes = group.reduce((sum, write) => sum + bytesOfWrite(write), 0)
      if (!(await makeRoom(file, bytes, bytesMax))) return group.map(() => 'refused')
      // From here on nothing goes until the group is written.
      const there = await lookAround(file, group)
      const states = new Map(there.states)
      const fresh = new Set<ResponseWrite>()
      const judge = (write: ResponseWrite): WriteOutcome => {
        if (deps.isClosed(write.key.account)) return 'refused'
        const own = nameOf(write, write.id)
        const parent = write.fresh?.parent
        if (!there.keys.has(nameOf(write, write.key.name)) || missesItems(write, there.items)) return 'stale'
        const state = states.get(own)
        if (state === undefined && parent !== undefined && !states.has(nameOf(write, parent))) return 'refused'
        if (state === undefined ? write.fresh === undefined : state !== 'in_progress') return 'refused'
        if (state === undefined) fresh.add(write)
        states.set(own, write.status)
        return 'written'
      }
      const outcomes = group.map(judge)
      const written = group.filter((_, at) => outcomes[at] === 'written')
      if (written.length > 0) await file.atomic(statementsOf(written, (write) => fresh.has(write)))
      return outcomes
    },
  })
  return {
    add: async (write) => (bytesOfWrite(write) > bytesMax ? 'refused' : queue.add(write)),
    inTurn: queue.inTurn,
  }
}

const nameOf = ({ key }: ResponseWrite, name: string): string => `${key.account} ${name}`

/** What the write did not bring along must be there. */
function missesItems(write: ResponseWrite, there: ReadonlySet<string>): boolean {
  const brought = new Set(write.items.map(({ digest }) => digest))
  return digestsOf(write).some((digest) => !brought.has(digest) && !there.has(nameOf(write, digest)))
}

const digestsOf = ({ input, output }: ResponseWrite): string[] => [...input, ...output.map(({ digest }) => digest)]

interface Around {
  /** By account and id: of those that are written, and of those that they go on from. */
  readonly states: ReadonlyMap<string, string>
  readonly keys: ReadonlySet<string>
  readonly items: ReadonlySet<string>
}

const STATES = `SELECT r.account AS account, r.id AS name, r.status AS status FROM json_each(?) list
  CROSS JOIN responses r ON r.account = list.value ->> 0 AND r.id = list.value ->> 1`
const KEYS = `SELECT k.account AS account, k.name AS name FROM json_each(?) list
  CROSS JOIN account_keys k ON k.account = list.value`
const ITEMS = `SELECT i.account AS account, i.digest AS name FROM json_each(?) list
  CROSS JOIN items i ON i.account = list.value ->> 0 AND i.digest = list.value ->> 1`

async function lookAround(file: SqliteFile, group: readonly ResponseWrite[]): Promise<Around> {
  const ask = async (sql: string, values: readonly unknown[]) =>
    values.length === 0 ? [] : file.all(sql, [JSON.stringify(values)])
  const ids = group.flatMap(({ key, id, fresh }) =>
    [id, ...(fresh?.parent === undefined ? [] : [fresh.parent])].map((name) => [key.account, name]),
  )
  const counted = group.flatMap((write) => {
    const brought = new Set(write.items.map(({ digest }) => digest))
    const others = new Set(digestsOf(write).filter((digest) => !brought.has(digest)))
    return [...others].map((digest) => [write.key.account, digest])
  })
  const [states, keys, items] = await Promise.all([
    ask(STATES, ids),
    ask(KEYS, [...new Set(group.map(({ key }) => key.account))]),
    ask(ITEMS, counted),
  ])
  const named = ({ account, name }: { account?: unknown; name?: unknown }) => `${account} ${name}`
  return {
    states: new Map(states.map((row) => [named(row), row.status as string])),
    keys: new Set(keys.map(named)),
    items: new Set(items.map(named)),
  }
}
