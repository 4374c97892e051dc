import { styleFor } from '../cli/style.ts'
import { type BannerFacts, formatBanner } from './banner.ts'
import { bannerUpstreams, firstModel } from './banner-models.ts'
import { greetFirstRun } from './first-run.ts'
import { configPathOf } from './load-settings.ts'
import { isLoopback } from './local-address.ts'
import type { ServingGround } from './serve-ground.ts'

type Ground = Pick<ServingGround, 'settings' | 'terminal' | 'house'>

const logsJson = ({ settings }: Ground): boolean => settings.config.telemetry.log.format === 'json'

/** Says that the server is ready, and to a newcomer everything that the first request needs. */
export async function announceReady(ground: ServingGround): Promise<void> {
  const { settings, house, terminal } = ground
  const { server, storage, upstreams } = settings.config
  const config = configPathOf(settings)
  const attended = terminal.attended && !logsJson(ground)
  const firstRun = { configPath: config, host: server.host, data: storage.data, attended }
  const books = await greetFirstRun(house.operations, firstRun)
  const catalog = house.operations.catalog()
  announce(ground, {
    version: ground.version,
    node: ground.node,
    data: storage.data,
    config,
    url: ground.url,
    publicUrl: server.publicUrl,
    metricsUrl: ground.metricsUrl,
    loopback: isLoopback(server.host),
    upstreams: bannerUpstreams(catalog, upstreams),
    model: firstModel(catalog),
    books,
    seconds: ground.clock.ticks() / 1e6,
  })
}

/** With JSON asked for, everything that is said is a line of JSON; a secret is never part of one. */
function announce(ground: ServingGround, facts: BannerFacts): void {
  const { terminal, house } = ground
  if (!logsJson(ground)) {
    terminal.err(formatBanner(styleFor(terminal.colours.err), facts))
    return
  }
  const { url, data, config, books } = facts
  const firstKey = books.kind === 'first-run' && 'file' in books.key ? { first_key: books.key.file } : {}
  house.log.info({ url, data, config: config ?? null, ...firstKey }, 'ready')
}

export function say(ground: Ground, message: string): void {
  if (logsJson(ground)) ground.house.log.info({}, message)
  else ground.terminal.err(`${message}\n`)
}
