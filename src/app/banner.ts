import { rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { createAccount } from '../admin/accounts.ts'
import { inviteFirstPerson, PLACEHOLDER_EMAIL } from '../admin/invitations.ts'
import { createKey } from '../admin/keys.ts'
import type { AdminServices } from '../admin/services.ts'
import type { Outcome } from '../admin/outcome.ts'
import { creditWallet } from '../admin/wallet.ts'
import type { Catalog, Upstream } from '../catalog/catalog.ts'
import { alignColumns, countOf, type Style, styleFor } from '../cli/format.ts'
import { configPathOf } from '../config/load-config.ts'
import { listAccounts } from '../db/accounts.ts'
import { shellWord } from '../lib/anywhere/shell-word.ts'
import { isLoopback } from '../lib/network.ts'
import { writePrivately } from '../lib/private-files.ts'
import { consoleSetupFile } from './data-folder.ts'
import type { ServeContext } from './server-note.ts'

type Ground = Pick<ServeContext, 'settings' | 'terminal' | 'app'>

const logsJson = ({ settings }: Ground): boolean => settings.config.telemetry.log.format === 'json'

/** Says that the server is ready, and to a newcomer everything that the first request needs. */
export async function announceReady(context: ServeContext): Promise<void> {
  const { settings, app, terminal } = context
  const { server, storage, upstreams } = settings.config
  const config = configPathOf(settings)
  const attended = terminal.attended && !logsJson(context)
  const firstRun = { configPath: config, host: server.host, data: storage.data, attended }
  const books = await greetFirstRun(app.operations, firstRun)
  const catalog = app.operations.catalog()
  announce(context, {
    version: context.version,
    node: context.node,
    data: storage.data,
    config,
    url: context.url,
    publicUrl: server.publicUrl,
    metricsUrl: context.metricsUrl,
    console: await inviteToConsole(context, attended),
    loopback: isLoopback(server.host),
    upstreams: bannerUpstreams(catalog, upstreams),
    model: firstModel(catalog),
    command: (words) => commandLine(context, words),
    books,
    notices: app.notices,
    seconds: context.clock.nowMicros() / 1e6,
  })
}

/** A command with this configuration file and data folder, for any working directory. */
function commandLine({ program, settings }: ServeContext, words: string): string {
  const config = configPathOf(settings)
  const named = config === undefined ? '' : ` --config ${shellWord(config)}`
  return `${program} ${words}${named} --data ${shellWord(settings.config.storage.data)}`
}

/** Somebody has to be the first; the link is a secret, so it goes where the first key goes. */
async function inviteToConsole(context: ServeContext, attended: boolean): Promise<BannerConsole | undefined> {
  const { settings, app } = context
  const { server, storage } = settings.config
  if (!settings.config.console.enabled) return undefined
  const url = `${server.publicUrl ?? context.url}/console`
  const invited = await inviteFirstPerson(app.operations.people)
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
function announce(context: ServeContext, facts: BannerFacts): void {
  const { terminal, app } = context
  if (!logsJson(context)) {
    terminal.err(formatBanner(styleFor(terminal.colours.err), facts))
    return
  }
  const { url, data, config, books } = facts
  const { console: told } = facts
  const firstKey = books.kind === 'first-run' && 'file' in books.key ? { first_key: books.key.file } : {}
  const setup = told?.setup !== undefined && 'file' in told.setup ? { console_setup: told.setup.file } : {}
  app.log.info({ url, data, config: config ?? null, console: told?.url, ...firstKey, ...setup }, 'ready')
}

export function say(context: Ground, message: string): void {
  if (logsJson(context)) context.app.log.info({}, message)
  else context.terminal.err(`${message}\n`)
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

export interface BannerFacts {
  readonly version: string
  readonly node: string
  readonly data: string
  /** The file, or undefined when the defaults rule. */
  readonly config: string | undefined
  /** e.g. `http://127.0.0.1:4600`. */
  readonly url: string
  /** How clients reach the server from outside, where somebody has said so. */
  readonly publicUrl: string | undefined
  readonly metricsUrl: string | undefined
  /** Undefined where the console is switched off. */
  readonly console: BannerConsole | undefined
  readonly loopback: boolean
  readonly upstreams: readonly BannerUpstream[]
  /** What the curl line asks for; undefined when the configuration has no model. */
  readonly model: string | undefined
  readonly books: BannerLedger
  /** A shell line that runs the given command against this server. */
  readonly command: (words: string) => string
  /** What was found in the data folder that the operator has to know of. */
  readonly notices: readonly string[]
  readonly seconds: number
}

interface BannerUpstream {
  readonly id: string
  readonly where: string
  readonly models: number
}

/** What a newcomer needs to be told about accounts. */
type BannerLedger =
  /** Just made; the key is either shown here or lies in a file. */
  | { readonly kind: 'first-run'; readonly credit: string; readonly key: ShownKey | StoredKey }
  | { readonly kind: 'no-account' }
  | { readonly kind: 'in-use' }

interface BannerConsole {
  readonly url: string
  /** Where the first person signs up; undefined once somebody has. Shown, or in a file. */
  readonly setup: { readonly link: string } | { readonly file: string } | undefined
}

interface ShownKey {
  readonly secret: string
}
interface StoredKey {
  readonly file: string
}

/** What stands on the terminal when the server is ready. */
export function formatBanner(style: Style, facts: BannerFacts): string {
  const head = [
    style.bold(`Millrace ${facts.version}`),
    `data: ${shortPath(facts.data)}`,
    `config: ${facts.config === undefined ? 'none (defaults)' : shortPath(facts.config)}`,
    `node ${facts.node}`,
  ].join('   ')
  const ready = `Ready in ${facts.seconds.toFixed(1)} s. Press Ctrl+C to stop.`
  if (facts.books.kind === 'in-use') {
    return [
      head,
      upstreamLine(facts),
      ...knownAddresses(facts),
      ...signUpLines(style, facts, ''),
      ...noticeLines(style, facts),
      ready,
      '',
    ].join('\n')
  }
  const parts = [
    head,
    upstreams(style, facts),
    [account(style, facts), ...signUpLines(style, facts, '    ')].filter((line) => line !== undefined).join('\n'),
    addresses(facts, '  ').join('\n'),
    tryIt(style, facts),
    reach(facts),
    facts.notices.length === 0 ? undefined : noticeLines(style, facts).join('\n'),
    ready,
  ]
  return `${parts.filter((part) => part !== undefined).join('\n\n')}\n`
}

function upstreams(style: Style, facts: BannerFacts): string {
  if (facts.upstreams.length === 0) return '  No upstream is configured: nothing can be called.'
  const rows = facts.upstreams.map(({ id, where, models }) => [id, where, countOf(models, 'model')])
  return `  ${style.dim('Upstreams')}\n${indent(alignColumns(rows).join('\n'), '    ')}`
}

const upstreamLine = (facts: BannerFacts): string =>
  `Upstreams  ${facts.upstreams.map(({ id, models }) => `${id} (${countOf(models, 'model')})`).join(', ') || 'none'}`

function account(style: Style, { books, command }: BannerFacts): string | undefined {
  switch (books.kind) {
    case 'first-run': {
      const made = `  First run: created one account, one wallet (${books.credit} test credit) and one key.`
      return 'secret' in books.key
        ? `${made}\n    Key (shown once):  ${style.green(books.key.secret)}`
        : `${made}\n    The key is in  ${books.key.file}`
    }
    case 'no-account':
      return [
        '  Nobody has an account yet. These three make the first:',
        ...FIRST_COMMANDS.map((words) => `    ${command(words)}`),
      ].join('\n')
    case 'in-use':
      return undefined
  }
}

const FIRST_COMMANDS = [
  'accounts create --email you@example.com',
  'wallet credit you@example.com 10.00 --reason "first credit" --ref first',
  'keys create --account you@example.com --kind wallet --name first',
]

/** Whoever opens it becomes the operator of this server. */
function signUpLines(style: Style, { console: told }: BannerFacts, margin: string): string[] {
  if (told?.setup === undefined) return []
  return 'link' in told.setup
    ? [`${margin}Console sign-up:   ${style.green(told.setup.link)}   (valid 15 minutes)`]
    : [`${margin}The link to sign up in the console is in  ${told.setup.file}   (valid 15 minutes)`]
}

const noticeLines = (style: Style, { notices }: BannerFacts): string[] =>
  notices.map((notice) => `${style.yellow('Note:')} ${notice}`)

const clientUrl = ({ url, publicUrl }: BannerFacts): string => publicUrl ?? url

function addresses(facts: BannerFacts, margin: string): string[] {
  const lines = [
    ['API', `${clientUrl(facts)}/v1`],
    ['Console', facts.console?.url],
    ['Health', `${facts.url}/healthz`],
    ['Metrics', facts.metricsUrl],
  ]
  return lines.filter(([, url]) => url !== undefined).map(([name, url]) => `${margin}${name!.padEnd(9)}${url}`)
}

/** Whoever knows it already knows where its health is asked for. */
const knownAddresses = (facts: BannerFacts): string[] =>
  addresses(facts, '').filter((line) => !line.startsWith('Health'))

/** A line that can be pasted as it stands; `-N` makes curl show each word when it comes. */
function tryIt(style: Style, facts: BannerFacts): string | undefined {
  const { books, model } = facts
  if (books.kind !== 'first-run' || model === undefined) return undefined
  // Inside `$( )` quotes start anew, so single ones may stand within the header's double ones.
  const key = 'secret' in books.key ? books.key.secret : `$(cat ${shellWord(books.key.file)})`
  const body = JSON.stringify({ model, stream: true, messages: [{ role: 'user', content: 'Hello' }] })
  return [
    `  ${style.bold('Try it:')}`,
    `    curl -N ${clientUrl(facts)}/v1/chat/completions \\`,
    `      -H "Authorization: Bearer ${key}" -H "Content-Type: application/json" \\`,
    `      -d '${body}'`,
  ].join('\n')
}

const reach = (facts: BannerFacts): string =>
  facts.loopback
    ? `  Only this machine can connect. To serve others, stop it and run:\n    ${facts.command('serve --host 0.0.0.0')}`
    : '  Every machine that reaches this address can connect. Keys travel in the clear: put TLS in front.'

const indent = (text: string, margin: string): string => text.replace(/^/gm, margin)

function shortPath(path: string): string {
  const home = homedir()
  return path === home || path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path
}

interface FirstRunContext {
  readonly configPath: string | undefined
  readonly host: string
  readonly data: string
  /** Whether a person reads what is printed; otherwise the key goes to a file. */
  readonly attended: boolean
}

const TEST_CREDIT = '10.00'

/**
 * An account, test credit and a key for somebody who has just installed Millrace: only with no configuration, an empty
 * database and a server that nobody else can reach, so that no free key ever stands open to a network.
 */
async function greetFirstRun(deps: Omit<AdminServices, 'status'>, context: FirstRunContext): Promise<BannerLedger> {
  if ((await listAccounts(deps.db, { after: 0, limit: 1 })).length > 0) return { kind: 'in-use' }
  if (context.configPath !== undefined || !isLoopback(context.host)) return { kind: 'no-account' }

  const account = mustBeDone(await createAccount(deps, { email: PLACEHOLDER_EMAIL }))
  const credit = { account: account.id, amount: TEST_CREDIT, reason: 'test credit of the first run', ref: 'first-run' }
  mustBeDone(await creditWallet(deps, credit))
  const made = mustBeDone(await createKey(deps, { account: account.id, kind: 'wallet', name: 'first key' }))
  return { kind: 'first-run', credit: TEST_CREDIT, key: await handOver(made.key, context) }
}

async function handOver(secret: string, context: FirstRunContext): Promise<{ secret: string } | { file: string }> {
  if (context.attended) return { secret }
  const file = join(context.data, 'first-key')
  await writePrivately(file, `${secret}\n`)
  return { file }
}

/** In an empty database nothing can stand in the way; if something does, the start must not go on as if it had worked. */
function mustBeDone<Value>(outcome: Outcome<Value>): Value {
  if (outcome.kind === 'done') return outcome.value
  throw new Error(`The first run could not be set up: ${outcome.message}`)
}
