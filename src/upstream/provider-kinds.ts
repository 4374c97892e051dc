import type { Upstream, Wire } from '../catalog/catalog.ts'
import type { Delivery } from '../model/turn.ts'

/** How a provider is called, by its wire and dialect. */
interface ProviderKind {
  /** Behind the base URL. */
  readonly path: string
  /** The header that carries the credential. */
  readonly credential: (key: string) => readonly [name: string, value: string]
}

const bearer: ProviderKind['credential'] = (key) => ['authorization', `Bearer ${key}`]

/** Azure's v1 interface takes Entra tokens as Bearer and its own keys only in a header of their own. */
const apiKeyHeader: ProviderKind['credential'] = (key) => ['api-key', key]

const PATHS: Readonly<Partial<Record<Wire, string>>> = { chat: '/chat/completions', responses: '/responses' }

/** Undefined for a wire that is not called over the network. */
export function providerKindOf({ wire, dialect }: Upstream): ProviderKind | undefined {
  const path = PATHS[wire]
  return path === undefined ? undefined : { path, credential: dialect === 'azure' ? apiKeyHeader : bearer }
}

/** All that goes out besides the body: names and values in turn. Nothing of it comes from a client. */
export function headersFor(upstream: Upstream, kind: ProviderKind, call: CallManner): string[] {
  const { apiKey } = upstream
  const headers = new Map<string, string>([
    ['user-agent', call.userAgent],
    ...(apiKey === undefined ? [] : [kind.credential(apiKey.reveal())]),
    ...[...upstream.headers].map(([name, value]) => [name, value.reveal()] as const),
    ['content-type', 'application/json'],
    ['accept', call.delivery === 'stream' ? 'text/event-stream' : 'application/json'],
    // Frames are read as they come: a compressed stream would wait for its compressor.
    ['accept-encoding', 'identity'],
  ])
  return [...headers].flat()
}

export interface CallManner {
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
