import { expect, it } from 'vitest'
import type { Script } from '../../fakes/fault-upstream.ts'
import { FAULTS } from '../../fakes/faults.ts'
import { signUp } from '../../support/console-session.ts'
import { chat } from '../../support/send-chat.ts'
import { openAccount } from '../../support/test-account.ts'
import { modelLine, upstreamLine, useScriptedUpstream } from '../lessons/scripted-server.ts'

let key: 'refused-401' | 'healthy' = 'refused-401'
const asKeyed: Script = (providerAnswer) => FAULTS[key](providerAnswer, 'before')
const scripts: Readonly<Record<string, Script>> = { locked: asKeyed }

const setup = useScriptedUpstream(
  (model) => scripts[model],
  (baseUrl) => `upstreams:\n${upstreamLine(baseUrl)}models:\n${modelLine('locked', ['locked'])}`,
)

it('a model whose circuits are all open stays unavailable until a probe succeeds', async () => {
  const { server } = setup()
  const account = await openAccount(server)
  const owner = await signUp(server, { email: 'models@console.example', account: account.id })
  const available = async () => (await owner.call('GET /models')).items.map((model) => model.available)
  expect(await available()).toEqual([true])
  const refused = await chat(server, account, { model: 'locked' })
  expect(refused.json.error.code).toBe('provider_misconfigured')
  expect(await available()).toEqual([false])
  server.advance(3_600_000)
  expect(await available()).toEqual([false])
  key = 'healthy'
  expect((await chat(server, account, { model: 'locked' })).status).toBe(200)
  expect(await available()).toEqual([true])
})
