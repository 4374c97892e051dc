import { statSync } from 'node:fs'
import { type CatalogView, catalogView } from '../../admin/compare-catalog.ts'
import { planView } from '../../admin/plans.ts'
import type { Upstream } from '../../catalog/catalog.ts'
import { loadCatalog } from '../../catalog/load-catalog.ts'
import type { Config } from '../../config/config.ts'
import type { ConfigOutcome, LoadedConfig } from '../../config/load-config.ts'
import { shortestPath } from '../../config/problem.ts'
import { configSchema, keysOf } from '../../config/schema.ts'
import { shellWord } from '../../lib/anywhere/text.ts'
import { isLoopback } from '../../lib/network.ts'
import { nearestName } from '../../lib/text.ts'
import { EXPIRY_WARNING_DAYS, type Found, found } from './faults.ts'

/** The mistakes that stop a start, each where it was found. */
export function examineProblems(outcome: Extract<ConfigOutcome, { kind: 'invalid' }>, cwd: string): Found[] {
  const FAULT_OF_CAUSE = {
    file: 'config-file-missing',
    reference: 'secret-missing',
    certificate: 'tls-pair-broken',
    pin: 'imports-not-pinned',
  } as const
  return outcome.problems.map(({ place, path, message, cure, cause }) => {
    const { line, column, origin } = place
    const where = line === undefined ? origin : `${shortestPath(origin, cwd)}:${line}:${column}`
    const fault = cause === undefined ? 'config-invalid' : FAULT_OF_CAUSE[cause]
    return found(fault, `${where}  ${path === '' ? '' : `${path}: `}${message}`, cure)
  })
}

/** What is suspicious in a configuration that the server accepts. */
export function examineConfig(loaded: LoadedConfig, now: number): Found[] {
  const { config, origin, secretFiles, writtenCredentials, imports } = loaded
  const { upstreams, models, plans } = config
  const catalog = loadCatalog({ upstreams, models, plans }, () => 0)
  return [
    ...(origin.kind === 'file' ? examineEmptiness(config) : []),
    ...models.flatMap(({ id, price }) =>
      price === undefined
        ? [
            found(
              'model-without-price',
              `${id} has no price, so no key can call it.`,
              `Set price: { input, output } of ${id}.`,
            ),
          ]
        : [],
    ),
    ...(imports?.differences ?? []).map((difference) => found('pins-outdated', `Imports: ${difference}`)),
    ...examinePriceEnds(imports?.priceEnds ?? new Map(), now),
    ...examineFacts(config, catalogView(catalog.models)),
    ...examineUpstreams(config),
    ...examineTools(config),
    ...plans
      .map((plan) => planView(catalog, plan))
      .filter(({ opens }) => opens.length === 0)
      .map(({ id }) =>
        found('plan-opens-nothing', `The plan ${id} opens no model: none of its models is for builder keys.`),
      ),
    ...examineFiles(
      secretFiles,
      writtenCredentials.map((place) => place.origin),
    ),
    ...examineAccess(config),
    ...examineCertificate(config, now),
  ]
}

const examineEmptiness = ({ upstreams, models }: Config): Found[] =>
  upstreams.length === 0 && models.length === 0
    ? [found('no-models', 'The file has no upstream and no model, so clients can call nothing.')]
    : []

/** No current model has a smaller context. */
const CONTEXT_TOKENS_MIN = 4096

/** Prices and contexts beside those of the known models. */
function examineFacts({ models }: Config, { lanes }: CatalogView): Found[] {
  const facts = lanes.flatMap(({ model, lane, facts }) => facts.map((fact) => ({ ...fact, of: `${model} on ${lane}` })))
  const contexts = facts.filter(({ name, differs }) => name === 'context_tokens' && differs)
  const compared = new Set(lanes.filter(({ known }) => known).map(({ model }) => model))
  return [
    ...facts
      .filter(({ loss }) => loss)
      .map(({ of, name, list, snapshot }) =>
        found(
          'model-sold-at-loss',
          `${of}: ${name} is sold at ${list} and costs ${snapshot} USD per million tokens: a loss.`,
        ),
      ),
    ...contexts.map(({ of, list, snapshot }) =>
      Number(list) < Number(snapshot)
        ? found(
            'context-too-small',
            `${of}: context_tokens is ${list}, but the model has ${snapshot}: longer requests are refused here.`,
          )
        : found(
            'context-too-large',
            `${of}: context_tokens is ${list}, but the model has ${snapshot}: the provider refuses longer requests.`,
          ),
    ),
    ...models
      .filter(({ id, contextTokens }) => contextTokens < CONTEXT_TOKENS_MIN && !compared.has(id))
      .map(({ id, contextTokens }) =>
        found(
          'context-too-small',
          `${id}: context_tokens is ${contextTokens}, which looks too small: longer input is refused.`,
          `Set context_tokens of ${id} to the context of the model.`,
        ),
      ),
  ]
}

function examineUpstreams({ upstreams, models }: Config): Found[] {
  const used = new Set(models.flatMap(({ lanes }) => lanes.map((lane) => lane.upstream)))
  return upstreams.flatMap(({ id, wire, apiKey, allowPrivate, headers }) => {
    if (!used.has(id)) return [found('upstream-unused', `No lane uses the upstream ${id}.`)]
    if (wire === 'demo' || allowPrivate || apiKey !== undefined || headers.size > 0) return []
    return [found('upstream-without-key', `The upstream ${id} has no api_key.`)]
  })
}

const isOfOpenAi = ({ dialect, baseUrl }: Upstream): boolean =>
  dialect === 'openai' ||
  dialect === 'azure' ||
  (baseUrl !== undefined && new URL(baseUrl).hostname === 'api.openai.com')

/** They take tools on Chat Completions only with the effort `none`: BerriAI/litellm pull requests 34569 and 39631. */
const WITHOUT_TOOLS_ON_CHAT = /^gpt-(5\.[6-9]|6(\.[01])?)(-|$)/

function examineTools({ upstreams, models }: Config): Found[] {
  const chats = new Set(
    upstreams.filter((upstream) => upstream.wire === 'chat' && isOfOpenAi(upstream)).map(({ id }) => id),
  )
  return models.flatMap(({ id, lanes }) =>
    lanes
      .filter(({ upstream, model }) => chats.has(upstream) && WITHOUT_TOOLS_ON_CHAT.test(model))
      .map(({ upstream, model }) =>
        found(
          'tools-refused-on-chat',
          `${id} on ${upstream}/${model}: OpenAI refuses tools with reasoning here.`,
          `Give ${id} a lane whose upstream has wire: responses.`,
        ),
      ),
  )
}

const OTHERS_MAY_READ = 0o004
/** Container runtimes mount secrets here, readable for everyone in the container. */
const MOUNTED_SECRETS = /^(\/var)?\/run\/secrets\//

const isOpen = (path: string): boolean =>
  !MOUNTED_SECRETS.test(path) && ((statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & OTHERS_MAY_READ) !== 0

const examineFiles = (secrets: readonly string[], withCredentials: readonly string[]): Found[] => [
  ...secrets
    .filter(isOpen)
    .map((path) =>
      found('secret-file-open', `Other users can read ${path}, which has a secret.`, `chmod o= ${shellWord(path)}`),
    ),
  ...[...new Set(withCredentials)]
    .filter(isOpen)
    .map((path) =>
      found(
        'config-file-open',
        `Other users can read ${path}, which contains a credential.`,
        `chmod o= ${shellWord(path)}, or move the credential out of it: \${NAME} or \${file:/path}`,
      ),
    ),
]

/** Who reaches the server, and how. */
function examineAccess({ server, tls }: Config): Found[] {
  const { host, publicUrl, trustProxy } = server
  const all = trustProxy.filter((network) => /\/0$/.test(network))
  const behindProxy = publicUrl?.startsWith('https:') === true
  return [
    ...(all.length > 0 ? [found('proxy-trusts-all', `server.trust_proxy contains ${all.join(' and ')}.`)] : []),
    ...(behindProxy && tls === undefined && trustProxy.length === 0
      ? [found('proxy-not-trusted', `server.public_url is ${publicUrl}, and server.trust_proxy is empty.`)]
      : []),
    ...(!isLoopback(host) && !behindProxy && tls === undefined && trustProxy.length === 0
      ? [found('keys-unencrypted', `The server accepts other machines on ${host}, and API keys are sent unencrypted.`)]
      : []),
  ]
}

const DAY_MS = 86_400_000
const PRICE_END_WARNING_DAYS = 30

function examinePriceEnds(priceEnds: ReadonlyMap<string, readonly string[]>, now: number): Found[] {
  return [...priceEnds].sort().flatMap(([day, models]) => {
    const leftMs = Date.parse(day) - now
    const names = models.join(', ')
    if (leftMs > PRICE_END_WARNING_DAYS * DAY_MS) return []
    return leftMs > 0
      ? [found('pinned-price-ends', `Imports: the pinned price of ${names} ends: another one applies from ${day} on.`)]
      : [
          found(
            'pinned-price-ends',
            `Imports: the pinned price of ${names} has ended: another one applies since ${day}.`,
          ),
        ]
  })
}

function examineCertificate({ server, tls }: Config, now: number): Found[] {
  if (tls === undefined) return []
  const day = new Date(tls.expiresAt).toISOString().slice(0, 10)
  const host = server.publicUrl === undefined ? undefined : new URL(server.publicUrl).hostname.replace(/^\[|\]$/g, '')
  const hasExpired = tls.expiresAt <= now
  return [
    ...(hasExpired ? [found('tls-expired', `The certificate of server.tls has expired on ${day}.`)] : []),
    ...(!hasExpired && tls.expiresAt - now < EXPIRY_WARNING_DAYS * DAY_MS
      ? [found('tls-expires-soon', `The certificate of server.tls expires on ${day}.`)]
      : []),
    ...(host === undefined || tls.isFor(host)
      ? []
      : [
          found('tls-name-differs', `The certificate of server.tls is not for ${host}, the host of server.public_url.`),
        ]),
  ]
}

/** `MILLRACE_KEY` is what the pages for clients call an API key. */
const KNOWN_VARIABLES = ['CONFIG', 'DATA', 'HOST', 'PORT', 'KEY', 'SECRET_KEY', 'SECRET_KEY_FILE', 'WORKER'].map(
  (name) => `MILLRACE_${name}`,
)
/** Kubernetes sets these in every pod beside a service called millrace. */
const SERVICE_LINK = /^MILLRACE(_\w+)?_(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT(_\d+_(TCP|UDP)(_(PROTO|PORT|ADDR))?)?)$/

/** Variables that look like ours and are not read. Those with two underscores are checked with the configuration. */
export function examineVariables(environment: Readonly<Record<string, string | undefined>>): Found[] {
  return Object.keys(environment)
    .filter((name) => name.startsWith('MILLRACE_') && !name.includes('__'))
    .filter((name) => !KNOWN_VARIABLES.includes(name) && !SERVICE_LINK.test(name))
    .map((name) => {
      const rest = name.slice('MILLRACE_'.length)
      const section = keysOf(configSchema).find((key) => rest.startsWith(`${key.toUpperCase()}_`))
      const near =
        section === undefined
          ? nearestName(name, KNOWN_VARIABLES)
          : `MILLRACE_${section.toUpperCase()}__${rest.slice(section.length + 1)}`
      return found(
        'variable-ignored',
        `The variable ${name} has no effect.`,
        near === undefined ? 'Unset it.' : `Did you mean ${near}?`,
      )
    })
}
