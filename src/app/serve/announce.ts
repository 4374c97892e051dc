import { rm } from 'node:fs/promises'
import { inviteFirstPerson } from '../../account/people/invite-person.ts'
import type { Catalog, Upstream } from '../../catalog/catalog.ts'
import { styleFor } from '../../cli/format.ts'
import { shellWord } from '../../lib/anywhere/shell-word.ts'
import { isLoopback } from '../../lib/local-address.ts'
import { configPathOf } from '../config/load-settings.ts'
import { consoleSetupFile } from '../house/open-people.ts'
import { writePrivately } from '../process/private-files.ts'
import { type BannerConsole, type BannerFacts, type BannerUpstream, formatBanner } from './banner.ts'
import { greetFirstRun } from './first-run.ts'
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
    console: await inviteToConsole(ground, attended),
    loopback: isLoopback(server.host),
    upstreams: bannerUpstreams(catalog, upstreams),
    model: firstModel(catalog),
    command: (words) => commandLine(ground, words),
    books,
    notices: house.notices,
    seconds: ground.clock.ticks() / 1e6,
  })
}

/** A command with this configuration file and data folder, for any working directory. */
function commandLine({ program, settings }: ServingGround, words: string): string {
  const config = configPathOf(settings)
  const named = config === undefined ? '' : ` --config ${shellWord(config)}`
  return `${program} ${words}${named} --data ${shellWord(settings.config.storage.data)}`
}

/** Somebody has to be the first; the link is a secret, so it goes where the first key goes. */
async function inviteToConsole(ground: ServingGround, attended: boolean): Promise<BannerConsole | undefined> {
  const { settings, house } = ground
  const { server, storage } = settings.config
  if (!settings.config.console.enabled) return undefined
  const url = `${server.publicUrl ?? ground.url}/console`
  const invited = await inviteFirstPerson(house.operations.people)
  const file = consoleSetupFile(storage.data)
  if (invited === undefined) {
    // One that is left from before somebody signed up.
    await rm(file, { force: true })
    return { url, setup: undefined }
  }
  const link = `${url}/setup?code=${invited.code}`
  if (attended) return { url, setup: { link } }
  await writePrivately(file, `${link}\n`)
  return { url, setup: { file } }
}

/** With JSON asked for, everything that is said is a line of JSON; a secret is never part of one. */
function announce(ground: ServingGround, facts: BannerFacts): void {
  const { terminal, house } = ground
  if (!logsJson(ground)) {
    terminal.err(formatBanner(styleFor(terminal.colours.err), facts))
    return
  }
  const { url, data, config, books } = facts
  const { console: told } = facts
  const firstKey = books.kind === 'first-run' && 'file' in books.key ? { first_key: books.key.file } : {}
  const setup = told?.setup !== undefined && 'file' in told.setup ? { console_setup: told.setup.file } : {}
  house.log.info({ url, data, config: config ?? null, console: told?.url, ...firstKey, ...setup }, 'ready')
}

export function say(ground: Ground, message: string): void {
  if (logsJson(ground)) ground.house.log.info({}, message)
  else ground.terminal.err(`${message}\n`)
}

/** Every provider with how many models have a lane on it. */
const bannerUpstreams = (catalog: Catalog, upstreams: readonly Upstream[]): BannerUpstream[] =>
  upstreams.map(({ id, wire, baseUrl }) => ({
    id,
    where: wire === 'demo' ? 'built in, no network' : (baseUrl ?? wire),
    models: catalog.models.filter((model) => model.lanes.some((lane) => lane.upstream.id === id)).length,
  }))

/** What a newcomer's first request asks for: the first model that a wallet key may call. */
const firstModel = (catalog: Catalog): string | undefined =>
  catalog.models.find((model) => model.price !== undefined && model.kinds.includes('wallet'))?.id
