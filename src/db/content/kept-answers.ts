import { createQueue } from '../../lib/async.ts'
import { deriveKey } from '../../lib/crypto.ts'
import type { AccountId, RequestId } from '../../model/ids.ts'
import type { SqliteFile } from '../sqlite/sqlite-file.ts'
import { insertOwners, OWNER_OF, openBytes, packBody, type SealingKey, sealBytes, unpackBody } from './sealing.ts'
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

/** Charged answers, for repeated requests with the same idempotency key. */
export interface KeptAnswers {
  /** False when it could not be kept, which must not lose the answer. Never rejects. */
  keep(answer: AnswerToKeep): Promise<boolean>
  find(requestId: RequestId, account: AccountId): Promise<KeptAnswer | undefined>
  /** The endings of those requests whose answers are kept and readable. Never rejects. */
  factsOf(requests: readonly RequestId[]): Promise<ReadonlyMap<RequestId, string>>
  /** Never rejects. */
  forget(requestId: RequestId): Promise<void>
  /** Deletes expired answers, a few at a time. Returns how many. */
  sweep(): Promise<number>
}

export interface KeptAnswersOptions {
  readonly file: SqliteFile
  /** The first key seals. */
  readonly keys: readonly [SealingKey, ...SealingKey[]]
  readonly now: () => number
  /** The bytes on disk of all answers. Those that expire first make room. */
  readonly bytesMax: number
  readonly onFailure: (error: unknown) => void
}

/** Opening and unpacking use threads of the pool, and the ledger's worker needs a processor too. */
const READ_AT_ONCE = 1

export async function createKeptAnswers(deps: KeptAnswersOptions): Promise<KeptAnswers> {
  const { file, keys } = deps
  const fewAtOnce = createQueue(READ_AT_ONCE)
  const store = createAnswerStore(file, deps.bytesMax, await sumAnswerBytes(file))
  const keep = async (answer: AnswerToKeep): Promise<boolean> => {
    const { requestId, account, status, contentType, body, facts, expiresAt } = answer
    const packed = await packBody(body)
    const sealed = await sealBytes(keyFor(keys[0], nameOf(answer)), nameOf(answer), packed.bytes)
    return store.add({
      ...{ request_id: requestId, account, ring_key: keys[0].id, status, content_type: contentType, facts, sealed },
      ...{ encoding: packed.encoding, raw_bytes: body.length, at: deps.now(), expires_at: expiresAt },
    })
  }

  return {
    async keep(answer) {
      if (deps.bytesMax === 0) return false
      try {
        return await inTime(keep(answer), 'An answer')
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
        // An earlier version bound it to the request alone.
        const bytes = bound ?? (sealed && (await openBytes(keyFor(key, requestId), requestId, sealed)))
        return bytes && asBuffer(await unpackBody({ encoding, bytes }, rawBytes))
      }
      return { requestId, status, contentType, rawBytes, read: () => fewAtOnce(read) }
    },
    async factsOf(requests) {
      const found = new Map<RequestId, string>()
      for (const requestId of requests) {
        // One unreadable answer must not block the holds of all others.
        const facts = await findFacts(file, requestId).catch(deps.onFailure)
        if (typeof facts === 'string') found.set(requestId, facts)
      }
      return found
    },
    async forget(requestId) {
      await store.remove(() => findAnswerSize(file, requestId)).catch(deps.onFailure)
    },
    async sweep() {
      let ended = 0
      for (;;) {
        const some = await store.remove(() => listExpired(file, deps.now(), DELETED_AT_ONCE))
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

const asBuffer = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)

/** Deleted at a time, so that writes and reads wait for a few only. */
const DELETED_AT_ONCE = 50

/** Writes and deletes answers within the bytes that are allowed. */
interface AnswerStore {
  /** False when the answer is larger than all the room. */
  add(answer: AnswerRow): Promise<boolean>
  /** Returns how many were deleted. */
  remove(which: () => Promise<AnswerSize[]>): Promise<number>
}

function createAnswerStore(file: SqliteFile, bytesMax: number, bytesAtStart: number): AnswerStore {
  let bytesUsed = bytesAtStart

  const end = async (answers: readonly AnswerSize[]): Promise<number> => {
    if (answers.length === 0) return 0
    await deleteAnswers(file, answers)
    bytesUsed -= sizeOf(answers)
    return answers.length
  }
  const makeRoom = async (bytes: number): Promise<void> => {
    while (bytesUsed + bytes > bytesMax) {
      const first = await listFirstToGo(file, DELETED_AT_ONCE)
      if ((await end(enoughOf(first, bytesUsed + bytes - bytesMax))) === 0) return
    }
  }
  const bytesOf = ({ sealed }: AnswerRow): number => sealed.length
  const queue = createWriteQueue<AnswerRow, true>({
    bytesOf,
    bytesMax,
    async write(answers) {
      const bytes = answers.reduce((sum, answer) => sum + bytesOf(answer), 0)
      await makeRoom(bytes)
      await insertAnswers(file, answers)
      bytesUsed += bytes
      return answers.map(() => true)
    },
  })

  return {
    add: async (answer) => (bytesOf(answer) > bytesMax ? false : queue.add(answer)),
    remove: (which) => queue.inTurn(async () => end(await which())),
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

interface AnswerRow {
  readonly request_id: string
  readonly account: AccountId
  readonly ring_key: string
  readonly status: number
  readonly content_type: string
  readonly encoding: 'identity' | 'deflate'
  readonly raw_bytes: number
  readonly facts: string
  readonly at: number
  readonly expires_at: number
  readonly sealed: Uint8Array
}

/** An answer without its body. */
type AnswerHead = Omit<AnswerRow, 'sealed' | 'facts' | 'at' | 'expires_at'>

interface AnswerSize {
  readonly rowid: number
  readonly bytes: number
}

const INSERT = `INSERT INTO answers
  (request_id, account, ring_key, status, content_type, encoding, raw_bytes, bytes, facts, at, expires_at, sealed)
  VALUES (?1, ${OWNER_OF('?2')}, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)`

async function insertAnswers(file: SqliteFile, answers: readonly AnswerRow[]): Promise<void> {
  const rows = answers.map((answer) => {
    const { request_id, account, ring_key, status, content_type, encoding, raw_bytes, facts, at, expires_at } = answer
    const head = [request_id, account, ring_key, status, content_type, encoding, raw_bytes, answer.sealed.length]
    return [...head, facts, at, expires_at, answer.sealed]
  })
  const owners = insertOwners(answers.map(({ account }) => account))
  await file.atomic([owners, { sql: INSERT, rows, expectChanges: 1 }])
}

const HEAD = `SELECT request_id, owners.id AS account, ring_key, status, content_type, encoding, raw_bytes
  FROM answers CROSS JOIN owners ON owners.owner = answers.account WHERE request_id = ?`

async function findAnswerHead(file: SqliteFile, requestId: string): Promise<AnswerHead | undefined> {
  const [row] = await file.all<AnswerHead>(HEAD, [requestId])
  return row
}

async function findSealedBody(file: SqliteFile, requestId: string): Promise<Uint8Array | undefined> {
  const sql = 'SELECT sealed FROM answers WHERE request_id = ?'
  const [row] = await file.all<Pick<AnswerRow, 'sealed'>>(sql, [requestId])
  return row?.sealed
}

async function findFacts(file: SqliteFile, requestId: string): Promise<string | undefined> {
  const sql = 'SELECT facts FROM answers WHERE request_id = ?'
  const [row] = await file.all<Pick<AnswerRow, 'facts'>>(sql, [requestId])
  return row?.facts
}

const listFirstToGo = (file: SqliteFile, limit: number): Promise<AnswerSize[]> =>
  file.all<AnswerSize>('SELECT rowid, bytes FROM answers ORDER BY expires_at LIMIT ?', [limit])

const listExpired = (file: SqliteFile, now: number, limit: number): Promise<AnswerSize[]> =>
  file.all<AnswerSize>('SELECT rowid, bytes FROM answers WHERE expires_at <= ? ORDER BY expires_at LIMIT ?', [
    now,
    limit,
  ])

const findAnswerSize = (file: SqliteFile, requestId: string): Promise<AnswerSize[]> =>
  file.all<AnswerSize>('SELECT rowid, bytes FROM answers WHERE request_id = ?', [requestId])

async function deleteAnswers(file: SqliteFile, answers: readonly AnswerSize[]): Promise<void> {
  await file.atomic([{ sql: 'DELETE FROM answers WHERE rowid = ?', rows: answers.map(({ rowid }) => [rowid]) }])
}

async function sumAnswerBytes(file: SqliteFile): Promise<number> {
  const [row] = await file.all<{ bytes: number }>('SELECT COALESCE(SUM(bytes), 0) AS bytes FROM answers', [])
  return row!.bytes
}
