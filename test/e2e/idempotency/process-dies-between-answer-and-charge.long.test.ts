import { afterEach, describe, expect, it } from 'vitest'
import { hello } from '../../support/send-chat.ts'
import { OWNER, type SpawnedServer, spawnServer } from '../../support/spawn-server.ts'
import { TEST_CONFIG } from '../../support/test-config.ts'

const KILL = "process.kill(process.pid, 'SIGKILL'); await new Promise(() => {});"
const SETTLE = 'const settled = await turn.hold.settle(ending);'

/** The process ends itself with the one signal that no process can catch, at exactly this place. */
const DEATHS = {
  'when the answer is kept and its charge is not recorded': {
    file: 'gateway/serve-turn.js',
    find: SETTLE,
    put: `if (ending.kept) { ${KILL} } ${SETTLE}`,
  },
  'when the charge is recorded and nothing of the end has gone out': {
    file: 'gateway/serve-turn.js',
    find: SETTLE,
    put: `${SETTLE} if (ending.kept) { ${KILL} }`,
  },
  'when the answer is there and is not kept yet': {
    file: 'gateway/keep-answer.js',
    find: 'const body = this.#recording?.whole();',
    put: `${KILL} const body = this.#recording?.whole();`,
  },
} as const

let server: SpawnedServer | undefined
afterEach(() => server?.close())

const ASKS = {
  chat: { path: '/chat/completions', words: { messages: hello('count to 40') } },
  responses: { path: '/responses', words: { input: 'count to 40' } },
} as const

const sendTurn = async (path: string, idempotencyKey: string, body: object) => {
  const response = await fetch(`${server?.baseUrl}${path}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${server?.key}`,
      'content-type': 'application/json',
      'idempotency-key': idempotencyKey,
    },
    body: JSON.stringify(body),
  })
  return { status: response.status, headers: response.headers, text: await response.text() }
}

async function dieAndAskAgain(where: keyof typeof DEATHS, stream: boolean, client: keyof typeof ASKS = 'chat') {
  server = await spawnServer({ config: TEST_CONFIG, replacement: DEATHS[where] })
  const { path, words } = ASKS[client]
  const body = { model: 'swift', stream, ...words }
  await expect(sendTurn(path, 'once', body)).rejects.toThrow()
  expect(await server.ended).toMatchObject({ code: 'SIGKILL' })
  await server.restart()
  const again = await sendTurn(path, 'once', body)
  const wallet = await server.json('wallet', 'show', OWNER)
  expect(await server.json('db', 'verify')).toMatchObject({ ok: true })
  return { again, charged: 1000 - Number(wallet.balance) }
}

/** Several processes are started one after another. */
const TIMEOUT_MS = 90_000

describe('kill -9', { timeout: TIMEOUT_MS }, () => {
  it.each([
    { where: 'when the answer is kept and its charge is not recorded', stream: true },
    { where: 'when the answer is kept and its charge is not recorded', stream: false },
    { where: 'when the charge is recorded and nothing of the end has gone out', stream: true },
  ] as const)('$where: the retry gets the answer, charged once, stream: $stream', async ({ where, stream }) => {
    const { again, charged } = await dieAndAskAgain(where, stream)
    expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([200, 'true'])
    expect(again.text).toContain('40')
    expect(again.text).toMatch(stream ? /\[DONE\]\n\n$/ : /"charge":"[\d.]+"/)
    if (!stream) expect(charged).toBeCloseTo(Number(JSON.parse(again.text).usage.millrace.charge), 9)
    expect(charged).toBeGreaterThan(0)
  })

  it('when a stored stream is kept and its charge is not recorded: the retry gets it, charged once', async () => {
    const { again, charged } = await dieAndAskAgain(
      'when the answer is kept and its charge is not recorded',
      true,
      'responses',
    )
    expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([200, 'true'])
    expect(again.text).toMatch(/response\.completed[\s\S]*\[DONE\]\n\n$/)
    expect(charged).toBeGreaterThan(0)
  })

  it('when the answer is not kept yet: nothing was delivered or charged, and the retry runs', async () => {
    const { again, charged } = await dieAndAskAgain('when the answer is there and is not kept yet', false)
    expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([200, null])
    expect(charged).toBeCloseTo(Number(JSON.parse(again.text).usage.millrace.charge), 9)
  })
})
