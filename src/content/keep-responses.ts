import { createByteBudget } from '../lib/byte-budget.ts'
import type { AccountId } from '../model/ids.ts'
import type { SqliteFile } from '../sqlite/sqlite-file.ts'
import type { AccountKey, AccountKeys } from './account-keys.ts'
import { inTime } from './in-time.ts'
import { prepareBegin, prepareEnd, prepareFinish } from './prepare-write.ts'
import type { ResponseShelf } from './response-shelf.ts'
import type { ResponseWrite } from './response-write.ts'
import { type EndedResponse, RESPONSE_ITEMS_MAX, type StoredResponses } from './stored-responses.ts'

interface KeeperDeps {
  readonly file: SqliteFile
  readonly keys: AccountKeys
  readonly shelf: ResponseShelf
  readonly keeps: boolean
  readonly onFailure: (error: unknown) => void
}

/** Of responses that wait to be written, all together: beyond, a disk that is too slow would fill the memory. */
const WAITING_BYTES_MAX = 256 * 1024 * 1024
/** What it counted on may go between the look and the write; twice in a row it does not. */
const ATTEMPTS_MAX = 3

/** How responses come into the file: made ready here, written by the shelf. */
export function keepResponses(deps: KeeperDeps): Pick<StoredResponses, 'begin' | 'finish' | 'end'> {
  const { file, keys, shelf } = deps
  const waiting = createByteBudget(WAITING_BYTES_MAX)

  const write = async (account: AccountId, prepare: (key: AccountKey) => Promise<ResponseWrite>): Promise<boolean> => {
    for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
      // A key that was destroyed is not made anew.
      if (shelf.isClosed(account)) return false
      const key = await keys.findOrMake(account)
      if (key === undefined) throw new Error(`The key of account ${account} cannot be read with this key ring`)
      const outcome = await shelf.add(await prepare(key))
      if (outcome !== 'stale') return outcome === 'written'
      keys.drop(account)
    }
    throw new Error('What a response refers to went each time that it was to be written')
  }
  const keep = async (bytes: number, work: () => Promise<boolean>): Promise<boolean> => {
    if (!deps.keeps) return false
    try {
      if (!waiting.take(bytes)) throw new Error('Too many responses wait to be written')
      const done = work().finally(() => waiting.give(bytes))
      return await inTime(done, 'A response')
    } catch (error) {
      deps.onFailure(error)
      return false
    }
  }

  return {
    begin: (response) =>
      keep(response.object.length, () => write(response.account, (key) => prepareBegin(key, response))),
    async finish(response) {
      if (response.input.length + response.output.length > RESPONSE_ITEMS_MAX) return false
      return keep(bytesOf(response), () => write(response.account, (key) => prepareFinish(file, key, response)))
    },
    async end(id, account, status, object) {
      await keep(object.length, () => write(account, (key) => prepareEnd(key, { id, status, object })))
    },
  }
}

const bytesOf = ({ object, input, output, events }: EndedResponse): number =>
  [object, ...input, ...output].reduce((sum, { length }) => sum + length, events?.length ?? 0)
