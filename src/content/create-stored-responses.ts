import type { SqliteFile } from '../sqlite/sqlite-file.ts'
import { createAccountKeys } from './account-keys.ts'
import { forgetResponses } from './forget-responses.ts'
import { keepResponses } from './keep-responses.ts'
import { readResponses } from './read-responses.ts'
import { createResponseShelf } from './response-shelf.ts'
import type { SealingKey } from './seal-bytes.ts'
import type { StoredResponses } from './stored-responses.ts'

export interface StoredResponsesDeps {
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
    shelf: createResponseShelf(deps.file, deps.bytesMax),
  }
  return { keeps, ...keepResponses(shared), ...readResponses(shared), ...forgetResponses(shared) }
}
