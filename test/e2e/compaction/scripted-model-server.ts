import {
  type ScriptedModel,
  type ScriptedModelKind,
  type Served,
  startScriptedModel,
} from '../../fakes/scripted-model.ts'
import { get } from '../../support/send-chat.ts'
import { type SpawnedServer, spawnServer } from '../../support/spawn-server.ts'
import { EVERY_LANE_ASKED, withoutStrain } from '../../support/test-config.ts'
import { until } from '../../support/until.ts'

/** What the one model of the house runs on, first choice first, and what it costs. */
export interface Rules {
  /** Names of mills; `west-again` is another upstream of the same mill. */
  readonly lanes: readonly string[]
  /** Pico-dollars a token: no whole nano-dollars come of it, so rounding shows. */
  readonly inputPico: number
}

export interface MillServed extends Served {
  readonly mill: string
}

/** The program in a process of its own, in front of mills on sockets. */
export interface ScriptedModelSetup {
  readonly server: SpawnedServer
  readonly mills: Readonly<Record<string, ScriptedModel>>
  /** Those in force. */
  readonly rules: Rules
  /** Who answers: the first choice of those that are well. */
  readonly first: ScriptedModel
  /** Writes another configuration, and waits until it is in force. */
  change(changeRequest: Partial<Rules>): Promise<void>
  /** The process dies without a word and comes back. */
  die(): Promise<void>
  takeServed(): MillServed[]
  close(): Promise<void>
}

const DIALECTS: Readonly<Record<ScriptedModelKind, string>> = {
  chat: 'wire: chat, dialect: generic',
  openai: 'wire: responses, dialect: openai',
  plain: 'wire: responses, dialect: generic',
  anthropic: 'wire: anthropic, dialect: anthropic',
  gemini: 'wire: gemini, dialect: google',
}

const AGAIN = '-again'
const dollars = (pico: number): string => (pico / 1e6).toFixed(6)
export const CACHED_PICO = 75_003
export const OUTPUT_PICO = 1_200_007

export async function openScriptedModelSetup(
  kinds: Readonly<Record<string, ScriptedModelKind>>,
  given: Rules,
): Promise<ScriptedModelSetup> {
  const started = Object.entries(kinds).map(async ([name, kind]) => [name, await startScriptedModel(kind)] as const)
  const mills: Record<string, ScriptedModel> = Object.fromEntries(await Promise.all(started))
  const millOf = (lane: string): ScriptedModel => mills[lane.replace(AGAIN, '')]!
  const closeMills = () => Promise.all(Object.values(mills).map((mill) => mill.close()))
  let rules = given
  let written = 0
  const configOf = ({ lanes, inputPico }: Rules): string => `
${EVERY_LANE_ASKED}
upstreams:
${Object.entries(kinds)
  .flatMap(([name, kind]) => [[name, kind] as const, [`${name}${AGAIN}`, kind] as const])
  .map(([id, kind]) => `  - { id: ${id}, ${DIALECTS[kind]}, base_url: "${millOf(id).baseUrl}", allow_private: true }`)
  .join('\n')}
models:
  - id: mill
    description: "rules ${written}"
    efforts: [low, high]
    context_tokens: 400000
    max_output_tokens: 4000
    price: { input: "${dollars(inputPico)}", cached_input: "${dollars(CACHED_PICO)}", output: "${dollars(OUTPUT_PICO)}" }
    lanes: [${lanes.map((lane, at) => `{ upstream: ${lane}, model: stones, priority: ${at + 1} }`).join(', ')}]
`
  const server = await spawnServer({ config: configOf(given) }).catch(async (error) => {
    await closeMills()
    throw error
  })
  return {
    server,
    mills,
    get rules() {
      return rules
    },
    get first() {
      const first = rules.lanes.map(millOf).find(({ isWell }) => isWell)
      if (first === undefined) throw new Error('no mill is well')
      return first
    },
    async change(changeRequest) {
      rules = { ...rules, ...changeRequest }
      written += 1
      await server.writeConfig(withoutStrain(configOf(rules)))
      server.kill('SIGHUP')
      await until(async () => (await get(server, server, '/models')).json.data[0].description === `rules ${written}`)
    },
    async die() {
      server.kill('SIGKILL')
      await server.ended
      await server.restart()
    },
    takeServed: () =>
      Object.entries(mills).flatMap(([mill, { takeServed }]) => takeServed().map((served) => ({ ...served, mill }))),
    async close() {
      await server.close()
      await closeMills()
    },
  }
}

/** In front of one mill of every kind. */
export const openEveryMill = (): Promise<ScriptedModelSetup> =>
  openScriptedModelSetup(
    { words: 'chat', seals: 'openai', plain: 'plain', signs: 'anthropic', twin: 'gemini' },
    { lanes: ['words', 'seals', 'plain', 'signs', 'twin'], inputPico: 300_001 },
  )
