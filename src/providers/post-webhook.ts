import { createHmac } from 'node:crypto'
import { request as requestHttps } from 'node:https'
import { isIP } from 'node:net'
import { request as requestHttp } from '../lib/node-http.ts'
import { AddressRefused, bareHost, createGuardedLookup, type ResolveHost, refusalOfAddress } from './address-guard.ts'

/** What an attempt has come to. `refused`: another attempt would come to the same. */
export type Sent =
  | { readonly kind: 'sent'; readonly status: number | null; readonly answer: string }
  | { readonly kind: 'failed' | 'refused'; readonly status: number | null; readonly error: string }

export interface WebhookMessage {
  /** The `webhook-id`, the same each time that the message is sent. */
  readonly id: string
  readonly url: string
  readonly body: string
  /** Seconds since 1970. */
  readonly timestamp: number
  /** The secret, and for a while after a rotation the one before. */
  readonly secrets: readonly Uint8Array[]
}

export type PostWebhook = (message: WebhookMessage) => Promise<Sent>

const TIMEOUT_MS = 10_000
const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|::1)$/

/** Why messages are not sent to this address; undefined if they are. */
export function refusalOfWebhookUrl(text: string, { allowPrivate }: { readonly allowPrivate: boolean }) {
  if (!URL.canParse(text)) return 'is not an address'
  const url = new URL(text)
  const host = bareHost(url.hostname)
  if (url.username !== '' || url.password !== '') return 'has a password in it'
  if (url.hash !== '') return 'has a # in it'
  if (url.protocol === 'http:') {
    if (!LOOPBACK.test(host)) return 'is not https'
    return allowPrivate ? undefined : 'is not https'
  }
  if (url.protocol !== 'https:') return 'is not https'
  if (host === 'localhost' && !allowPrivate) return 'is private'
  const refusal = isIP(host) === 0 ? undefined : refusalOfAddress(host, { allowPrivate })
  return refusal === undefined ? undefined : refusal.replace(/: allow_private is not set$/, '')
}

const sign = (secret: Uint8Array, signed: string): string =>
  `v1,${createHmac('sha256', secret).update(signed).digest('base64')}`

/** The headers of Standard Webhooks: https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md */
const webhookHeaders = ({ id, body, timestamp, secrets }: Omit<WebhookMessage, 'url'>) => ({
  'webhook-id': id,
  'webhook-timestamp': String(timestamp),
  'webhook-signature': secrets.map((secret) => sign(secret, `${id}.${timestamp}.${body}`)).join(' '),
})

interface PostOptions {
  readonly resolve: ResolveHost
  /** Private addresses, and plain HTTP on this machine. */
  readonly allowPrivate: () => boolean
  readonly userAgent: string
  readonly timeoutMs?: number
}

/**
 * Sends a message once. It follows no redirect, reads nothing of the answer but its status, and connects only to addresses that
 * the guard of providers allows: what an owner enters must not reach into the operator's network.
 */
export function createPostWebhook({
  resolve,
  allowPrivate,
  userAgent,
  timeoutMs = TIMEOUT_MS,
}: PostOptions): PostWebhook {
  return (message) => {
    const rules = { allowPrivate: allowPrivate() }
    const refusal = refusalOfWebhookUrl(message.url, rules)
    if (refusal !== undefined) return Promise.resolve(failed(null, `the address ${refusal}`))
    const url = new URL(message.url)
    const open = url.protocol === 'https:' ? requestHttps : requestHttp
    return new Promise((resolveSent) => {
      const request = open(url, {
        method: 'POST',
        agent: false,
        lookup: createGuardedLookup({ resolve }, { id: 'the webhook', ...rules }),
        headers: {
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(message.body),
          'user-agent': userAgent,
          ...webhookHeaders(message),
        },
      })
      const timer = setTimeout(() => request.destroy(new Error('no answer in time')), timeoutMs)
      const end = (sent: Sent) => {
        clearTimeout(timer)
        resolveSent(sent)
        request.destroy()
      }
      request.on('response', ({ statusCode = 0 }) =>
        end(
          statusCode >= 200 && statusCode < 300
            ? { kind: 'sent', status: statusCode, answer: '' }
            : failed(statusCode, `HTTP status ${statusCode}`),
        ),
      )
      request.on('error', (error: NodeJS.ErrnoException) => end(failed(null, reasonOf(error))))
      request.end(message.body)
    })
  }
}

const failed = (status: number | null, error: string): Sent => ({ kind: 'failed', status, error })

/** Without addresses of the operator's network, which the resolver may have given. */
function reasonOf(error: NodeJS.ErrnoException): string {
  if (error instanceof AddressRefused) return 'the address is not allowed'
  if (error.message === 'no answer in time') return error.message
  return error.code === undefined ? 'the connection failed' : `the connection failed: ${error.code}`
}
