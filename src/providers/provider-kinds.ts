import type { Upstream } from '../catalog/catalog.ts'
import type { LaneWire } from '../model/event.ts'
import type { Delivery } from '../model/turn.ts'

/** How a provider is called, by its wire and dialect. */
export interface ProviderKind {
  /** Behind the base URL. */
  readonly path: (call: CalledModel) => string
  /** The header that carries the credential. */
  readonly credential: (key: string) => readonly [name: string, value: string]
  /** What else every call carries. */
  readonly headers: (upstream: Upstream) => readonly Header[]
  /** Headers that depend on the request body. */
  readonly headersOfCall?: (body: Buffer) => readonly Header[]
}

type Header = readonly [name: string, value: string]

interface CalledModel {
  readonly model: string
  readonly delivery: Delivery
}

const bearer: ProviderKind['credential'] = (key) => ['authorization', `Bearer ${key}`]
const keyHeader =
  (name: string): ProviderKind['credential'] =>
  (key) => [name, key]

const openAi = (path: string): ProviderKind => ({ path: () => path, credential: bearer, headers: () => [] })

/** One row a wire that is called over the network. */
const KINDS: Readonly<Record<LaneWire, ProviderKind>> = {
  chat: openAi('/chat/completions'),
  responses: openAi('/responses'),
  anthropic: {
    path: () => '/messages',
    credential: keyHeader('x-api-key'),
    headers: ({ apiVersion }) => [['anthropic-version', apiVersion ?? '2023-06-01']],
  },
  gemini: {
    // A colon ends the name, so one inside it is escaped; slashes separate its segments.
    path: ({ model, delivery }) =>
      `/models/${model.split('/').map(encodeURIComponent).join('/')}:${delivery === 'stream' ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    credential: keyHeader('x-goog-api-key'),
    headers: () => [],
  },
}

/** Dialects whose credential or headers differ from those of their wire. */
const OF_DIALECT: Readonly<Record<string, (kind: ProviderKind) => Partial<ProviderKind>>> = {
  // Azure's v1 interface takes Entra tokens as Bearer and its own keys only in a header of their own.
  azure: () => ({ credential: keyHeader('api-key') }),
  // OAuth tokens, on every wire: docs.cloud.google.com/vertex-ai/generative-ai/docs/start/api-keys.
  'google-vertex': () => ({ credential: bearer }),
  // The headers of the public clients (github.com/microsoft/vscode-copilot-chat). Without the vision header images are refused.
  'github-copilot': (kind) => ({
    credential: bearer,
    headers: (upstream) => [
      ...kind.headers(upstream),
      ['openai-intent', 'conversation-edits'],
      ['copilot-vision-request', 'true'],
    ],
    headersOfCall: (body) => [['x-initiator', initiatorOf(body)]],
  }),
}

/** Undefined for a wire that is not called over the network. */
export function providerKindOf({ wire, dialect }: Upstream): ProviderKind | undefined {
  const kind = wire === 'demo' ? undefined : KINDS[wire]
  const differs = Object.hasOwn(OF_DIALECT, dialect) ? OF_DIALECT[dialect] : undefined
  return kind !== undefined && differs !== undefined ? { ...kind, ...differs(kind) } : kind
}

/** A quote inside a JSON string is escaped, so these are members. */
const SPEAKER = /"(?:role|type)"\s*:\s*"(user|assistant|tool|[a-z_]+_output)"/g
const TAIL_BYTES = 64 * 1024

/** GitHub bills what a person asks, not the steps of an agent. The last message tells which it is. */
function initiatorOf(body: Buffer): 'user' | 'agent' {
  for (let end = body.length; end > 0; end -= TAIL_BYTES) {
    // The pieces overlap, so a member that one of them cuts is whole in the next.
    const piece = body.toString('latin1', Math.max(0, end - TAIL_BYTES - 64), end)
    const last = [...piece.matchAll(SPEAKER)].at(-1)?.[1]
    if (last !== undefined) return last === 'user' ? 'user' : 'agent'
  }
  return 'user'
}

/** The path of one call. */
export const pathBehind = ({ pathname }: URL, kind: ProviderKind, call: CalledModel): string =>
  pathname.replace(/\/+$/, '') + kind.path(call)

/** The address of a call, for people: it contains no credential. Undefined without a network. */
export function addressOf(upstream: Upstream, call: CalledModel): string | undefined {
  const kind = providerKindOf(upstream)
  if (kind === undefined || upstream.baseUrl === undefined) return undefined
  const url = new URL(upstream.baseUrl)
  return url.origin + pathBehind(url, kind, call)
}

/** Names and values in turn. Nothing of them comes from a client. */
export function headersFor(upstream: Upstream, kind: ProviderKind, call: CallOptions): string[] {
  const { apiKey } = upstream
  const headers = new Map<string, string>([
    ['user-agent', call.userAgent],
    ...(apiKey === undefined ? [] : [kind.credential(apiKey.reveal())]),
    ...kind.headers(upstream),
    ...[...upstream.headers].map(([name, value]) => [name, value.reveal()] as const),
    ['content-type', 'application/json'],
    ['accept', call.delivery === 'stream' ? 'text/event-stream' : 'application/json'],
    // A compressed stream would wait for its compressor.
    ['accept-encoding', 'identity'],
  ])
  return [...headers].flat()
}

interface CallOptions {
  readonly delivery: Delivery
  readonly userAgent: string
}

/** Headers that belong to the transport: no configuration may set them. */
export const OWN_HEADERS: ReadonlySet<string> = new Set([
  ...[
    'accept',
    'accept-encoding',
    'connection',
    'content-encoding',
    'content-length',
    'content-type',
    'expect',
    'host',
  ],
  ...['keep-alive', 'proxy-authorization', 'proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade'],
])
