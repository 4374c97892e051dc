import { homedir } from 'node:os'
import type { Style } from '../../cli/format.ts'
import { alignColumns, countOf } from '../../cli/format.ts'
import { shellWord } from '../../lib/anywhere/shell-word.ts'

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
  readonly books: BannerBooks
  /** A shell line that runs the given command against this server. */
  readonly command: (words: string) => string
  /** What was found in the data folder that the operator has to know of. */
  readonly notices: readonly string[]
  readonly seconds: number
}

export interface BannerUpstream {
  readonly id: string
  readonly where: string
  readonly models: number
}

/** What a newcomer needs to be told about accounts. */
export type BannerBooks =
  /** Just made; the key is either shown here or lies in a file. */
  | { readonly kind: 'first-run'; readonly credit: string; readonly key: ShownKey | StoredKey }
  | { readonly kind: 'no-account' }
  | { readonly kind: 'in-use' }

export interface BannerConsole {
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
