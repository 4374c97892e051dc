import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import { WIRES } from '../model/event.ts'
import { refusalOfBaseUrl } from '../providers/address-guard.ts'
import { OWN_HEADERS } from '../providers/provider-kinds.ts'
import { duration, flag, maybeText, type Reading, read, scalar, section, text, word, wrong } from './scalars.ts'

const DIALECTS = [
  'generic',
  'openai',
  'azure',
  'deepseek',
  'groq',
  'mistral',
  'xai',
  'moonshot',
  'alibaba',
  'openrouter',
  'together',
  'fireworks',
  'vllm',
  'ollama',
  'llamacpp',
  'lmstudio',
  'anthropic',
  'google',
  'github-copilot',
  'google-vertex',
  'anthropic-compat',
  'vercel-gateway',
  'bedrock',
] as const

/** Dialects whose addresses have no version segment. */
const WITHOUT_VERSION: readonly unknown[] = ['github-copilot']

/** Provider names that people write as the wire, and the wire that each one means. */
const WIRE_MISTAKES = {
  openai: 'chat',
  openrouter: 'chat',
  ollama: 'chat',
  vllm: 'chat',
  claude: 'anthropic',
  google: 'gemini',
} as const

const DIALECT_ALIASES = { moonshotai: 'moonshot', qwen: 'alibaba', gemini: 'google' } as const

export const identifier = (description: string) =>
  text(description, {
    pattern: /^[A-Za-z0-9][A-Za-z0-9._-]*$/,
    expected: 'a name of letters, digits, dots, dashes and underscores',
    charactersMax: 100,
  })

const timeoutsSchema = section('How long each phase of a call may take.', {
  connect: duration('Until the connection stands.', { min: '10ms', max: '10m' }).prefault('5s'),
  first_byte: duration('Until the first byte of a stream; slow reasoning models need more.', {
    min: '10ms',
    max: '1h',
  }).prefault('120s'),
  json_answer: duration('Until an answer in one piece begins: it comes when all of it is done.', {
    min: '10ms',
    max: '24h',
  }).prefault('15m'),
  idle: duration('Between two bytes.', { min: '10ms', max: '1h' }).prefault('90s'),
  no_progress: duration('Between two pieces of content: pings alone do not count.', {
    min: '10ms',
    max: '2h',
  }).prefault('300s'),
  total: duration('The whole call.', { min: '10ms', max: '24h' }).prefault('30m'),
})

const headerValue = scalar('Value of a header.', { type: 'string' }, (value) =>
  typeof value === 'string' && /^[\t\x20-\x7e\x80-\xff]*$/.test(value) ? read(value) : wrong('one line of text'),
)

const headersSchema = z
  .record(z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, 'the name of a header'), headerValue)
  .meta({ description: 'Headers that every call carries besides its own, such as anthropic-version.' })

/** It goes into a header: a line break at its end is the usual trace of a file or a clipboard. */
const readCredential = (value: string): Reading<string> =>
  /^[\x21-\x7e]+$/.test(value)
    ? read(value)
    : wrong('a credential without spaces and line breaks', 'Remove what is not part of it.')

/** What only a call over the network has, and what stands there when nothing is written. */
const NETWORK_KEYS = ['api_version', 'dialect', 'allow_private', 'timeouts', 'headers'] as const
const STANDING = {
  api_version: undefined,
  dialect: undefined,
  allow_private: false,
  timeouts: timeoutsSchema.parse({}),
  headers: {},
}

export const upstreamSchema = section('A provider that lanes run on.', {
  id: identifier('How lanes and messages name it.'),
  wire: word('The protocol that it speaks. demo is built in and needs no network.', WIRES, {}, WIRE_MISTAKES),
  base_url: scalar<string | undefined>(
    'Its address, up to and including the version segment.',
    { type: ['string', 'null'], examples: ['https://api.openai.com/v1'] },
    readBaseUrl,
  ).prefault(null),
  api_key: maybeText(`Its credential: best as \${NAME} or \${file:/path}.`, readCredential).prefault(null),
  api_version: maybeText('The version of its interface, on the wire anthropic; left out: 2023-06-01.', (value) =>
    /^\d{4}-\d{2}-\d{2}$/.test(value) ? read(value) : wrong('a day such as 2023-06-01'),
  ).prefault(null),
  dialect: word(
    'Known oddities of the server; left out: those of the wire’s own inventor.',
    DIALECTS,
    DIALECT_ALIASES,
  ).optional(),
  allow_private: flag('Whether its address may be a private one: needed for servers of your own.').prefault(false),
  timeouts: timeoutsSchema.prefault({}),
  headers: headersSchema.prefault({}),
  on_client_gone: word(
    'When the client hangs up. cancel_estimate: stop at once, charge an estimate of what was produced. drain: read on for ' +
      'the true usage, for a minute at most. cancel_free: stop at once, charge nothing.',
    ['cancel_estimate', 'drain', 'cancel_free'],
  ).prefault('cancel_estimate'),
}).superRefine((upstream, context) => {
  const refuse = (key: string, message: string, cure: string) =>
    context.addIssue({ code: 'custom', path: [key], message, params: { cure, whole: true } })
  if (upstream.wire === 'demo') {
    if (upstream.base_url !== undefined) refuse('base_url', 'the demo runs inside this process', 'Leave base_url out.')
    if (upstream.api_key !== undefined) refuse('api_key', 'the demo needs no credential', 'Leave api_key out.')
    for (const key of NETWORK_KEYS)
      if (!isDeepStrictEqual(upstream[key], STANDING[key]))
        refuse(key, 'the demo is not called over the network', `Leave ${key} out.`)
    return
  }
  if (upstream.base_url === undefined) {
    return refuse('base_url', `an upstream of wire ${upstream.wire} needs an address`, 'Add base_url: https://…/v1')
  }
  const address = new URL(upstream.base_url)
  if (!WITHOUT_VERSION.includes(upstream.dialect) && !hasVersion(address)) {
    const cure = `The version segment is missing: ${upstream.base_url}/v1 perhaps.`
    refuse('base_url', `expected ${EXPECTED_ADDRESS}`, cure)
  }
  if (upstream.dialect === 'google-vertex' && upstream.wire === 'anthropic') {
    const cure = 'Use wire gemini or wire chat, or ask Anthropic itself.'
    refuse('dialect', 'Claude on Vertex AI has its own API (rawPredict), which Millrace does not speak', cure)
  }
  if (upstream.api_version !== undefined && upstream.wire !== 'anthropic') {
    refuse('api_version', `the wire ${upstream.wire} has its version in base_url`, 'Leave api_version out.')
  }
  const refusal = refusalOfBaseUrl(address, { allowPrivate: upstream.allow_private })
  if (refusal !== undefined) {
    const cure = 'Use https and a public address; for a server of your own add allow_private: true.'
    refuse('base_url', `this address ${refusal}`, cure)
  }
  const names = Object.keys(upstream.headers).map((name) => name.toLowerCase())
  const own = names.find((name, index) => OWN_HEADERS.has(name) || names.indexOf(name) < index)
  if (own !== undefined) {
    const why = OWN_HEADERS.has(own) ? 'is set by Millrace itself' : 'is written twice'
    refuse('headers', `the header ${own} ${why}`, 'Leave it out.')
  }
})

const VERSION_SEGMENT = /^v\d+([a-z]+\d*)?$/
const ENDPOINT = /\/(chat\/completions|completions|responses|messages|models(\/[^/]*)?|embeddings)$/

const EXPECTED_ADDRESS = 'an address that ends in its version segment, such as https://api.example.com/v1'

const hasVersion = ({ pathname }: URL): boolean => pathname.split('/').some((segment) => VERSION_SEGMENT.test(segment))

function readBaseUrl(value: unknown): Reading<string | undefined> {
  if (value === null || value === undefined || value === '') return read(undefined)
  const expected = EXPECTED_ADDRESS
  if (typeof value !== 'string') return wrong(expected)
  if (/^[\w.-]+(:\d+)?(\/|$)/.test(value)) return wrong(expected, `The scheme is missing: https://${value} perhaps.`)
  if (!URL.canParse(value)) return wrong(expected)
  const url = new URL(value)
  if (!/^https?:$/.test(url.protocol)) return wrong(expected, 'Only http and https are spoken.')
  if (url.username || url.password) return wrong(expected, 'Move the credential to api_key.')
  if (url.search || url.hash) return wrong(expected, 'Leave out everything from ? or # on.')
  const path = url.pathname.replace(/\/+$/, '')
  if (ENDPOINT.test(path))
    return wrong(expected, 'This is the address of an endpoint: cut off what follows the version.')
  return read(url.origin + path)
}
