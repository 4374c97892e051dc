import { chosenLanes, listUpstreams } from '../../account/lanes/chosen-lanes.ts'
import { testLanes } from '../../account/lanes/test-lanes.ts'
import { loadCatalog } from '../../catalog/load-catalog.ts'
import type { FromConfig, LaneTestWish, Place, Upstreams } from '../../cli/cli-deps.ts'
import type { Clock } from '../../lib/clock.ts'
import { createClosing } from '../../lib/closing.ts'
import type { RandomBytes } from '../../lib/random-id.ts'
import { resolveHost } from '../../upstream/guarded-connector.ts'
import { mintIdsOf } from '../../wire/mint-ids.ts'
import { nearestName } from '../config/check/nearest-name.ts'
import type { Config } from '../config/config.ts'
import type { SettingsOutcome } from '../config/load-settings.ts'
import { openSend } from '../house/open-send.ts'

export interface AskDeps {
  readonly clock: Clock
  readonly random: RandomBytes
  readonly loadSettings: (place: Place) => SettingsOutcome
}

/** Reads the configuration for itself: no books are opened, no lock is taken, and a running server is left alone. */
export function createUpstreams(deps: AskDeps): Upstreams {
  const withConfig = <Value>(place: Place, use: (config: Config) => Value): Value | Invalid => {
    const loaded = deps.loadSettings(place)
    return loaded.kind === 'invalid' ? loaded : use(loaded.settings.config)
  }
  return {
    list: (place) =>
      withConfig(place, (config) => ({ kind: 'done', value: listUpstreams(catalogOf(config), config.upstreams) })),
    test: async (place, wish) => withConfig(place, (config) => test(deps, config, wish)),
  }
}

type Invalid = Extract<FromConfig<never>, { kind: 'invalid' }>

/** What a call costs nobody asks here. */
const catalogOf = ({ upstreams, models }: Config) => loadCatalog({ upstreams, models }, () => 0)

async function test({ clock, random }: AskDeps, config: Config, { names, onBegin, onTested }: LaneTestWish) {
  const { upstreams, bounds } = config
  const { byUpstream, unknown } = chosenLanes(catalogOf(config), upstreams, names)
  const [stranger] = unknown
  if (stranger !== undefined) return unknownName(stranger, config)
  onBegin(byUpstream.reduce((sum, { lanes }) => sum + lanes.length, 0))
  const closing = createClosing()
  try {
    const called = byUpstream.map(({ upstream }) => upstream)
    const { send } = await openSend({ clock, random, resolveHost }, called, closing)
    const deps = { send, mint: mintIdsOf(random), now: () => clock.now(), ticks: () => clock.ticks() }
    const value = await testLanes({ ...deps, frameBytesMax: bounds.frameBytesMax }, byUpstream, onTested)
    return { kind: 'done' as const, value }
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
