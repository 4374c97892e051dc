import { anthropicTalk } from '../fakes/anthropic-answers.ts'
import { chatTalk } from '../fakes/chat-answers.ts'
import type { Script } from '../fakes/fault-upstream.ts'
import { geminiTalk } from '../fakes/gemini-answers.ts'
import { responsesTalk } from '../fakes/responses-answers.ts'
import { HTML, refuses, whole } from '../fakes/emit.ts'

/** What every lane is given for its provider. */
export const KEY = 'sk-walk-0123456789abcdefghij'

export interface Case {
  readonly id: string
  /** What the provider does; a lane without a script goes where its address leads. */
  readonly script?: Script
  readonly wire?: string
  /** More of the upstream, in YAML. */
  readonly more?: string
  readonly address?: () => string
  readonly finds: string
  /** In what the operator is told. */
  readonly tells?: RegExp
  /** Further lanes on the same upstream: what becomes of them. */
  readonly others?: string
}

const said = (status: number, body: object | string, headers = {}): Script => {
  const play = refuses(status, body, headers)
  return (talk) => play(talk, 'before')
}
const error = (message: string, more: object = {}) => ({ error: { message, type: 'invalid_request_error', ...more } })
const google = (code: number, status: string, message: string, detail: object = {}) => ({
  error: { code, message, status, details: [detail] },
})

const capUnderOtherName: Script = async (talk) => {
  if ('max_tokens' in talk.asked) {
    return said(400, error("Unsupported parameter: 'max_tokens' is not supported with this model."))(talk)
  }
  return whole(talk)
}
const silent: Script = async () => {}
const stalls: Script = async (talk) => {
  await talk.head()
  await talk.frames({ model: 'stalls', choices: [{ index: 0, delta: { content: 'O' } }] })
}
const pings: Script = async (talk) => {
  await talk.head()
  for (let count = 0; count < 400; count++) {
    await talk.bytes(': ping\n\n')
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
const plainJson: Script = async (talk) => {
  await talk.head(200, { 'content-type': 'application/json' })
  await talk.bytes(JSON.stringify({ object: 'chat.completion', choices: [{ message: { content: 'OK' } }] }))
  await talk.end()
}

/** The ports of what listens there, once it does. */
export const addresses = { closed: 0, plain: 0, untrusted: 0, expired: 0, otherName: 0, trusted: 0 }
const at =
  (name: keyof typeof addresses, scheme = 'https') =>
  () =>
    `${scheme}://localhost:${addresses[name]}/v1`

const PATIENCE = { connect: '2s', first_byte: '5s', idle: '5s', no_progress: '5s', total: '8s' }
const BRIEF = (key: keyof typeof PATIENCE) => `timeouts: ${JSON.stringify({ ...PATIENCE, [key]: '300ms' })}`

/** What can be wrong with a lane, and what is found. */
export const CASES: readonly Case[] = [
  { id: 'chat', script: chatTalk(), finds: 'answered', tells: /^answered/ },
  { id: 'responses', wire: 'responses', script: responsesTalk('everything'), finds: 'answered' },
  { id: 'anthropic', wire: 'anthropic', script: anthropicTalk(), finds: 'answered' },
  { id: 'gemini', wire: 'gemini', script: geminiTalk(), finds: 'answered' },
  { id: 'other-cap', script: capUnderOtherName, finds: 'answered' },
  {
    id: 'key-wrong',
    script: said(401, error(`Incorrect API key provided: ${KEY}`, { code: 'invalid_api_key' })),
    finds: 'key-refused',
    tells: /refuses the key \(401\).*make another one/s,
    others: 'not-asked',
  },
  { id: 'key-none', script: said(401, error('No key')), more: 'api_key: null', finds: 'key-missing', tells: /api_key/ },
  { id: 'forbidden', script: said(403, error('Not in your country')), finds: 'not-allowed', others: 'not-allowed' },
  {
    id: 'google-key',
    script: said(400, [google(400, 'INVALID_ARGUMENT', 'API key not valid.', { reason: 'API_KEY_INVALID' })]),
    finds: 'key-refused',
  },
  {
    id: 'bill',
    script: said(400, {
      type: 'error',
      error: { type: 'invalid_request_error', message: 'Your credit balance is too low' },
    }),
    finds: 'out-of-credit',
    tells: /nothing left to spend.*Pay/s,
  },
  { id: 'quota', script: said(429, error('No.', { code: 'insufficient_quota' })), finds: 'out-of-credit' },
  { id: 'page', script: said(404, HTML, { 'content-type': 'text/html' }), finds: 'address-wrong', others: 'not-asked' },
  { id: 'path', script: said(404, { detail: 'Not Found' }), finds: 'address-wrong', tells: /base_url.*wire: chat/ },
  {
    id: 'model',
    script: said(
      404,
      error('The model `model` does not exist or you do not have access to it.', { code: 'model_not_found' }),
    ),
    finds: 'model-unknown',
    tells: /does not know the model model \(404\)/,
    others: 'model-unknown',
  },
  { id: 'model-400', script: said(400, error('model is not a valid model ID')), finds: 'model-unknown' },
  {
    id: 'google-model',
    script: said(404, google(404, 'NOT_FOUND', 'models/x is not found for API version v1beta')),
    finds: 'model-unknown',
  },
  {
    id: 'busy',
    script: said(429, error('Slow.'), { 'retry-after': '7' }),
    finds: 'throttled',
    tells: /key works.*in 7 s/s,
  },
  {
    id: 'busy-in-body',
    script: said(429, google(429, 'RESOURCE_EXHAUSTED', 'Quota', { retryDelay: '37s' })),
    finds: 'throttled',
    tells: /in 37 s/,
  },
  {
    id: 'overloaded',
    script: said(529, { error: { type: 'overloaded_error', message: 'Overloaded' } }),
    finds: 'overloaded',
  },
  { id: 'broken', script: said(500, HTML), finds: 'provider-failed', tells: /failed \(500\)/ },
  { id: 'refusing', script: said(400, error('messages are wrong')), finds: 'rejected', tells: /wire: chat/ },
  {
    id: 'html-200',
    script: said(200, HTML, { 'content-type': 'text/html' }),
    finds: 'other-language',
    tells: /text\/html/,
  },
  { id: 'json-200', script: plainJson, finds: 'other-language', tells: /application\/json/ },
  { id: 'empty-200', script: said(200, ''), finds: 'other-language' },
  { id: 'error-200', script: said(200, error('Later', { code: 'rate_limit_exceeded' })), finds: 'throttled' },
  { id: 'moved', script: said(307, '', { location: 'http://127.0.0.1:1/' }), finds: 'redirected', tells: /base_url/ },
  { id: 'packed', script: said(200, 'x', { 'content-encoding': 'gzip' }), finds: 'compressed' },
  {
    id: 'no-http',
    script: async (talk) => talk.raw('SSH-2.0-OpenSSH\r\n').then(() => talk.close()),
    finds: 'not-http',
  },
  { id: 'resets', script: async (talk) => talk.reset(), finds: 'broken-off', tells: /https/ },
  {
    id: 'silent',
    script: silent,
    more: BRIEF('first_byte'),
    finds: 'too-slow',
    tells: /timeouts\.first_byte \(300 ms\)/,
  },
  { id: 'stalls', script: stalls, more: BRIEF('idle'), finds: 'too-slow', tells: /timeouts\.idle \(300 ms\)/ },
  {
    id: 'pings',
    script: pings,
    more: BRIEF('no_progress'),
    finds: 'too-slow',
    tells: /timeouts\.no_progress \(300 ms\)/,
  },
  { id: 'pings-on', script: pings, more: BRIEF('total'), finds: 'too-slow', tells: /timeouts\.total \(300 ms\)/ },

  {
    id: 'nobody',
    address: at('closed', 'http'),
    finds: 'nobody-listens',
    others: 'not-asked',
    tells: /Start the server/,
  },
  {
    id: 'nameless',
    address: () => 'https://nobody.invalid/v1',
    finds: 'name-un(known|answered)',
    tells: /nobody\.invalid/,
  },
  {
    id: 'inside',
    address: at('closed'),
    more: 'allow_private: false',
    finds: 'address-refused',
    tells: /private.*allow_private/s,
  },
  { id: 'no-tls', address: at('plain'), finds: 'tls-not-spoken', others: 'not-asked', tells: /http:\/\// },
  { id: 'tls-untrusted', address: at('untrusted'), finds: 'tls-untrusted', tells: /NODE_EXTRA_CA_CERTS/ },
  { id: 'tls-expired', address: at('expired'), finds: 'tls-expired' },
  { id: 'tls-other-name', address: at('otherName'), finds: 'tls-other-name', tells: /localhost/ },
  { id: 'tls-good', address: at('trusted'), finds: 'address-wrong', tells: /\(404\)/ },
  { id: 'tls-plainly', address: at('trusted', 'http'), finds: '(not-http|broken-off|hung-up)', tells: /https/ },
]

const lanesOf = ({ others }: Case): string[] => (others === undefined ? ['model'] : ['model', 'model-too'])

export const configOf = (far: (id: string) => string) => `upstreams:
${CASES.map(({ id, wire = 'chat', more = '', address }) => {
  const fields = { allow_private: 'true', api_key: KEY, ...fieldsOf(more) }
  const all = { id, wire, base_url: JSON.stringify(address?.() ?? far(id)), ...fields }
  return `  - { ${Object.entries(all)
    .map(([name, value]) => `${name}: ${value}`)
    .join(', ')} }`
}).join('\n')}
  - { id: idle, wire: chat, base_url: "http://127.0.0.1:1/v1", allow_private: true }
models:
${CASES.flatMap((each) => lanesOf(each).map((model) => [each.id, model]))
  .map(
    ([upstream, model]) =>
      `  - { id: ${upstream}-${model}, context_tokens: 9000, max_output_tokens: 99, lanes: [{ upstream: ${upstream}, model: ${model} }] }`,
  )
  .join('\n')}
`

/** One field in YAML; it replaces the usual one. */
const fieldsOf = (more: string): Record<string, string> => {
  const colon = more.indexOf(':')
  return colon === -1 ? {} : { [more.slice(0, colon)]: more.slice(colon + 1) }
}
