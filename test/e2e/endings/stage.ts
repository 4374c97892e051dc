import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { type FaultUpstream, type Script, startFaultUpstream } from '../../fakes/fault-upstream.ts'
import { startServer, type TestServer } from '../../support/start-server.ts'
import { EVERY_LANE_ASKED } from '../../support/test-config.ts'
import { MODEL_CAP, PRICE_YAML } from './charges-page.ts'
import type { Column } from './columns.ts'
import type { Course, Ending, UpstreamName } from './ending.ts'
import type { Wire } from './provider-frames.ts'
import { asStream, playSteps, WHOLE } from './provider-steps.ts'

/** A provider of many faces, whose talks wait where their steps say so, until the test lets them go on. */
export interface Provider {
  readonly far: FaultUpstream
  /** How many talks wait. */
  readonly waiting: number
  goOn(): void
  /** From now on it answers everything as it should. */
  heal(): void
  /** As at the beginning. */
  reset(): void
}

/** What is played, and to whom it was promised. */
export interface Played {
  readonly ending: Ending
  readonly course: Course
  readonly model: string
  /** What its lanes speak. */
  readonly wire: Wire
}

export const playedIn = (column: Column, endings: readonly Ending[]): readonly Played[] =>
  endings.flatMap((ending, at) => {
    const course = courseIn(column, ending)
    return course ? [{ ending, course, model: `e${at}`, wire: column.wire }] : []
  })

/** Who gives the reason and the counts in one piece cannot break off between the two. */
const COUNTS_WITH_THE_REASON: ReadonlySet<Wire> = new Set(['responses', 'anthropic'])

function courseIn(column: Column, ending: Ending): Course | undefined {
  const isStreamedResponse = column.path === '/responses' && column.variant === 'stream'
  if (ending.streamedResponseOnly && !isStreamedResponse) return undefined
  if (ending.countsApart && COUNTS_WITH_THE_REASON.has(column.wire)) return undefined
  switch (column.variant) {
    case 'json':
    case 'stream':
      return ending[column.variant]
    case 'collected':
      return collectedIn(ending)
    case 'compacted':
      // Only a stream has a head before there is anything to say.
      if (ending.hasty) return column.delivery === 'stream' ? (ending.compacted ?? ending.stream) : undefined
      return ending.compacted ?? collectedIn(ending)
  }
}

const collectedIn = ({ collected, json }: Ending): Course | undefined =>
  collected ?? (json && { ...json, provider: json.provider.map(asStream) })

const laneModel = (model: string, lane: number): string => `${model}.${lane}`

export async function startProvider(played: readonly Played[]): Promise<Provider> {
  const lanes = new Map(
    played.flatMap(({ model, wire, course }) =>
      course.provider.map((steps, at) => [laneModel(model, at), { wire, steps }] as const),
    ),
  )
  const state = { waiting: 0, healed: false }
  let release = () => {}
  let released = Promise.resolve()
  const reset = () => {
    release()
    state.waiting = 0
    state.healed = false
    far.forget()
    released = new Promise((resolve) => {
      release = resolve
    })
  }
  const wait = () => {
    state.waiting += 1
    return released
  }
  const scriptOf = (model: string): Script => {
    const { wire = 'chat', steps } = lanes.get(model) ?? {}
    return (providerAnswer) =>
      playSteps(providerAnswer, {
        wire,
        steps: (state.healed ? undefined : steps) ?? WHOLE[providerAnswer.delivery],
        wait,
      })
  }
  const far = await startFaultUpstream(scriptOf)
  reset()
  return {
    far,
    get waiting() {
      return state.waiting
    },
    goOn: () => release(),
    heal() {
      state.healed = true
    },
    reset,
  }
}

async function deafPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  return port
}

/** Only the time that an ending exceeds is short: no other deadline can stand in for it. */
const TIMEOUTS: Readonly<Record<UpstreamName, string>> = {
  patient: '',
  deaf: '',
  'brief-first-byte': 'first_byte: 100ms',
  'brief-idle': 'idle: 200ms',
  'brief-no-progress': 'no_progress: 250ms',
  'brief-total': 'total: 500ms',
}

const WIRES: readonly Wire[] = ['chat', 'responses', 'anthropic', 'gemini']

/** A window that is short enough to end while an answer waits, and no deadline notices. */
export const WINDOW_MS = 60_000

export async function configOf(played: readonly Played[], provider: Provider, more = ''): Promise<string> {
  const deaf = await deafPort()
  const each = WIRES.flatMap((wire) => Object.entries(TIMEOUTS).map(([id, timeouts]) => ({ wire, id, timeouts })))
  const upstreams = each.map(({ wire, id, timeouts }) => {
    const port = id === 'deaf' ? deaf : provider.far.port
    return `  - { id: ${wire}-${id}, wire: ${wire}, dialect: generic, base_url: "http://127.0.0.1:${port}/v1", allow_private: true, timeouts: { ${timeouts} } }`
  })
  const models = played.map(({ model, wire, ending, course }) => {
    const upstream = `${wire}-${ending.upstream ?? 'patient'}`
    const lanes = course.provider.map(
      (_, at) => `{ upstream: ${upstream}, model: ${laneModel(model, at)}, priority: ${at} }`,
    )
    return `  - { id: ${model}, efforts: [], context_tokens: 100000, max_output_tokens: ${MODEL_CAP}, price: ${PRICE_YAML}, lanes: [${lanes.join(', ')}] }`
  })
  return `${more}
${EVERY_LANE_ASKED}
upstreams:
${upstreams.join('\n')}
models:
${models.join('\n')}
plans:
  - { id: matrix, models: ["*"], windows: [{ every: ${WINDOW_MS / 60_000}m, allowance: "1.00" }, { every: month, allowance: "5.00" }] }
`
}

/** Half a minute in earnest, and up to seconds until the ledger is tried again; the tests do not wait for that. */
const overrides = { outageGraceMs: 300, readBackPauseMs: 5 }

/** The real house in front of that provider, and one more whose streams begin before there is anything to say. */
export interface Stage {
  readonly provider: Provider
  serverFor(ending: Ending): TestServer
  close(): Promise<void>
}

export async function openStage(played: readonly Played[]): Promise<Stage> {
  const provider = await startProvider(played)
  const start = async (more = '') => startServer({ overrides, config: await configOf(played, provider, more) })
  const server = await start()
  const hasty = await start('streams: { silence_before_head: 30ms }')
  return {
    provider,
    serverFor: (ending) => (ending.hasty ? hasty : server),
    async close() {
      await server.close()
      await hasty.close()
      await provider.far.close()
    },
  }
}
