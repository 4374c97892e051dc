import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterEach, describe, expect, it } from 'vitest'
import { ask, COMPLETED, chatRequest, closeTestEdges, openTestEdge } from '../../../test/fixtures/server/edge.ts'
import { bytesUntilContent } from '../../gateway/read-turn.ts'
import { parseRequest } from '../../protocols/chat/parse-request.ts'
import { createConcurrencyLimiter, TURN_BYTES } from '../concurrency-limiter.ts'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

afterEach(closeTestEdges)

const MiB = 1024 * 1024
const VALUES = 50_000
const BODY = `{"model":"demo","messages":[{"role":"user","content":"x"}],"unknown":[${'[],'.repeat(VALUES)}1]}`

/** A guard with this much memory, and how much of it is taken. */
function guardOf(memoryBytes: number) {
  return createConcurrencyLimiter({
    rules: { current: { load: { memoryBytes, queueLength: 0, queueMs: 10 } } },
    loop: { isStrained: false },
    random: (size) => new Uint8Array(size),
    onShed: () => {},
  })
}

describe('what is parsed of a body', () => {
  it('is released while its turn runs, and only the memory of the turn is counted', async () => {
    const limiter = guardOf(64 * MiB)
    let parsed: WeakRef<object> | undefined
    let whileRead = 0
    const seen = { isParsedGone: false, bytesTaken: 0, bytesNeeded: 0 }
    const { port } = await openTestEdge({
      limiter,
      readTurn({ body }) {
        parsed = new WeakRef(body.value)
        whileRead = limiter.figures.bytesTaken
        return parseRequest(body)
      },
      async serveTurn({ sink, request }) {
        // A WeakRef holds what it refers to until the job that made it has ended.
        await new Promise((resolve) => setTimeout(resolve, 5))
        collect()
        seen.isParsedGone = parsed?.deref() === undefined
        seen.bytesTaken = limiter.figures.bytesTaken
        seen.bytesNeeded = bytesUntilContent(request)
        sink.end(Buffer.from('{}'))
        return COMPLETED
      },
    })
    expect((await ask(port, chatRequest({ body: BODY }))).status).toBe(200)
    expect(seen.isParsedGone).toBe(true)
    expect(whileRead).toBeGreaterThan(TURN_BYTES + BODY.length + 40 * VALUES)
    expect(seen.bytesTaken).toBe(TURN_BYTES + seen.bytesNeeded)
    expect(seen.bytesNeeded).toBeGreaterThanOrEqual(2 * BODY.length)
    expect(limiter.figures.bytesTaken).toBe(0)
  })

  it('is not built where there is no room for its values', async () => {
    const limiter = guardOf(TURN_BYTES + 4 * BODY.length)
    const { port, bodies } = await openTestEdge({ limiter })
    expect((await ask(port, chatRequest({ body: BODY }))).status).toBe(413)
    expect(bodies).toEqual([])
    expect(limiter.figures.bytesTaken).toBe(0)
  })

  it('is sent away with a time to come back where others have the room', async () => {
    const memoryBytes = 4 * TURN_BYTES + 80 * VALUES + 4 * BODY.length
    const limiter = guardOf(memoryBytes)
    const other = await limiter.acquire({ onLeave: () => () => {} })
    const place = other.kind === 'acquired' ? other.slot : undefined
    expect(place?.take(60 * VALUES)).toBeUndefined()
    const { port } = await openTestEdge({ limiter })
    const answer = await ask(port, chatRequest({ body: BODY }))
    expect([answer.status, JSON.parse(answer.body).error.code]).toEqual([503, 'server_is_overloaded'])
  })
})
