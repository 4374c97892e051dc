import { type FaultUpstream, type Script, startFaultUpstream } from '../../fakes/fault-upstream.ts'
import { type StartOptions, startServer, type TestServer } from '../../support/start-server.ts'
import { EVERY_LANE_ASKED } from '../../support/test-config.ts'

/** The real house in front of one provider whose scripts the test writes itself. */
export interface RemoteSetup {
  readonly server: TestServer
  readonly far: FaultUpstream
  close(): Promise<void>
}

export interface FarModel {
  /** One for each lane, in the order in which they are tried. */
  readonly lanes: readonly string[]
  /** More of the model's entry, as YAML. */
  readonly more?: string
  /** One of the house's upstreams, `far` unless there are others. */
  readonly upstream?: string
}

export interface FarOptions {
  readonly config?: string
  readonly timeouts?: string
  /** All of them lead to the one provider; what else stands in their entries, as YAML. */
  readonly upstreams?: Readonly<Record<string, string>>
  /** The name under which the provider is asked, instead of its address. */
  readonly host?: string
  readonly overrides?: StartOptions['overrides']
}

export async function startRemoteSetup(
  scripts: Readonly<Record<string, Script>>,
  models: Readonly<Record<string, FarModel>>,
  { config = '', timeouts = '', upstreams = { far: '' }, host = '127.0.0.1', overrides = {} }: FarOptions = {},
): Promise<RemoteSetup> {
  const far = await startFaultUpstream((model) => scripts[model])
  const entries = Object.entries(models).map(([id, { lanes, more = '', upstream = 'far' }]) => {
    const written = lanes.map((model, at) => `{ upstream: ${upstream}, model: ${model}, priority: ${at} }`)
    return `  - { id: ${id}, context_tokens: 100000, max_output_tokens: 2000, price: ${PRICE}, ${more} lanes: [${written}] }\n`
  })
  const common = `base_url: "http://${host}:${far.port}/v1", allow_private: true, timeouts: { ${timeouts} }`
  const providers = Object.entries(upstreams).map(
    ([id, written]) => `  - { id: ${id}, ${written.includes('wire:') ? '' : 'wire: chat, '}${common}, ${written} }\n`,
  )
  const server = await startServer({
    overrides,
    config: `${EVERY_LANE_ASKED}${config}\nupstreams:\n${providers.join('')}models:\n${entries.join('')}`,
  })
  return {
    server,
    far,
    async close() {
      await server.close()
      await far.close()
    },
  }
}

const PRICE = '{ input: "1.00", cached_input: "0.25", output: "2.00" }'
