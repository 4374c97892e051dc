import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import type { Stage } from '../../fakes/emit.ts'
import { type FaultUpstream, startFaultUpstream } from '../../fakes/fault-upstream.ts'
import { laneModel, scriptOfModel } from '../../fakes/faults.ts'
import { createCertificate } from '../../fixtures/providers/certificate.ts'
import { startServer, type TestServer } from '../../support/start-server.ts'
import { EVERY_LANE_ASKED } from '../../support/test-config.ts'
import { CASES, type Case } from './fault-cases.ts'
import type { FaultRow, UpstreamName } from './fault-row.ts'
import { resolveHere, TRUSTLESS_HOST } from './resolve-to-loopback.ts'

/** The real house in front of a provider that has every fault, and of one that has none. */
export interface FaultServer {
  readonly server: TestServer
  readonly faulty: FaultUpstream
  readonly healthy: FaultUpstream
  close(): Promise<void>
}

/** Nano-dollars a token. */
export const PRICE = { input: 1000n, cachedInput: 250n, output: 2000n } as const
export const BODY_BYTES_MAX = 8 * 1024 * 1024

const stageOf = ({ column }: Pick<Case, 'column'>): Stage => (column.endsWith('After') ? 'after' : 'before')
const rowName = ({ fault, upstream = 'patient' }: FaultRow, stage: Stage) => `${upstream}-${fault}-${stage}`

/** What the client calls: the faulty lane alone, or with a healthy one behind it. */
export const modelOf = (subject: Pick<Case, 'row' | 'column'>, lanes: 'alone' | 'backed'): string =>
  `${rowName(subject.row, stageOf(subject))}-${lanes}`

/** The lane as receipts name it. */
export const faultyLane = ({ row, column }: Pick<Case, 'row' | 'column'>): string =>
  `${row.upstream ?? 'patient'}/${laneModel(row.fault, stageOf({ column }))}`
export const HEALTHY_LANE = `healthy/${laneModel('healthy', 'before')}`

export async function startFaultServer(more = ''): Promise<FaultServer> {
  const faulty = await startFaultUpstream(scriptOfModel)
  const healthy = await startFaultUpstream(scriptOfModel)
  const grounds = await openGrounds()
  const config = configOf({ faulty, healthy, ...grounds }) + more
  const server = await startServer({ config, overrides: { resolveHost: resolveHere } })
  return {
    server,
    faulty,
    healthy,
    async close() {
      await server.close()
      await Promise.all([faulty.close(), healthy.close(), grounds.close()])
    },
  }
}

/** Addresses where there is no provider at all. */
async function openGrounds() {
  const disconnected = createServer()
  const mute = createServer((socket) => socket.on('error', () => {}))
  const untrusted = createTlsServer({ ...createCertificate(TRUSTLESS_HOST) }).on('tlsClientError', () => {})
  const sockets = new Set<Socket>()
  for (const server of [disconnected, mute, untrusted]) {
    // The test reads nothing from them, so they would never see that the other side has closed.
    server.on('connection', (socket: Socket) => sockets.add(socket))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
  }
  const portOf = (server: { address(): unknown }) => (server.address() as AddressInfo).port
  const ports = { gonePort: portOf(disconnected), mutePort: portOf(mute), untrustedPort: portOf(untrusted) }
  disconnected.close()
  return {
    ...ports,
    async close() {
      mute.close()
      untrusted.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}

interface StageContext {
  readonly faulty: FaultUpstream
  readonly healthy: FaultUpstream
  readonly gonePort: number
  readonly mutePort: number
  readonly untrustedPort: number
}

/** Only the time that a fault exceeds is short: no other deadline can stand in for it, and no busy machine either. */
function upstreamsOf({ faulty, healthy, ...ports }: StageContext): Record<UpstreamName | 'healthy', string> {
  const brief = (timeouts: string) => `base_url: "${faulty.baseUrl}", timeouts: { ${timeouts} }`
  return {
    patient: `base_url: "${faulty.baseUrl}"`,
    refusing: `base_url: "http://127.0.0.1:${ports.gonePort}/v1"`,
    nameless: 'base_url: "https://nobody.example/v1"',
    untrusted: `base_url: "https://${TRUSTLESS_HOST}:${ports.untrustedPort}/v1"`,
    unconnected: `base_url: "https://127.0.0.1:${ports.mutePort}/v1", timeouts: { connect: 100ms }`,
    'brief-first-byte': brief('first_byte: 100ms'),
    'brief-json-answer': brief('json_answer: 100ms'),
    'brief-idle': brief('idle: 200ms'),
    'brief-no-progress': brief('no_progress: 250ms'),
    'brief-total': brief('total: 600ms'),
    healthy: `base_url: "${healthy.baseUrl}"`,
  }
}

function configOf(stageContext: StageContext): string {
  const upstreams = Object.entries(upstreamsOf(stageContext)).map(
    ([id, more]) => `  - { id: ${id}, wire: chat, allow_private: true, ${more} }\n`,
  )
  const models = new Map<string, string>()
  for (const subject of CASES) {
    const { row } = subject
    const lane = `{ upstream: ${row.upstream ?? 'patient'}, model: ${laneModel(row.fault, stageOf(subject))}, priority: 1 }`
    models.set(modelOf(subject, 'alone'), lane)
    models.set(modelOf(subject, 'backed'), `${lane}, { upstream: healthy, model: healthy.before, priority: 2 }`)
  }
  return `bounds: { body_bytes: ${BODY_BYTES_MAX / 1024 / 1024}MiB }\n${EVERY_LANE_ASKED}upstreams:\n${upstreams.join('')}models:\n${[...models].map(modelText).join('')}`
}

const modelText = ([id, lanes]: readonly [string, string]): string => `  - id: ${id}
    context_tokens: 100000
    max_output_tokens: 2000
    price: { input: "1.00", cached_input: "0.25", output: "2.00" }
    lanes: [${lanes}]
`
