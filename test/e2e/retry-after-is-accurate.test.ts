import { describe, expect, it } from 'vitest'
import { expectProblem } from '../support/expect-problem.ts'
import { chat, hello } from '../support/send-chat.ts'
import { openAccount } from '../support/test-account.ts'
import { TEST_CONFIG } from '../support/test-config.ts'
import { useServer } from '../support/use-server.ts'

const SCOPES = ['key', 'account', 'account_model', 'model'] as const
/** Rates that divide a minute, and rates that do not. */
const KINDS = [
  ['requests', 'requests_per_minute', 7],
  ['requests', 'requests_per_minute', 20],
  ['tokens', 'tokens_per_minute', 1100],
  ['tokens', 'tokens_per_minute', 1200],
] as const

describe('Retry-After', () => {
  const server = useServer({ clock: 'still' })

  it.each(SCOPES.flatMap((scope) => KINDS.map((kind) => [scope, ...kind] as const)))(
    'of a limit on %s, %s (%s: %d): refused a second before it, let through at it',
    async (scope, kind, setting, value) => {
      await server().reload(`${TEST_CONFIG}\nlimits: { ${scope}: { ${setting}: ${value} } }\n`)
      server().advance(600_000)
      const account = await openAccount(server())
      const sendTurn = () => chat(server(), account, { max_tokens: 90, messages: hello('count to 90') })
      let admitted = 0
      let answer = await sendTurn()
      for (; answer.status === 200; answer = await sendTurn()) admitted++
      expect(admitted).toBeGreaterThan(0)
      // Over three waits: a limit that was waited for stands at its very edge.
      for (let time = 0; time < 3; time++) {
        expectProblem(answer, 'rate_limit_exceeded')
        expect(answer.json.error.limit).toEqual({ scope, kind, value })
        const seconds = Number(answer.headers.get('retry-after'))
        expect(answer.json.error.message).toMatch(new RegExp(`try again in ${seconds}s\\.$`))
        expect(Math.ceil(Number(answer.headers.get('retry-after-ms')) / 1000)).toBe(seconds)
        server().advance((seconds - 1) * 1000)
        expectProblem(await sendTurn(), 'rate_limit_exceeded')
        server().advance(1000)
        expect((await sendTurn()).status).toBe(200)
        answer = await sendTurn()
        // What is rounded up to whole seconds may have earned one more.
        while (answer.status === 200) answer = await sendTurn()
      }
    },
  )

  it.each(KINDS)('in milliseconds is as accurate (%s, %s: %d)', async (_, setting, value) => {
    await server().reload(`${TEST_CONFIG}\nlimits: { key: { ${setting}: ${value} } }\n`)
    server().advance(600_000)
    const account = await openAccount(server())
    const sendTurn = () => chat(server(), account, { max_tokens: 90, messages: hello('count to 90') })
    let answer = await sendTurn()
    while (answer.status === 200) answer = await sendTurn()
    server().advance(Number(answer.headers.get('retry-after-ms')) - 1)
    expectProblem(await sendTurn(), 'rate_limit_exceeded')
    server().advance(1)
    expect((await sendTurn()).status).toBe(200)
  })
})
