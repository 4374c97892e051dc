import { afterAll, beforeAll, expect, it } from 'vitest'
import { expectProblem } from '../../support/expect-problem.ts'
import { respond } from '../../support/send-responses.ts'
import { createAgent } from './agent.ts'
import { createBill, expectExactCharges } from './bill.ts'
import { describeRun, seedOfRun } from './runs.ts'
import { openScriptedModelSetup, type ScriptedModelSetup } from './scripted-model-server.ts'

const TIMEOUT_MS = 120_000

let setup: ScriptedModelSetup
beforeAll(async () => {
  setup = await openScriptedModelSetup(
    { west: 'openai', east: 'chat' },
    { lanes: ['west', 'west-again'], inputPico: 300_001 },
  )
})
afterAll(() => setup?.close())

it(
  'a natively compacted conversation stays with its provider and is refused only when that provider is gone',
  async () => {
    const bill = createBill(setup)
    const random = seedOfRun()
    const { server } = setup
    const west = setup.mills.west!
    const agent = createAgent({ setup, bill, random })
    agent.facts.place(1)
    await agent.work(60)

    // Another provider comes, and would be the first. Who is bound does not meet it, not even while his own is busy.
    await setup.change({ lanes: ['east', 'west'] })
    agent.facts.place(61)
    const changes = bill.changes
    await agent.work(40)
    west.is('busy')
    const busy = await respond(server, server, agent.next())
    expect([busy.status, busy.json.error.code]).toEqual([503, 'server_is_overloaded'])
    west.is('well')
    expect([bill.changes, new Set(agent.shortenings.map(({ mill, variant }) => `${variant} by ${mill}`))]).toEqual([
      changes,
      new Set(['natively by west']),
    ])

    // A conversation that begins now is bound to no provider.
    const newcomer = createAgent({ setup, bill, random })
    newcomer.facts.place(1)
    await newcomer.work(40)
    await newcomer.requestEverything()
    expect(new Set(newcomer.shortenings.map(({ mill, variant }) => `${variant} by ${mill}`))).toEqual(
      new Set(['by-summary by east']),
    )

    await setup.change({ lanes: ['east'] })
    const { tools: _tools, store: _store, ...toCompact } = agent.next()
    const refused = [
      await respond(server, server, agent.next()),
      await respond(server, server, toCompact, { path: '/responses/compact' }),
    ]
    for (const answer of refused) expectProblem(answer, 'invalid_encrypted_content', { param: 'input' })
    expect(setup.takeServed()).toEqual([])

    await setup.change({ lanes: ['east', 'west-again'] })
    await agent.work(20)
    await agent.requestEverything()
    const total = await expectExactCharges(setup, bill, 1)
    describeRun(agent, bill, total)
  },
  TIMEOUT_MS,
)
