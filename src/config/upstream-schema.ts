import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import { WIRES } from '../model/wire.ts'
import { DIALECT_ALIASES, DIALECT_NAMES } from '../protocols/wires.ts'
import { refusalOfBaseUrl } from '../providers/address-guard.ts'
import { OWN_HEADERS } from '../providers/provider-endpoints.ts'
import { choice, duration, flag, optionalText, type Reading, read, scalar, section, text, wrong } from './scalars.ts'

/** Provider names often written as the wire, and the wire each one needs. */
const WIRE_MISTAKES = {
  openai: 'chat',
  openrouter: 'chat',
  ollama: 'chat',
  vllm: 'chat',
  claude: 'anthropic',
  google: 'gemini',
} as const

export const identifier = (description: string) =>
  text(description, {
    pattern: /^[A-Za-z0-9][A-Za-z0-9._-]*$/,
    expected: 'a name of letters, digits, dots, dashes and underscores',
    charactersMax: 100,
  })

const timeoutsSchema = section('Timeouts of each phase of a call.', {
  connect: duration('Until the connection is established.', ['10ms', '10m']).prefault('5s'),
  first_byte: duration('Until the first byte of a stream; slow reasoning models need more.', ['10ms', '1h']).prefault(
    '120s',
  ),
  json_answer: duration('Until a non-streamed response begins, which is when it is complete.', [
    '10ms',
    '24h',
  ]).prefault('15m'),
  idle: duration('Between two bytes.', ['10ms', '1h']).prefault('90s'),
  no_progress: duration('Between two pieces of content; keep-alive events do not count.', ['10ms', '2h']).prefault(
    '300s',
  ),
  total: duration('The whole call.', ['10ms', '24h']).prefault('30m'),
})

const headersSchema = z
  .record(
    z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, 'the name of a header'),
    scalar('Value of a header.', { type: 'string' }, (value) =>
      typeof value === 'string' && /^[\t\x20-\x7e\x80-\xff]*$/.test(value) ? read(value) : wrong('one line of text'),
    ),
  )
  .meta({ description: 'Extra headers for every call.' })

/** Keys that only a network call uses, with their defaults. */
const NETWORK_DEFAULTS = {
  api_version: undefined,
  dialect: undefined,
  allow_private: false,
  timeouts: timeoutsSchema.parse({}),
  headers: {},
  trace_context: false,
} as const

export const upstreamSchema = section('A provider that lanes run on.', {
  id: identifier('The id that lanes and messages use.'),
  wire: choice('The protocol it speaks. demo is built in and needs no network.', WIRES, {}, WIRE_MISTAKES),
  base_url: scalar<string | undefined>(
    'Its address, up to and including the version segment.',
    { type: ['string', 'null'], examples: ['https://api.openai.com/v1'] },
    readBaseUrl,
  ).prefault(null),
  // It is sent in a header, where the trailing line break of a file or clipboard is not allowed.
  api_key: optionalText(`Its credential, preferably as \${NAME} or \${file:/path}.`, (value) =>
    /^[\x21-\x7e]+$/.test(value)
      ? read(value)
      : wrong('a credential without spaces and line breaks', 'Remove the extra characters.'),
  ).prefault(null),
  api_version: optionalText('API version on the wire anthropic; left out: 2023-06-01.', (value) =>
    /^\d{4}-\d{2}-\d{2}$/.test(value) ? read(value) : wrong('a day such as 2023-06-01'),
  ).prefault(null),
  dialect: choice(
    'Known deviations of the server; left out: those of the provider that defined the wire.',
    DIALECT_NAMES,
    DIALECT_ALIASES,
  ).optional(),
  allow_private: flag('Allow a private address. Required for servers of your own.').prefault(false),
  timeouts: timeoutsSchema.prefault({}),
  headers: headersSchema.prefault({}),
  on_client_gone: choice(
    'What happens when the client disconnects. cancel_estimate: cancel the call and charge an estimate of what was produced. ' +
      'drain: read on for the actual usage, for a minute at most. cancel_free: cancel the call and charge nothing.',
    ['cancel_estimate', 'drain', 'cancel_free'],
  ).prefault('cancel_estimate'),
  on_prefix_mismatch: choice(
    'On the wire anthropic: what the server does with thinking after a changed prefix. refuse: it answers 400. ' +
      'drop: it leaves the thinking out, and the model goes on without it.',
    ['refuse', 'drop'],
  ).prefault('refuse'),
  // Off: to a third party the ids tell which requests belong together.
  trace_context: flag('Send traceparent and tracestate to it while telemetry.traces is on.').prefault(false),
}).superRefine((upstream, context) => {
  const refuse = (key: string, message: string, cure: string) =>
    context.addIssue({ code: 'custom', path: [key], message, params: { cure, whole: true } })
  if (upstream.wire === 'demo') {
    if (upstream.base_url !== undefined) refuse('base_url', 'the demo runs inside this process', 'Leave base_url out.')
    if (upstream.api_key !== undefined) refuse('api_key', 'the demo needs no credential', 'Leave api_key out.')
    for (const [key, standard] of Object.entries(NETWORK_DEFAULTS))
      if (!isDeepStrictEqual(upstream[key as keyof typeof NETWORK_DEFAULTS], standard))
        refuse(key, 'the demo is not called over the network', `Leave ${key} out.`)
    return
  }
  if (upstream.base_url === undefined) {
    return refuse('base_url', `an upstream of wire ${upstream.wire} needs an address`, 'Add base_url: https://…/v1')
  }
  const address = new URL(upstream.base_url)
  const hasVersion = address.pathname.split('/').some((segment) => /^v\d+([a-z]+\d*)?$/.test(segment))
  // GitHub Copilot's address has no version segment.
  if (upstream.dialect !== 'github-copilot' && !hasVersion) {
    const cure = `The version segment is missing. Did you mean ${upstream.base_url}/v1?`
    refuse('base_url', `expected ${EXPECTED_ADDRESS}`, cure)
  }
  if (upstream.dialect === 'google-vertex' && upstream.wire === 'anthropic') {
    const cure = 'Use wire gemini or wire chat, or call Anthropic directly.'
    refuse('dialect', 'Claude on Vertex AI has its own API (rawPredict), which Millrace does not support', cure)
  }
  if (upstream.api_version !== undefined && upstream.wire !== 'anthropic') {
    refuse('api_version', `the wire ${upstream.wire} has its version in base_url`, 'Leave api_version out.')
  }
  if (upstream.on_prefix_mismatch === 'drop' && upstream.wire !== 'anthropic') {
    const why = `the wire ${upstream.wire} has no such setting`
    refuse('on_prefix_mismatch', why, 'Leave on_prefix_mismatch out.')
  }
  const refusal = refusalOfBaseUrl(address, { allowPrivate: upstream.allow_private })
  if (refusal !== undefined) {
    const cure = 'Use https and a public address. For a server of your own, add allow_private: true.'
    refuse('base_url', `this address ${refusal}`, cure)
  }
  const names = Object.keys(upstream.headers).map((name) => name.toLowerCase())
  const own = names.find((name, index) => OWN_HEADERS.has(name) || names.indexOf(name) < index)
  if (own !== undefined) {
    const why = OWN_HEADERS.has(own) ? 'is set by Millrace itself' : 'is written twice'
    refuse('headers', `the header ${own} ${why}`, 'Leave it out.')
  }
})

const ENDPOINT = /\/(chat\/completions|completions|responses|messages|models(\/[^/]*)?|embeddings)$/

const EXPECTED_ADDRESS = 'an address that ends in its version segment, such as https://api.example.com/v1'

function readBaseUrl(value: unknown): Reading<string | undefined> {
  if (value === null || value === undefined || value === '') return read(undefined)
  const expected = EXPECTED_ADDRESS
  if (typeof value !== 'string') return wrong(expected)
  if (/^[\w.-]+(:\d+)?(\/|$)/.test(value)) {
    return wrong(expected, `The scheme is missing. Did you mean https://${value}?`)
  }
  if (!URL.canParse(value)) return wrong(expected)
  const url = new URL(value)
  if (!/^https?:$/.test(url.protocol)) return wrong(expected, 'Only http and https are supported.')
  if (url.username || url.password) return wrong(expected, 'Move the credential to api_key.')
  if (url.search || url.hash) return wrong(expected, 'Remove everything from ? or # on.')
  const path = url.pathname.replace(/\/+$/, '')
  if (ENDPOINT.test(path)) {
    return wrong(expected, 'This is the address of an endpoint: remove what follows the version.')
  }
  return read(url.origin + path)
}
