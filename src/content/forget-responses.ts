import type { AccountId } from '../model/ids.ts'
import type { SqliteFile } from '../sqlite/sqlite-file.ts'
import { destroyKey } from './account-key-rows.ts'
import type { AccountKeys } from './account-keys.ts'
import { digestId } from './keyed-digests.ts'
import { findOwner, type OwnerRow } from './owners.ts'
import { disownResponse, failRunning, hideAll, hideResponse } from './response-ends.ts'
import { endExpired, makeRoom } from './response-room.ts'
import type { ResponseShelf } from './response-shelf.ts'
import type { StoredResponses } from './stored-responses.ts'

interface ForgetterDeps {
  readonly file: SqliteFile
  readonly keys: AccountKeys
  readonly shelf: ResponseShelf
  readonly keeps: boolean
  readonly now: () => number
  readonly bytesMax: number
  readonly onFailure: (error: unknown) => void
}

type Forgetting = Pick<StoredResponses, 'forget' | 'remove' | 'recover' | 'sweep' | 'forgetAccount'>

/** How responses go: by a wish, by a fault, with their time, with their account. */
export function forgetResponses({ file, keys, shelf, ...deps }: ForgetterDeps): Forgetting {
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
