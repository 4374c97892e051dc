import { chosenLanes, listUpstreams, testLanes } from '../admin/test-lanes.ts'
import { loadCatalog } from '../catalog/load-catalog.ts'
import type { FromConfig, LaneTestRequest, Place, Upstreams } from '../cli/cli-services.ts'
import type { Config } from '../config/config.ts'
import { configPathOf, type LoadedConfig, type SettingsOutcome } from '../config/load-config.ts'
import type { ConfigFlags } from '../config/overrides.ts'
import type { Clock } from '../lib/clock.ts'
import type { RandomBytes } from '../lib/random-id.ts'
import { nearestName } from '../lib/text.ts'
import { resolveHost } from '../providers/address-guard.ts'
import { callProviders } from './open-send.ts'
import { findRunningServer } from './server-note.ts'

interface UpstreamsServices {
  readonly clock: Clock
  readonly random: RandomBytes
  readonly loadSettings: (flags: ConfigFlags) => SettingsOutcome
}

/** Works from the configuration alone: no ledger is opened, no lock is taken, and a running server is not involved. */
export function createUpstreams(deps: UpstreamsServices): Upstreams {
  return {
    list: async (place) => {
      const chosen = await chooseConfig(deps, place)
      if (chosen.kind === 'invalid') return chosen
      const { config, used } = chosen
      return { kind: 'done', value: listUpstreams(catalogOf(config), config.upstreams), used }
    },
    test: async (place, request) => {
      const chosen = await chooseConfig(deps, place)
      return chosen.kind === 'invalid' ? chosen : test(deps, chosen, request)
    },
  }
}

type Invalid = Extract<FromConfig<never>, { kind: 'invalid' }>
type ChosenConfig = ReturnType<typeof chosenOf>

const chosenOf = (settings: LoadedConfig, serverPid: number | null) => ({
  ...{ kind: 'chosen' as const, config: settings.config },
  used: { path: configPathOf(settings) ?? null, serverPid },
})

/** The file that the server on this data folder was started with, unless `--config` names one. */
async function chooseConfig({ loadSettings }: UpstreamsServices, place: Place): Promise<ChosenConfig | Invalid> {
  const own = loadSettings(place)
  const data = own.kind === 'invalid' ? own.data : own.settings.config.storage.data
  const server = place.config === undefined && data !== undefined ? await findRunningServer(data) : undefined
  if (server?.config === undefined) return own.kind === 'invalid' ? own : chosenOf(own.settings, null)
  const loaded = loadSettings({ config: server.config, data })
  if (loaded.kind === 'loaded') return chosenOf(loaded.settings, server.pid)
  const whose = `The running server (pid ${server.pid}) uses ${server.config}, which cannot be read here:`
  const remedy = 'Fix it, set the variables here that only the server has, or name another file with --config.'
  return { kind: 'invalid', message: [whose, loaded.message, remedy].join('\n') }
}

/** Without prices, which these commands do not use. */
const catalogOf = ({ upstreams, models }: Config) => loadCatalog({ upstreams, models }, () => 0)

async function test({ clock, random }: UpstreamsServices, { config, used }: ChosenConfig, request: LaneTestRequest) {
  const { names, onBegin, onTested } = request
  const { upstreams } = config
  const { byUpstream, unknown } = chosenLanes(catalogOf(config), upstreams, names)
  const [name] = unknown
  if (name !== undefined) return unknownName(name, config)
  onBegin(
    byUpstream.reduce((sum, { lanes }) => sum + lanes.length, 0),
    used,
  )
  const called = byUpstream.map(({ upstream }) => upstream)
  const value = await callProviders({ config, clock, random, resolveHost }, called, (services) =>
    testLanes(services, byUpstream, onTested),
  )
  return { kind: 'done' as const, value, used }
}

function unknownName(name: string, { upstreams, models }: Config): Invalid {
  const lanes = models.flatMap((model) => model.lanes.map((lane) => `${lane.upstream}/${lane.model}`))
  const known = [...upstreams.map(({ id }) => id), ...models.map(({ id }) => id), ...lanes]
  const near = nearestName(name, known)
  const hint = near === undefined ? 'millrace upstreams list says which there are.' : `Perhaps ${near}?`
  return { kind: 'invalid', message: `No upstream, model or lane is called ${name}. ${hint}` }
}
