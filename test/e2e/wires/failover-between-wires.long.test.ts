import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { get } from '../../support/send-chat.ts'
import { type SpawnedServer, spawnServer } from '../../support/spawn-server.ts'
import { withoutStrain } from '../../support/test-config.ts'
import { until } from '../../support/until.ts'
import { scriptedAnswers } from './scripted-answers.ts'
import { sealsIn, shortly } from './summarize-events.ts'
import { type ClientMode, type ConversationClient, createConversationClient, type TurnOutput } from './wire-clients.ts'
import { dialectOf, type Provider, type Received, startProvider, WIRES, type Wire } from './wires-server.ts'

const CLIENTS: readonly ClientMode[] = ['chat', 'carrying', 'by id', 'by reference']
const LOOP = 'Use look_up then ping then list then note.'
const OPENING_MS = 60_000

/** Where the one model that moves runs now. */
interface Place {
  readonly wire: Wire
  readonly key?: string
}

/** Models that stay where they are. */
const STAYING = {
  'stays-anthropic': { wire: 'anthropic' },
  'stays-budget': { wire: 'anthropic', traits: ', traits: { efforts: { none: disabled, low: 2000 } }' },
  'stays-gemini': { wire: 'gemini' },
  'stays-responses': { wire: 'responses' },
} as const satisfies Record<string, { readonly wire: Wire; readonly traits?: string }>
const STAYING_IDS = Object.keys(STAYING) as readonly (keyof typeof STAYING)[]

const KEY = 'a-first-key-of-theirs'
let written = 0
let server: SpawnedServer
const providers = new Map<Wire, Provider>()

function configOf({ wire, key = KEY }: Place): string {
  written += 1
  const upstream = (id: string, of: Wire, secret: string) =>
    `  - { id: ${id}, wire: ${of}, dialect: ${dialectOf(of, of)}, api_key: "${secret}", allow_private: true, base_url: "${providers.get(of)?.upstream.baseUrl}" }\n`
  const model = (id: string, lane: string) =>
    `  - { id: ${id}, description: "rules ${written}", efforts: [none, low], context_tokens: 128000, max_output_tokens: 8192, price: { input: "1.00", output: "2.00" }, lanes: [{ ${lane} }] }\n`
  const stays = Object.entries(STAYING).map(([id, { wire: at, ...more }]) =>
    model(id, `upstream: ${at}, model: mind${'traits' in more ? more.traits : ''}`),
  )
  return [
    'upstreams:\n',
    upstream('there', wire, key),
    ...WIRES.map((each) => upstream(each, each, KEY)),
    'models:\n',
    model('mind', 'upstream: there, model: mind'),
    ...stays,
  ].join('')
}

beforeAll(async () => {
  for (const wire of WIRES) providers.set(wire, await startProvider(wire, scriptedAnswers()))
  server = await spawnServer({ config: configOf({ wire: 'anthropic' }) })
}, OPENING_MS)
afterEach(() => {
  for (const [wire, { refused }] of providers) expect(refused.splice(0), `refused by ${wire}`).toEqual([])
})
afterAll(async () => {
  await server?.close()
  for (const { upstream } of providers.values()) await upstream.close()
})

async function moveTo(place: Place): Promise<void> {
  await server.writeConfig(withoutStrain(configOf(place)))
  server.kill('SIGHUP')
  await until(async () => (await get(server, server, '/models')).json.data[0].description === `rules ${written}`)
}

async function dieAndComeBack(): Promise<void> {
  server.kill('SIGKILL')
  await server.ended
  await server.restart()
}

const clients = (): readonly (readonly [ClientMode, ConversationClient])[] =>
  CLIENTS.map((mode) => [mode, createConversationClient(server, server, mode)])

interface Step {
  readonly mode: ClientMode
  readonly emitted: TurnOutput
  readonly receivedRequest: Received
}

/** Each of them says this; what the provider was asked for each. */
async function all(
  group: ReturnType<typeof clients>,
  wire: Wire,
  { words, model = 'mind' }: { readonly words?: string; readonly model?: string } = {},
): Promise<readonly Step[]> {
  const steps: Step[] = []
  for (const [mode, conversationClient] of group) {
    const emitted = await conversationClient.sendTurn(model, words)
    steps.push({
      mode,
      emitted,
      receivedRequest: providers.get(wire)?.upstream.providerAnswers.at(-1)?.receivedRequest ?? {},
    })
  }
  return steps
}

const END = 'The tool said: "look_up-gave-0" and "ping-gave-1" and "list-gave-2" and "note-gave-3".'

describe('in mid-loop', () => {
  it('a reload moves the model from wire to wire and back', async () => {
    const group = clients()
    const route: readonly Wire[] = ['anthropic', 'gemini', 'responses', 'chat']
    for (const [at, wire] of route.entries()) {
      await moveTo({ wire })
      for (const { mode, emitted, receivedRequest } of await all(group, wire, at === 0 ? { words: LOOP } : {})) {
        expect(emitted.calls, `${mode} over ${wire}`).toEqual([['look_up', 'ping', 'list', 'note'][at]])
        expect(sealsIn(receivedRequest), shortly(receivedRequest).join(' ')).toEqual([])
      }
    }
    await moveTo({ wire: 'anthropic' })
    for (const { mode, emitted, receivedRequest } of await all(group, 'anthropic')) {
      expect(emitted.words, mode).toBe(END)
      expect(sealsIn(receivedRequest), `${mode}: ${shortly(receivedRequest).join(' ')}`).toHaveLength(1)
    }
  })

  it.each(['anthropic', 'gemini', 'responses'] as const)(
    'the credential at %s changes and changes back',
    async (wire) => {
      await moveTo({ wire })
      const group = clients()
      await all(group, wire, { words: LOOP })
      await moveTo({ wire, key: 'another-key-of-theirs' })
      for (const { receivedRequest } of await all(group, wire)) expect(sealsIn(receivedRequest)).toEqual([])
      await moveTo({ wire })
      for (const { receivedRequest } of await all(group, wire))
        expect(sealsIn(receivedRequest), shortly(receivedRequest).join(' ')).toHaveLength(1)
    },
  )

  it('the process restarts; only in-memory state is lost', async () => {
    const groups = STAYING_IDS.map((model) => ({ model, wire: STAYING[model].wire, group: clients() }))
    for (const { model, wire, group } of groups) await all(group, wire, { words: LOOP, model })
    await dieAndComeBack()
    for (const { model, wire, group } of groups) {
      for (const { mode, emitted, receivedRequest } of await all(group, wire, { model })) {
        expect(emitted.calls).toEqual(['ping'])
        // Who has no place for what was signed had it kept in memory; the others carry it, or it is stored.
        const about = `${model}, ${mode}: ${shortly(receivedRequest).join(' ')}`
        expect(sealsIn(receivedRequest), about).toHaveLength(mode === 'chat' ? 0 : 1)
      }
      await all(group, wire, { model })
      await all(group, wire, { model })
      for (const { mode, emitted, receivedRequest } of await all(group, wire, { model })) {
        expect(emitted.words).toBe(END)
        expect(sealsIn(receivedRequest), shortly(receivedRequest).join(' ')).toHaveLength(
          SEALS_AT_END[mode === 'chat' ? model : 'carried'],
        )
      }
    }
  })
})

/** A model that is told how long to think is not, until its own calls come with thinking again: not in this loop. */
const SEALS_AT_END = {
  ...{ carried: 4, 'stays-anthropic': 3, 'stays-budget': 0, 'stays-gemini': 3, 'stays-responses': 3 },
}
