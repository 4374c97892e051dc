import { anthropicAnswer } from '../fakes/anthropic-answers.ts'
import { chatAnswer } from '../fakes/chat-answers.ts'
import { HTML, refuses, whole } from '../fakes/emit.ts'
import type { Script } from '../fakes/fault-upstream.ts'
import { geminiAnswer } from '../fakes/gemini-answers.ts'
import { responsesAnswer } from '../fakes/responses-answers.ts'

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
  readonly message?: RegExp
  /** Further lanes on the same upstream: what becomes of them. */
  readonly others?: string
}

const emitted = (status: number, body: object | string, headers = {}): Script => {
  const play = refuses(status, body, headers)
  return (providerAnswer) => play(providerAnswer, 'before')
}
const error = (message: string, more: object = {}) => ({ error: { message, type: 'invalid_request_error', ...more } })
const google = (code: number, status: string, message: string, detail: object = {}) => ({
  error: { code, message, status, details: [detail] },
})

const capUnderOtherName: Script = async (providerAnswer) => {
  if ('max_tokens' in providerAnswer.receivedRequest) {
    return emitted(400, error("Unsupported parameter: 'max_tokens' is not supported with this model."))(providerAnswer)
  }
  return whole(providerAnswer)
}
const silent: Script = async () => {}
const stalls: Script = async (providerAnswer) => {
  await providerAnswer.head()
  await providerAnswer.frames({ model: 'stalls', choices: [{ index: 0, delta: { content: 'O' } }] })
}
const pings: Script = async (providerAnswer) => {
  await providerAnswer.head()
  for (let count = 0; count < 400; count++) {
    await providerAnswer.bytes(': ping\n\n')
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
const plainJson: Script = async (providerAnswer) => {
  await providerAnswer.head(200, { 'content-type': 'application/json' })
  await providerAnswer.bytes(JSON.stringify({ object: 'chat.completion', choices: [{ message: { content: 'OK' } }] }))
  await providerAnswer.end()
}

/** The ports of what listens there, once it does. */
/** No system gives port 1 to a server of a test, so nothing listens there. */
export const addresses = { closed: 1, plain: 0, untrusted: 0, expired: 0, otherName: 0, trusted: 0 }
const at =
  (name: keyof typeof addresses, scheme = 'https') =>
  () =>
    `${scheme}://localhost:${addresses[name]}/v1`

const PATIENCE = { connect: '2s', first_byte: '5s', idle: '5s', no_progress: '5s', total: '8s' }
const BRIEF = (key: keyof typeof PATIENCE) => `timeouts: ${JSON.stringify({ ...PATIENCE, [key]: '300ms' })}`

/** What can be wrong with a lane, and what is found. */
export const CASES: readonly Case[] = [
  { id: 'chat', script: chatAnswer(), finds: 'answered', message: /^answered/ },
  { id: 'responses', wire: 'responses', script: responsesAnswer('everything'), finds: 'answered' },
  { id: 'anthropic', wire: 'anthropic', script: anthropicAnswer(), finds: 'answered' },
  { id: 'gemini', wire: 'gemini', script: geminiAnswer(), finds: 'answered' },
  { id: 'other-cap', script: capUnderOtherName, finds: 'answered' },
  {
    id: 'key-wrong',
    script: emitted(401, error(`Incorrect API key provided: ${KEY}`, { code: 'invalid_api_key' })),
    finds: 'key-refused',
    message: /rejects the key \(401\).*Create a new one/s,
    others: 'not-asked',
  },
  {
    id: 'key-none',
    script: emitted(401, error('No key')),
    more: 'api_key: null',
    finds: 'key-missing',
    message: /api_key/,
  },
  { id: 'forbidden', script: emitted(403, error('Not in your country')), finds: 'not-allowed', others: 'not-allowed' },
  {
    id: 'google-key',
    script: emitted(400, [google(400, 'INVALID_ARGUMENT', 'API key not valid.', { reason: 'API_KEY_INVALID' })]),
    finds: 'key-refused',
  },
  {
    id: 'bill',
    script: emitted(400, {
      type: 'error',
      error: { type: 'invalid_request_error', message: 'Your credit balance is too low' },
    }),
    finds: 'out-of-credit',
    message: /no credit left.*Add credit/s,
  },
  { id: 'quota', script: emitted(429, error('No.', { code: 'insufficient_quota' })), finds: 'out-of-credit' },
  {
    id: 'page',
    script: emitted(404, HTML, { 'content-type': 'text/html' }),
    finds: 'address-wrong',
    others: 'not-asked',
  },
  {
    id: 'path',
    script: emitted(404, { detail: 'Not Found' }),
    finds: 'address-wrong',
    message: /base_url.*wire: chat/,
  },
  {
    id: 'model',
    script: emitted(
      404,
      error('The model `model` does not exist or you do not have access to it.', { code: 'model_not_found' }),
    ),
    finds: 'model-unknown',
    message: /does not know the model model \(404\)/,
    others: 'model-unknown',
  },
  { id: 'model-400', script: emitted(400, error('model is not a valid model ID')), finds: 'model-unknown' },
  {
    id: 'google-model',
    script: emitted(404, google(404, 'NOT_FOUND', 'models/x is not found for API version v1beta')),
    finds: 'model-unknown',
  },
  {
    id: 'busy',
    script: emitted(429, error('Slow.'), { 'retry-after': '7' }),
    finds: 'throttled',
    message: /key works.*in 7 s/s,
  },
  {
    id: 'busy-in-body',
    script: emitted(429, google(429, 'RESOURCE_EXHAUSTED', 'Quota', { retryDelay: '37s' })),
    finds: 'throttled',
    message: /in 37 s/,
  },
  {
    id: 'overloaded',
    script: emitted(529, { error: { type: 'overloaded_error', message: 'Overloaded' } }),
    finds: 'overloaded',
  },
  { id: 'broken', script: emitted(500, HTML), finds: 'provider-failed', message: /server error \(500\)/ },
  { id: 'refusing', script: emitted(400, error('messages are wrong')), finds: 'rejected', message: /wire: chat/ },
  {
    id: 'html-200',
    script: emitted(200, HTML, { 'content-type': 'text/html' }),
    finds: 'other-language',
    message: /text\/html/,
  },
  { id: 'json-200', script: plainJson, finds: 'other-language', message: /application\/json/ },
  { id: 'empty-200', script: emitted(200, ''), finds: 'other-language' },
  { id: 'error-200', script: emitted(200, error('Later', { code: 'rate_limit_exceeded' })), finds: 'throttled' },
  {
    id: 'moved',
    script: emitted(307, '', { location: 'http://127.0.0.1:1/' }),
    finds: 'redirected',
    message: /base_url/,
  },
  { id: 'packed', script: emitted(200, 'x', { 'content-encoding': 'gzip' }), finds: 'compressed' },
  {
    id: 'no-http',
    script: async (providerAnswer) => providerAnswer.raw('SSH-2.0-OpenSSH\r\n').then(() => providerAnswer.close()),
    finds: 'not-http',
  },
  { id: 'resets', script: async (providerAnswer) => providerAnswer.reset(), finds: 'broken-off', message: /https/ },
  {
    id: 'silent',
    script: silent,
    more: BRIEF('first_byte'),
    finds: 'too-slow',
    message: /timeouts\.first_byte \(300 ms\)/,
  },
  { id: 'stalls', script: stalls, more: BRIEF('idle'), finds: 'too-slow', message: /timeouts\.idle \(300 ms\)/ },
  {
    id: 'pings',
    script: pings,
    more: BRIEF('no_progress'),
    finds: 'too-slow',
    message: /timeouts\.no_progress \(300 ms\)/,
  },
  { id: 'pings-on', script: pings, more: BRIEF('total'), finds: 'too-slow', message: /timeouts\.total \(300 ms\)/ },

  {
    id: 'nobody',
    address: at('closed', 'http'),
    finds: 'nobody-listens',
    others: 'not-asked',
    message: /Start the server/,
  },
  {
    id: 'nameless',
    address: () => 'https://nobody.invalid/v1',
    finds: 'name-un(known|answered)',
    message: /nobody\.invalid/,
  },
  {
    id: 'inside',
    address: at('closed'),
    more: 'allow_private: false',
    finds: 'address-refused',
    message: /private.*allow_private/s,
  },
  { id: 'no-tls', address: at('plain'), finds: 'tls-not-spoken', others: 'not-asked', message: /http:\/\// },
  { id: 'tls-untrusted', address: at('untrusted'), finds: 'tls-untrusted', message: /NODE_EXTRA_CA_CERTS/ },
  { id: 'tls-expired', address: at('expired'), finds: 'tls-expired' },
  { id: 'tls-other-name', address: at('otherName'), finds: 'tls-other-name', message: /localhost/ },
  { id: 'tls-good', address: at('trusted'), finds: 'address-wrong', message: /\(404\)/ },
  { id: 'tls-plainly', address: at('trusted', 'http'), finds: '(not-http|broken-off|hung-up)', message: /https/ },
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
