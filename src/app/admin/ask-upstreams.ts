import { chosenLanes, listUpstreams } from '../../account/lanes/chosen-lanes.ts'
import { testLanes } from '../../account/lanes/test-lanes.ts'
import { loadCatalog } from '../../catalog/load-catalog.ts'
import type { ConfigUsed, FromConfig, LaneTestWish, Place, Upstreams } from '../../cli/cli-deps.ts'
import type { Clock } from '../../lib/clock.ts'
import { createClosing } from '../../lib/closing.ts'
import { nearestName } from '../../lib/nearest-name.ts'
import type { RandomBytes } from '../../lib/random-id.ts'
import { resolveHost } from '../../upstream/guarded-connector.ts'
import { mintIdsOf } from '../../wire/mint-ids.ts'
import type { Config } from '../config/config.ts'
import type { LoadedConfig } from '../config/load-config.ts'
import { configPathOf, type SettingsOutcome } from '../config/load-settings.ts'
import type { ConfigFlags } from '../config/read/overrides.ts'
import { openSend } from '../house/open-send.ts'
import { findRunningServer } from '../serve/server-note.ts'

export interface AskDeps {
  readonly clock: Clock
  readonly random: RandomBytes
  readonly loadSettings: (flags: ConfigFlags) => SettingsOutcome
}

/** Reads the configuration for itself: no books are opened, no lock is taken, and a running server is left alone. */
export function createUpstreams(deps: AskDeps): Upstreams {
  return {
    list: async (place) => {
      const chosen = await chooseConfig(deps, place)
      if (chosen.kind === 'invalid') return chosen
      const { config, used } = chosen
      return { kind: 'done', value: listUpstreams(catalogOf(config), config.upstreams), used }
    },
    test: async (place, wish) => {
      const chosen = await chooseConfig(deps, place)
      return chosen.kind === 'invalid' ? chosen : test(deps, chosen, wish)
    },
  }
}

type Invalid = Extract<FromConfig<never>, { kind: 'invalid' }>

interface ChosenConfig {
  readonly kind: 'chosen'
  readonly config: Config
  readonly used: ConfigUsed
}

const chosenOf = (settings: LoadedConfig, serverPid: number | null): ChosenConfig => ({
  ...{ kind: 'chosen', config: settings.config },
  used: { path: configPathOf(settings) ?? null, serverPid },
})

/** The file that the server on this data folder was started with, unless `--config` names one. */
async function chooseConfig({ loadSettings }: AskDeps, place: Place): Promise<ChosenConfig | Invalid> {
  const own = loadSettings(place)
  const data = own.kind === 'invalid' ? own.data : own.settings.config.storage.data
  const server = place.config === undefined && data !== undefined ? await findRunningServer(data) : undefined
  if (server?.config === undefined) return own.kind === 'invalid' ? own : chosenOf(own.settings, null)
  const loaded = loadSettings({ config: server.config, data })
  if (loaded.kind === 'loaded') return chosenOf(loaded.settings, server.pid)
  const whose = `The running server (pid ${server.pid}) uses ${server.config}, which cannot be read here:`
  const cure = 'Fix it, set the variables here that only the server has, or name another file with --config.'
  return { kind: 'invalid', message: [whose, loaded.message, cure].join('\n') }
}

/** What a call costs nobody asks here. */
const catalogOf = ({ upstreams, models }: Config) => loadCatalog({ upstreams, models }, () => 0)

async function test({ clock, random }: AskDeps, { config, used }: ChosenConfig, wish: LaneTestWish) {
  const { names, onBegin, onTested } = wish
  const { upstreams, bounds } = config
  const { byUpstream, unknown } = chosenLanes(catalogOf(config), upstreams, names)
  const [stranger] = unknown
  if (stranger !== undefined) return unknownName(stranger, config)
  onBegin(
    byUpstream.reduce((sum, { lanes }) => sum + lanes.length, 0),
    used,
  )
  const closing = createClosing()
  try {
    const called = byUpstream.map(({ upstream }) => upstream)
    const { send } = await openSend({ clock, random, resolveHost }, called, closing)
    const deps = { send, mint: mintIdsOf(random), now: () => clock.now(), ticks: () => clock.ticks() }
    const value = await testLanes({ ...deps, frameBytesMax: bounds.frameBytesMax }, byUpstream, onTested)
    return { kind: 'done' as const, value, used }
  } finally {
    await closing.close()
  }
}

function unknownName(name: string, { upstreams, models }: Config): Invalid {
  const lanes = models.flatMap((model) => model.lanes.map((lane) => `${lane.upstream}/${lane.model}`))
  const known = [...upstreams.map(({ id }) => id), ...models.map(({ id }) => id), ...lanes]
  const near = nearestName(name, known)
  const hint = near === undefined ? 'millrace upstreams list says which there are.' : `Perhaps ${near}?`
  return { kind: 'invalid', message: `No upstream, model or lane is called ${name}. ${hint}` }
}
