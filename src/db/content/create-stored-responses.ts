import type { AccountId } from '../../model/ids.ts'
import type { SqliteFile } from '../sqlite/sqlite-file.ts'
import {
  type AccountKeys,
  createAccountKeys,
  destroyKey,
  findOwner,
  type OwnerRow,
  type SealingKey,
} from './account-keys.ts'
import { readResponses } from './read-responses.ts'
import { disownResponse, failRunning, hideAll, hideResponse } from './response-rows.ts'
import { createResponseCache, endExpired, makeRoom, type ResponseCache } from './response-store.ts'
import { digestId } from './sealed-part.ts'
import type { StoredResponses } from './stored-responses.ts'
import { keepResponses } from './write-responses.ts'

interface StoredResponsesDeps {
  readonly file: SqliteFile
  /** The first one wraps the keys of accounts; the others only open what they wrapped. */
  readonly ring: readonly [SealingKey, ...SealingKey[]]
  readonly now: () => number
  /** Of all that is stored, as it lies on the disk. 0: nothing is stored. */
  readonly bytesMax: number
  readonly onFailure: (error: unknown) => void
}

/** How they come, how they are read, and how they go: over the same keys and the same shelf. */
export function createStoredResponses(deps: StoredResponsesDeps): StoredResponses {
  const keeps = deps.bytesMax > 0
  const shared = {
    ...deps,
    keeps,
    keys: createAccountKeys(deps),
    shelf: createResponseCache(deps.file, deps.bytesMax),
  }
  return { keeps, ...keepResponses(shared), ...readResponses(shared), ...forgetResponses(shared) }
}

interface ForgetterDeps {
  readonly file: SqliteFile
  readonly keys: AccountKeys
  readonly shelf: ResponseCache
  readonly keeps: boolean
  readonly now: () => number
  readonly bytesMax: number
  readonly onFailure: (error: unknown) => void
}

type Forgetting = Pick<StoredResponses, 'forget' | 'remove' | 'recover' | 'sweep' | 'forgetAccount'>

/** How responses go: by a wish, by a fault, with their time, with their account. */
function forgetResponses({ file, keys, shelf, ...deps }: ForgetterDeps): Forgetting {
  /** The digest that it is known by; undefined where nothing of the account can be known. */
  const nameOf = async (account: AccountId, id: string): Promise<{ owner: OwnerRow; id: string } | undefined> => {
    const found = await keys.find(account)
    return found.kind === 'found' ? { owner: found.key.owner, id: digestId(found.key, 'response', id) } : undefined
  }
  const sweep = async (): Promise<number> => {
    await shelf.inTurn(() => makeRoom(file, 0, deps.bytesMax))
    for (let ended = 0; ; ) {
      const some = await shelf.inTurn(() => endExpired(file, deps.now()))
      ended += some
      if (some === 0) return ended
    }
  }

  return {
    async forget(id, account) {
      const work = async () => {
        const name = await nameOf(account, id)
        if (name !== undefined) await disownResponse(file, name)
      }
      await shelf.inTurn(work).catch(deps.onFailure)
    },
    remove: (account, id) =>
      shelf.inTurn(async () => {
        const name = deps.keeps ? await nameOf(account, id) : undefined
        return name !== undefined && hideResponse(file, { ...name, now: deps.now() })
      }),
    recover: () => shelf.inTurn(() => failRunning(file)),
    sweep,
    async forgetAccount(account) {
      shelf.closeAccount(account)
      await shelf.inTurn(async () => {
        keys.drop(account)
        const owner = await findOwner(file, account)
        if (owner === undefined) return
        await destroyKey(file, owner)
        await hideAll(file, owner)
      })
      await sweep()
      // The key is overwritten in its page; here the page's older versions go too.
      await file.all('PRAGMA wal_checkpoint(TRUNCATE)', [])
    },
  }
}
