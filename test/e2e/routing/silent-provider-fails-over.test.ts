import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { type FaultUpstream, startFaultUpstream } from '../../fakes/fault-upstream.ts'
import { hello, send } from '../../support/send-chat.ts'
import { startServer, type TestServer } from '../../support/start-server.ts'
import { openAccount, type TestAccount } from '../../support/test-account.ts'
import { until } from '../../support/until.ts'
import { expectBalancedLedger } from '../../support/use-server.ts'

let far: FaultUpstream
let server: TestServer
let account: TestAccount
beforeAll(async () => {
  // Not one byte.
  far = await startFaultUpstream(() => async () => {})
})
beforeEach(async () => {
  server = await startServer({
    clock: 'still',
    config: `routing: { patience: 0s }\nupstreams:\n  - { id: far, wire: chat, base_url: "${far.baseUrl}", allow_private: true }\nmodels:\n  - { id: m, context_tokens: 100000, max_output_tokens: 2000, price: { input: "1.00", output: "2.00" }, lanes: [{ upstream: far, model: m }] }\n`,
  })
  account = await openAccount(server)
})
afterEach(async () => {
  await expectBalancedLedger(server)
  await server.close()
})
afterAll(() => far?.close())

/** A client that waits for so long and goes; returns the status that it has heard, if any. */
async function patientFor(seconds: number, stream: boolean): Promise<number | undefined> {
  far.forget()
  const client = new AbortController()
  const body = { model: 'm', stream, messages: hello() }
  const answer = send(server, account, body, { signal: client.signal }).then(
    ({ status }) => status,
    () => undefined,
  )
  await Promise.race([answer, until(() => far.providerAnswers.length === 1)])
  if (far.providerAnswers.length === 1) {
    server.advance(seconds * 1000)
    client.abort()
    await until(() => server.serving.turnsRunning === 0)
  }
  return answer
}

it('the circuit of a silent provider opens even when clients give up before the deadline', async () => {
  for (let client = 0; client < 5; client++) expect(await patientFor(10, true)).toBeUndefined()
  // There is no other provider: a few requests call it all the same, and every other one is refused at once.
  far.forget()
  const leaving = new AbortController()
  const body = { model: 'm', stream: true, messages: hello() }
  const probes = [1, 2, 3].map(() => send(server, account, body, { signal: leaving.signal }).catch(() => undefined))
  await until(() => far.providerAnswers.length === 3)
  expect((await send(server, account, body)).status).toBe(503)
  leaving.abort()
  await Promise.all(probes)
  await until(() => server.serving.turnsRunning === 0)
})

it.each([
  ['streams whose client leaves after nine seconds', 9, true],
  ['JSON, which has its head when it is made', 60, false],
] as const)('but not for %s', async (_, seconds, stream) => {
  for (let client = 0; client < 8; client++) expect(await patientFor(seconds, stream)).toBeUndefined()
})
