import { deriveKey } from '../lib/derive-key.ts'
import { createQueue } from '../lib/take-turns.ts'
import type { AccountId, RequestId } from '../model/ids.ts'
import type { SqliteFile } from '../sqlite/sqlite-file.ts'
import { createAnswerShelf, DELETED_AT_ONCE } from './answer-shelf.ts'
import { findAnswerHead, findAnswerSize, findFacts, findSealedBody, listExpired, sumAnswerBytes } from './answers.ts'
import { inTime } from './in-time.ts'
import { packBody, unpackBody } from './pack-body.ts'
import { openBytes, type SealingKey, sealBytes } from './seal-bytes.ts'

/** A whole answer as its client was, or will be, sent it. */
export interface AnswerToKeep {
  readonly requestId: RequestId
  readonly account: AccountId
  readonly status: number
  readonly contentType: string
  readonly body: Buffer
  /** What recovery has to know to charge for it, in the words of whoever charges. */
  readonly facts: string
  readonly expiresAt: number
}

/** An answer that may be given again: its body is fetched when there is room for it. */
export interface KeptAnswer {
  readonly requestId: RequestId
  readonly status: number
  readonly contentType: string
  readonly rawBytes: number
  /** Undefined when it is gone, damaged, or was sealed with a key that is not on the ring. */
  read(): Promise<Buffer | undefined>
}

/** Answers that were charged, for those who ask again with the same idempotency key. */
export interface KeptAnswers {
  /** False when it could not be kept, for whatever reason: that is no reason to lose the answer. Never rejects. */
  keep(answer: AnswerToKeep): Promise<boolean>
  find(requestId: RequestId, account: AccountId): Promise<KeptAnswer | undefined>
  /** The facts of those of these requests whose answers are kept, and can be read. Never rejects. */
  factsOf(requests: readonly RequestId[]): Promise<ReadonlyMap<RequestId, string>>
  /** Never rejects. */
  forget(requestId: RequestId): Promise<void>
  /** Ends what has expired, a few at a time. Returns how many. */
  sweep(): Promise<number>
}

export interface KeptAnswersDeps {
  readonly file: SqliteFile
  /** The first one seals. */
  readonly keys: readonly [SealingKey, ...SealingKey[]]
  readonly now: () => number
  /** Of all answers together, as they lie on the disk; those that expire first make room. */
  readonly bytesMax: number
  readonly onFailure: (error: unknown) => void
}

/** Opening and unpacking take other threads than the loop's, and their processors: the ledger's thread needs one too. */
const READ_AT_ONCE = 1

export async function createKeptAnswers(deps: KeptAnswersDeps): Promise<KeptAnswers> {
  const { file, keys } = deps
  const fewAtOnce = createQueue(READ_AT_ONCE)
  const shelf = createAnswerShelf(file, deps.bytesMax, await sumAnswerBytes(file))
  const store = async (answer: AnswerToKeep): Promise<boolean> => {
    const { requestId, account, status, contentType, body, facts, expiresAt } = answer
    const packed = await packBody(body)
    const sealed = await sealBytes(keyFor(keys[0], nameOf(answer)), nameOf(answer), packed.bytes)
    return shelf.add({
      ...{ request_id: requestId, account, ring_key: keys[0].id, status, content_type: contentType, facts, sealed },
      ...{ encoding: packed.encoding, raw_bytes: body.length, at: deps.now(), expires_at: expiresAt },
    })
  }

  return {
    async keep(answer) {
      if (deps.bytesMax === 0) return false
      try {
        return await inTime(store(answer), 'An answer')
      } catch (error) {
        deps.onFailure(error)
        return false
      }
    },
    async find(requestId, account) {
      const head = await findAnswerHead(file, requestId)
      const key = keys.find(({ id }) => id === head?.ring_key)
      if (head === undefined || key === undefined || head.account !== account) return undefined
      const { status, content_type: contentType, encoding, raw_bytes: rawBytes } = head
      const read = async () => {
        const sealed = await findSealedBody(file, requestId)
        const name = nameOf({ requestId, account })
        const bound = sealed && (await openBytes(keyFor(key, name), name, sealed))
        // Sealed by a version that bound it to the request alone.
        const bytes = bound ?? (sealed && (await openBytes(keyFor(key, requestId), requestId, sealed)))
        return bytes && asBuffer(await unpackBody({ encoding, bytes }, rawBytes))
      }
      return { requestId, status, contentType, rawBytes, read: () => fewAtOnce(read) }
    },
    async factsOf(requests) {
      const found = new Map<RequestId, string>()
      for (const requestId of requests) {
        // Nobody could be given an answer that cannot be read, and the holds of all others must not wait for it.
        const facts = await findFacts(file, requestId).catch(deps.onFailure)
        if (typeof facts === 'string') found.set(requestId, facts)
      }
      return found
    },
    async forget(requestId) {
      await shelf.remove(() => findAnswerSize(file, requestId)).catch(deps.onFailure)
    },
    async sweep() {
      let ended = 0
      for (;;) {
        const some = await shelf.remove(() => listExpired(file, deps.now(), DELETED_AT_ONCE))
        ended += some
        if (some < DELETED_AT_ONCE) return ended
      }
    },
  }
}

const nameOf = ({ requestId, account }: Pick<AnswerToKeep, 'requestId' | 'account'>): string =>
  `${requestId} ${account}`

/** Every request has a key of its own; what is sealed opens for that request of that account and no other. */
const keyFor = ({ secret }: SealingKey, name: string): Buffer => deriveKey(secret, `kept-answer ${name}`)

const asBuffer = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
