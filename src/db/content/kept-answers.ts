import { createQueue } from '../../lib/async.ts'
import { deriveKey } from '../../lib/crypto.ts'
import type { AccountId, RequestId } from '../../model/ids.ts'
import {
  type AtomicStatement,
  findRow,
  isUnavailable,
  retryUnavailable,
  type SqlStore,
  type SqlValue,
} from '../sql-store.ts'
import { ADD_ANSWER, leaveBodies, makeDays, READ_ANSWER } from './bodies.ts'
import type { ContentServices } from './open-content.ts'
import { insertOwners, openBytes, packBody, type SealingKey, sealBytes, unpackBody } from './sealing.ts'
import { createWriteQueue, inTime } from './write-queue.ts'

/** A whole answer as it is sent to the client. */
interface AnswerToKeep {
  readonly requestId: RequestId
  readonly account: AccountId
  readonly status: number
  readonly contentType: string
  readonly body: Buffer
  /** Its ending, from which recovery charges. */
  readonly facts: string
  readonly expiresAt: number
}

/** An answer that can be replayed. Its body is read on demand. */
export interface KeptAnswer {
  readonly requestId: RequestId
  readonly status: number
  readonly contentType: string
  readonly rawBytes: number
  /** Undefined when it is deleted, damaged, or sealed with a key that is not on the keyring. */
  read(): Promise<Buffer | undefined>
}

export type KeptAnswers = Awaited<ReturnType<typeof createKeptAnswers>>

export interface KeptAnswersOptions extends ContentServices {
  /** The first key seals. */
  readonly keys: readonly [SealingKey, ...SealingKey[]]
  /** The bytes on disk of all answers. Those that expire first make room. */
  readonly bytesMax: number
  /** Other processes write the same table. */
  readonly isShared?: boolean
}

/** Opening and unpacking use threads of the pool, and the ledger's worker needs a processor too. */
const READ_AT_ONCE = 1

/** Charged answers, for repeated requests with the same idempotency key. */
export async function createKeptAnswers({
  file,
  keys,
  now,
  bytesMax,
  isShared = false,
  onFailure,
}: KeptAnswersOptions) {
  const fewAtOnce = createQueue(READ_AT_ONCE)
  const store = await createAnswerStore(file, bytesMax, isShared)
  const keep = async ({ body, ...answer }: AnswerToKeep): Promise<boolean> => {
    const { encoding, bytes } = await packBody(body)
    const sealed = await sealBytes(keyFor(keys[0], nameOf(answer)), nameOf(answer), bytes)
    const row = { ...answer, rawBytes: body.length, ringKey: keys[0].id, encoding, sealed, at: now() }
    return retryUnavailable(() => store.add(row))
  }

  return {
    /** False when it could not be kept, which must not lose the answer. Never rejects. */
    async keep(answer: AnswerToKeep): Promise<boolean> {
      if (bytesMax === 0) return false
      try {
        return await inTime(keep(answer), 'An answer')
      } catch (error) {
        onFailure(error)
        return false
      }
    },
    async find(requestId: RequestId, account: AccountId): Promise<KeptAnswer | undefined> {
      const head = await findRow<AnswerHead>(file, HEAD, requestId)
      const key = keys.find(({ id }) => id === head?.ring_key)
      if (head === undefined || key === undefined || head.account !== account) return undefined
      const { status, content_type: contentType, encoding, raw_bytes: rawBytes } = head
      const read = async () => {
        const sealed = (await findRow<{ sealed: Uint8Array }>(file, READ_ANSWER, requestId))?.sealed
        const name = nameOf({ requestId, account })
        const bound = sealed && (await openBytes(keyFor(key, name), name, sealed))
        // An earlier version bound it to the request alone.
        const bytes = bound ?? (sealed && (await openBytes(keyFor(key, requestId), requestId, sealed)))
        return bytes && unpackBody({ encoding, bytes }, rawBytes)
      }
      return { requestId, status, contentType, rawBytes, read: () => fewAtOnce(read) }
    },
    /** The endings of those requests whose answers are kept and readable. Never rejects. */
    async factsOf(requests: readonly RequestId[]): Promise<ReadonlyMap<RequestId, string>> {
      const found = new Map<RequestId, string>()
      for (const requestId of requests) {
        // One unreadable answer must not block the holds of all others.
        const row = await findRow<{ facts: string }>(file, FACTS, requestId).catch((error: unknown) => {
          // What cannot be looked up now is looked up with the next sweep.
          if (isUnavailable(error)) throw error
          onFailure(error)
        })
        if (row) found.set(requestId, row.facts)
      }
      return found
    },
    /** Never rejects. */
    async forget(requestId: RequestId): Promise<void> {
      await store.remove([], `${SIZE} WHERE request_id = ?`, requestId).catch(onFailure)
    },
    /** Deletes expired answers, a few at a time. Returns how many. */
    async sweep(): Promise<number> {
      let ended = 0
      for (;;) {
        const at = now()
        const some = await store.remove(isShared ? [leaveBodies(at)] : [], EXPIRED, at, DELETED_AT_ONCE)
        ended += some
        if (some < DELETED_AT_ONCE) return ended
      }
    },
  }
}

const nameOf = ({ requestId, account }: Pick<AnswerToKeep, 'requestId' | 'account'>): string =>
  `${requestId} ${account}`

/** Each request has its own key, so an answer opens only for its request and account. */
const keyFor = ({ secret }: SealingKey, name: string): Buffer => deriveKey(secret, `kept-answer ${name}`)

/** Deleted at a time, so that writes and reads wait for a few only. */
const DELETED_AT_ONCE = 50

/** Without its body, which may wait for long behind a slow disk. */
interface SealedAnswer extends Omit<AnswerToKeep, 'body'> {
  readonly rawBytes: number
  readonly ringKey: string
  readonly encoding: 'identity' | 'deflate'
  readonly sealed: Uint8Array
  readonly at: number
}

interface AnswerSize {
  readonly rowid: number
  readonly bytes: number
}

/** Writes and deletes answers within the bytes that are allowed. */
async function createAnswerStore(file: SqlStore, bytesMax: number, isShared: boolean) {
  const sum = async () => (await findRow<{ bytes: number }>(file, SUM))!.bytes
  let bytesUsed = await sum()
  let writes = 0

  /** Returns how many were deleted. */
  const end = async (answers: readonly AnswerSize[], before: readonly AtomicStatement[] = []): Promise<number> => {
    if (answers.length === 0) return 0
    await file.atomic([...before, { sql: DELETE, rows: answers.map(({ rowid }) => [rowid]) }])
    bytesUsed -= sizeOf(answers)
    return answers.length
  }
  const makeRoom = async (bytes: number): Promise<void> => {
    if (isShared && bytesUsed + bytes > bytesMax) bytesUsed = await sum()
    while (bytesUsed + bytes > bytesMax) {
      const first = await file.all<AnswerSize>(`${SIZE} ORDER BY expires_at LIMIT ?`, [DELETED_AT_ONCE])
      if ((await end(enoughOf(first, bytesUsed + bytes - bytesMax))) === 0) return
    }
  }
  const bytesOf = ({ sealed }: SealedAnswer): number => sealed.length
  const queue = createWriteQueue<SealedAnswer, true>({
    bytesOf,
    bytesMax,
    async write(answers, bytes) {
      // Other nodes write and delete too.
      if (isShared && ++writes % WRITES_BETWEEN_SUMS === 0) bytesUsed = await sum()
      await makeRoom(bytes)
      const owners = insertOwners(answers.map(({ account }) => account))
      const days = isShared ? [makeDays([...new Set(answers.map(({ expiresAt }) => expiresAt))])] : []
      await file.atomic([...days, owners, { sql: ADD_ANSWER, rows: answers.map(rowOf) }])
      bytesUsed += bytes
      return answers.map(() => true)
    },
  })

  return {
    /** False when the answer is larger than all the room. */
    add: async (answer: SealedAnswer) => (bytesOf(answer) > bytesMax ? false : queue.add(answer)),
    /** Deletes the answers that this query finds, after these statements, and returns how many. */
    remove: (before: readonly AtomicStatement[], which: string, ...parameters: SqlValue[]) =>
      queue.inTurn(async () => end(await file.all<AnswerSize>(which, parameters), before)),
  }
}

const sizeOf = (answers: readonly AnswerSize[]): number => answers.reduce((sum, { bytes }) => sum + bytes, 0)

function enoughOf(answers: readonly AnswerSize[], bytes: number): AnswerSize[] {
  const enough: AnswerSize[] = []
  for (const answer of answers) {
    if (sizeOf(enough) >= bytes) break
    enough.push(answer)
  }
  return enough
}

const rowOf = ({ ringKey, encoding, sealed, at, ...answer }: SealedAnswer): SqlValue[] => [
  ...[answer.requestId, answer.account, ringKey, answer.status, answer.contentType, encoding],
  ...[answer.rawBytes, sealed.length, answer.facts, at, answer.expiresAt, sealed],
]

interface AnswerHead {
  readonly account: AccountId
  readonly ring_key: string
  readonly status: number
  readonly content_type: string
  readonly encoding: 'identity' | 'deflate'
  readonly raw_bytes: number
}

const HEAD = `SELECT owners.id AS account, ring_key, status, content_type, encoding, raw_bytes
  FROM answers CROSS JOIN owners ON owners.owner = answers.account WHERE request_id = ?`
const FACTS = 'SELECT facts FROM answers WHERE request_id = ?'
const SIZE = 'SELECT rowid, bytes FROM answers'
const EXPIRED = `${SIZE} WHERE expires_at <= ? ORDER BY expires_at LIMIT ?`
const DELETE = 'DELETE FROM answers WHERE rowid = ?'
const SUM = 'SELECT COALESCE(SUM(bytes), 0) AS bytes FROM answers'
/** Groups of answers between two sums of what all nodes keep. */
const WRITES_BETWEEN_SUMS = 100
