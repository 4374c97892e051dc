import { rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { createAccount } from '../admin/accounts.ts'
import { inviteFirstPerson, PLACEHOLDER_EMAIL } from '../admin/invitations.ts'
import { createKey } from '../admin/keys.ts'
import type { Outcome } from '../admin/outcome.ts'
import { creditWallet } from '../admin/wallet.ts'
import { alignColumns, countOf, type Style, styleFor } from '../cli/format.ts'
import { configPathOf } from '../config/load-config.ts'
import { listAccounts } from '../db/accounts.ts'
import { shellWord } from '../lib/anywhere/text.ts'
import { writePrivately } from '../lib/files.ts'
import { isLoopback } from '../lib/network.ts'
import { consoleSetupFile } from './data-folder.ts'
import type { ServeContext } from './server-note.ts'

const logsJson = ({ settings }: Pick<ServeContext, 'settings'>): boolean =>
  settings.config.telemetry.log.format === 'json'

/** Prints a message to the terminal, or logs it where the log is JSON. */
export function report(context: Pick<ServeContext, 'settings' | 'terminal' | 'app' | 'worker'>, message: string): void {
  const { worker } = context
  if (logsJson(context)) context.app.log.info({}, message)
  else context.terminal.err(`${worker === undefined ? '' : `Worker ${worker.number}: `}${message}\n`)
}

/** Reports that the server is ready, and shows a new user everything that the first request needs. */
export async function announceReady(context: ServeContext): Promise<void> {
  const { settings, app, terminal, url } = context
  const { server, storage, upstreams } = settings.config
  const { models } = app.operations.catalog()
  const config = configPathOf(settings)
  const workers = context.worker?.of
  const attended = terminal.attended && !logsJson(context)
  const accounts = await setUpFirstRun(context, attended)
  const consoleLink = await inviteToConsole(context, attended)
  if (logsJson(context)) {
    // Secrets are not logged, only the files that hold them.
    const firstKey = accounts.kind === 'first-run' && 'file' in accounts.key ? { first_key: accounts.key.file } : {}
    const setup =
      consoleLink?.setup !== undefined && 'file' in consoleLink.setup ? { console_setup: consoleLink.setup.file } : {}
    const facts = { url, data: storage.data, config: config ?? null, console: consoleLink?.url, workers }
    return app.log.info({ ...facts, ...firstKey, ...setup }, 'ready')
  }
  const flags = `${config === undefined ? '' : ` --config ${shellWord(config)}`} --data ${shellWord(storage.data)}`
  const banner = formatBanner(styleFor(terminal.colours.err), {
    version: context.version,
    node: context.node,
    data: storage.data,
    config,
    workers,
    url,
    publicUrl: server.publicUrl,
    metricsUrl: context.metricsUrl,
    console: consoleLink,
    loopback: isLoopback(server.host),
    encrypted: settings.config.tls !== undefined,
    upstreams: upstreams.map(({ id, wire, baseUrl }) => ({
      id,
      where: wire === 'demo' ? 'built in, no network' : (baseUrl ?? wire),
      models: models.filter((model) => model.lanes.some((lane) => lane.upstream.id === id)).length,
    })),
    model: models.find((model) => model.price !== undefined && model.kinds.includes('wallet'))?.id,
    command: (words) => `${context.program} ${words}${flags}`,
    accounts,
    notices: app.notices,
    seconds: context.clock.nowMicros() / 1e6,
  })
  terminal.err(banner)
}

/** The link by which the first person signs up is a secret, so it is shown or stored like the first key. */
async function inviteToConsole(context: ServeContext, attended: boolean): Promise<BannerConsole | undefined> {
  const { config } = context.settings
  const { server, storage } = config
  if (!config.console.enabled) return undefined
  const url = `${server.publicUrl ?? context.url}/console`
  const invited = await inviteFirstPerson(context.app.operations.people)
  const file = consoleSetupFile(storage.data)
  if (invited === undefined) {
    await rm(file, { force: true })
    return { url, setup: undefined }
  }
  const link = `${url}/setup?code=${invited.code}`
  if (attended) return { url, setup: { link } }
  await writePrivately(file, `${link}\n`)
  return { url, setup: { file } }
}

const TEST_CREDIT = '10.00'

/**
 * An account, test credit and a key for a new user: only without a configuration file, with an empty database and on a loopback
 * address, so that a network never reaches a free key. The key is shown to a person, and otherwise written to a file.
 */
async function setUpFirstRun({ app, settings }: ServeContext, attended: boolean): Promise<BannerAccounts> {
  const { operations } = app
  const { server, storage } = settings.config
  if ((await listAccounts(operations.db, { after: 0, limit: 1 })).length > 0) return { kind: 'in-use' }
  if (configPathOf(settings) !== undefined || !isLoopback(server.host)) return { kind: 'no-account' }

  const account = mustBeDone(await createAccount(operations, { email: PLACEHOLDER_EMAIL }))
  const credit = { account: account.id, amount: TEST_CREDIT, reason: 'test credit of the first run', ref: 'first-run' }
  mustBeDone(await creditWallet(operations, credit))
  const made = mustBeDone(await createKey(operations, { account: account.id, kind: 'wallet', name: 'first key' }))
  if (attended) return { kind: 'first-run', credit: TEST_CREDIT, key: { secret: made.key } }
  const file = join(storage.data, 'first-key')
  await writePrivately(file, `${made.key}\n`)
  return { kind: 'first-run', credit: TEST_CREDIT, key: { file } }
}

/** An empty database refuses nothing. If it does, the start must not go on. */
function mustBeDone<Value>(outcome: Outcome<Value>): Value {
  if (outcome.kind === 'done') return outcome.value
  throw new Error(`The first run could not be set up: ${outcome.message}`)
}

export interface BannerFacts {
  readonly version: string
  readonly node: string
  readonly data: string
  /** Undefined without a configuration file. */
  readonly config: string | undefined
  /** Undefined for a server of one process. */
  readonly workers?: number | undefined
  /** For example `http://127.0.0.1:4600`. */
  readonly url: string
  /** How clients reach the server from outside, if configured. */
  readonly publicUrl: string | undefined
  readonly metricsUrl: string | undefined
  /** Undefined when the console is switched off. */
  readonly console: BannerConsole | undefined
  readonly loopback: boolean
  /** The server has TLS of its own. */
  readonly encrypted?: boolean
  /** The providers, each with the number of models that have a lane on it. */
  readonly upstreams: readonly { readonly id: string; readonly where: string; readonly models: number }[]
  /** The model of the curl line: the first that a wallet key may call. */
  readonly model: string | undefined
  readonly accounts: BannerAccounts
  /** A shell line that runs the given command with this configuration and data folder, in any working directory. */
  readonly command: (words: string) => string
  /** What the operator has to know about files in the data folder. */
  readonly notices: readonly string[]
  readonly seconds: number
}

type BannerAccounts =
  /** Just created. The key is shown here, or written to a file. */
  | {
      readonly kind: 'first-run'
      readonly credit: string
      readonly key: { readonly secret: string } | { readonly file: string }
    }
  | { readonly kind: 'no-account' }
  | { readonly kind: 'in-use' }

interface BannerConsole {
  readonly url: string
  /** Where the first person signs up: shown, or written to a file. Undefined after that. */
  readonly setup: { readonly link: string } | { readonly file: string } | undefined
}

/** What the terminal shows when the server is ready: short when the server is in use, else a guide to the first request. */
export function formatBanner(style: Style, facts: BannerFacts): string {
  const { upstreams, url, publicUrl, notices, accounts, command } = facts
  const head = [
    style.bold(`Millrace ${facts.version}`),
    `data: ${shortPath(facts.data)}`,
    `config: ${facts.config === undefined ? 'none (defaults)' : shortPath(facts.config)}`,
    `node ${facts.node}`,
    ...(facts.workers === undefined ? [] : [`workers: ${facts.workers}`]),
  ].join('   ')
  const addresses = [
    ['API', `${publicUrl ?? url}/v1`],
    ['Console', facts.console?.url],
    ['Health', `${url}/healthz`],
    ['Metrics', facts.metricsUrl],
  ].flatMap(([name, address]) => (address === undefined ? [] : [`${name!.padEnd(9)}${address}`]))
  const signUp = signUpLines(style, facts)
  const notes = notices.map((notice) => `${style.yellow('Note:')} ${notice}`)
  const ready = `Ready in ${facts.seconds.toFixed(1)} s. Press Ctrl+C to stop.`
  if (accounts.kind === 'in-use') {
    const names = upstreams.map(({ id, models }) => `${id} (${countOf(models, 'model')})`).join(', ')
    const known = addresses.filter((line) => !line.startsWith('Health'))
    return [head, `Upstreams  ${names || 'none'}`, ...known, ...signUp, ...notes, ready, ''].join('\n')
  }
  const rows = upstreams.map(({ id, where, models }) => [id, where, countOf(models, 'model')])
  const reach = facts.loopback
    ? `  Only this machine can connect. To serve others, stop it and run:\n    ${command('serve --host 0.0.0.0')}`
    : `  Every machine that reaches this address can connect.${facts.encrypted ? '' : ' Keys are sent unencrypted: set server.tls, or put TLS in front.'}`
  const sections = [
    head,
    rows.length === 0
      ? '  No upstream is configured: no model can be called.'
      : `  ${style.dim('Upstreams')}\n${indent(alignColumns(rows).join('\n'), '    ')}`,
    [accountSection(style, accounts, command), ...signUp.map((line) => `    ${line}`)].join('\n'),
    addresses.map((line) => `  ${line}`).join('\n'),
    tryIt(style, facts),
    reach,
    notes.length === 0 ? undefined : notes.join('\n'),
    ready,
  ]
  return `${sections.filter((section) => section !== undefined).join('\n\n')}\n`
}

function accountSection(
  style: Style,
  accounts: Exclude<BannerAccounts, { kind: 'in-use' }>,
  command: BannerFacts['command'],
): string {
  if (accounts.kind === 'no-account') {
    const lines = FIRST_COMMANDS.map((words) => `    ${command(words)}`)
    return ['  There is no account yet. These three commands make the first:', ...lines].join('\n')
  }
  const made = `  First run: created one account, one wallet (${accounts.credit} test credit) and one key.`
  return 'secret' in accounts.key
    ? `${made}\n    Key (shown once):  ${style.green(accounts.key.secret)}`
    : `${made}\n    The key is in  ${accounts.key.file}`
}

const FIRST_COMMANDS = [
  'accounts create --email you@example.com',
  'wallet credit you@example.com 10.00 --reason "first credit" --ref first',
  'keys create --account you@example.com --kind wallet --name first',
]

/** The person who opens the link becomes the operator of this server. */
function signUpLines(style: Style, facts: BannerFacts): string[] {
  const setup = facts.console?.setup
  if (setup === undefined) return []
  return 'link' in setup
    ? [`Console sign-up:   ${style.green(setup.link)}   (valid 15 minutes)`]
    : [`The link to sign up in the console is in  ${setup.file}   (valid 15 minutes)`]
}

/** A line to paste. `-N` makes curl show each word when it arrives. */
function tryIt(style: Style, { accounts, model, publicUrl, url }: BannerFacts): string | undefined {
  if (accounts.kind !== 'first-run' || model === undefined) return undefined
  // Inside `$( )` quoting starts again, so single quotes may stand within the header's double ones.
  const key = 'secret' in accounts.key ? accounts.key.secret : `$(cat ${shellWord(accounts.key.file)})`
  const body = JSON.stringify({ model, stream: true, messages: [{ role: 'user', content: 'Hello' }] })
  return [
    `  ${style.bold('Try it:')}`,
    `    curl -N ${publicUrl ?? url}/v1/chat/completions \\`,
    `      -H "Authorization: Bearer ${key}" -H "Content-Type: application/json" \\`,
    `      -d '${body}'`,
  ].join('\n')
}

const indent = (text: string, margin: string): string => text.replace(/^/gm, margin)

function shortPath(path: string): string {
  const home = homedir()
  return path === home || path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path
}
