import type { IncomingMessage } from 'node:http'
import { nearestName } from '../lib/text.ts'
import { type Problem, problem } from '../model/problem.ts'
import { scrubPath } from '../telemetry/scrub.ts'

/** The management API. */
export const ADMIN_BASE = '/admin/v1'
/** Users and groups that a directory manages. */
export const SCIM_BASE = '/scim/v2'

/** Programs of operators and directories, which authenticate by an admin key. */
export const isAdmin = (path: string): boolean =>
  [ADMIN_BASE, SCIM_BASE].some((base) => path === base || path.startsWith(`${base}/`))

export const isApi = (path: string): boolean => path === '/v1' || path.startsWith('/v1/')

/** Reads query parameters: the first one of a name, or undefined. */
export function readQuery({ url: target = '' }: IncomingMessage): (name: string) => string | undefined {
  const start = target.indexOf('?')
  const parameters = new URLSearchParams(start < 0 ? '' : target.slice(start + 1))
  return (name) => parameters.get(name) ?? undefined
}

const CHAT_INSTEAD = 'Use POST /v1/chat/completions.'

/** Looks like an id after `/v1/responses/`, and is not one. */
export const NOT_RESPONSE_IDS = /^\/v1\/responses\/(input_tokens|[^/]+\/.*)$/

/** The one path below the id of a response. */
export const CANCEL_RESPONSE = /^\/v1\/responses\/([^/]+)\/cancel\/?$/

/** Paths that clients try and this server does not provide, with what to do instead. */
const FAMILIES: readonly (readonly [RegExp, string])[] = [
  [
    /^\/v1\/responses\/[^/]+\/input_items$/,
    'The input of a stored response is not listed. GET /v1/responses/{id} gives the response.',
  ],
  [
    /^\/v1\/responses\/([^/]+\/)?input_tokens$/,
    'Tokens are not counted in advance. The usage of an answer tells how many there were.',
  ],
  [/^\/v1\/responses\b/, 'A response has no paths below its id.'],
  [
    /^\/v1\/conversations\b/,
    'Conversations are not provided: send the whole input, or go on from a response with previous_response_id.',
  ],
  [/^\/v1\/embeddings\b/, 'Embeddings are not provided: this gateway serves text generation only.'],
  [
    /^(\/v1)?\/(completions?|fim|engines)\b/,
    `Legacy and fill-in-the-middle completions are not provided. ${CHAT_INSTEAD}`,
  ],
  [/^\/v1\/(images|videos?)\b/, 'Images and video are not provided: this gateway serves text generation only.'],
  [/^\/v1\/(audio|realtime)\b/, 'Audio and realtime sessions are not provided: this gateway serves text only.'],
  [
    /^\/v1\/(files|uploads|vector_stores|containers)\b/,
    'Files and vector stores are not provided: send the text or the file itself in the request.',
  ],
  [/^\/v1\/batch(es)?\b/, `Batches are not provided. Send the requests one by one. ${CHAT_INSTEAD}`],
  [/^\/v1\/(assistants|threads)\b/, `Assistants and threads are not provided. ${CHAT_INSTEAD}`],
  [/^\/v1\/(fine_tuning|fine-tunes|moderations|evals)\b/, 'Fine-tuning, evaluation and moderation are not provided.'],
  [
    /^(\/v1)?\/(messages?|complete)\b/,
    `Anthropic's own protocol is not supported. Use its models through the OpenAI protocol. ${CHAT_INSTEAD}`,
  ],
  [
    /:(stream)?generateContent$/i,
    `Gemini's own protocol is not supported. Use its models through the OpenAI protocol. ${CHAT_INSTEAD}`,
  ],
  [
    /^\/api\/(chat|generate|embed|embeddings|tags|show|ps|version)$/,
    `Ollama's own protocol is not provided. Set the base URL of your client to end in /v1. ${CHAT_INSTEAD}`,
  ],
  [/^(\/v1)?\/(health|healthcheck|live|livez|ready|ping)$/, 'Health is at GET /healthz, readiness at GET /readyz.'],
  [/^(\/v1)?\/metrics$/, 'Metrics have a port of their own: server.metrics_port, 4601 unless it was changed.'],
  [/^\/v1\/v1(\/|$)/, 'The path has /v1 twice: the base URL ends in /v1 already and clients append the rest.'],
  [
    /^\/(chat\/completions|models|responses|key|requests)\b/,
    'The path lacks /v1: set the base URL of your client to end in /v1.',
  ],
]

const PATH_CHARACTERS_MAX = 100

export function refuseUnknownPath(method: string, path: string, offered: readonly string[]): Problem {
  const known = scrubPath(path)
  const shown = known.length > PATH_CHARACTERS_MAX ? `${known.slice(0, PATH_CHARACTERS_MAX)}…` : known
  const family = FAMILIES.find(([pattern]) => pattern.test(path))?.[1]
  // A longer path is not a typing mistake.
  const meant = path.length > PATH_CHARACTERS_MAX ? undefined : suggestPath(path, offered)
  const reason = family ?? [`There is nothing at ${method} ${shown}.`, meant].filter(Boolean).join(' ')
  const list = offered.length === 0 ? '' : ` Available endpoints: ${offered.join(', ')}.`
  return problem('endpoint_not_provided', `${reason}${list}`)
}

/** A wrong base URL before one of our paths, or a misspelt path. */
function suggestPath(path: string, offered: readonly string[]): string | undefined {
  const tails = offered.map((endpoint) => endpoint.slice(endpoint.indexOf('/v1/') + '/v1/'.length))
  const appended = tails.find((tail) => path.endsWith(`/${tail}`))
  const written = path.toLowerCase().replace(/^\/(v1\/)?/, '')
  if (appended !== undefined && appended !== written) {
    const base = scrubPath(path.slice(0, -appended.length - 1))
    return `The base URL of your client seems to end in ${base}: set it to the address of this server followed by /v1.`
  }
  const near = nearestName(written, tails) ?? tails.find((tail) => written !== '' && tail.startsWith(`${written}/`))
  return near === undefined ? undefined : `Did you mean ${offered[tails.indexOf(near)]}?`
}
