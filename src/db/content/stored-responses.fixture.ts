import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AccountId, RequestId } from '../../model/ids.ts'
import { rememberSent, type SentStatements } from '../sqlite/remember-sent.fixture.ts'
import type { SqliteFile } from '../sqlite/sqlite-file.ts'
import type { SealingKey } from './account-keys.ts'
import { createStoredResponses } from './create-stored-responses.ts'
import { openContent } from './open-content.ts'
import type { EndedResponse, StoredResponses } from './stored-responses.ts'

export const ACCOUNT = 'acct_seven' as AccountId
export const STRANGER = 'acct_eight' as AccountId
export const RING_KEY: SealingKey = { id: 'k1', secret: Buffer.alloc(32, 1) }
export const OTHER_RING_KEY: SealingKey = { id: 'k2', secret: Buffer.alloc(32, 2) }
export type Ring = readonly [SealingKey, ...SealingKey[]]
export const EVER = 1_000_000

/** A store on a real file, at a time that a test decides. */
export interface StoreBench {
  readonly folder: string
  time: number
  file: SqliteFile
  responses: StoredResponses
  readonly failures: unknown[]
  readonly sent: SentStatements
  /** Another store on the same file, as after a restart with this ring or room. */
  reopen(options?: { ring?: Ring; bytesMax?: number }): Promise<void>
  count(table: string): Promise<number>
  sizeOfState(): Promise<number>
  /** All bytes of all files of the store. */
  rawBytes(): Buffer
  close(): Promise<void>
}

export async function openStoreBench(): Promise<StoreBench> {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-responses-'))
  const sent: SentStatements = new Map()
  const failures: unknown[] = []
  const clock = { now: () => bench.time, nowMicros: () => 0 }
  const open = async (ring: Ring, bytesMax: number) => {
    bench.file = await openContent({ path: join(folder, 'content.db'), clock })
    const file = rememberSent(bench.file, sent)
    const onFailure = (error: unknown) => failures.push(error)
    bench.responses = createStoredResponses({ file, ring, now: clock.now, bytesMax, onFailure })
  }
  const bench = {
    ...{ folder, failures, sent, time: 1000 },
    async reopen({ ring = [RING_KEY], bytesMax = 100_000_000 }: { ring?: Ring; bytesMax?: number } = {}) {
      await bench.file.close()
      await open(ring, bytesMax)
    },
    async count(table: string) {
      const [row] = await bench.file.all<{ count: number }>(`SELECT COUNT(*) AS count FROM ${table}`, [])
      return row!.count
    },
    async sizeOfState() {
      const [row] = await bench.file.all<{ bytes: number }>('SELECT bytes FROM state_size', [])
      return row!.bytes
    },
    rawBytes: () => Buffer.concat(readdirSync(folder).map((name) => readFileSync(join(folder, name)))),
    async close() {
      await bench.file.close()
      rmSync(folder, { recursive: true })
    },
  } as StoreBench
  await open([RING_KEY], 100_000_000)
  return bench
}

export const said = (text: string): Buffer => json({ type: 'message', role: 'user', content: text })

export const answered = (id: string, text: string): Buffer =>
  json({ id, type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] })

export const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value))

/** A response that has ended well, named by a word. */
export const ended = (name: string, over: Partial<EndedResponse> = {}): EndedResponse => ({
  ...{ id: `resp_${name}`, account: ACCOUNT, requestId: `req_${name}` as RequestId, createdAt: 1000, expiresAt: EVER },
  ...{ parent: undefined, status: 'completed', facts: `facts of ${name}` },
  object: json({ id: `resp_${name}`, object: 'response', status: 'completed', output: [], model: 'm' }),
  input: [said(`question ${name}`)],
  output: [answered(`msg_${name}`, `answer ${name}`)],
  ...over,
})

/** The same while it runs. */
export function started(name: string, over: Partial<EndedResponse> = {}) {
  const { id, account, requestId, createdAt, expiresAt, parent } = ended(name, over)
  const object = json({ id, object: 'response', status: 'in_progress', output: [], model: 'm' })
  return { id, account, requestId, createdAt, expiresAt, parent, object }
}

export const textsOf = (items: readonly Buffer[]): string[] => items.map(String)
