import { afterEach, describe, expect, it } from 'vitest'
import type { Replacement } from '../../program/copies.mjs'
import { get } from '../../support/send-chat.ts'
import { beginReading, respond, sendResponse } from '../../support/send-responses.ts'
import { OWNER, type SpawnedServer, spawnServer } from '../../support/spawn-server.ts'
import { TEST_CONFIG } from '../../support/test-config.ts'

const KILL = "process.kill(process.pid, 'SIGKILL'); await new Promise(() => {});"
const SETTLE = 'const settled = await turn.hold.settle(ending);'

/** The process ends itself with the one signal that no process can catch, at exactly this place. */
const DEATHS = {
  'in the middle of a stream': {
    file: 'gateway/stream.js',
    find: 'if (failure)',
    put: `if (attempt.firstContentAt !== undefined && state.outputBytes > 100) { ${KILL} } if (failure)`,
  },
  'between the stored answer and its charge': {
    file: 'gateway/serve-turn.js',
    find: SETTLE,
    put: `if (keeper?.begun && ending.owed) { ${KILL} } ${SETTLE}`,
  },
  'when it is charged and nothing of the end has gone out': {
    file: 'gateway/serve-turn.js',
    find: SETTLE,
    put: `${SETTLE} if (keeper?.begun && ending.owed) { ${KILL} }`,
  },
} as const satisfies Record<string, Replacement>

let server: SpawnedServer | undefined
afterEach(() => server?.close())

/** Several processes are started one after another. */
const TIMEOUT_MS = 90_000

async function dieIn(where: keyof typeof DEATHS, model: string) {
  server = await spawnServer({ config: TEST_CONFIG, replacement: DEATHS[where] })
  const reading = beginReading(await sendResponse(server, server, { model, stream: true, input: 'count to 400' }))
  const [created] = await reading.until(({ length }) => length > 0)
  const { id } = created!.response as { id: string }
  await expect(reading.rest()).rejects.toThrow()
  expect(reading.text).not.toContain('response.completed')
  expect(await server.ended).toMatchObject({ code: 'SIGKILL' })
  await server.restart()
  const { json } = await get(server, server, `/responses/${id}`)
  const again = await fetch(`${server.baseUrl}/responses/${id}?stream=true`, {
    headers: { authorization: `Bearer ${server.key}` },
  })
  const events = { status: again.status, text: await again.text() }
  const wallet = await server.json('wallet', 'show', OWNER)
  expect(await server.json('db', 'verify')).toMatchObject({ ok: true })
  return { id, json, events, charged: 1000 - Number(wallet.balance), server }
}

describe('kill -9', { timeout: TIMEOUT_MS }, () => {
  it('in mid-stream: the response has failed and cannot be continued', async () => {
    const { id, json, events, charged, server: after } = await dieIn('in the middle of a stream', 'calm')
    expect(json).toMatchObject({ id, status: 'failed', error: { code: 'server_error' }, output: [], usage: null })
    expect(events.status).toBe(400)
    const next = await respond(after, after, { previous_response_id: id })
    expect(next.json.error).toMatchObject({ code: 'previous_response_not_found' })
    expect(charged).toBeLessThan(0.001)
  })

  it.each([
    'between the stored answer and its charge',
    'when it is charged and nothing of the end has gone out',
  ] as const)('%s: the response is complete and charged once', async (where) => {
    const { id, json, events, charged, server: after } = await dieIn(where, 'swift')
    expect(json).toMatchObject({ id, status: 'completed' })
    expect(json.output[0].content[0].text).toMatch(/ 400$/)
    expect(charged).toBeCloseTo(Number(json.usage.millrace.charge), 9)
    expect(charged).toBeGreaterThan(0)
    expect(events.text).toMatch(/event: response\.completed\ndata: .*\n\ndata: \[DONE\]\n\n$/)
    const next = await respond(after, after, { previous_response_id: id, input: 'count to 3' })
    expect(next.json).toMatchObject({ status: 'completed', previous_response_id: id })
  })
})
