import type { Attributes, Context, Span, SpanContext, Tracer } from '@opentelemetry/api'
import { inputTokensOf, type Usage } from '../model/price.ts'
import { scrubPath } from './scrub.ts'

/** `@opentelemetry/api`: without an SDK in the process every span is a no-op that only passes the client's trace on. */
type Api = typeof import('@opentelemetry/api')

interface TracingTerms {
  readonly version: string
  /** OTEL_SEMCONV_STABILITY_OPT_IN: a list, in which `gen_ai_latest_experimental` asks for the newest GenAI conventions. */
  readonly optIn: string | undefined
  /** A request continues the trace that its client names; else it begins its own. */
  readonly fromClients: boolean
}

/** Loads the API, which a server without traces does not need. */
export async function openTracing(terms: TracingTerms): Promise<Tracing> {
  return new Tracing(await import('@opentelemetry/api'), terms)
}

interface RequestHead {
  readonly method?: string | undefined
  readonly headers: Readonly<Record<string, unknown>>
  readonly socket: object
}

/** Spans with ids, times, tokens and outcomes: never contents, never a key. */
export class Tracing {
  readonly api: Api
  readonly tracer: Tracer
  /** The newest names, instead of those of version 1.36 of the semantic conventions. */
  readonly isLatest: boolean
  readonly #fromClients: boolean

  constructor(api: Api, { version, optIn = '', fromClients }: TracingTerms) {
    this.api = api
    this.tracer = api.trace.getTracer('millrace', version)
    this.isLatest = optIn.split(',').some((name) => name.trim() === 'gen_ai_latest_experimental')
    this.#fromClients = fromClients
  }

  startRequest({ method = '', headers, socket }: RequestHead): RequestTrace {
    const { api } = this
    const parent = this.#fromClients ? readTraceContext(api, headers) : undefined
    const context = parent === undefined ? api.ROOT_CONTEXT : api.trace.setSpanContext(api.ROOT_CONTEXT, parent)
    const scheme = 'encrypted' in socket ? 'https' : 'http'
    const options = { kind: api.SpanKind.SERVER, attributes: { 'http.request.method': method, 'url.scheme': scheme } }
    const span = this.tracer.startSpan(method, options, context)
    return new RequestTrace(this, span, api.trace.setSpan(api.ROOT_CONTEXT, span))
  }
}

/** What the end of a request says in its log line and on its span. */
interface RequestEnd {
  readonly request_id?: string
  readonly method?: string | undefined
  readonly path?: string
  readonly endpoint?: string
  readonly status?: number | undefined
  readonly code?: string
  readonly outcome?: string
  readonly error?: unknown
  readonly turn?:
    | {
        readonly model: string | undefined
        readonly outcome: string
        readonly problem?: string | undefined
        readonly lane?: string | undefined
      }
    | undefined
}

/** The span of one request of a client, and the parent of the calls of lanes. */
export class RequestTrace {
  readonly #tracing: Tracing
  readonly #span: Span
  readonly #context: Context

  constructor(tracing: Tracing, span: Span, context: Context) {
    this.#tracing = tracing
    this.#span = span
    this.#context = context
  }

  /** Undefined without an SDK and without a trace of the client. */
  get traceId(): string | undefined {
    const context = this.#span.spanContext()
    return this.#tracing.api.isSpanContextValid(context) ? context.traceId : undefined
  }

  startCall(call: LaneCall): CallTrace {
    return new CallTrace(this.#tracing, call, this.#context)
  }

  end(facts: RequestEnd): void {
    const { request_id, method = '', path = '', endpoint, status, turn } = facts
    const span = this.#span
    const code = turn?.problem ?? facts.code
    const isBroken = status !== undefined && status < 400 && turn?.problem !== undefined
    const isFailed = isBroken || facts.error !== undefined || (status ?? 0) >= 500
    if (endpoint !== undefined) span.updateName(`${method} ${endpoint}`)
    span.setAttributes({
      'url.path': path === endpoint ? path : scrubPath(path).slice(0, PATH_LENGTH_MAX),
      ...given('http.route', endpoint),
      ...given('http.response.status_code', status),
      ...given('error.type', isFailed ? (code ?? String(status ?? 'internal_error')) : undefined),
      ...given('gen_ai.request.model', turn?.model),
      ...given('millrace.request_id', request_id),
      ...given('millrace.outcome', turn?.outcome ?? facts.outcome),
      ...given('millrace.code', code),
      ...given('millrace.lane', turn?.lane),
    })
    if (isFailed) span.setStatus({ code: this.#tracing.api.SpanStatusCode.ERROR })
    span.end()
  }
}

const PATH_LENGTH_MAX = 200

const given = (name: string, value: string | number | undefined): Attributes =>
  value === undefined ? {} : { [name]: value }

/** One call of one lane. */
interface LaneCall {
  readonly lane: { readonly id: string; readonly model: string; readonly upstream: CalledUpstream }
  readonly requestId: string
  readonly outputCap: number
  readonly isStream: boolean
}

interface CalledUpstream {
  readonly wire: string
  readonly dialect: string
  readonly baseUrl: string | undefined
  /** Whether the provider may have the ids of the trace. */
  readonly traceContext: boolean
}

/** How a call ended. */
interface CallEnd {
  readonly outcome: string
  readonly status: number | undefined
  /** The provider's own count. */
  readonly usage: Usage | undefined
  readonly finishReasons: readonly string[]
  /** From the call to the first content of a stream. */
  readonly firstContentMs: number | undefined
}

/** Ends that are no failure of the provider. */
const NO_FAILURES: ReadonlySet<string> = new Set(['finished', 'stopped', 'client-gone', 'draining', 'ledger-gone'])

/** The span of one call of a provider. */
export class CallTrace {
  /** Names and values by turns; undefined where the provider does not get them. */
  readonly headers: readonly string[] | undefined
  readonly #tracing: Tracing
  readonly #span: Span
  #isOver = false

  constructor(tracing: Tracing, call: LaneCall, parent: Context) {
    const { lane, requestId, outputCap, isStream } = call
    const { api, isLatest } = tracing
    const provider = providerNameOf(lane.upstream, isLatest)
    const attributes: Attributes = {
      'gen_ai.operation.name': 'chat',
      [isLatest ? 'gen_ai.provider.name' : 'gen_ai.system']: provider,
      'gen_ai.request.model': lane.model,
      'gen_ai.request.max_tokens': outputCap,
      'millrace.lane': lane.id,
      'millrace.request_id': requestId,
      ...addressOf(lane.upstream.baseUrl),
      ...(isLatest && isStream ? { 'gen_ai.request.stream': true } : {}),
    }
    this.#tracing = tracing
    this.#span = tracing.tracer.startSpan(`chat ${lane.model}`, { kind: api.SpanKind.CLIENT, attributes }, parent)
    this.headers = lane.upstream.traceContext ? writeTraceContext(api, this.#span.spanContext()) : undefined
  }

  end({ outcome, status, usage, finishReasons, firstContentMs }: CallEnd): void {
    const { api, isLatest } = this.#tracing
    const isFailed = !NO_FAILURES.has(outcome)
    this.#span.setAttributes({
      'millrace.outcome': outcome,
      ...given('error.type', isFailed ? outcome : undefined),
      ...given('http.response.status_code', status),
      ...(finishReasons.length > 0 ? { 'gen_ai.response.finish_reasons': [...finishReasons] } : {}),
      ...(usage === undefined ? {} : usageAttributes(usage, isLatest)),
      ...(isLatest && firstContentMs !== undefined
        ? { 'gen_ai.response.time_to_first_chunk': firstContentMs / 1000 }
        : {}),
    })
    if (isFailed) this.#span.setStatus({ code: api.SpanStatusCode.ERROR })
    this.close()
  }

  /** Ends a span whose call was lost by a fault of ours. A second end does nothing. */
  close(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#span.end()
  }
}

const usageAttributes = (usage: Usage, isLatest: boolean): Attributes => ({
  'gen_ai.usage.input_tokens': inputTokensOf(usage),
  'gen_ai.usage.output_tokens': usage.output,
  ...(isLatest
    ? {
        'gen_ai.usage.cache_read.input_tokens': usage.cachedInput,
        'gen_ai.usage.cache_creation.input_tokens': usage.cacheWrite,
        'gen_ai.usage.reasoning.output_tokens': usage.reasoning,
      }
    : {}),
})

function addressOf(baseUrl: string | undefined): Attributes {
  if (baseUrl === undefined) return {}
  const { hostname, port, protocol } = new URL(baseUrl)
  return { 'server.address': hostname, 'server.port': Number(port) || (protocol === 'https:' ? 443 : 80) }
}

/** The names that the conventions have for known providers; others are named by their dialect. */
const PROVIDER_NAMES: Readonly<Record<string, string>> = {
  azure: 'azure.ai.openai',
  'google-vertex': 'gcp.vertex_ai',
  gemini: 'gcp.gemini',
  google: 'gcp.gemini',
  bedrock: 'aws.bedrock',
  mistral: 'mistral_ai',
}

function providerNameOf({ wire, dialect }: Pick<CalledUpstream, 'wire' | 'dialect'>, isLatest: boolean): string {
  if (wire === 'demo') return 'millrace.demo'
  if (dialect === 'xai') return isLatest ? 'x_ai' : 'xai'
  // Anthropic has two dialects.
  return PROVIDER_NAMES[dialect] ?? dialect.replace(/-compat$/, '')
}

/** A version beyond 00 may have more behind its flags (W3C Trace Context, section 3.3). Ids of zeros are invalid. */
const TRACE_PARENT =
  /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-[\x21-\x7e]{0,200})?$/
/** The section 3.3.1.5 asks to keep at least so much. Longer ones are dropped whole. */
const TRACE_STATE_LENGTH_MAX = 512
const TRACE_STATE_MEMBERS_MAX = 32

/** The trace of a client; undefined unless its header is valid. An invalid `tracestate` is dropped alone. */
export function readTraceContext(api: Api, headers: RequestHead['headers']): SpanContext | undefined {
  const { traceparent, tracestate } = headers
  // Node joins repeated headers with a comma, which makes the first one invalid and is a list in the second.
  const match = typeof traceparent === 'string' ? TRACE_PARENT.exec(traceparent.trim()) : null
  if (match === null) return undefined
  const [, version, traceId = '', spanId = '', flags = '', rest] = match
  if (version === '00' && rest !== undefined) return undefined
  const state = typeof tracestate === 'string' ? readTraceState(tracestate) : undefined
  return {
    ...{ traceId, spanId, isRemote: true },
    traceFlags: Number.parseInt(flags, 16) & api.TraceFlags.SAMPLED,
    ...(state === undefined ? {} : { traceState: api.createTraceState(state) }),
  }
}

const STATE_MEMBER = /^[a-z0-9][a-z0-9_\-*/@]{0,255}=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/

function readTraceState(text: string): string | undefined {
  if (text.length > TRACE_STATE_LENGTH_MAX) return undefined
  const members = text.split(',').flatMap((member) => member.trim() || [])
  const isValid = members.length <= TRACE_STATE_MEMBERS_MAX && members.every((member) => STATE_MEMBER.test(member))
  return isValid && members.length > 0 ? members.join(',') : undefined
}

function writeTraceContext(api: Api, context: SpanContext): string[] | undefined {
  if (!api.isSpanContextValid(context)) return undefined
  const { traceId, spanId, traceFlags, traceState } = context
  const flags = traceFlags.toString(16).padStart(2, '0')
  const state = traceState?.serialize() ?? ''
  return ['traceparent', `00-${traceId}-${spanId}-${flags}`, ...(state === '' ? [] : ['tracestate', state])]
}
