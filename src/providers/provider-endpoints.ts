import type { Upstream } from '../catalog/catalog.ts'
import type { Delivery } from '../model/turn.ts'
import type { CalledModel, ProviderEndpoint } from '../protocols/shared/codec-types.ts'
import { bearer, endpointOf } from '../protocols/wires.ts'

/** Dialects whose credential or headers differ from those of their wire. */
const OF_DIALECT: Readonly<Record<string, (endpoint: ProviderEndpoint) => Partial<ProviderEndpoint>>> = {
  // Azure's v1 interface takes Entra tokens as Bearer and its own keys only in a header of their own.
  azure: () => ({ credential: (key) => ['api-key', key] }),
  // OAuth tokens, on every wire: docs.cloud.google.com/vertex-ai/generative-ai/docs/start/api-keys.
  'google-vertex': () => ({ credential: bearer }),
  // The headers of the public clients (github.com/microsoft/vscode-copilot-chat). Without the vision header images are refused.
  'github-copilot': (endpoint) => ({
    credential: bearer,
    headers: (upstream) => [
      ...(endpoint.headers?.(upstream) ?? []),
      ['openai-intent', 'conversation-edits'],
      ['copilot-vision-request', 'true'],
    ],
    headersOfCall: (body) => [['x-initiator', initiatorOf(body)]],
  }),
}

/** Of its wire, as its dialect has it. Undefined for a wire that is not called over the network. */
export function providerEndpointOf({ wire, dialect }: Upstream): ProviderEndpoint | undefined {
  const endpoint = endpointOf(wire)
  const differs = Object.hasOwn(OF_DIALECT, dialect) ? OF_DIALECT[dialect] : undefined
  return endpoint !== undefined && differs !== undefined ? { ...endpoint, ...differs(endpoint) } : endpoint
}

/** A quote inside a JSON string is escaped, so these are members. */
const SPEAKER = /"(?:role|type)"\s*:\s*"(user|assistant|tool|[a-z_]+_output)"/g
const TAIL_BYTES = 64 * 1024

/** GitHub bills what a person asks, not the steps of an agent. The last message tells which it is. */
function initiatorOf(body: Buffer): 'user' | 'agent' {
  for (let end = body.length; end > 0; end -= TAIL_BYTES) {
    // The pieces overlap, so a member that one of them splits is whole in the next.
    const piece = body.toString('latin1', Math.max(0, end - TAIL_BYTES - 64), end)
    const last = [...piece.matchAll(SPEAKER)].at(-1)?.[1]
    if (last !== undefined) return last === 'user' ? 'user' : 'agent'
  }
  return 'user'
}

/** The path of one call. */
export const pathBehind = ({ pathname }: URL, endpoint: ProviderEndpoint, call: CalledModel): string =>
  pathname.replace(/\/+$/, '') + endpoint.path(call)

/** The address of a call, for people: it contains no credential. Undefined without a network. */
export function addressOf(upstream: Upstream, call: CalledModel): string | undefined {
  const endpoint = providerEndpointOf(upstream)
  if (endpoint === undefined || upstream.baseUrl === undefined) return undefined
  const url = new URL(upstream.baseUrl)
  return url.origin + pathBehind(url, endpoint, call)
}

/** Names and values in turn. Nothing of them comes from a client. */
export function headersFor(upstream: Upstream, endpoint: ProviderEndpoint, call: CallOptions): string[] {
  const { apiKey } = upstream
  const headers = new Map<string, string>([
    ['user-agent', call.userAgent],
    ...(apiKey === undefined ? [] : [endpoint.credential(apiKey.reveal())]),
    ...(endpoint.headers?.(upstream) ?? []),
    ...[...upstream.headers].map(([name, value]) => [name, value.reveal()] as const),
    ['content-type', 'application/json'],
    ['accept', call.delivery === 'stream' ? 'text/event-stream' : 'application/json'],
    // A compressed stream would wait for its compressor.
    ['accept-encoding', 'identity'],
  ])
  if (upstream.prefixMismatch === 'drop') {
    const beta = headers.get('anthropic-beta')
    headers.set('anthropic-beta', beta === undefined ? BINDING_BETA : `${beta},${BINDING_BETA}`)
  }
  return [...headers].flat()
}

/** Lets a request say what happens to thinking that is bound to another prefix: platform.claude.com, preserved thinking. */
const BINDING_BETA = 'thinking-binding-controls-2026-08-01'

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
